"""Diversity: maximal marginal relevance (Carbonell and Goldstein, 1998), so that restatements do not fill the answer.

A second wording of what is there already may stand beside it; a third one pays. Only what is nearly the same counts as
alike: neighbours in meaning are what was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import mul

from domain.links import telling_words

LAMBDA = 0.7  # the part of relevance
LOOKED_AT = 20  # candidates among which is chosen, at least
NEARLY_SAME = 0.8  # cosine from which two vectors count as alike

Vector = Sequence[float]


def diversified(relevances: Sequence[float], alike: Callable[[int, int], float], count: int) -> list[tuple[int, float]]:
    """Which candidates to show, best first, and what each paid for likeness: at most `count`.

    `relevances`: logarithms, best first; they are min–max normalised over the candidates looked at, as otherwise the
    diversity term outweighs them. `alike(a, b)`: 0 to 1. Ties go to the one that stands first.
    """
    looked_at = list(range(min(len(relevances), max(LOOKED_AT, 2 * count))))
    if not looked_at:
        return []
    low, high = min(relevances[one] for one in looked_at), max(relevances[one] for one in looked_at)
    spread = high - low
    normal = [(relevances[one] - low) / spread if spread > 0 else 1.0 for one in looked_at]
    nearest = [(0.0, 0.0)] * len(looked_at)  # the two likest that are chosen
    chosen: list[tuple[int, float]] = []
    while looked_at and len(chosen) < count:
        best = max(looked_at, key=lambda one: (LAMBDA * normal[one] - (1 - LAMBDA) * nearest[one][1], -one))
        looked_at.remove(best)
        chosen.append((best, (1 - LAMBDA) * nearest[best][1]))
        for one in looked_at:
            first, second = nearest[one]
            now = alike(best, one)
            nearest[one] = (max(first, now), max(second, min(first, now)))
    return chosen


def alike_by_vector(one: Vector, other: Vector) -> float:
    """0 up to a cosine of 0.8, 1 for equal vectors; both of length 1."""
    return min(1.0, max(0.0, (math.fsum(map(mul, one, other)) - NEARLY_SAME) / (1 - NEARLY_SAME)))


def alike_by_words(one: str, other: str) -> float:
    """The part of their telling words, stemmed, that two texts share, as Jaccard's coefficient."""
    own, theirs = telling_words(one), telling_words(other)
    return len(own & theirs) / len(own | theirs) if own or theirs else 0.0
