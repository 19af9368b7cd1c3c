"""Which memory type a text is of, in three languages; `unknown` when unsure."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.classify import _tiers, memory_type
from domain.decay import MEMORY_TYPES
from domain.language import fold

CASES = {
    "decision": [
        "We decided to keep Postgres.",
        "Abbiamo deciso di contare i ricoveri.",
        "Αποφασίσαμε να κρατήσουμε τη βάση.",
    ],
    "commitment": [
        "I will send the report by Friday",
        "Ci impegniamo a consegnare lunedì",
        "Θα παραδώσουμε την αναφορά αύριο",
    ],
    "preference": [
        "Ada prefers short answers",
        "Preferisco le tabelle ai grafici",
        "Η Άννα προτιμά το σκούρο θέμα",
    ],
    "goal": [
        "Our goal is one hour of downtime a year",
        "L'obiettivo è dimezzare i tempi",
        "Ο στόχος είναι η ταχύτητα",
    ],
    "request": [
        "Please check the totals",
        "Per favore controlla i totali",
        "Παρακαλώ έλεγξε τα σύνολα",
    ],
    "learning": [
        "We learned that the cache was cold",
        "Abbiamo imparato che la coda si riempie",
        "Μάθαμε ότι η ουρά γεμίζει",
    ],
    "observation": [
        "The queue seems slow on Mondays",
        "Ho notato che la coda è lenta",
        "Φαίνεται ότι η ουρά αργεί",
    ],
    "instruction": [
        "Always run the tests before a push",
        "Bisogna firmare ogni referto",
        "Πρέπει να υπογράφεται κάθε αναφορά",
    ],
    "error": [
        "The import crashed with a traceback",
        "L'importazione è fallita",
        "Η εισαγωγή απέτυχε",
    ],
    "event": [
        "Version 3 was released yesterday",
        "Ieri abbiamo aperto il reparto",
        "Χθες άνοιξε η κλινική",
    ],
    "context": [
        "We are currently migrating the index",
        "Stiamo lavorando alla migrazione",
        "Προς το παρόν γίνεται μεταφορά",
    ],
    "relationship": [
        "Ada reports to Grace",
        "Rossi riporta a Bianchi",
        "Ο Νίκος συνεργάζεται με τη Μαρία",
    ],
    "profile": [
        "Ada lives in Rome and speaks Greek",
        "Mi chiamo Ada",
        "Ονομάζομαι Άννα",
    ],
    "artifact": [
        "See the dashboard for wards",
        "Il documento sul reparto",
        "Το αρχείο για τις κλίνες",
    ],
    "fact": [
        "the API listens on port 8080",
        "la data di riferimento è la dimissione",
        "το όριο είναι πέντε",
    ],
    "unknown": ["ok", "", "8080", "redis, postgres", "数据库", "Ada", "forse", "ναι"],
}


@pytest.mark.parametrize(("expected", "text"), [(name, text) for name, texts in CASES.items() for text in texts])
def test_a_text_shows_its_type(expected: str, text: str) -> None:
    assert memory_type(text) == expected


def test_every_type_is_recognised_in_every_language() -> None:
    assert set(CASES) == set(MEMORY_TYPES)


@pytest.mark.parametrize(
    "text",
    [
        "We decided on our goal: I will ship it",  # three at once
        "Ada prefers what we decided",
        "Always report every error to the lead",  # an instruction about errors, or an error?
    ],
)
def test_cues_of_several_types_are_no_answer(text: str) -> None:
    assert memory_type(text) == "unknown"


def test_what_somebody_does_by_saying_it_comes_before_what_it_is_about() -> None:
    assert memory_type("We decided to always log errors") == "decision"
    assert memory_type("Please fix the error") == "request"
    assert memory_type("I noticed the import crashed") == "observation"


@given(st.text(max_size=200))
def test_any_text_has_a_known_type(text: str) -> None:
    assert memory_type(text) in MEMORY_TYPES


@pytest.mark.parametrize("texts", CASES.values())
def test_case_does_not_count(texts: list[str]) -> None:
    for text in texts:
        assert memory_type(text.upper()) == memory_type(text)


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert memory_type("x " * 50_000 + "we decided") == "unknown"


_PARTS = sorted({cue for tier in _tiers() for cues in tier.values() for some in cues.by_word.values() for cue in some})
_PARTS += sorted({cue for tier in _tiers() for cues in tier.values() for cue in cues.begun})


@given(st.lists(st.sampled_from([*_PARTS, "x", "s", "-", "'", "_", ".", "ing", "ς", "É"]) | st.text(max_size=4)))
def test_a_quick_look_misses_no_cue(parts: list[str]) -> None:
    for joint in ("", " "):
        text = fold(joint.join(parts))
        words = frozenset(re.findall(r"\w+", text))
        for tier in _tiers():
            for name, cues in tier.items():
                assert cues.stand_in(text, words) is (cues.pattern.search(text) is not None), name
