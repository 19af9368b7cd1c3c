"""Evidence: voices on one scale; what is added by time and links displaces nothing strong."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.errors import InvalidInput
from projections.recall.evidence import (
    LEAST_COSINE,
    STRONG,
    WORTH,
    Heard,
    lexical_evidence,
    relevance,
    standardised,
    vector_evidence,
    weigh,
)
from projections.recall.weights import BY_INTENT, Voices, parse_voices

SCORES = st.floats(0, 100, allow_nan=False)
COSINES = st.none() | st.floats(-1, 1, allow_nan=False)
PARTS = st.floats(0, 1)
FOUND = st.builds(
    Heard, words=SCORES, letters=SCORES, cosine=COSINES, time=PARTS, in_window=st.booleans(), link=PARTS
)  # fmt: skip
VOICES = st.sampled_from(list(BY_INTENT.values()))
COVERAGE = st.floats(0, 1)


def totals(heard: list[Heard], voices: Voices, coverage: float) -> list[float]:
    return [one.total for one in weigh(heard, voices, coverage)]


@given(st.lists(FOUND, max_size=12), VOICES, COVERAGE, st.randoms(use_true_random=False))
def test_the_order_of_nomination_does_not_count(
    heard: list[Heard], voices: Voices, coverage: float, chance: Random
) -> None:
    turned = list(range(len(heard)))
    chance.shuffle(turned)
    straight = totals(heard, voices, coverage)
    assert totals([heard[one] for one in turned], voices, coverage) == pytest.approx([straight[one] for one in turned])


@given(FOUND, st.integers(1, 6), VOICES, COVERAGE)
def test_equals_are_not_told_apart(one: Heard, count: int, voices: Voices, coverage: float) -> None:
    assert len(set(totals([replace(one) for _ in range(count)], voices, coverage))) == 1


def test_nothing_is_asked_of_nothing() -> None:
    assert weigh([], BY_INTENT["general"], 1.0) == []
    assert lexical_evidence([]) == vector_evidence([]) == standardised([]) == relevance([]) == []
    (alone,) = weigh([Heard()], BY_INTENT["general"], 1.0)
    assert alone.total == 0


@given(st.lists(FOUND, min_size=1, max_size=10), VOICES, COVERAGE, st.floats(0, 1))
def test_a_link_lifts_and_never_lowers(heard: list[Heard], voices: Voices, coverage: float, link: float) -> None:
    plain = [replace(one, link=0.0) for one in heard]
    linked = [replace(plain[0], link=link), *plain[1:]]
    before, after = totals(plain, voices, coverage), totals(linked, voices, coverage)
    assert after[0] >= before[0] - 1e-9
    assert after[1:] == before[1:]


@given(st.lists(FOUND, min_size=1, max_size=10), st.lists(FOUND, max_size=5), VOICES, COVERAGE)
def test_what_time_and_links_add_stays_below_the_strongest(
    told: list[Heard], added: list[Heard], voices: Voices, coverage: float
) -> None:
    """Whatever is added, no link lifts a record to within three deviations of the best that words or meaning found."""
    known = [replace(one, words=one.words + 1) for one in told]
    silent = [replace(one, words=0.0, letters=0.0, cosine=None, in_window=False) for one in added]
    found = weigh([*known, *silent], voices, coverage)
    own = [one.lexical + one.vector + one.temporal for one in found[: len(known)]]
    ceiling = max(own) - STRONG
    for one, plain in zip(found, own, strict=False):
        assert one.total == pytest.approx(max(plain, min(plain + one.graph, ceiling)))
    for one in found[len(known) :]:
        bare = one.lexical + one.vector
        assert one.total <= max(bare, ceiling) + 1e-9


def test_strong_hits_keep_their_order_whatever_links_say() -> None:
    heard = [Heard(words=10, cosine=0.8), Heard(words=9, cosine=0.75), Heard(words=1, cosine=0.1)]
    plain = totals(heard, BY_INTENT["entity"], 1.0)
    crowd = [Heard(link=1.0, time=1.0) for _ in range(10)]
    with_crowd = totals([*heard, *crowd], BY_INTENT["entity"], 1.0)
    assert with_crowd[0] > with_crowd[1] > max(with_crowd[2:])
    assert sorted(plain, reverse=True)[:2] == plain[:2]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=20), st.floats(0.5, 50))
def test_a_voice_counts_in_deviations_whatever_its_unit(scores: list[float], unit: float) -> None:
    assert standardised([unit * one for one in scores]) == pytest.approx(standardised(scores), abs=1e-6)
    assert math.fsum(standardised(scores)) == pytest.approx(0, abs=1e-6)


def test_scores_that_hardly_differ_are_not_torn_apart() -> None:
    assert max(standardised([10.0, 10.01])) < 0.01
    assert max(vector_evidence([Heard(cosine=0.5), Heard(cosine=0.501)])) < 0.5 * 0.001 / LEAST_COSINE + 1e-9
    assert vector_evidence([Heard(cosine=0.9), Heard(cosine=0.2), Heard()])[1:] == pytest.approx(
        [vector_evidence([Heard(cosine=0.9), Heard(cosine=0.2), Heard(cosine=0.2)])[1]] * 2
    ), "what the voice did not nominate stands with the least of what it did"


@given(st.lists(FOUND, min_size=1, max_size=10), VOICES)
def test_a_model_that_does_not_know_the_language_says_nothing(heard: list[Heard], voices: Voices) -> None:
    deaf = [replace(one, cosine=None if one.cosine is None else 0.0) for one in heard]
    assert totals(heard, voices, 0.0) == pytest.approx(totals(deaf, voices, 0.0))


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_relevance_is_1_for_the_best_and_keeps_the_order(found: list[float]) -> None:
    told = relevance(found)
    assert max(told) == 1
    for one, share in zip(found, told, strict=True):
        assert share == pytest.approx(math.exp(WORTH * (one - max(found))))


# -- weights -----------------------------------------------------------------------------------------------------------


def test_the_usual_voices_are_those_of_the_specification_and_a_temporal_question_raises_time() -> None:
    usual = BY_INTENT["general"]
    assert (usual.vector, usual.graph, usual.lexical, usual.temporal) == (0.35, 0.25, 0.25, 0.15)
    assert BY_INTENT["temporal"].temporal > 2 * max(one.temporal for name, one in BY_INTENT.items() if name not in
                                                    ("temporal", "preference"))  # fmt: skip
    assert {one.vector / one.lexical for one in BY_INTENT.values()} == {0.35 / 0.25}
    assert BY_INTENT["entity"].graph == max(one.graph for one in BY_INTENT.values())


@given(st.tuples(*[st.integers(0, 100)] * 4).filter(lambda parts: parts[0] + parts[2] > 0))
def test_weights_are_read_as_they_are_written(parts: tuple[int, int, int, int]) -> None:
    voices = Voices(*(part / 100 for part in parts))
    assert parse_voices(str(voices)) == voices


@pytest.mark.parametrize(
    "text", ["", "1", "1 1 1", "1 1 1 1 1", "a b c d", "-1 0 1 0", "2 0 1 0", "0 1 0 1", "nan 0 1 0"]
)
def test_weights_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="no weights") as refused:
        parse_voices(text)
    assert "four numbers from 0 to 1" in refused.value.hint
