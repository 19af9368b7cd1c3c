"""What upkeep looks at: the live facts with who says them, and those that have ended or faded."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime

from domain.decay import Curve, curve_for, hours_between, standing
from domain.equivalents import Known
from domain.text import actor_key
from projections.counters import first_shown
from projections.fact_queries import FactRow, all_live
from projections.scope import Scope
from projections.tables.conflicts import CONFLICTS
from projections.tables.counters import RECALLS
from projections.tables.facts import FACTS, ORIGINS
from projections.tables.notes import ITEMS

Curves = Mapping[str, Curve]


def known_facts(db: sqlite3.Connection, scope: Scope, at: str) -> list[Known]:
    """The live facts that have not ended at a time (ISO 8601, UTC), oldest first. Whoever said what was merged into a
    fact says the fact."""
    authors = _authors(db)
    return [_known(row, authors[row.id]) for row in all_live(db, scope) if not _ended(row, at)]


def _known(row: FactRow, authors: set[str]) -> Known:
    return Known(
        row.id,
        row.domain,
        row.topic,
        row.content,
        standing(row.confidence, row.veracity),
        row.confidence,
        row.position,
        (row.valid_from or "", row.valid_until or ""),
        row.about,
        tuple(sorted(authors)),
    )


def _authors(db: sqlite3.Connection) -> Mapping[str, set[str]]:
    """The origins of every fact, those of what was merged into it among them: by upkeep, which merges what says the
    same, not by a person, who settled a conflict. Who had been shown the one when they proposed the other is none."""
    merged = {row["id"]: row for row in db.execute(_MERGED)}
    found: dict[str, set[str]] = defaultdict(set)
    for fact_id, author in db.execute(f"SELECT fact_id, author FROM {ORIGINS}"):
        found[fact_id].add(author)
        seen = {fact_id}
        while (loser := merged.get(fact_id)) is not None and loser["superseded_by"] not in seen:
            fact_id = loser["superseded_by"]
            seen.add(fact_id)
            shown = first_shown(db, author, fact_id) if author == actor_key(loser["author"]) else ""
            if shown and shown <= loser["recorded_at"]:
                break
            found[fact_id].add(author)
    return found


_MERGED = (
    f"SELECT id, superseded_by, author, recorded_at FROM {FACTS} f WHERE status = 'superseded' AND ended_for = 'merge'"
    f" AND NOT EXISTS (SELECT 1 FROM {CONFLICTS} c WHERE c.state = 'merged' AND c.winner = f.superseded_by"
    " AND f.id IN (c.older, c.newer))"
)


def ended(db: sqlite3.Connection, at: str, scope: Scope) -> list[str]:
    """Live facts past their validity at a time, oldest first."""
    seen, domains = scope.where("domain")
    where = f"status = 'live' AND valid_until <= ? AND {seen}"
    rows = db.execute(f"SELECT id FROM {FACTS} WHERE {where} ORDER BY position", (at, *domains)).fetchall()
    return [str(row[0]) for row in rows]


def faded(db: sqlite3.Connection, scope: Scope, at: str, below: float, curves: Curves) -> Iterator[FactRow]:
    """Live facts whose survival is under `below` at a time; those that begin to hold later have not faded."""
    for row in all_live(db, scope):
        if not _ended(row, at) and row.held_from <= at and survival_of(row, at, curves) < below:
            yield row


def survival_of(row: FactRow, at: str, curves: Curves) -> float:
    age = hours_between(datetime.fromisoformat(row.confirmed_at), datetime.fromisoformat(at))
    return curve_for(row.memory_type, curves).survival(age)


def unneeded(db: sqlite3.Connection, scope: Scope, at: str, below: float, curves: Curves) -> list[str]:
    """Faded facts that were never mentioned again, nor in another form, and never recalled; oldest first."""
    recalled = {row[0] for row in db.execute(f"SELECT fact_id FROM {RECALLS}")}
    said_again = {row[0] for row in db.execute(f"SELECT superseded_by FROM {FACTS} WHERE ended_for = 'merge'")}
    needed = recalled | said_again
    return [row.id for row in faded(db, scope, at, below, curves) if not row.mention_count and row.id not in needed]


def _ended(row: FactRow, at: str) -> bool:
    return row.valid_until is not None and row.valid_until <= at


def agent_of_item(db: sqlite3.Connection, item_id: str) -> str:
    """Who keeps an item in mind; empty when there is no such item."""
    row = db.execute(f"SELECT agent FROM {ITEMS} WHERE id = ?", (item_id,)).fetchone()
    return str(row[0]) if row else ""
