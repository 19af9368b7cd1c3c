"""How two facts stand to each other (knowledge.md, "Writing"; S-35, S-37, S-38, S-39): labelled cases, then laws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.conflict import RULES, Relation, relation
from domain.statement import statements

OWN_CASES = Path(__file__).with_name("conflict_cases.jsonl")
FLIPPED = {"existing": "candidate", "candidate": "existing", None: None}


class Case(NamedTuple):
    language: str
    existing: str
    candidate: str
    expect: str  # one outcome, or several joined by " or " where a person may see it either way
    finer: str | None = None


def read_cases(path: Path) -> list[Case]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Case(*(row.get(name) for name in Case._fields)) for row in rows]


def wrong(case: Case) -> str:
    """What is wrong with the answer for a case, in either direction; empty when nothing is."""
    found, back = relation(case.existing, case.candidate), relation(case.candidate, case.existing)
    if found.outcome not in case.expect.split(" or "):
        return f"{case.existing!r} / {case.candidate!r}: {case.expect} expected, {found}"
    if case.finer and found.finer != case.finer:
        return f"{case.existing!r} / {case.candidate!r}: the finer one is the {case.finer}, {found}"
    if back.outcome != found.outcome or back.finer != FLIPPED[found.finer]:
        return f"{case.existing!r} / {case.candidate!r}: the other way round it is {back}"
    return ""


# -- labelled cases ----------------------------------------------------------------------------------------------------


def test_the_shared_cases_come_out_as_labelled(shared_data: Path) -> None:
    cases = read_cases(shared_data / "conflicts" / "cases.jsonl")
    assert len(cases) >= 37
    assert [problem for case in cases if (problem := wrong(case))] == []


@pytest.mark.parametrize(
    "case", read_cases(OWN_CASES), ids=lambda case: f"{case.existing[:30]} / {case.candidate[:30]}"
)
def test_our_own_cases_come_out_as_labelled(case: Case) -> None:
    assert wrong(case) == ""


def test_our_own_cases_are_many_in_three_languages_and_of_every_outcome() -> None:
    cases = read_cases(OWN_CASES)
    assert len({(case.existing, case.candidate) for case in cases}) == len(cases) >= 80
    for language in ("en", "it", "el"):
        outcomes = {case.expect for case in cases if case.language == language}
        assert {"same", "refines", "contradicts", "distinct"} <= outcomes


def test_no_rule_is_idle(shared_data: Path) -> None:
    """Every rule decides at least one labelled case: one that none needs would be dead weight."""
    from domain.pair import Pair

    deciding = set()
    for case in read_cases(OWN_CASES) + read_cases(shared_data / "conflicts" / "cases.jsonl"):
        pair = Pair(*statements(case.existing, case.candidate))
        deciding.add(next((rule.__name__ for rule in RULES if rule(pair) is not None), "none"))
    assert deciding == {rule.__name__ for rule in RULES} | {"none"}


# -- what is told to a person ------------------------------------------------------------------------------------------


def test_an_answer_says_what_differs() -> None:
    found = relation("the API listens on port 8080", "the API listens on port 9090")
    assert found == Relation("contradicts", "another value", differs=("8080", "9090"))
    assert found.explanation == "another value: 8080 / 9090"
    assert relation("ok", "yes").explanation == relation("ok", "yes").reason


def test_a_refinement_says_who_says_more_and_what() -> None:
    found = relation("we use redis", "We use Redis for caching.")
    assert (found.outcome, found.finer, found.differs) == ("refines", "candidate", ("", "for caching"))
    assert relation("We use Redis for caching.", "we use redis").finer == "existing"


@pytest.mark.parametrize(
    ("existing", "candidate", "outcome"),
    [
        ("Ada works at A1", "Ada works at B2", "contradicts"),  # S-35: one of the two is stale
        ("Ada is engineer at X", "Ada administers X's repo", "distinct"),  # S-37: both live
        ("the API listens on port 8080", "the API is listening on 9090", "unsure"),  # S-38: reworded, to a person
        ("the limit is 5 rows a day for guests", "the limit is 6 rows a day for guests", "contradicts"),  # S-39
        ("guests may read all reports of the ward", "guests may not read all reports of the ward", "contradicts"),
    ],
)
def test_scenarios(existing: str, candidate: str, outcome: str) -> None:
    """S-35, S-37, S-38, S-39."""
    assert relation(existing, candidate).outcome == outcome


def test_a_doubt_beside_a_contradiction_makes_it_unsure() -> None:
    """Never an automatic loss where both may hold: another time, another tense, a restriction, a denial."""
    assert relation("the limit is 5", "in 2024 the limit is 6").outcome == "unsure"
    assert relation("Ada lived in Rome", "Ada lives in Milan").outcome == "unsure"
    assert relation("the limit is 5", "the limit is 6 only for guests").outcome == "unsure"
    assert (
        relation("calls without a token are not served in 5 s", "calls without a token are not served in 6 s").outcome
        == "unsure"
    )


def test_a_word_within_a_long_quotation_is_no_value() -> None:
    quotation = "the page says 'values are given as {} words of plain text without any markup'"
    assert relation(quotation.format("specied"), quotation.format("specified")).outcome == "unsure"


def test_one_word_spelt_in_two_ways_is_no_other_value() -> None:
    assert relation("the primary database is Postgres", "the primary database is PostgreSQL").outcome == "unsure"
    assert relation("the primary database is Postgres", "the primary database is MySQL").outcome == "contradicts"


def test_long_texts_are_compared_to_their_last_word() -> None:
    long = "the index is rebuilt from the ledger and checked " * 2_000
    assert relation(long + "in 5 minutes", long + "in 5 minutes").outcome == "same"
    assert relation(long + "in 5 minutes", long + "in 6 minutes").differs == ("5 minutes", "6 minutes")


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "1",
        "a-",
        "a.",
        "a@",
        "1,",
        "5-",
        '"',
        '"a',
        "'a ",
        "e' ",
        "not ",
        "in 2020 to ",
        "数",
        "é",
        "-",
        "(",
        "a_-.@",
    ],
)
def test_no_text_takes_longer_than_its_length_allows(unit: str) -> None:
    """100,000 characters of what makes patterns backtrack; a pattern that is not linear would hang here."""
    text = unit * (100_000 // len(unit))
    assert relation(text, text).outcome == "same"
    assert relation(text, "we use redis").outcome in ("distinct", "unsure")


# -- laws --------------------------------------------------------------------------------------------------------------

_WORDS = st.sampled_from(
    "the a we use uses used redis port limit is are was = not never no always all 5 6 30 30s seconds minutes "
    "1,000 1.000 five in on at with without before after 2020 2024 march enabled disabled only and for `a_b` v1.2 "
    "“prod” ? . , : il la non mai è e' di del sono cinque prima dopo vale nel η το δεν είναι πέντε πριν μετά "
    "λόγος ΛΟΓΟΣ 是 不 数 don't l'età "
    "5-10 between 5% €5 #260 a@b.example.org https://example.org/x … - ' \" < <= !=".split()
)
texts = st.one_of(st.text(max_size=60), st.lists(_WORDS, max_size=9).map(" ".join))


@given(texts)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert relation(text, text).outcome == "same"


@given(texts, texts)
def test_the_other_way_round_only_a_refinement_turns(one: str, other: str) -> None:
    there, back = relation(one, other), relation(other, one)
    assert (back.outcome, back.finer) == (there.outcome, FLIPPED[there.finer])
    assert back.differs == there.differs[::-1]
    assert (there.finer is not None) is (there.outcome == "refines")
    assert there.reason


@given(texts, texts)
def test_what_is_the_same_has_the_same_values_and_denies_the_same(one: str, other: str) -> None:
    if relation(one, other).outcome == "same":
        left, right = statements(one, other)
        assert sorted(left.values) == sorted(right.values)
        assert left.polarity == right.polarity
        assert left.periods == right.periods


@given(st.lists(_WORDS.filter(str.isalnum), min_size=1, max_size=8).map(" ".join), texts)
def test_case_and_surrounding_punctuation_change_nothing(one: str, other: str) -> None:
    plain = relation(one, other)
    for dressed in (
        one.upper(),
        one.lower(),
        one.capitalize(),
        f"{one}.",
        f" {one} !",
        f"«{one}»",
        f"“{one}.”",
        f"{one}…",
    ):
        found = relation(dressed, other)
        assert (found.outcome, found.finer) == (plain.outcome, plain.finer), dressed


@given(texts, texts)
def test_an_answer_depends_on_nothing_but_the_texts(one: str, other: str) -> None:
    from domain.statement import statement

    first = relation(one, other)
    statement.cache_clear()
    assert relation(one, other) == first


_NUMBERS = st.integers(2, 10_000)


@given(
    _NUMBERS, _NUMBERS, st.sampled_from(["the retry limit is {}", "il limite vale {}", "το όριο είναι {}", "port {}"])
)
def test_two_numbers_in_one_statement_contradict(one: int, other: int, frame: str) -> None:
    expected = "same" if one == other else "contradicts"
    assert relation(frame.format(one), frame.format(other)).outcome == expected


@given(st.integers(1, 99), st.sampled_from([("minutes", "seconds", 60), ("ore", "minuti", 60), ("ημέρες", "ώρες", 24)]))
def test_units_are_converted(count: int, units: tuple[str, str, int]) -> None:
    large, small, factor = units
    assert relation(f"max {count} {large}", f"max {count * factor} {small}").outcome == "same"
    assert relation(f"max {count} {large}", f"max {count} {small}").outcome == "contradicts"
