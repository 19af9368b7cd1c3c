"""What the index must hold: every live memory and every live fact, as the SQL views say.

When a fact is valid, and who may read it, is decided at search time: it is held as long as it is neither superseded,
retired nor erased.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from typing import Any

from domain.access import repo_of
from projections import registry
from projections.record import Record
from projections.refs import FACT, MEMORY, fact_ref, id_of, kind_of, memory_ref
from projections.tables.facts import FACTS

_LIVE = "status = 'live'"


@dataclass(frozen=True, slots=True)
class Held:
    """A record of the index. `text` is what is embedded, `payload` what each of its points carries beside its chunk."""

    ref: str
    text: str
    payload: Mapping[str, Any]


def live(db: sqlite3.Connection) -> Iterator[Held]:
    """All that the index must hold: memories by number, then facts by position."""
    for record, content_hash, position in registry.live_records(db):
        yield _memory(record, content_hash, position)
    for row in db.execute(f"SELECT {_COLUMNS} FROM {FACTS} WHERE {_LIVE} ORDER BY position"):
        yield _fact(row)


def live_hashes(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Ref and content hash of all that the index must hold."""
    for memory_id, content_hash in registry.live_hashes(db):
        yield memory_ref(memory_id), content_hash
    for fact_id, content_hash in db.execute(f"SELECT id, content_hash FROM {FACTS} WHERE {_LIVE} ORDER BY position"):
        yield fact_ref(fact_id), content_hash


def find_live(db: sqlite3.Connection, ref: str) -> Held | None:
    """None for what is not live, or no record at all."""
    if kind_of(ref) == MEMORY:
        found = registry.live_record(db, id_of(ref))
        return _memory(*found) if found else None
    row = db.execute(f"SELECT {_COLUMNS} FROM {FACTS} WHERE id = ? AND {_LIVE}", (id_of(ref),)).fetchone()
    return _fact(row) if row else None


def changed_since(db: sqlite3.Connection, position: int) -> list[tuple[str, int]]:
    """Refs of what changed after a position, with the position of its last change, in that order."""
    memories = ((memory_ref(memory_id), changed) for memory_id, changed in registry.changed_since(db, position))
    rows = db.execute(
        f"SELECT id, changed_position FROM {FACTS} WHERE changed_position > ? ORDER BY changed_position, position",
        (position,),
    )
    facts = ((fact_ref(row[0]), int(row[1])) for row in rows)
    return list(merge(memories, facts, key=lambda one: one[1]))


def readable_texts(db: sqlite3.Connection) -> Iterator[str]:
    """What is or was embedded of every record that is not erased, live or not."""
    for entry in registry.list_entries(db)[0]:
        if entry.status != "erased":
            yield entry.record.index_text
    for row in db.execute(f"SELECT content FROM {FACTS} WHERE status <> 'erased' ORDER BY position"):
        yield row[0]


_COLUMNS = "id, domain, content, memory_type, content_hash, position"


def _memory(record: Record, content_hash: str, position: int) -> Held:
    ref = memory_ref(record.id)
    payload = {
        "ref": ref,
        "kind": MEMORY,
        "domain": "",
        "repo": "",
        "subject": record.subject,
        "detail": record.detail,
        "rationale": record.rationale,
        "tables": list(record.tables),
        "concepts": list(record.concepts),
        "content_hash": content_hash,
        "position": position,
    }
    return Held(ref, record.index_text, payload)


def _fact(row: sqlite3.Row) -> Held:
    ref = fact_ref(row["id"])
    payload = {
        "ref": ref,
        "kind": FACT,
        "domain": row["domain"],
        "repo": repo_of(row["domain"]),
        "memory_type": row["memory_type"],
        "content_hash": row["content_hash"],
        "position": row["position"],
    }
    return Held(ref, row["content"], payload)
