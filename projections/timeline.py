"""View `timeline`: one row an event, for the audit's questions by actor, kind, time, session and memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from domain.access import GrantChanged
from domain.erasure import TextErased
from domain.event import ERASED, Envelope, Event, iso_utc
from domain.session_events import PREFIX, ConceptClarified, Decided, decision_record
from domain.upkeep import COUNTED, UpkeepRun
from projections.tables.timeline import EVENTS, NAMED, TimelineTables
from projections.view import View


class TimelineView(TimelineTables, View):
    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        event = envelope.event
        if isinstance(event, TextErased):
            where = "record = ? AND stream = ?"
            db.execute(f"UPDATE {EVENTS} SET what = ? WHERE {where}", (ERASED, event.record, envelope.stream))
        record = event.record_in(envelope.stream) or str(_of(event, "record"))
        session_id = envelope.stream.removeprefix("session/") if envelope.stream.startswith("session/") else ""
        db.execute(
            f"INSERT INTO {EVENTS} VALUES ({', '.join('?' * 14)})",
            (
                envelope.position,
                iso_utc(envelope.at),
                envelope.actor,
                envelope.role,
                envelope.reason or _of(event, "reason"),
                envelope.correlation_id,
                envelope.stream,
                envelope.version,
                event.kind,
                session_id,
                _of(event, "seq", None),
                _of(event, "memory_id"),
                ERASED if envelope.erased else describe(event),
                record,
            ),
        )
        named = sorted(set(_named(event, envelope.stream)) - {record})
        db.executemany(f"INSERT INTO {NAMED} VALUES (?, ?)", ((record, envelope.position) for record in named))


_NAMING = (
    "by",
    "conflict_id",
    "corrects",
    "derived_from",
    "fact_id",
    "facts",
    "kept",
    "left",
    "links",
    "source_observation_ids",
    "supersedes",
    "to",
    "winner",
    *COUNTED,
)


def _named(event: Event, stream: str) -> Iterator[str]:
    """The ids of the records that an event names, whatever record it is about itself."""
    if stream.startswith(PREFIX):  # a session's events name its decisions by their seq
        yield from (decision_record(stream.removeprefix(PREFIX), seq) for seq in _seqs(event))
        return
    for source in _of(event, "sources", ()):
        yield decision_record(source.session_id, source.seq)
    for name in _fields(type(event), _NAMING):
        value = getattr(event, name)
        for one in value if isinstance(value, tuple) else (value,):
            parts = one if isinstance(one, tuple) else (getattr(one, "to", one),)
            yield from (str(part) for part in parts if part)


def _seqs(event: Event) -> tuple[int, ...]:
    """The other decisions of its session that an event is about: what it retracts, answers, or is an edit of."""
    if isinstance(event, Decided):
        edited = event.supersedes if isinstance(event, ConceptClarified) else None
        return () if edited is None else (edited,)
    seq = _of(event, "seq", None)
    return () if seq is None else (seq, *_of(event, "covers", ()))


@cache
def _fields(kind: type[Event], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of some fields that events of a class have."""
    return tuple(name for name in names if name in kind.model_fields)


def _of(event: Event, name: str, otherwise: Any = "") -> Any:
    return getattr(event, name) if _has(type(event), name) else otherwise


@cache
def _has(kind: type[Event], name: str) -> bool:
    """Asking a single event for what it has not is slow, and most events lack most of what is asked of all."""
    return name in kind.model_fields or hasattr(kind, name)


def describe(event: Event) -> str:
    """The event's own fields in one short line, sealed and long texts left out: they are read from their stream."""
    if isinstance(event, Decided):
        return event.subject
    fields = {name: getattr(event, name) for name in _shown(type(event))}
    own = _of(event, "record") if "record" not in fields else ""
    told = [f"{name} {_short(value)}" for name, value in fields.items() if value and value != own]
    if isinstance(event, GrantChanged) and event.permission is None:
        told.append("permission default")
    if isinstance(event, UpkeepRun):
        told += [f"{name} {len(getattr(event, name)):,}" for name in COUNTED if getattr(event, name)]
    return ", ".join(told)


@cache
def _shown(kind: type[Event]) -> tuple[str, ...]:
    return tuple(name for name in kind.model_fields if name in _SHOWN)


_SHOWN = (
    "run_id",
    "conflict_id",
    "domain",
    "repo_name",
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
    "author",
    "authors",
    "confidence",
    "corrects",
    "derived_from",
    "echoed",
    "fact_id",
    "held",
    "left",
    "links",
    "required_role",
    "supersedes",
    "to",
    "veracity",
    "writers",
)


def _short(value: object) -> str:
    text = " ".join(str(getattr(one, "to", one)) for one in value[:20]) if isinstance(value, tuple) else str(value)
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
    record: str
    what: str


_LINE = ", ".join(Line.__slots__)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which lines are wanted; an empty field takes all. Times are ISO 8601 in UTC, `since` inclusive, `until` too.

    `record`: the events about this record, and those of others that name it.
    """

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
        (f"(record = ? OR position IN (SELECT position FROM {NAMED} WHERE record = ?))", wanted.record),
    ]
    used = [(text, value) for text, value in conditions if value not in ("", None)]
    where = f"WHERE {' AND '.join(text for text, _ in used)}" if used else ""
    return where, [value for text, value in used for _ in range(text.count("?"))]


def count_by_kind(db: sqlite3.Connection, wanted: Filter) -> dict[str, int]:
    """How many of the lines there are of each kind, most first."""
    where, values = _conditions(wanted)
    rows = db.execute(f"SELECT kind, count(*) FROM {EVENTS} {where} GROUP BY kind ORDER BY count(*) DESC, kind", values)
    return {str(row[0]): int(row[1]) for row in rows}


def count_by_day(db: sqlite3.Connection, since: str) -> dict[str, int]:
    """How many events there were on each day (ISO date, UTC) since a time; days without any are left out."""
    rows = db.execute(
        f"SELECT substr(at, 1, 10), count(*) FROM {EVENTS} WHERE at >= ? GROUP BY substr(at, 1, 10) ORDER BY 1",
        (since,),
    )
    return {str(row[0]): int(row[1]) for row in rows}


def together_with(db: sqlite3.Connection, correlation_ids: Iterable[str]) -> list[Line]:
    """Every event of the same commands, in order of position."""
    found: list[Line] = []
    for correlation_id in dict.fromkeys(correlation_ids):
        rows = db.execute(f"SELECT {_LINE} FROM {EVENTS} WHERE correlation_id = ? ORDER BY position", (correlation_id,))
        found.extend(Line(**dict(row)) for row in rows)
    return sorted(found, key=lambda line: line.position)


def acting_roles(db: sqlite3.Connection) -> set[str]:
    """The roles in which anybody has acted, as they were given."""
    return {str(row[0]) for row in db.execute(f"SELECT DISTINCT role FROM {EVENTS} WHERE role <> ''")}


def position_at(db: sqlite3.Connection, at: str) -> int:
    """The last position before the first event that is later than a time (ISO 8601, UTC, microseconds); 0: none.

    Where the clock went back, nothing of what was recorded later than the time shows through.
    """
    later = first_after(db, at)
    last = db.execute(f"SELECT max(position) FROM {EVENTS}").fetchone()[0]
    return later[0] - 1 if later else int(last or 0)


def first_after(db: sqlite3.Connection, at: str) -> tuple[int, str] | None:
    """Position and time of the first event that is later than a time (ISO 8601, UTC, microseconds)."""
    row = db.execute(f"SELECT position, at FROM {EVENTS} WHERE at > ? ORDER BY position LIMIT 1", (at,)).fetchone()
    return (int(row[0]), str(row[1])) if row else None
