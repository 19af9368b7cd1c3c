"""View `notes`: each agent's notes with their earlier versions, its observations, and what it keeps in mind.

Private: every question names the agent whose notes are wanted, and no other view or query reads these tables. The one
exception is upkeep, which expires and raises items of everybody and shows them to nobody.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from domain.erasure import TextErased
from domain.event import ERASED, Envelope, iso_utc
from domain.hot import ItemExpired, ItemRaised, ItemRemembered, ItemReturned
from domain.notes import PREFIX, NotesUpdated, ObservationRecorded, notes_record
from domain.text import actor_key
from projections.tables.notes import ITEMS, OBSERVATIONS, TEXTS, NoteTables
from projections.view import View


class NotesView(NoteTables, View):
    concerned = (
        NotesUpdated,
        ObservationRecorded,
        ItemRemembered,
        ItemExpired,
        ItemRaised,
        ItemReturned,
        TextErased,
    )

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        at = iso_utc(envelope.at)
        match envelope.event:
            case NotesUpdated(text=text):
                row = (envelope.position, _owner(envelope), text, int(envelope.erased))
                db.execute(
                    f"INSERT INTO {TEXTS} VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, envelope.actor, at, envelope.reason)
                )
            case ObservationRecorded(observation_id=observation_id, text=text):
                seen = (envelope.position, observation_id, _owner(envelope), text, int(envelope.erased))
                db.execute(f"INSERT INTO {OBSERVATIONS} VALUES (?, ?, ?, ?, ?, ?, ?)", (*seen, at, envelope.reason))
            case ItemRemembered() as event:
                _remember(db, event, envelope)
            case ItemExpired(item_id=item_id):
                _become(db, item_id, "expired", "", envelope)
            case ItemRaised(item_id=item_id, fact_id=fact_id):
                _become(db, item_id, "raised", fact_id, envelope)
            case ItemReturned(item_id=item_id):
                _become(db, item_id, "held", "", envelope)
            case TextErased(record=record):
                _erase(db, record, envelope)
            case _:
                return


def _owner(envelope: Envelope) -> str:
    return envelope.stream.partition("/")[2]


def _remember(db: sqlite3.Connection, event: ItemRemembered, envelope: Envelope) -> None:
    at = iso_utc(envelope.at)
    row = (
        envelope.position,
        event.item_id,
        _owner(envelope),
        event.agent,
        event.session_id,
        event.content,
        event.memory_type,
        event.importance,
        at,
        None if event.expires_at is None else iso_utc(event.expires_at),
        "held",
        "",
        envelope.actor,
        at,
        envelope.reason,
    )
    db.execute(f"INSERT INTO {ITEMS} VALUES ({', '.join('?' * len(row))})", row)


def _become(db: sqlite3.Connection, item_id: str, state: str, fact_id: str, envelope: Envelope) -> None:
    done = db.execute(
        f"UPDATE {ITEMS} SET state = ?, fact_id = ?, changed_by = ?, changed_at = ?, changed_reason = ? WHERE id = ?",
        (state, fact_id, envelope.actor, iso_utc(envelope.at), envelope.reason, item_id),
    )
    if not done.rowcount:
        raise ValueError(f"{item_id} is no item, and something happens to it")


def _erase(db: sqlite3.Connection, record: str, envelope: Envelope) -> None:
    """The rows that a replay gives, which does not get to see the text."""
    if envelope.stream.startswith(PREFIX):
        if record == notes_record(_owner(envelope)):
            db.execute(f"UPDATE {TEXTS} SET text = ?, erased = 1 WHERE agent = ?", (ERASED, _owner(envelope)))
        db.execute(f"UPDATE {OBSERVATIONS} SET text = ?, erased = 1 WHERE id = ?", (ERASED, record))
    elif envelope.stream.startswith("hot/"):
        db.execute(f"UPDATE {ITEMS} SET content = ? WHERE id = ?", (ERASED, record))
        _become(db, record, "erased", "", envelope)


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Version:
    """The notes as they were written once. Times are ISO 8601 in UTC."""

    position: int
    text: str
    erased: bool
    by: str
    at: str
    reason: str

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Observation:
    id: str
    text: str
    erased: bool
    at: str
    reason: str
    position: int

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class ItemRow:
    """`agent`: who keeps it in mind, as they were named then. `expires_at` None: until upkeep raises it."""

    position: int
    id: str
    agent: str
    session_id: str
    content: str
    memory_type: str
    importance: float
    at: str
    expires_at: str | None
    state: str
    fact_id: str

    def as_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {"session_id": self.session_id or None, "fact_id": self.fact_id or None}


def versions(db: sqlite3.Connection, agent: str) -> list[Version]:
    """Every version of an agent's notes, the newest first."""
    rows = db.execute(
        f"SELECT position, text, erased, by, at, reason FROM {TEXTS} WHERE agent = ? ORDER BY position DESC",
        (actor_key(agent),),
    )
    return [_version(row) for row in rows]


def current(db: sqlite3.Connection, agent: str) -> Version | None:
    """An agent's notes as they stand; None when it never wrote any."""
    row = db.execute(
        f"SELECT position, text, erased, by, at, reason FROM {TEXTS} WHERE agent = ? ORDER BY position DESC LIMIT 1",
        (actor_key(agent),),
    ).fetchone()
    return _version(row) if row else None


def _version(row: sqlite3.Row) -> Version:
    return Version(row["position"], row["text"], bool(row["erased"]), row["by"], row["at"], row["reason"])


def observations(
    db: sqlite3.Connection, agent: str, *, limit: int = -1, offset: int = 0
) -> tuple[list[Observation], int]:
    """An agent's observations, the newest first, and how many in all."""
    owner = actor_key(agent)
    total: int = db.execute(f"SELECT count(*) FROM {OBSERVATIONS} WHERE agent = ?", (owner,)).fetchone()[0]
    rows = db.execute(
        f"SELECT * FROM {OBSERVATIONS} WHERE agent = ? ORDER BY position DESC LIMIT ? OFFSET ?", (owner, limit, offset)
    )
    return [
        Observation(row["id"], row["text"], bool(row["erased"]), row["at"], row["reason"], row["position"])
        for row in rows
    ], total


_ITEM = (
    "SELECT position, id, by AS agent, session_id, content, memory_type, importance, at, expires_at, state, fact_id"
    f" FROM {ITEMS}"
)


def items_in_mind(db: sqlite3.Connection, agent: str, at: str, session_id: str = "") -> list[ItemRow]:
    """What an agent keeps in mind at a time (ISO 8601, UTC): most important first, then the newest."""
    rows = db.execute(
        f"{_ITEM} WHERE agent = ? AND state = 'held' AND (expires_at IS NULL OR expires_at > ?)"
        " AND ? IN ('', session_id) ORDER BY importance DESC, position DESC",
        (actor_key(agent), at, session_id),
    )
    return [ItemRow(**dict(row)) for row in rows]


def held_items(db: sqlite3.Connection) -> list[ItemRow]:
    """Every item of everybody that neither expired nor was raised, oldest first: for upkeep, and shown to nobody."""
    return [ItemRow(**dict(row)) for row in db.execute(f"{_ITEM} WHERE state = 'held' ORDER BY position")]


def is_recorded(db: sqlite3.Connection, record: str) -> bool:
    """Whether there is an observation or item of this id, whoever it belongs to: that much its citing tells."""
    found = db.execute(
        f"SELECT 1 FROM {OBSERVATIONS} WHERE id = ? UNION ALL SELECT 1 FROM {ITEMS} WHERE id = ?", (record, record)
    )
    return found.fetchone() is not None
