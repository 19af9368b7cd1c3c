"""What consolidate merges, and above all what it does not: S-39 and S-43 in the rules themselves."""

from __future__ import annotations

from typing import Any

import pytest

from domain.equivalents import Known, Merge, canonical_key, merges, restatements


def known(number: int, topic: str, content: str, **more: Any) -> Known:
    given: dict[str, Any] = {
        "fact_id": f"fact-{number}",
        "domain": "ops",
        "standing": 0.7,
        "confidence": 0.7,
        "place": number,
        "holds": ("", ""),
        "about": "",
        "authors": (f"agent:a{number}",),
    }
    return Known(**{**given, "topic": topic, "content": content, **more})


def merged(*facts: Known) -> list[tuple[str, str]]:
    return [(one.loser, one.keeper) for one in merges(facts)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The staging cluster runs in Frankfurt", "the staging cluster runs in «Frankfurt»."),
        ("In production we use PostgreSQL 16", "we use PostgreSQL 16 in production"),
        ("Le ablazioni si contano per paziente", "le ABLAZIONI si contano per paziente!"),
        ("Η σύνδεση λήγει σε 30 λεπτά", "η συνδεση ληγει σε 30 λεπτα"),
    ],
)
def test_what_differs_only_in_form_is_merged_across_topics(one: str, other: str) -> None:
    assert canonical_key(one) == canonical_key(other)
    assert merged(known(1, "hosting", one), known(2, "Hosting.", other)) == [("fact-2", "fact-1")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The timeout is 30 seconds", "The timeout is 45 seconds"),
        ("Backups are encrypted", "Backups are not encrypted"),
        ("Ada reviews the payments code", "Ida reviews the payments code"),
        ("The budget was 5 million in 2023", "The budget was 5 million in 2024"),
        ("The api calls the database", "The database calls the api"),
        ("Is the api public?", "The api is public"),
        ("il farmaco si dà prima dei pasti", "il farmaco si dà dopo i pasti"),
    ],
)
def test_numbers_names_denials_and_periods_are_never_merged(one: str, other: str) -> None:
    """S-39."""
    assert merged(known(1, "notes", one), known(2, "notes", other)) == []


@pytest.mark.parametrize(
    ("one", "other"), [("billing", "search"), ("ward 3", "ward 4"), ("studio A", "studio B"), ("τιμολόγια", "αποθήκη")]
)
def test_the_same_words_of_two_subjects_are_two_facts(one: str, other: str) -> None:
    """S-37: a topic is part of what a fact says."""
    facts = known(1, one, "The port is 8080"), known(2, other, "The port is 8080")
    assert merged(*facts) == []
    assert list(restatements(facts)) == [facts]


def test_a_general_label_between_two_special_ones_goes_to_neither() -> None:
    text = "The port is 8080"
    facts = [known(1, "port", text), known(2, "billing port", text), known(3, "search port", text)]
    assert merged(*facts) == []
    assert merged(*facts[:2]) == [("fact-2", "fact-1")]


@pytest.mark.parametrize(
    "apart",
    [{"domain": "repo:shop/ops"}, {"about": "person:mario"}, {"holds": ("", "2027-01-01T00:00:00.000000Z")}],
    ids=["domain", "subject", "validity"],
)
def test_other_domains_subjects_and_validities_stay_apart(apart: dict[str, object]) -> None:
    text = "The staging cluster runs in Frankfurt"
    assert merged(known(1, "hosting", text), known(2, "hosting", text, **apart)) == []


def test_the_keeper_stands_highest_then_is_oldest_then_comes_first_by_id() -> None:
    text = "The staging cluster runs in Frankfurt"
    strong = known(3, "hosting", text, standing=0.9)
    assert merged(known(1, "hosting", text), known(2, "hosting", text), strong) == [
        ("fact-1", "fact-3"),
        ("fact-2", "fact-3"),
    ]
    old, young = known(1, "hosting", text), known(2, "hosting", text)
    assert merged(young, old) == [("fact-2", "fact-1")]
    twins = known(2, "hosting", text, place=1), known(1, "hosting", text)
    assert list(merges(twins)) == [Merge("fact-2", "fact-1")]
