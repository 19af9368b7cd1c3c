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
LOOKED_AT = 20  # candidates among which is chosen
AT_ONCE = 10  # how many are chosen before the next candidates are looked at
NEARLY_SAME = 0.8  # cosine from which two vectors count as alike

Vector = Sequence[float]


def looked_at(count: int) -> int:
    """How many of the first candidates are compared at most where `count` are shown."""
    return LOOKED_AT + max(0, count - 1) // AT_ONCE * AT_ONCE


def diversified(relevances: Sequence[float], alike: Callable[[int, int], float], count: int) -> list[tuple[int, float]]:
    """Which candidates to show, best first, and what each paid for likeness: at most `count`.

    `relevances`: logarithms, best first; they are min–max normalised over the candidates looked at, as otherwise the
    diversity term outweighs them. `alike(a, b)`: 0 to 1. Ties go to the one that stands first. Who asks for fewer gets
    the first of what others get.
    """
    waiting = list(range(len(relevances)))
    chosen: list[tuple[int, float]] = []
    while waiting and len(chosen) < count:
        before = [one for one, _ in chosen[-LOOKED_AT:]]
        found = _chosen(waiting[:LOOKED_AT], relevances, alike, min(AT_ONCE, count - len(chosen)), before)
        chosen += found
        taken = {place for place, _ in found}
        waiting = [one for one in waiting if one not in taken]
    return chosen


def _chosen(
    candidates: list[int],
    relevances: Sequence[float],
    alike: Callable[[int, int], float],
    count: int,
    before: Sequence[int],
) -> list[tuple[int, float]]:
    """The best `count` of some candidates, after those that were chosen just before.

    What a candidate pays only grows with what is chosen. So one is compared with that only when it would be the next.
    """
    low, high = min(relevances[one] for one in candidates), max(relevances[one] for one in candidates)
    spread = high - low
    normal = {one: (relevances[one] - low) / spread if spread > 0 else 1.0 for one in candidates}
    nearest = dict.fromkeys(candidates, (0.0, 0.0))  # the two likest of those that are chosen
    met = dict.fromkeys(candidates, 0)  # with how many of those it was compared
    chosen, found = list(before), list[tuple[int, float]]()
    while nearest and len(found) < count:
        best = max(nearest, key=lambda one: (LAMBDA * normal[one] - (1 - LAMBDA) * nearest[one][1], -one))
        if met[best] == len(chosen):
            found.append((best, (1 - LAMBDA) * nearest.pop(best)[1]))
            chosen.append(best)
            continue
        first, second = nearest[best]
        for other in chosen[met[best] :]:
            now = alike(other, best)
            first, second = max(first, now), max(second, min(first, now))
        nearest[best], met[best] = (first, second), len(chosen)
    return found


def alike_by_vector(one: Vector, other: Vector) -> float:
    """0 up to a cosine of 0.8, 1 for equal vectors; both of length 1."""
    return min(1.0, max(0.0, (math.fsum(map(mul, one, other)) - NEARLY_SAME) / (1 - NEARLY_SAME)))


def alike_by_words(one: str, other: str) -> float:
    """The part of their telling words, stemmed, that two texts share, as Jaccard's coefficient."""
    own, theirs = telling_words(one), telling_words(other)
    return len(own & theirs) / len(own | theirs) if own or theirs else 0.0
