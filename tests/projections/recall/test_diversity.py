"""Diversity: a second wording may stand beside the first, a third one pays; what is not alike pays nothing."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.recall.diversity import (
    AT_ONCE,
    LAMBDA,
    LOOKED_AT,
    NEARLY_SAME,
    alike_by_vector,
    alike_by_words,
    diversified,
    looked_at,
)

RELEVANCES = st.lists(st.floats(-30, 0), max_size=30).map(lambda found: sorted(found, reverse=True))


def never(one: int, other: int) -> float:
    return 0.0


def always(one: int, other: int) -> float:
    return 1.0


@given(RELEVANCES, st.integers(0, 40))
def test_where_nothing_is_alike_the_order_stays(relevances: list[float], count: int) -> None:
    assert diversified(relevances, never, count) == [(place, 0.0) for place in range(min(count, len(relevances)))]


@given(RELEVANCES, st.integers(0, 40))
def test_where_all_is_alike_the_order_stays_too_and_everybody_is_shown_once(
    relevances: list[float], count: int
) -> None:
    chosen = diversified(relevances, always, count)
    assert [place for place, _ in chosen] == list(range(min(count, len(relevances))))
    assert [paid for _, paid in chosen[2:]] == pytest.approx([1 - LAMBDA] * len(chosen[2:]))


@given(RELEVANCES, st.integers(1, 10), st.integers(2, 5))
def test_the_best_stays_the_best(relevances: list[float], count: int, groups: int) -> None:
    chosen = diversified(relevances, lambda one, other: float(one % groups == other % groups), count)
    assert len(chosen) == min(count, len(relevances))
    assert len({place for place, _ in chosen}) == len(chosen)
    assert not relevances or chosen[0] == (0, 0.0)


def test_five_wordings_of_one_do_not_push_out_four_others() -> None:
    wordings = [0.0, -0.05, -0.1, -0.15, -0.2]
    others = [-0.3, -0.35, -0.4, -0.45, -3.0]
    chosen = diversified(wordings + others, lambda one, other: float(one < 5 and other < 5), 5)
    shown = [place for place, _ in chosen]
    assert shown == [0, 1, 5, 6, 7], "the second wording stands, the third pays"


def test_what_is_far_less_relevant_does_not_come_in_for_being_different() -> None:
    chosen = diversified([0.0, -0.01, -0.02, -9.0], lambda one, other: 0.9 if max(one, other) < 3 else 0.0, 3)
    assert [place for place, _ in chosen] == [0, 1, 2]


def test_no_more_are_looked_at_than_needed_and_ties_go_to_the_first() -> None:
    seen: set[int] = set()

    def alike(one: int, other: int) -> float:
        seen.update((one, other))
        return 0.0

    assert [place for place, _ in diversified([0.0] * 500, alike, 5)] == [0, 1, 2, 3, 4]
    assert max(seen) < LOOKED_AT
    assert diversified([], never, 5) == diversified([0.0], never, 0) == []


def test_only_nearly_equal_vectors_are_alike() -> None:
    def at(cosine: float) -> tuple[float, float]:
        return cosine, math.sqrt(1 - cosine * cosine)

    same = at(1.0)
    assert alike_by_vector(same, same) == pytest.approx(1)
    assert alike_by_vector(same, at(NEARLY_SAME)) == pytest.approx(0, abs=1e-9)
    assert alike_by_vector(same, at(0.9)) == pytest.approx(0.5)
    assert alike_by_vector(same, at(-1.0)) == 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_by_words_is_a_likeness(one: str, other: str) -> None:
    assert 0 <= alike_by_words(one, other) == alike_by_words(other, one) <= 1


def test_words_that_fill_make_nothing_alike() -> None:
    assert alike_by_words("", "") == 0
    assert alike_by_words("the port of the gateway", "the owner of the release") == 0
    assert alike_by_words("the gateway listens on 8080", "gateways listened at the 8080") == 1


def plainly(relevances: list[float], likeness: list[list[float]], count: int) -> list[tuple[int, float]]:
    """Ten at a time among twenty, each compared with all that were chosen before it."""
    chosen: list[tuple[int, float]] = []
    waiting = list(range(len(relevances)))
    while waiting and len(chosen) < count:
        among = waiting[:LOOKED_AT]
        before = [one for one, _ in chosen[-LOOKED_AT:]]
        low, spread = min(relevances[one] for one in among), max(relevances[one] for one in among)
        spread -= low
        for _ in range(min(AT_ONCE, count - len(chosen), len(among))):
            pays = {}
            for one in among:
                twice = sorted((0.0, 0.0, *(likeness[one][other] for other in before)))
                pays[one] = (1 - LAMBDA) * twice[-2]
            worth = {one: LAMBDA * ((relevances[one] - low) / spread if spread > 0 else 1.0) for one in among}
            best = max(among, key=lambda one: (worth[one] - pays[one], -one))
            chosen.append((best, pays[best]))
            before.append(best)
            among.remove(best)
            waiting.remove(best)
    return chosen


@given(RELEVANCES, st.integers(0, 40), st.integers(0, 2**32))
def test_to_compare_only_what_could_be_next_chooses_the_same(relevances: list[float], count: int, seed: int) -> None:
    chance = random.Random(seed)
    size = len(relevances)
    likeness = [[0.0] * size for _ in range(size)]
    for one in range(size):
        for other in range(one):
            likeness[one][other] = likeness[other][one] = chance.choice((0.0, 0.0, 0.5, 1.0, chance.random()))
    asked: set[int] = set()

    def alike(one: int, other: int) -> float:
        asked.update((one, other))
        return likeness[one][other]

    assert diversified(relevances, alike, count) == plainly(relevances, likeness, count)
    assert all(one < looked_at(count) for one in asked)
