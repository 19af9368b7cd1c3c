"""Text: what is accepted, what is equivalent, what looks like a table (sessions.md, "Promotion", 5)."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import text
from domain.errors import InvalidInput
from domain.text import content_key, normal_form


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ablation", "ablation"),
        ("a  b\n\tc", "a b c"),
        (" a b ", "a b"),
        ("a\u00a0b", "a b"),  # no-break space
        ("“ablation”", "ablation"),
        ("«ablation»", "ablation"),
        ("'ablation'", "ablation"),
        ("`ablation`", "ablation"),
        ("«“ablation.”».", "ablation"),
        ("ablation.", "ablation"),
        ("ablation…", "ablation"),
        ("ablation ?!", "ablation"),
        ("τι;", "τι"),
        ("ΛΟΓΟΣ", "λόγος".replace("ό", "ο")),
        ("λογοσ", "λογος"),  # Greek final sigma
        ("ﬁbrillation", "fibrillation"),  # a ligature
        ("Straße", "STRASSE"),
        ("ＡＢＣ１２３", "abc123"),  # full-width
        ("e\u0301tude", "étude"),  # combining accent
        ("Å", "Å"),  # the ångström sign
        ("½", "1⁄2"),
    ],
)
def test_equivalent_content(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)
    assert content_key(one, "x") == content_key(other, "x")
    assert content_key("x", one) == content_key("x", other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5", "6"),
        ("<5", "5"),
        ("<5", "≤5"),
        (">5", "<5"),
        ("-5", "5"),
        ("5%", "5"),
        ("1.5", "15"),
        ("1,5", "1.5"),
        ("5 mg", "50 mg"),
        ("5", "'5"),  # one quote is not an outer pair
        ("counted", "not counted"),
        ("conteggiata", "non conteggiata"),
        ("μετράει", "δεν μετράει"),
        ("perché", "perche"),  # accents carry meaning
        ("a_b", "a b"),
        ("a.b", "ab"),
        ("a = b", "a != b"),
        ("¿qué?", "qué"),  # only trailing punctuation goes
        ("Rome", "Milan"),
        ("", "a"),
    ],
)
def test_content_that_is_not_equivalent(one: str, other: str) -> None:
    """S-39: numbers, comparison, negation, names, accents."""
    assert normal_form(one) != normal_form(other)
    assert content_key(one, "x") != content_key(other, "x")


def test_the_key_keeps_subject_and_detail_apart() -> None:
    assert content_key("a b", "c") != content_key("a", "b c")
    assert content_key("a", "b") != content_key("b", "a")
    assert len(content_key("a", "b")) == 32


@given(st.text())
def test_the_normal_form_is_its_own_normal_form(words: str) -> None:
    once = normal_form(words)
    assert normal_form(once) == once


@given(st.text(), st.sampled_from(["{}", " {} ", "“{}”", "{}.", "«{}»!", "\n{}\t"]))
def test_dressing_a_text_up_does_not_change_its_normal_form(words: str, dress: str) -> None:
    if len(normal_form(words)) > 1:
        assert normal_form(dress.format(words)) == normal_form(words)


@pytest.mark.parametrize(
    ("subject", "is_table"),
    [
        ("fact_cardioversione", True),
        ("dim_time", True),
        ("FACT_X", True),
        ("`dim_time`", True),
        ("[dim_time]", True),
        ("dwh.fact_x", True),
        ("«fact_x».", True),
        ("fact_x and its grain", False),
        ("the fact_x table", True),
        ("factory_x", False),
        ("factor", False),
        ("dimension", False),
        ("ablation", False),
    ],
)
def test_subjects_that_look_like_a_table(subject: str, is_table: bool) -> None:
    assert text.looks_like_a_table(subject) is is_table


# -- accepting ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("good", ["plain", "tab\tand\r\nlines", "Ωμέγα 心 🫀", "a\u200db", ""])
def test_text_is_kept_verbatim(good: str) -> None:
    assert text.accept_text(good, "detail") == good


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (None, "must be text, not NoneType"),
        (7, "must be text, not int"),
        (b"x", "not bytes"),
        ("a\ud800", "lone surrogate"),
        ("a\x00", "control character U+0000"),
        ("a\x1b[31m", "control character U+001B"),
        ("a\x85", "control character U+0085"),
        ("x" * 100_001, "100,001 characters"),
    ],
)
def test_text_that_cannot_be_stored_or_shown_is_refused_and_the_field_named(bad: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=r"^detail ") as caught:
        text.accept_text(bad, "detail")
    assert words in caught.value.message


def test_what_is_required_is_not_blank() -> None:
    with pytest.raises(InvalidInput):
        text.accept_text(" \n", "subject", required=True)


@pytest.mark.parametrize(
    ("given_as", "actor"), [("ada", "human:ada"), ("agent:coder-1", "agent:coder-1"), ("tool:a-b", "tool:a-b")]
)
def test_actors(given_as: str, actor: str) -> None:
    assert text.accept_actor(given_as) == actor


@pytest.mark.parametrize("bad", ["", " ", "a b", "robot:x", "human:", "human::x", "agent:a b", "x" * 201, 3])
def test_what_is_no_actor(bad: object) -> None:
    with pytest.raises(InvalidInput):
        text.accept_actor(bad)


@pytest.mark.parametrize(("number", "memory_id"), [(1, "mem-0001"), (9_999, "mem-9999"), (10_000, "mem-10000")])
def test_memory_ids_have_four_digits_and_more_when_needed(number: int, memory_id: str) -> None:
    assert text.memory_id(number) == memory_id
    assert text.memory_number(memory_id) == number


@pytest.mark.parametrize("bad", ["mem-1", "mem-00x1", "0001", "MEM-0001", "mem-0001 "])
def test_what_is_no_memory_id(bad: str) -> None:
    assert text.memory_number(bad) is None


def test_canonical_json_has_one_form() -> None:
    assert text.canonical_json({"b": ("é", None), "a": 1.5}) == '{"a":1.5,"b":["é",null]}'
    with pytest.raises(ValueError):
        text.canonical_json(float("nan"))


def test_nothing_that_is_refused_counts_as_printable() -> None:
    """Printable text is accepted without a look at each sign."""
    refused = [chr(number) for number in range(sys.maxunicode + 1) if unicodedata.category(chr(number)) in ("Cc", "Cs")]
    assert len(refused) > 2_000
    assert not any(sign.isprintable() for sign in refused)
