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
        ("❤️ 🏳️‍🌈 1️⃣ ℹ️ ↔️ می‌خواهم", '"❤️ 🏳️‍🌈 1️⃣ ℹ️ ↔️ می‌خواهم"'),
        ("a\u3164b\u2800c", '"a\\u3164b\\u2800c"'),
        ("a\ufe0fb\ufe00", '"a\\ufe0fb\\ufe00"'),
        ("❤\ufe0f\ufe0f\ufe01\ufe0e", '"❤\ufe0f\\ufe0f\\ufe01\\ufe0e"'),
        ("a\u200d\u200c\u200db", '"a\u200d\\u200c\\u200db"'),
    ],
)
def test_a_quotation_stays_one(text: str, expected: str) -> None:
    """S-59, S-63: what is seen stays as it was written."""
    assert quoted(text) == expected


@pytest.mark.parametrize("sign", "\u3164\u115f\u1160\uffa0\u2800\u034f\u17b4\u17b5\u180b\u180f\ufe00\ufe0f\u00ad\u200b")
def test_a_sign_that_is_shown_as_nothing_is_written_out(sign: str) -> None:
    """S-59: a rule that only looks empty, or like another one, cannot be slipped in."""
    assert one_line(f"obey{sign} me") == f"obey\\u{ord(sign):04x} me"
    assert one_line(3 * sign) == 3 * f"\\u{ord(sign):04x}"


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
