"""View `beliefs`: what independent authors agree on, with its facts; and the runs of upkeep, with what each did."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.belief import BeliefFormed, BeliefRevised, BeliefWithdrawn
from domain.event import Envelope, iso_utc
from domain.upkeep import COUNTED, RunUndone, UpkeepRun
from projections.scope import Scope
from projections.tables.beliefs import BELIEFS, MEMBERS, RUNS, BeliefTables
from projections.view import View


class BeliefsView(BeliefTables, View):
    concerned = (BeliefFormed, BeliefRevised, BeliefWithdrawn, UpkeepRun, RunUndone)

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        match envelope.event:
            case BeliefFormed() as event:
                _form(db, event, envelope)
            case BeliefRevised() as event:
                _change(db, event.belief_id, "live", event.confidence, event.authors, envelope)
                _hold(db, event.belief_id, event.facts)
            case BeliefWithdrawn(belief_id=belief):
                _change(db, belief, "withdrawn", None, None, envelope)
                _hold(db, belief, ())
            case UpkeepRun() as event:
                _run(db, event, envelope)
            case RunUndone(run_id=run_id, left=left, finished=True):
                told = (envelope.actor, iso_utc(envelope.at), envelope.reason, json.dumps(left))
                db.execute(
                    f"UPDATE {RUNS} SET undone_by = ?, undone_at = ?, undone_reason = ?, left_alone = ? WHERE id = ?",
                    (*told, run_id),
                )
            case _:
                return


def _form(db: sqlite3.Connection, event: BeliefFormed, envelope: Envelope) -> None:
    at, authors = iso_utc(envelope.at), json.dumps(event.authors, ensure_ascii=False)
    row = (event.belief_id, event.domain, "live", event.confidence, authors, at, at)
    places = (envelope.position, envelope.position)
    db.execute(f"INSERT OR REPLACE INTO {BELIEFS} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, *places))
    _hold(db, event.belief_id, event.facts)


def _change(
    db: sqlite3.Connection,
    belief: str,
    status: str,
    confidence: float | None,
    authors: Sequence[str] | None,
    envelope: Envelope,
) -> None:
    told = None if authors is None else json.dumps(authors, ensure_ascii=False)
    db.execute(
        f"UPDATE {BELIEFS} SET status = ?, confidence = coalesce(?, confidence), authors = coalesce(?, authors),"
        " changed_at = ?, changed_position = ? WHERE id = ?",
        (status, confidence, told, iso_utc(envelope.at), envelope.position, belief),
    )


def _hold(db: sqlite3.Connection, belief: str, facts: Sequence[str]) -> None:
    db.execute(f"DELETE FROM {MEMBERS} WHERE belief_id = ?", (belief,))
    db.executemany(
        f"INSERT INTO {MEMBERS} VALUES (?, ?, ?)", ((belief, fact, number) for number, fact in enumerate(facts))
    )


def _run(db: sqlite3.Connection, event: UpkeepRun, envelope: Envelope) -> None:
    known = db.execute(f"SELECT did FROM {RUNS} WHERE id = ?", (event.run_id,)).fetchone()
    before: dict[str, int] = json.loads(known[0]) if known else {}
    counts = {name: before.get(name, 0) + len(getattr(event, name)) for name in COUNTED}
    did = json.dumps({name: count for name, count in counts.items() if count})
    if known:
        finished = int(event.finished)
        db.execute(
            f"UPDATE {RUNS} SET parts = parts + 1, finished = ?, did = ? WHERE id = ?", (finished, did, event.run_id)
        )
        return
    row = (event.run_id, event.what, 1, int(event.finished), did, envelope.actor, envelope.reason)
    rest = (iso_utc(envelope.at), envelope.position, "", "", "", "[]")
    db.execute(f"INSERT INTO {RUNS} VALUES ({', '.join('?' * 13)})", (*row, *rest))


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BeliefRow:
    """A belief as it is read. `facts` oldest first, empty when it is withdrawn. Times are ISO 8601 in UTC."""

    id: str
    domain: str
    status: str
    confidence: float
    authors: tuple[str, ...]
    facts: tuple[str, ...]
    formed_at: str
    changed_at: str

    def as_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {"authors": list(self.authors), "facts": list(self.facts)}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run of upkeep. `did`: how much of what; `left`: what stayed as it was when the run was undone."""

    id: str
    what: str
    finished: bool
    did: dict[str, int]
    by: str
    reason: str
    at: str
    undone_by: str
    left: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__} | {"left": list(self.left)}


def find_belief(db: sqlite3.Connection, belief_id: str) -> BeliefRow | None:
    row = db.execute(f"SELECT * FROM {BELIEFS} WHERE id = ?", (belief_id,)).fetchone()
    return _belief(db, row) if row else None


def list_beliefs(db: sqlite3.Connection, scope: Scope, *, fact_id: str = "") -> list[BeliefRow]:
    """The live beliefs in the domains that the reader sees, in the order in which they were formed; `fact_id`: those
    that rest on this fact."""
    seen, domains = scope.where("domain")
    resting = f"id IN (SELECT belief_id FROM {MEMBERS} WHERE fact_id = ?)" if fact_id else "? = ''"
    rows = db.execute(
        f"SELECT * FROM {BELIEFS} WHERE status = 'live' AND {seen} AND {resting} ORDER BY position, id",
        (*domains, fact_id),
    ).fetchall()
    return [_belief(db, row) for row in rows]


def _belief(db: sqlite3.Connection, row: sqlite3.Row) -> BeliefRow:
    facts = db.execute(f"SELECT fact_id FROM {MEMBERS} WHERE belief_id = ? ORDER BY number", (row["id"],))
    return BeliefRow(
        row["id"],
        row["domain"],
        row["status"],
        row["confidence"],
        tuple(json.loads(row["authors"])),
        tuple(str(one[0]) for one in facts),
        row["formed_at"],
        row["changed_at"],
    )


def list_runs(db: sqlite3.Connection, *, limit: int = -1) -> list[RunRow]:
    """The runs of upkeep, the newest first."""
    rows = db.execute(f"SELECT * FROM {RUNS} ORDER BY position DESC LIMIT ?", (limit,))
    return [
        RunRow(
            row["id"],
            row["what"],
            bool(row["finished"]),
            json.loads(row["did"]),
            row["by"],
            row["reason"],
            row["at"],
            row["undone_by"],
            tuple(json.loads(row["left_alone"])),
        )
        for row in rows
    ]
