"""View `timeline`: one row an event, for the audit's questions by actor, kind, time, session and memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from domain.erasure import TextErased
from domain.event import ERASED, Envelope, Event, iso_utc
from domain.session_events import Decided
from projections.view import View

EVENTS = "timeline_v2_events"


class TimelineView(View):
    name = "timeline"
    version = 2
    tables = (EVENTS,)
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {EVENTS} (
            position INTEGER PRIMARY KEY,
            at TEXT NOT NULL,
            actor TEXT NOT NULL,
            role TEXT NOT NULL,
            reason TEXT NOT NULL,
            correlation_id TEXT NOT NULL,
            stream TEXT NOT NULL,
            version INTEGER NOT NULL,
            kind TEXT NOT NULL,
            session_id TEXT NOT NULL,
            seq INTEGER,
            memory_id TEXT NOT NULL,
            what TEXT NOT NULL,
            record TEXT NOT NULL
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_session ON {EVENTS} (session_id, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_memory ON {EVENTS} (memory_id, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_actor ON {EVENTS} (actor, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_at ON {EVENTS} (at, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_record ON {EVENTS} (record) WHERE record <> ''",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_together ON {EVENTS} (correlation_id)",
    )

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, TextErased):
            where = "record = ? AND stream = ?"
            db.execute(f"UPDATE {EVENTS} SET what = ? WHERE {where}", (ERASED, event.record, envelope.stream))
        session_id = envelope.stream.removeprefix("session/") if envelope.stream.startswith("session/") else ""
        db.execute(
            f"INSERT INTO {EVENTS} VALUES ({', '.join('?' * 14)})",
            (
                envelope.position,
                iso_utc(envelope.at),
                envelope.actor,
                envelope.role,
                envelope.reason or getattr(event, "reason", ""),
                envelope.correlation_id,
                envelope.stream,
                envelope.version,
                event.kind,
                session_id,
                getattr(event, "seq", None),
                getattr(event, "memory_id", ""),
                ERASED if envelope.erased else describe(event),
                event.record_in(envelope.stream) or str(getattr(event, "record", "")),
            ),
        )


def describe(event: Event) -> str:
    """The event's own fields in one short line, long texts left out: they are read from their stream."""
    if isinstance(event, Decided):
        return event.subject
    fields = {name: getattr(event, name) for name in type(event).model_fields if name in _SHOWN}
    return ", ".join(f"{name} {_short(value)}" for name, value in fields.items() if value)


_SHOWN = (
    "domain",
    "topic",
    "role",
    "permission",
    "was",
    "what",
    "cause",
    "facts",
    "found",
    "state",
    "winner",
    "kept",
    "question",
    "phase",
    "into",
    "by",
    "covers",
    "self_reviewed",
    "number",
    "subject",
    "sources",
    "merged_from",
    "refs",
    "record",
    "about",
)


def _short(value: object) -> str:
    text = " ".join(str(one) for one in value[:20]) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 200 else text[:199] + "…"


@dataclass(frozen=True, slots=True)
class Line:
    """One event in the audit. `at` is ISO 8601 in UTC."""

    position: int
    at: str
    actor: str
    role: str
    reason: str
    correlation_id: str
    stream: str
    version: int
    kind: str
    session_id: str
    seq: int | None
    memory_id: str
    what: str


_LINE = ", ".join(Line.__slots__)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted; an empty field takes all. Times are ISO 8601 in UTC, `since` inclusive, `until` too."""

    actor: str = ""
    kind: str = ""
    session_id: str = ""
    memory_id: str = ""
    since: str = ""
    until: str = ""
    max_position: int | None = None
    record: str = ""


def lines(db: sqlite3.Connection, wanted: Filter, *, limit: int = -1, offset: int = 0) -> tuple[list[Line], int]:
    """The lines in order of position, and how many there are in all."""
    where, values = _conditions(wanted)
    total: int = db.execute(f"SELECT count(*) FROM {EVENTS} {where}", values).fetchone()[0]
    rows = db.execute(
        f"SELECT {_LINE} FROM {EVENTS} {where} ORDER BY position LIMIT ? OFFSET ?", (*values, limit, offset)
    )
    return [Line(**dict(row)) for row in rows], total


def _conditions(wanted: Filter) -> tuple[str, list[object]]:
    conditions: list[tuple[str, object]] = [
        ("actor = ?", wanted.actor),
        ("kind = ?", wanted.kind),
        ("session_id = ?", wanted.session_id),
        ("memory_id = ?", wanted.memory_id),
        ("at >= ?", wanted.since),
        ("at <= ?", wanted.until),
        ("position <= ?", wanted.max_position),
        ("record = ?", wanted.record),
    ]
    used = [(text, value) for text, value in conditions if value not in ("", None)]
    where = f"WHERE {' AND '.join(text for text, _ in used)}" if used else ""
    return where, [value for _, value in used]


def count_by_kind(db: sqlite3.Connection, wanted: Filter) -> dict[str, int]:
    """How many of the lines there are of each kind, most first."""
    where, values = _conditions(wanted)
    rows = db.execute(f"SELECT kind, count(*) FROM {EVENTS} {where} GROUP BY kind ORDER BY count(*) DESC, kind", values)
    return {str(row[0]): int(row[1]) for row in rows}


def together_with(db: sqlite3.Connection, correlation_ids: Iterable[str]) -> list[Line]:
    """Every event of the same commands, in order of position."""
    found: list[Line] = []
    for correlation_id in dict.fromkeys(correlation_ids):
        rows = db.execute(f"SELECT {_LINE} FROM {EVENTS} WHERE correlation_id = ? ORDER BY position", (correlation_id,))
        found.extend(Line(**dict(row)) for row in rows)
    return sorted(found, key=lambda line: line.position)


def position_at(db: sqlite3.Connection, at: str) -> int:
    """The last position before the first event that is later than a time (ISO 8601, UTC, microseconds); 0: none.

    Where the clock went back, nothing of what was recorded later than the time shows through.
    """
    later = db.execute(f"SELECT min(position) FROM {EVENTS} WHERE at > ?", (at,)).fetchone()[0]
    last = db.execute(f"SELECT max(position) FROM {EVENTS}").fetchone()[0]
    return int(later) - 1 if later is not None else int(last or 0)
