"""The vector voice of one search: by the index, or by a scan over cached vectors where the index cannot answer."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from adapters import exact
from adapters.indexing import Asked
from adapters.vector_cache import CachedEmbedder
from projections.index.port import Found, Vector, Within
from projections.recall.engine import BY_MEANING
from projections.recall.question import Question
from projections.recall.records import sources, texts

CHUNKS = 4  # of one record that may be among the nearest


def within(asked: Question) -> Within:
    """What the index knows of who may answer; the rest is asked of the views."""
    return Within(
        asked.kinds,
        asked.wanted.domain,
        asked.wanted.repo,
        asked.scope.closed,
        asked.scope.opened,
        tuple(sorted(asked.without)),
    )


@dataclass(frozen=True, slots=True)
class IndexMeaning:
    """Nominations by the vector index, and vectors of those whose likeness has to be told.

    `first`: the nearest `BY_MEANING`, where they were asked for already.
    """

    asked: Asked
    within: Within
    first: Future[list[Found]] | None = None

    @classmethod
    @contextmanager
    def begun(cls, asked: Asked, within: Within) -> Iterator[IndexMeaning]:
        """The index looks for the nearest in a thread of its own while words are looked up here, and is asked nothing
        else before that is done: engine and SQLite both work outside Python's lock."""
        with ThreadPoolExecutor(1, "vector voice") as voice:
            yield cls(asked, within, voice.submit(asked.index.search, asked.vector, within, limit=BY_MEANING))

    def nearest(self, count: int) -> Sequence[Found]:
        if self.first is not None and count == BY_MEANING:
            return self.first.result()
        return self.asked.index.search(self.asked.vector, self.within, limit=count)

    def of(self, refs: Sequence[str]) -> Sequence[Found]:
        only = replace(self.within, only=tuple(refs))
        return self.asked.index.search(self.asked.vector, only, limit=CHUNKS * len(refs))

    def vectors(self, found: Sequence[Found]) -> Mapping[str, Vector]:
        return self.asked.index.vectors(found)


@dataclass
class ScanMeaning:
    """Nominations among all that may answer, by their cached vectors; what has none is left to the other voices.

    `unknown`: how many records had no cached vector, `known` how many had, once it has nominated.
    """

    embedder: CachedEmbedder
    vector: Vector
    db: sqlite3.Connection
    question: Question
    unknown: int = 0
    known: int = 0

    def nearest(self, count: int) -> Sequence[Found]:
        looked_at = 0

        def pairs() -> Iterator[tuple[str, str]]:  # one by one: memory stays bounded however many there are
            nonlocal looked_at
            for pair in texts(self.db, sources(self.question), self.question):
                looked_at += 1
                yield pair

        found, self.unknown = exact.nearest(self.embedder, self.vector, pairs(), limit=count)
        self.known = looked_at - self.unknown
        return found

    def of(self, refs: Sequence[str]) -> Sequence[Found]:
        wanted = frozenset(refs)
        pairs = ((ref, text) for ref, text in texts(self.db, sources(self.question), self.question) if ref in wanted)
        return exact.nearest(self.embedder, self.vector, pairs, limit=len(wanted))[0]

    def vectors(self, found: Sequence[Found]) -> Mapping[str, Vector]:
        """None: words tell what is alike."""
        return {}
