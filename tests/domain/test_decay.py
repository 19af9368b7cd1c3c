"""How facts age and how sure they are (knowledge.md, "Facts"; S-41)."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain import decay
from domain.decay import CURVES, Curve, mentioned, recall_factor, survival
from domain.errors import InvalidInput

TYPES = st.sampled_from(decay.MEMORY_TYPES)
AGES = st.floats(0, 10**6)
UNIT = st.floats(0, 1)


@pytest.mark.parametrize(
    ("memory_type", "k", "eta"),
    [
        ("fact", 0.8, 720), ("profile", 0.3, 8760), ("preference", 0.4, 4380), ("decision", 1.0, 336),
        ("commitment", 1.0, 240), ("goal", 0.9, 720), ("event", 1.2, 168), ("instruction", 0.35, 8760),
        ("relationship", 0.35, 8760), ("context", 0.85, 360), ("learning", 0.7, 1440), ("observation", 0.9, 480),
        ("error", 1.1, 336), ("artifact", 0.75, 2160), ("request", 1.5, 72), ("unknown", 1.0, 168),
    ],
)  # fmt: skip
def test_the_table_is_the_page(memory_type: str, k: float, eta: float) -> None:
    assert CURVES[memory_type] == Curve(k, eta)
    assert survival(memory_type, eta) == pytest.approx(1 / math.e)  # whatever k is
    assert len(CURVES) == 16


def test_survival_is_the_formula() -> None:
    assert survival("decision", 24) == pytest.approx(math.exp(-24 / 336))
    assert survival("request", 144) == pytest.approx(math.exp(-(2**1.5)))
    assert survival("fact", 0) == 1


@given(TYPES, AGES, AGES)
def test_what_is_older_is_never_surer(memory_type: str, one: float, other: float) -> None:
    young, old = sorted((one, other))
    assert 0 <= survival(memory_type, old) <= survival(memory_type, young) <= 1


@given(TYPES, AGES)
def test_nothing_old_vanishes(memory_type: str, age: float) -> None:
    factor = recall_factor(memory_type, age)
    assert 0.02 <= factor <= 1
    assert factor == pytest.approx(0.02 + 0.98 * survival(memory_type, age))


def test_what_lies_in_the_future_has_not_aged() -> None:
    assert survival("event", -5) == 1
    assert recall_factor("event", 0) == 1


@given(TYPES, st.floats(0.01, 0.99))
def test_the_age_at_a_survival_is_the_inverse(memory_type: str, left: float) -> None:
    curve = CURVES[memory_type]
    assert curve.survival(curve.age_at(left)) == pytest.approx(left)


def test_hours_between_two_times() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    assert decay.hours_between(noon, noon + timedelta(days=1, minutes=30)) == 24.5


def test_the_curves_are_configuration() -> None:
    assert survival("fact", 10, {"fact": Curve(1, 10)}) == pytest.approx(1 / math.e)


@pytest.mark.parametrize("bad", ["", "Fact", "rumour"])
def test_an_unknown_type_is_refused_with_the_known_ones(bad: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        survival(bad, 1)
    assert "preference" in caught.value.hint


@pytest.mark.parametrize(
    ("veracity", "weight"), [("stated", 1.0), ("inferred", 0.7), ("imported", 0.6), ("tool", 0.5), ("unknown", 0.8)]
)
def test_without_a_confidence_the_way_it_is_known_sets_it(veracity: str, weight: float) -> None:
    assert decay.starting_confidence(veracity) == weight
    assert decay.starting_confidence(veracity, 0.0) == 0.0
    assert decay.standing(0.5, veracity) == 0.5 * weight


def test_unknown_is_for_old_data_only() -> None:
    assert "unknown" not in decay.GIVEN_VERACITIES
    with pytest.raises(InvalidInput, match="'guessed' is no veracity"):
        decay.veracity_weight("guessed")


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None])
def test_what_is_no_confidence(bad: object) -> None:
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        decay.accept_confidence(bad)  # type: ignore[arg-type]  # as JSON may say


def test_a_mention_closes_a_part_of_the_distance() -> None:
    assert mentioned(0.5, 1.0) == pytest.approx(0.65)
    assert mentioned(0.7, 0.5) == pytest.approx(0.745)
    assert mentioned(1.0, 1.0) == 1.0


@given(UNIT, UNIT)
def test_a_mention_never_lowers_and_never_passes_certainty(confidence: float, weight: float) -> None:
    assert confidence <= mentioned(confidence, weight) <= 1


@given(st.floats(0, 0.9), st.integers(1, 250))
def test_mentions_approach_certainty_and_do_not_reach_it_at_once(confidence: float, times: int) -> None:
    moved = confidence
    for _ in range(times):
        moved = mentioned(moved, 0.5)
    assert moved == pytest.approx(1 - (1 - confidence) * 0.85**times)
