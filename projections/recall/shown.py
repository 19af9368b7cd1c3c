"""Hits as they are shown: each with its whole record, so that nothing is cut and nobody has to ask again."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from projections import registry
from projections.fact_queries import FactRow, as_seen, facts_of
from projections.recall.engine import Hit
from projections.record import Record
from projections.scope import Scope


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit with its record and its rank, from 1. `flag`: that a source of a memory no longer holds."""

    hit: Hit
    rank: int
    record: FactRow | Record
    flag: str = ""

    @property
    def id(self) -> str:
        return self.hit.candidate.id

    @property
    def ref(self) -> str:
        return self.hit.candidate.ref

    @property
    def score(self) -> float:
        return self.hit.score

    def as_json(self, *, explain: bool = False) -> dict[str, Any]:
        """`content` is the whole text, of a memory its detail; `why` only with `explain`."""
        own = self.record.as_json()
        if isinstance(self.record, Record):
            own |= {"content": self.record.detail, "confidence": 1.0, "flag": self.flag}
        told = {"id": self.id, "kind": self.hit.candidate.kind, "rank": self.rank, "score": round(self.score, 6)} | own
        return told | ({"why": self.hit.why.as_json()} if explain else {})


def with_records(db: sqlite3.Connection, hits: Sequence[Hit], scope: Scope, first_rank: int = 1) -> list[Shown]:
    """Each hit with its record, as the reader may see it, in their order."""
    found = facts_of(db, [hit.candidate.id for hit in hits if hit.candidate.kind == "fact"])
    facts = {one.id: one for one in as_seen(db, list(found.values()), scope)}
    shown = []
    for rank, hit in enumerate(hits, first_rank):
        if hit.candidate.kind == "fact":
            shown.append(Shown(hit, rank, facts[hit.candidate.id]))
        elif entry := registry.find_entry(db, hit.candidate.id):
            shown.append(Shown(hit, rank, entry.record, entry.flag))
    return shown
