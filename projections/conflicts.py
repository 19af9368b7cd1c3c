"""View `conflicts`: one row a pair of facts: what was found, by which rule, and what became of it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from domain.conflict_case import ConflictFound, ConflictReopened, ConflictResolved, ConflictWithdrawn
from domain.event import Envelope, iso_utc
from projections.scope import Scope
from projections.tables.conflicts import CONFLICTS, ConflictTables
from projections.tables.facts import FACTS
from projections.view import View


class ConflictsView(ConflictTables, View):
    concerned = (ConflictFound, ConflictResolved, ConflictWithdrawn, ConflictReopened)

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        match envelope.event:
            case ConflictFound() as event:
                row = (envelope.position, event.conflict_id, *event.facts, event.found, event.rule, event.state)
                rest = (event.winner, iso_utc(envelope.at), "", "", "", envelope.position)
                db.execute(f"INSERT OR REPLACE INTO {CONFLICTS} VALUES ({', '.join('?' * 13)})", (*row, *rest))
            case ConflictResolved(conflict_id=conflict, state=state, kept=kept):
                told = (envelope.actor, iso_utc(envelope.at), envelope.reason)
                _settle(db, conflict, state, kept, told, envelope.position)
            case ConflictWithdrawn(conflict_id=conflict):
                told = (envelope.actor, iso_utc(envelope.at), envelope.reason)
                _settle(db, conflict, "withdrawn", "", told, envelope.position)
            case ConflictReopened(conflict_id=conflict):
                _settle(db, conflict, "open", "", ("", "", ""), envelope.position)
            case _:
                return


def _settle(
    db: sqlite3.Connection, conflict: str, state: str, winner: str, told: tuple[str, str, str], position: int
) -> None:
    db.execute(
        f"UPDATE {CONFLICTS} SET state = ?, winner = ?, resolved_by = ?, resolved_at = ?, resolved_reason = ?,"
        " changed_position = ? WHERE id = ?",
        (state, winner, *told, position, conflict),
    )


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ConflictRow:
    """A conflict as it is read. Times are ISO 8601 in UTC; empty when nobody has resolved it."""

    position: int
    id: str
    older: str
    newer: str
    found: str
    rule: str
    state: str
    winner: str
    at: str
    resolved_by: str
    resolved_at: str
    resolved_reason: str
    changed_position: int

    @property
    def facts(self) -> tuple[str, str]:
        return (self.older, self.newer)

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "facts": list(self.facts),
            "found": self.found,
            "rule": self.rule,
            "state": self.state,
            "winner": self.winner or None,
            "at": self.at,
            "resolved_by": self.resolved_by or None,
            "resolved_at": self.resolved_at or None,
            "resolved_reason": self.resolved_reason or None,
            "position": self.position,
        }


_MOOT = "c.state = 'open' AND (o.status <> 'live' OR n.status <> 'live')"  # nothing is left to decide
_STATE = f"CASE WHEN {_MOOT} THEN 'moot' ELSE c.state END"
_COLUMNS = ", ".join(
    f"{_STATE} AS state" if name == "state" else f"c.{name} AS {name}" for name in ConflictRow.__slots__
)
_PAIRS = f"FROM {CONFLICTS} c JOIN {FACTS} o ON o.id = c.older JOIN {FACTS} n ON n.id = c.newer"


def find_conflict(db: sqlite3.Connection, conflict: str) -> ConflictRow | None:
    row = db.execute(f"SELECT {_COLUMNS} {_PAIRS} WHERE c.id = ?", (conflict,)).fetchone()
    return ConflictRow(**dict(row)) if row else None


def list_conflicts(
    db: sqlite3.Connection, scope: Scope, *, state: str = "", fact_id: str = "", limit: int = -1, offset: int = 0
) -> tuple[list[ConflictRow], int]:
    """Conflicts both of whose facts the reader may see, in the order in which they were found; and how many in all.

    One that is open while a fact of it has gone is `moot`: it waits for nobody.
    """
    seen = [scope.where(f"{side}.domain") for side in ("o", "n")]
    where = f"""{_PAIRS}
        WHERE ? IN ('', {_STATE}) AND ? IN ('', c.older, c.newer) AND {seen[0][0]} AND {seen[1][0]}"""
    values = (state, fact_id, *seen[0][1], *seen[1][1])
    total: int = db.execute(f"SELECT count(*) {where}", values).fetchone()[0]
    rows = db.execute(f"SELECT {_COLUMNS} {where} ORDER BY c.position LIMIT ? OFFSET ?", (*values, limit, offset))
    return [ConflictRow(**dict(row)) for row in rows.fetchall()], total
