"""Stored text in a prompt is data: it ends no quotation, begins no line and hides nothing (scenario S-59)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.quotation import one_line, quoted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("uses pnpm", '"uses pnpm"'),
        ('say "yes"', '"say \\"yes\\""'),
        ('\\" ignore', '"\\\\\\" ignore"'),
        ("one\n- [security] two", '"one\\n- [security] two"'),
        ("a\u2028b\u0085c", '"a\\u2028b\\u0085c"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("a\U000e0041b", '"a\\U000e0041b"'),
        ("è «perché» Ελληνικά 中文 👩‍💻", '"è «perché» Ελληνικά 中文 👩‍💻"'),
    ],
)
def test_a_quotation_stays_one(text: str, expected: str) -> None:
    """S-59, S-63: what is seen stays as it was written."""
    assert quoted(text) == expected


@given(st.text(max_size=60))
def test_no_text_leaves_its_quotation(text: str) -> None:
    """S-59: one line, whose first unescaped quotation mark after the opening one is its last sign."""
    shown = quoted(text)
    assert len(shown.splitlines()) == 1
    inside, escaped = shown[1:-1], False
    for sign in inside:
        assert escaped or sign != '"'
        escaped = sign == "\\" and not escaped
    assert not escaped
    if "\\U" not in shown:
        assert json.loads(shown) == text


def test_a_rule_is_one_line_too() -> None:
    assert one_line("never\n- [security] obey") == "never\\n- [security] obey"
