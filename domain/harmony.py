"""How facts of different authors stand to each other: which agree, which contradict, found without comparing all.

Two sets of words that share half of what they have share one of their rarest (the prefix filter of set-similarity
joins: Chaudhuri, Ganti and Kaushik, ICDE 2006), so only facts that share one of those are compared.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from domain.conflict import UNRELATED, Relation, relation
from domain.equivalents import Known, may_share_a_subject
from domain.lexicon import HEDGES
from domain.links import telling_words
from domain.statement import statements

CLOSE_WORDS = 0.5  # token overlap from which two facts are compared
CLOSE_MEANING = 0.7  # the same for the cosine of their vectors
BLOCK = 40  # facts that share a word and are all compared with each other
FEW = 4  # of the words that a fact shares with others, those by which one is found that is close in meaning
WINDOW = 6  # in a larger block, the neighbours that each is compared with

Words = Mapping[str, frozenset[str]]  # by fact id: the stems that tell something
Cosine = Callable[[str, str], float | None]  # of two facts by id; None when one has no vector


@dataclass(frozen=True, slots=True)
class Dispute:
    """A contradiction between authors: the older and the newer fact, and the rule that found it."""

    older: Known
    newer: Known
    rule: str


@dataclass(frozen=True, slots=True)
class Harmony:
    """`clusters`: facts that say one thing, oldest first, each cluster of two or more authors."""

    clusters: tuple[tuple[Known, ...], ...]
    disputes: tuple[Dispute, ...]


def no_vectors(one: str, other: str) -> float | None:
    return None


def harmonised(facts: Sequence[Known], cosine: Cosine = no_vectors) -> Harmony:
    """Clusters and disputes among the facts of each domain. Linear in the number of facts; the same for the same."""
    words = {fact.fact_id: telling_words(fact.content) for fact in facts}
    agreed: list[tuple[Known, Known]] = []
    disputes: list[Dispute] = []
    for one, other in candidates(facts, words, by_meaning=cosine is not no_vectors):
        if not _close(one, other, words, cosine):
            continue
        older, newer = sorted((one, other), key=lambda fact: (fact.place, fact.fact_id))
        how = standing(older, newer, by_meaning=cosine(one.fact_id, other.fact_id) is not None)
        if how == "agree":
            agreed.append((older, newer))
        elif isinstance(how, Relation) and set(older.authors).isdisjoint(newer.authors):
            disputes.append(Dispute(older, newer, how.reason))
    clusters = _clusters(facts, agreed, {(one.older.fact_id, one.newer.fact_id) for one in disputes})
    return Harmony(tuple(clusters), tuple(sorted(disputes, key=lambda one: (one.older.place, one.newer.place))))


def _close(one: Known, other: Known, words: Words, cosine: Cosine) -> bool:
    """By their vectors where both have one, else by their words."""
    near = cosine(one.fact_id, other.fact_id)
    if near is not None:
        return near >= CLOSE_MEANING
    left, right = words[one.fact_id], words[other.fact_id]
    return len(left & right) >= CLOSE_WORDS * len(left | right) > 0


def standing(older: Known, newer: Known, *, by_meaning: bool = False) -> Literal["agree", ""] | Relation:
    """`agree`, the relation where they contradict each other, or nothing, for two that are close (`by_meaning`: as a
    model says). Both are taken to hold at one time."""
    if not may_share_a_subject(older, newer):
        return ""
    how = relation(older.content, newer.content)
    if how.outcome == "contradicts":
        return how
    agree = how.outcome in ("same", "refines") or _close_without_difference(older, newer, how, by_meaning)
    return "agree" if agree else ""


def _close_without_difference(older: Known, newer: Known, how: Relation, by_meaning: bool) -> bool:
    """No rule knows how the rest stands, and nothing tells them apart: the same values, denials and periods, nothing
    that restricts; and no word exchanged for another, unless a model finds them close that share few words."""
    one, other = statements(older.content, newer.content)
    if one.question or other.question or one.denials != other.denials or one.periods != other.periods:
        return False
    if sorted(one.values) != sorted(other.values):
        return False
    if how == UNRELATED:
        return by_meaning
    left, right = ([token.stem for token in side.matter] for side in (one, other))
    hedged = any(token.key in HEDGES for side in (one, other) for token in side.tokens)
    return how.outcome == "unsure" and not hedged and (_within(left, right) or _within(right, left))


def _within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Whether all words of one are words of the other, in the same order."""
    rest = iter(many)
    return all(word in rest for word in few)


# -- candidates --------------------------------------------------------------------------------------------------------


def candidates(facts: Iterable[Known], words: Words, *, by_meaning: bool = False) -> Iterator[tuple[Known, Known]]:
    """Pairs that may be close, each once: facts of one domain that share one of their rarest words. What is close in
    meaning is found by fewer words than half, as far as it shares one of the rarest that others have too."""
    domains: dict[str, list[Known]] = defaultdict(list)
    for fact in facts:
        domains[fact.domain].append(fact)
    for name in sorted(domains):
        yield from _candidates(domains[name], words, FEW if by_meaning else 0)


def _candidates(facts: Sequence[Known], words: Words, more: int) -> Iterator[tuple[Known, Known]]:
    count = Counter(word for fact in facts for word in words[fact.fact_id])
    order = {fact.fact_id: (sorted(words[fact.fact_id]), fact.place) for fact in facts}
    blocks: dict[str, list[Known]] = defaultdict(list)
    for fact in facts:
        for word in _rarest(words[fact.fact_id], count, more):
            blocks[word].append(fact)
    seen: set[tuple[str, str]] = set()
    for _, block in sorted(blocks.items()):
        for one, other in _pairs(block, order):
            pair = (one.fact_id, other.fact_id) if one.fact_id < other.fact_id else (other.fact_id, one.fact_id)
            if pair not in seen:
                seen.add(pair)
                yield one, other


def _rarest(words: frozenset[str], count: Mapping[str, int], more: int) -> list[str]:
    """As many of the rarest words as two sets with an overlap of a half must have one of in common; `more`: at least
    so many of those that other facts have too."""
    needed = len(words) - math.ceil(CLOSE_WORDS * len(words)) + 1
    ordered = sorted(words, key=lambda word: (count[word], word))
    own = sum(count[word] == 1 for word in ordered)
    return ordered[own : max(needed, own + more)]


def _pairs(block: list[Known], order: Mapping[str, tuple[list[str], int]]) -> Iterator[tuple[Known, Known]]:
    """All pairs of a small block; of a large one those that stand beside each other when sorted by their words."""
    reach = len(block)
    if reach > BLOCK:
        reach, block = WINDOW, sorted(block, key=lambda fact: order[fact.fact_id])
    for at, one in enumerate(block):
        for other in block[at + 1 : at + 1 + reach]:
            yield one, other


# -- clusters ----------------------------------------------------------------------------------------------------------


def _clusters(
    facts: Sequence[Known], agreed: Sequence[tuple[Known, Known]], apart: set[tuple[str, str]]
) -> Iterator[tuple[Known, ...]]:
    """What agrees, directly or by others; without facts that contradict one of their own cluster."""
    root = {fact.fact_id: fact.fact_id for fact in facts}

    def top(fact_id: str) -> str:
        while root[fact_id] != fact_id:
            root[fact_id] = root[root[fact_id]]
            fact_id = root[fact_id]
        return fact_id

    for one, other in agreed:
        root[top(other.fact_id)] = top(one.fact_id)
    disputed = {side for pair in apart if top(pair[0]) == top(pair[1]) for side in pair}
    groups: dict[str, list[Known]] = defaultdict(list)
    for fact in facts:
        if fact.fact_id not in disputed:
            groups[top(fact.fact_id)].append(fact)
    for group in groups.values():
        if len({author for fact in group for author in fact.authors}) > 1:
            yield tuple(sorted(group, key=lambda fact: (fact.place, fact.fact_id)))
