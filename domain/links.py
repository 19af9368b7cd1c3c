"""Which facts a new one is linked with: those that share enough words or named things, and those that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from domain.language import fold, language_of, stem
from domain.lexicon import FILLERS
from domain.text import normal_form
from domain.topic_events import Link

LEAST = 0.35  # weight below which a link says nothing
MOST = 5  # links of one fact that are made by themselves
READ = 4_000  # characters of a text that are looked at

_WORD = re.compile(r"\w+")
_ID = re.compile(r"\b(?:(?:fact|policy|obs|item)-[a-z2-7]{12}|mem-\d{4,})\b")
_NAME = re.compile(r"(?<=[\w,;:)] )[^\W\d_a-zà-ÿα-ω]\w+|\b\w*_\w+\b|\b[A-Z]\w*\d\w*\b|\b[A-Z]{2,}\b")
_QUOTED = re.compile(r"[`\"«“]([^`\"»”]{1,200})[`\"»”]")


def related(content: str, others: Iterable[tuple[str, str]]) -> tuple[Link, ...]:
    """Links `related_to` from a text to the nearest of `others` (id, content): the five strongest, ties by id.

    Weight: the larger of token overlap and shared entities, both as Jaccard's coefficient, 0–1.
    """
    own = (_tokens(content), _entities(content))
    found = []
    for fact_id, text in others:
        weight = max(_jaccard(own[0], _tokens(text)), _jaccard(own[1], _entities(text)))
        if weight >= LEAST:
            found.append(Link(to=fact_id, kind="related_to", weight=round(weight, 3)))
    return tuple(sorted(found, key=lambda link: (-link.weight, link.to))[:MOST])


def references(content: str, own: str = "") -> tuple[Link, ...]:
    """A link to every record that the text names by its id, in the order of naming."""
    named = dict.fromkeys(one for one in _ID.findall(content) if one != own)
    return tuple(Link(to=one, kind="references") for one in named)


def telling_words(text: str) -> frozenset[str]:
    """The stems of a text without the words that fill, by which related texts can be found."""
    return _tokens(text)


@lru_cache(maxsize=8192)
def _tokens(text: str) -> frozenset[str]:
    folded = fold(text[:READ])
    language = language_of(folded)
    return frozenset(stem(word, language) for word in _WORD.findall(folded.replace("_", " ")) if word not in FILLERS)


@lru_cache(maxsize=8192)
def _entities(text: str) -> frozenset[str]:
    return frozenset(normal_form(name) for name in (*_NAME.findall(text[:READ]), *_QUOTED.findall(text[:READ])))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0
