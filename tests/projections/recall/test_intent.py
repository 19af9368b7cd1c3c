"""What kind of answer a question wants: the project's labelled cases, our own, and texts that are no questions."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.recall.intent import Intent, intent_of

OWN = [json.loads(line) for line in Path(__file__).with_name("intent_cases.jsonl").read_text("utf-8").splitlines()]


def test_every_labelled_case_of_the_project(shared_data: Path) -> None:
    cases = [json.loads(line) for line in (shared_data / "intents/cases.jsonl").read_text("utf-8").splitlines()]
    wrong = {case["query"]: intent_of(case["query"]) for case in cases if intent_of(case["query"]) != case["expect"]}
    assert (len(cases), wrong) == (23, {})


@pytest.mark.parametrize("case", OWN, ids=lambda case: case["query"] or "empty")
def test_a_question_has_its_intent(case: dict[str, str]) -> None:
    assert intent_of(case["query"]) == case["expect"]


@pytest.mark.parametrize("case", [case for case in OWN if case["expect"] != "general"], ids=lambda case: case["query"])
def test_case_spaces_and_marks_change_nothing(case: dict[str, str]) -> None:
    question = case["query"]
    for variant in (question.upper(), f"  {question}  ", question.replace(" ", "\n"), question.rstrip("?;")):
        assert intent_of(variant) == case["expect"], variant


@given(st.text())
def test_any_text_has_an_intent_and_always_the_same(text: str) -> None:
    assert intent_of(text) in get_args(Intent)
    assert intent_of(text) == intent_of(text)


@pytest.mark.parametrize(
    "piece", ["quando si ", "what does a ", "how do ", "come ", "1 ", "l'", "who is ", "πωσ το ", "🦉", "x"]
)
def test_a_hundred_thousand_characters_are_read_in_bounded_time(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    started = time.perf_counter()
    for _ in range(3):
        intent_of(text)
    assert time.perf_counter() - started < 3


def test_what_comes_after_the_characters_that_are_read_does_not_count() -> None:
    assert intent_of("redis cache keys " * 100 + "when did it change?") == "general"
