"""Facts that differ only in form, in one domain: found by a key, confirmed by the conflict rules, merged into one.

A topic is part of what a fact says (`port 8080` of billing and of search are two facts), so facts of two topics are
one only where their topics may name one subject. What is left over is for a person: `tht doctor` names it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from domain.conflict import relation
from domain.language import fold, language_of, stem
from domain.links import telling_words
from domain.statement import statement

KEPT_APART = 8  # facts with one key that others with it are compared with, so that no group costs its square

Key = tuple[object, ...]

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Known:
    """A live fact as upkeep looks at it. `place` orders by age; `holds`: from and until when, as given; `authors`:
    who said so of their own, each once, folded."""

    fact_id: str
    domain: str
    topic: str
    content: str
    standing: float
    confidence: float
    place: int
    holds: tuple[str, str]
    about: str
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Merge:
    loser: str
    keeper: str


def canonical_key(text: str) -> Key:
    """One key for all texts that the conflict rules call the same: its words in any order, denials and periods.

    Texts with one key need not be the same.
    """
    read = statement(text)
    words = read.signature
    periods = tuple(sorted(str(one) for one in read.periods))
    return (tuple(sorted(words)), periods, read.denials, read.question) if words else (read.folded,)


@lru_cache(maxsize=8192)
def label_words(topic: str, language: str) -> frozenset[str]:
    """The stems of all words of a label, read in the language of the texts under it: in `study A` even an article
    tells."""
    return frozenset(stem(word, language) for word in _WORD.findall(fold(topic).replace("_", " ")))


def may_share_a_subject(one: Known, other: Known) -> bool:
    """Whether their topics may be two labels of one subject: not so where each has a word of its own that neither the
    other label nor the texts have (`billing` / `search`, `ward 3` / `ward 4`)."""
    if one.topic == other.topic:
        return True
    language = language_of(fold(f"{one.content} {other.content}"))
    left, right = label_words(one.topic, language), label_words(other.topic, language)
    said = telling_words(one.content) | telling_words(other.content)
    return left <= right | said or right <= left | said


def merges(facts: Iterable[Known]) -> Iterator[Merge]:
    """Which facts give way to which, in the order of the facts. The keeper stands highest, then is oldest, then by id.

    Linear in the number of facts.
    """
    groups: dict[Key, list[Known]] = defaultdict(list)
    for fact in facts:
        groups[fact.domain, fact.about, fact.holds, canonical_key(fact.content)].append(fact)
    for group in groups.values():
        if len(group) > 1:
            yield from _within(group)


def restatements(facts: Iterable[Known]) -> Iterator[tuple[Known, Known]]:
    """Facts with the same words under topics of two subjects, which are not merged: of each group the first two."""
    groups: dict[Key, list[Known]] = defaultdict(list)
    for fact in facts:
        groups[fact.domain, canonical_key(fact.content)].append(fact)
    for group in groups.values():
        subjects = _by_subject(group)
        if not _one_subject(subjects):
            one, other = sorted((facts[0] for facts in subjects.values()), key=lambda fact: fact.place)[:2]
            yield one, other


def _within(group: list[Known]) -> Iterator[Merge]:
    """Where the topics are of several subjects, only facts of one and the same are merged: a general label (`port`)
    beside two special ones may mean either."""
    subjects = _by_subject(group)
    for together in [group] if _one_subject(subjects) else list(subjects.values()):
        yield from _of_one_subject(together)


def _of_one_subject(facts: list[Known]) -> Iterator[Merge]:
    keepers: list[Known] = []
    for fact in sorted(facts, key=lambda one: (-one.standing, one.place, one.fact_id)):
        keeper = next((one for one in keepers if relation(one.content, fact.content).outcome == "same"), None)
        if keeper is not None:
            yield Merge(fact.fact_id, keeper.fact_id)
        elif len(keepers) < KEPT_APART:
            keepers.append(fact)


def _by_subject(group: list[Known]) -> dict[frozenset[str], list[Known]]:
    """Facts with the same words by what their topics say beyond these words."""
    said = frozenset().union(*(telling_words(fact.content) for fact in group))
    language = language_of(fold(group[0].content))
    subjects: dict[frozenset[str], list[Known]] = defaultdict(list)
    for fact in group:
        subjects[label_words(fact.topic, language) - said].append(fact)
    return subjects


def _one_subject(words: Iterable[frozenset[str]]) -> bool:
    """Whether each label is part of the next longer one."""
    ordered = sorted(words, key=len)
    return all(short <= long for short, long in pairwise(ordered))
