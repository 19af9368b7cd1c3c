"""View `counters`: how often each fact was shown, and to whom last: what recall uses and what an echo is told by."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from domain.event import Envelope, iso_utc
from domain.recall import FactsShown
from domain.text import actor_key
from projections.tables.counters import RECALLS, SHOWN, CounterTables
from projections.view import View


class CountersView(CounterTables, View):
    concerned = (FactsShown,)

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        if not isinstance(envelope.event, FactsShown):
            return
        at = iso_utc(envelope.at)
        for fact_id in envelope.event.refs:
            db.execute(
                f"INSERT INTO {RECALLS} VALUES (?, 1, ?)"
                " ON CONFLICT (fact_id) DO UPDATE SET count = count + 1, last_at = excluded.last_at",
                (fact_id, at),
            )
            db.execute(
                f"INSERT INTO {SHOWN} VALUES (?, ?, ?, ?) ON CONFLICT (actor, fact_id) DO UPDATE SET at = excluded.at",
                (actor_key(envelope.actor), fact_id, at, at),
            )


def recall_count(db: sqlite3.Connection, fact_id: str) -> int:
    row = db.execute(f"SELECT count FROM {RECALLS} WHERE fact_id = ?", (fact_id,)).fetchone()
    return int(row[0]) if row else 0


@dataclass(frozen=True, slots=True)
class ShownLately:
    """The facts that an actor was shown since a time (ISO 8601, UTC), asked for one by one."""

    db: sqlite3.Connection
    actor: str
    since: str

    def __contains__(self, fact_id: object) -> bool:
        found = self.db.execute(
            f"SELECT 1 FROM {SHOWN} WHERE actor = ? AND fact_id = ? AND at >= ?",
            (actor_key(self.actor), fact_id, self.since),
        )
        return found.fetchone() is not None


def first_shown(db: sqlite3.Connection, actor: str, fact_id: str) -> str:
    """When an actor was first shown a fact, ISO 8601 in UTC; empty when never."""
    row = db.execute(
        f"SELECT first_at FROM {SHOWN} WHERE actor = ? AND fact_id = ?", (actor_key(actor), fact_id)
    ).fetchone()
    return str(row[0]) if row else ""


@dataclass(frozen=True, slots=True)
class Showing:
    """That an actor was shown a fact: first and last, ISO 8601 in UTC."""

    actor: str
    first_at: str
    last_at: str

    def as_json(self) -> dict[str, str]:
        return {"actor": self.actor, "first_at": self.first_at, "last_at": self.last_at}


def shown_to_whom(db: sqlite3.Connection, fact_id: str) -> list[Showing]:
    """Everybody who was shown a fact, in the order in which they first were."""
    rows = db.execute(f"SELECT actor, first_at, at FROM {SHOWN} WHERE fact_id = ? ORDER BY first_at, actor", (fact_id,))
    return [Showing(*row) for row in rows]
