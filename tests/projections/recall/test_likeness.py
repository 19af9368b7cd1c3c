"""Letters: how much of a question's letters stand in a text, compared among the candidates alone."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from projections.recall.likeness import READ, likeness

TEXTS = st.lists(st.text(alphabet="abcdeξπω ", max_size=40), max_size=8)


@given(st.text(alphabet="abcdeξπω ", max_size=40), TEXTS, st.randoms(use_true_random=False))
def test_scores_are_of_the_texts_not_of_their_order(question: str, texts: list[str], chance: Random) -> None:
    scores = likeness(question, texts)
    assert len(scores) == len(texts)
    assert all(score >= 0 for score in scores)
    turned = list(range(len(texts)))
    chance.shuffle(turned)
    assert likeness(question, [texts[one] for one in turned]) == pytest.approx([scores[one] for one in turned])


def test_equal_texts_score_equally_and_nothing_is_like_nothing() -> None:
    one, other, none = likeness("gateway", ["the gateway", "the gateway", "rota"])
    assert one == other > none == 0
    assert likeness("", []) == []
    assert likeness("gateway", []) == []
    assert likeness("", ["gateway"]) == [0.0]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("gatewey restarts", "the gateways restart at night"),  # a misspelling, another ending
        ("donaudampfschiff", "die dampfschifffahrt auf der donau"),
        ("codpaz", "il codice codpaziente"),
        ("ασθενεισ", "ασθενειεσ και ασθενων"),
    ],
)
def test_what_neither_words_nor_stems_find(question: str, text: str) -> None:
    scores = likeness(question, ["rota of the ward", text, "un altro testo"])
    assert max(range(3), key=lambda place: scores[place]) == 1


def test_a_rare_run_of_letters_counts_for_more() -> None:
    texts = [f"common words here {n}" for n in range(9)] + ["the zygote"]
    scores = likeness("common zygote", texts)
    assert scores[9] > max(scores[:9])


def test_no_more_of_a_text_is_read_than_said() -> None:
    assert likeness("gateway", ["x" * READ + " gateway"]) == [0.0]
