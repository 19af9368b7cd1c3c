"""View `registry`: every memory with its sources and status; the record that `registry.jsonl` holds."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import ClassVar

from domain.erasure import TextErased
from domain.event import ERASED, Envelope, Event, iso_utc
from domain.memory import (
    MemoryMerged,
    MemoryRecorded,
    MemoryRestored,
    MemoryRetired,
    MemorySuperseded,
    Source,
    SourceAdded,
    SourceWithdrawn,
)
from domain.session_events import REUSABLE_TYPES
from domain.text import digest, memory_number
from projections.lexical import Lexical, lexical, lexical_terms, query_of
from projections.record import Entry, Record, SourceRow
from projections.tables.decisions import DECISIONS
from projections.tables.registry import MEMORIES, SOURCES, TEXT, RegistryTables
from projections.view import View

TEXTS = ("subject", "detail", "rationale", "question_context")  # columns whose words it holds

REUSABLE = f"type IN ({', '.join(repr(one) for one in sorted(REUSABLE_TYPES))})"
LIVE = f"status = 'live' AND {REUSABLE}"
# At a time, which is asked for twice: what was recorded by then, and was not yet replaced. What was retired was wrong.
HELD = f"{REUSABLE} AND timestamp <= ? AND (status = 'live' OR (status IN ('superseded', 'merged') AND ended_at > ?))"


class RegistryView(RegistryTables, View):
    concerned: ClassVar[tuple[type[Event], ...]] = (
        MemoryRecorded,
        SourceAdded,
        SourceWithdrawn,
        MemoryMerged,
        MemorySuperseded,
        MemoryRetired,
        MemoryRestored,
        TextErased,
    )

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        match envelope.event:
            case MemoryRecorded() as event:
                _record(db, event, envelope)
            case SourceAdded() as event:
                _add_sources(db, event.memory_id, event.sources, envelope, event.merged_from or "")
                _touch(db, event.memory_id, envelope)
            case SourceWithdrawn() as event:
                for source in event.sources:
                    db.execute(
                        f"UPDATE {SOURCES} SET withdrawn = 1 WHERE memory_id = ? AND session_id = ? AND seq = ?",
                        (event.memory_id, source.session_id, source.seq),
                    )
                _touch(db, event.memory_id, envelope)
            case MemoryMerged(memory_id=memory_id, into=into):
                _become(db, memory_id, "merged", into, envelope)
            case MemorySuperseded(memory_id=memory_id, by=by):
                _become(db, memory_id, "superseded", by, envelope)
            case MemoryRetired(memory_id=memory_id):
                _become(db, memory_id, "retired", None, envelope)
            case MemoryRestored(memory_id=memory_id):
                _become(db, memory_id, "live", None, envelope)
            case TextErased(memory_id=memory_id) if memory_id:
                _erase(db, memory_id)
                _become(db, memory_id, "erased", None, envelope)
            case _:
                return

    def broken_invariants(self, db: sqlite3.Connection) -> list[str]:
        unsourced = db.execute(
            f"SELECT id FROM {MEMORIES} m WHERE status = 'live' AND NOT EXISTS"
            f" (SELECT 1 FROM {SOURCES} s WHERE s.memory_id = m.id AND NOT s.withdrawn) ORDER BY number"
        ).fetchall()
        return [f"{row[0]} is live without a source" for row in unsourced]


def _record(db: sqlite3.Connection, event: MemoryRecorded, envelope: Envelope) -> None:
    number = memory_number(event.memory_id)
    first = event.sources[0]
    record = Record(
        id=event.memory_id,
        timestamp=iso_utc(event.occurred_at or envelope.at),
        session_id=first.session_id,
        decision_seq=first.seq,
        type=event.type,
        subject=event.subject,
        detail=event.detail,
        rationale=event.rationale,
        question_context=event.question_context,
        tables=event.tables,
        concepts=event.concepts,
    )
    found = lexical(" ".join(getattr(event, column) for column in TEXTS))
    db.execute(
        f"INSERT INTO {MEMORIES} VALUES ({', '.join('?' * 25)})",
        (
            number,
            record.id,
            envelope.stream,
            record.type,
            record.subject,
            record.detail,
            record.rationale,
            record.question_context,
            found.words,
            found.stems,
            json.dumps(record.tables, ensure_ascii=False),
            json.dumps(record.concepts, ensure_ascii=False),
            record.session_id,
            record.decision_seq,
            record.timestamp,
            envelope.actor,
            int(event.self_reviewed),
            "live",
            None,
            "",
            "",
            "",
            digest(record.index_text),
            envelope.position,
            envelope.position,
        ),
    )
    _look_up(db, number, found)
    _add_sources(db, event.memory_id, event.sources, envelope, "")


def _add_sources(
    db: sqlite3.Connection, memory_id: str, sources: Iterable[Source], envelope: Envelope, merged_from: str
) -> None:
    for source in sources:
        db.execute(
            f"INSERT OR REPLACE INTO {SOURCES} VALUES (?, ?, ?, ?, 0, ?, ?)",
            (memory_id, source.session_id, source.seq, envelope.actor, merged_from, envelope.position),
        )


def _become(db: sqlite3.Connection, memory_id: str, status: str, successor: str | None, envelope: Envelope) -> None:
    ended_at = "" if status == "live" else iso_utc(envelope.at)
    db.execute(
        f"UPDATE {MEMORIES} SET status = ?, successor = ?, status_by = ?, status_reason = ?, ended_at = ? WHERE id = ?",
        (status, successor, envelope.actor, envelope.reason, ended_at, memory_id),
    )
    _touch(db, memory_id, envelope)


def _erase(db: sqlite3.Connection, memory_id: str) -> None:
    """The rows that a replay gives, which does not get to see the text; the words leave the full-text table too."""
    row = db.execute(f"SELECT * FROM {MEMORIES} WHERE id = ?", (memory_id,)).fetchone()
    if row is None:
        return
    before = (row["number"], row["words"], row["stems"])
    db.execute(f"INSERT INTO {TEXT} ({TEXT}, rowid, words, stems) VALUES ('delete', ?, ?, ?)", before)
    gone = lexical(" ".join([ERASED] * len(TEXTS)))
    _look_up(db, row["number"], gone)
    bare = replace(
        record_of(row), subject=ERASED, detail=ERASED, rationale=ERASED, question_context=ERASED, concepts=()
    )
    db.execute(
        f"UPDATE {MEMORIES} SET {' = ?, '.join(TEXTS)} = ?, words = ?, stems = ?, concepts = '[]', content_hash = ?"
        " WHERE id = ?",
        (*[ERASED] * len(TEXTS), gone.words, gone.stems, digest(bare.index_text), memory_id),
    )


def _look_up(db: sqlite3.Connection, number: int | None, found: Lexical) -> None:
    db.execute(f"INSERT INTO {TEXT} (rowid, words, stems) VALUES (?, ?, ?)", (number, found.words, found.stems))


def _touch(db: sqlite3.Connection, memory_id: str, envelope: Envelope) -> None:
    db.execute(f"UPDATE {MEMORIES} SET changed_position = ? WHERE id = ?", (envelope.position, memory_id))


# -- queries -----------------------------------------------------------------------------------------------------------


def find_entry(db: sqlite3.Connection, memory_id: str) -> Entry | None:
    row = db.execute(f"SELECT * FROM {MEMORIES} WHERE id = ?", (memory_id,)).fetchone()
    return _entry(db, row) if row else None


def entry_of_stream(db: sqlite3.Connection, stream: str) -> Entry | None:
    row = db.execute(f"SELECT * FROM {MEMORIES} WHERE stream = ?", (stream,)).fetchone()
    return _entry(db, row) if row else None


def list_entries(
    db: sqlite3.Connection, *, status: str = "", limit: int = -1, offset: int = 0
) -> tuple[list[Entry], int]:
    """Memories by number, and how many in all. `status`: live, merged, superseded, retired, erased, history or ''."""
    where, values = _status_filter(status)
    total: int = db.execute(f"SELECT count(*) FROM {MEMORIES} {where}", values).fetchone()[0]
    rows = db.execute(f"SELECT * FROM {MEMORIES} {where} ORDER BY number LIMIT ? OFFSET ?", (*values, limit, offset))
    return [_entry(db, row) for row in rows.fetchall()], total


def _status_filter(status: str) -> tuple[str, tuple[str, ...]]:
    if not status:
        return "", ()
    if status == "history":
        return f"WHERE NOT {REUSABLE}", ()
    return f"WHERE status = ? AND {REUSABLE}", (status,)


def live_records(db: sqlite3.Connection) -> Iterator[tuple[Record, str, int]]:
    """Record, content hash and position of every live memory, by number: what the index must hold."""
    for row in db.execute(f"SELECT * FROM {MEMORIES} WHERE {LIVE} ORDER BY number"):
        yield record_of(row), row["content_hash"], row["position"]


def live_hashes(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Id and content hash of every live memory, by number."""
    yield from db.execute(f"SELECT id, content_hash FROM {MEMORIES} WHERE {LIVE} ORDER BY number")


def live_record(db: sqlite3.Connection, memory_id: str) -> tuple[Record, str, int] | None:
    row = db.execute(f"SELECT * FROM {MEMORIES} WHERE id = ? AND {LIVE}", (memory_id,)).fetchone()
    return (record_of(row), row["content_hash"], row["position"]) if row else None


def sharing_words(db: sqlite3.Connection, text: str, limit: int) -> list[tuple[str, float]]:
    """Live memories by BM25 (higher is better) over the rarest words and stems of a text; ids and scores, ties by
    number.

    The text table is ranked alone and what is not live is passed over after that: joining first would rank slower.
    """
    query = query_of(db, TEXT, lexical_terms(text))
    if not query.text or limit < 1:
        return []
    wanted = 2 * limit
    while True:
        ranked = db.execute(
            f"SELECT rowid, -rank FROM {TEXT} WHERE {TEXT} MATCH ? ORDER BY rank, rowid LIMIT ?", (query.text, wanted)
        ).fetchall()
        live = [
            (str(row[0]), float(score))
            for number, score in ranked
            if (row := db.execute(f"SELECT id FROM {MEMORIES} WHERE number = ? AND {LIVE}", (number,)).fetchone())
        ]
        if len(live) >= limit or len(ranked) < wanted:
            return live[:limit]
        wanted *= 4


def changed_since(db: sqlite3.Connection, position: int) -> list[tuple[str, int]]:
    """Memories changed after a position, with the position of their last change, in that order."""
    rows = db.execute(
        f"SELECT id, changed_position FROM {MEMORIES} WHERE changed_position > ? ORDER BY changed_position, number",
        (position,),
    )
    return [(str(row[0]), int(row[1])) for row in rows]


def record_of(row: sqlite3.Row) -> Record:
    """The record in a row of the registry's table."""
    return Record(
        id=row["id"],
        timestamp=row["timestamp"],
        session_id=row["session_id"],
        decision_seq=row["decision_seq"],
        type=row["type"],
        subject=row["subject"],
        detail=row["detail"],
        rationale=row["rationale"],
        question_context=row["question_context"],
        tables=_list(row["tables"]),
        concepts=_list(row["concepts"]),
    )


def _list(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


def _entry(db: sqlite3.Connection, row: sqlite3.Row) -> Entry:
    sources = db.execute(
        f"""SELECT s.session_id, s.seq, s.by, s.withdrawn, s.merged_from, s.position, d.standing
            FROM {SOURCES} s LEFT JOIN {DECISIONS} d ON d.session_id = s.session_id AND d.seq = s.seq
            WHERE s.memory_id = ? ORDER BY s.position, s.session_id, s.seq""",
        (row["id"],),
    )
    return Entry(
        record=record_of(row),
        stream=row["stream"],
        status=row["status"],
        successor=row["successor"],
        status_by=row["status_by"],
        status_reason=row["status_reason"],
        reviewer=row["reviewer"],
        self_reviewed=bool(row["self_reviewed"]),
        content_hash=row["content_hash"],
        position=row["position"],
        changed_position=row["changed_position"],
        sources=tuple(
            SourceRow(
                one["session_id"],
                one["seq"],
                one["by"],
                bool(one["withdrawn"]),
                one["merged_from"],
                one["position"],
                None if one["standing"] is None else one["standing"] == "effective",
            )
            for one in sources
        ),
    )
