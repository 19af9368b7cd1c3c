"""Search for memories: vectors nominate, the registry decides what is live, the limit is filled after all filters."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from projections import registry
from projections.index.port import MEMORY, VectorIndex, Within
from projections.index.records import memory_ref
from projections.record import Record


@dataclass(frozen=True, slots=True)
class Hit:
    """A live memory. `score` is the cosine similarity for the vector voice; BM25 mapped to 0…1 for the lexical one."""

    record: Record
    score: float
    voice: str
    flag: str = ""  # that a source of it no longer holds

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.record.id,
            "subject": self.record.subject,
            "detail": self.record.detail,
            "rationale": self.record.rationale,
            "score": round(self.score, 6),
            "session_id": self.record.session_id,
            "decision_seq": self.record.decision_seq,
            "voice": self.voice,
            "flag": self.flag,
        }


def by_vector(
    db: sqlite3.Connection, index: VectorIndex, vector: Sequence[float], *, limit: int, without: Collection[str]
) -> list[Hit]:
    """The live memories most similar to a question's vector, ties by id; `without` are memory ids not wanted."""
    if limit <= 0:
        return []
    within = Within((MEMORY,), without=tuple(memory_ref(memory_id) for memory_id in sorted(without)))
    wanted = max(4 * limit, 20)
    while True:
        found = index.search(vector, within, limit=wanted)
        best: dict[str, float] = {}
        for one in found:
            best[one.ref] = max(one.score, best.get(one.ref, -1.0))
        hits = list(_live(db, best, without, "vector"))
        if len(hits) >= limit or len(found) < wanted:
            return hits[:limit]
        wanted *= 4


def by_words(db: sqlite3.Connection, question: str, *, limit: int, without: Collection[str]) -> list[Hit]:
    """The live memories that share words with the question, by BM25, ties by id. Any text is a literal query."""
    found = registry.sharing_words(db, question, limit + len(without))
    best = {memory_ref(memory_id): score / (1 + score) for memory_id, score in found}
    return list(_live(db, best, without, "lexical"))[:limit]


def flagged(db: sqlite3.Connection, hits: Sequence[Hit]) -> list[Hit]:
    """The hits with what a person who chooses among them has to know about their sources."""
    entries = {hit.record.id: registry.find_entry(db, hit.record.id) for hit in hits}
    return [replace(hit, flag=entry.flag) if (entry := entries[hit.record.id]) else hit for hit in hits]


def _live(db: sqlite3.Connection, scores: dict[str, float], without: Collection[str], voice: str) -> Iterator[Hit]:
    for ref, score in sorted(scores.items(), key=lambda item: (-round(item[1], 6), item[0])):
        memory_id = ref.removeprefix("memory:")
        found = registry.live_record(db, memory_id)
        if found is not None and memory_id not in without:
            yield Hit(found[0], score, voice)
