"""What rests on a memory: the decisions that reused it, what was promoted from those, and so on."""

from __future__ import annotations

import sqlite3
from collections import deque
from dataclasses import dataclass
from typing import Any

from projections.tables.decisions import DECISIONS
from projections.tables.registry import MEMORIES, SOURCES


@dataclass(frozen=True, slots=True)
class Reuse:
    """A decision that rests on `memory_id`, `depth` memories away from where the search began (1: directly).

    `became` is the memory promoted from it; `edits` the seq that it is an edit of, when it rests on the memory only so.
    """

    memory_id: str
    depth: int
    session_id: str
    seq: int
    subject: str
    by: str
    position: int
    changed: bool
    edits: int | None
    standing: str
    became: str | None

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Lineage:
    """Everything that rests on a memory. `memories` are those that came from it, nearest first, itself left out."""

    reuses: tuple[Reuse, ...]
    memories: tuple[str, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(reuse.session_id for reuse in self.reuses))


def what_rests_on(db: sqlite3.Connection, memory_id: str) -> Lineage:
    """Breadth first, each memory once, so that circles end."""
    waiting, reached = deque([(memory_id, 1)]), {memory_id: None}
    reuses: dict[tuple[str, int], Reuse] = {}
    while waiting:
        memory, depth = waiting.popleft()
        for reuse in _reuses(db, memory, depth):
            reuses.setdefault((reuse.session_id, reuse.seq), reuse)
        grown = [reuse.became for reuse in reuses.values() if reuse.became and reuse.memory_id == memory]
        for other in (*grown, *_absorbers(db, memory)):
            if other not in reached:
                reached[other] = None
                waiting.append((other, depth + 1))
    return Lineage(tuple(reuses.values()), tuple(one for one in reached if one != memory_id))


def _reuses(db: sqlite3.Connection, memory_id: str, depth: int) -> list[Reuse]:
    """The clarifications that name the memory, then the edits of those, each in order of recording."""
    rows = db.execute(
        f"""WITH RECURSIVE resting (session_id, seq, edits) AS (
                SELECT session_id, seq, NULL FROM {DECISIONS} WHERE source_memory = ?
                UNION
                SELECT d.session_id, d.seq, d.supersedes FROM {DECISIONS} d
                    JOIN resting r ON d.session_id = r.session_id AND d.supersedes = r.seq
            )
            SELECT d.*, CASE WHEN count(r.edits) = count(*) THEN min(r.edits) END AS edits FROM resting r
                JOIN {DECISIONS} d ON d.session_id = r.session_id AND d.seq = r.seq
                GROUP BY d.session_id, d.seq ORDER BY d.position""",
        (memory_id,),
    ).fetchall()
    return [
        Reuse(
            memory_id=memory_id,
            depth=depth,
            session_id=row["session_id"],
            seq=row["seq"],
            subject=row["subject"],
            by=row["author"],
            position=row["position"],
            changed=bool(row["source_changed"]) or row["edits"] is not None,
            edits=row["edits"],
            standing=row["standing"],
            became=row["memory_id"] or None,
        )
        for row in rows
    ]


def _absorbers(db: sqlite3.Connection, memory_id: str) -> list[str]:
    """Memories that took over its sources when it was merged into them."""
    rows = db.execute(
        f"""SELECT DISTINCT s.memory_id FROM {SOURCES} s JOIN {MEMORIES} m ON m.id = s.memory_id
            WHERE s.merged_from = ? AND NOT s.withdrawn ORDER BY m.number""",
        (memory_id,),
    )
    return [str(row[0]) for row in rows]
