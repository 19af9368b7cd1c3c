"""What was merged into a fact is answered by it: found by the words of each form, as fresh as the last one said.

`MERGED` has a row for every fact that was merged, with the place of the one that answers for it in the end.
"""

from __future__ import annotations

import sqlite3

from projections.tables.facts import FACTS, MERGED

ANSWERED_BY = f"coalesce((SELECT answered_by FROM {MERGED} m WHERE m.position = number), number)"  # of a row `number`

_BELOW = f"""WITH RECURSIVE below (id, position) AS (
    SELECT id, position FROM {FACTS} WHERE superseded_by = ? AND superseded_by <> '' AND ended_for = 'merge'
    UNION SELECT f.id, f.position FROM {FACTS} f JOIN below ON f.superseded_by = below.id
        WHERE f.superseded_by <> '' AND f.ended_for = 'merge'
) UPDATE {MERGED} SET answered_by = ? WHERE position IN (SELECT position FROM below)"""
_LATEST = f"""UPDATE {FACTS} SET confirmed_at = max(said_at, coalesce((SELECT max(o.confirmed_at) FROM {FACTS} o
    WHERE o.superseded_by = {FACTS}.id AND o.superseded_by <> '' AND o.ended_for = 'merge'), '')) WHERE id = ?"""


def join(db: sqlite3.Connection, loser: sqlite3.Row, keeper_id: str) -> None:
    """A fact has just been merged into another, which answers for it from now on, or whatever answers for that."""
    chain = _upwards(db, keeper_id)
    by = chain[-1]["position"]
    db.execute(f"UPDATE {MERGED} SET answered_by = ? WHERE answered_by = ?", (by, loser["position"]))
    db.execute(f"INSERT OR REPLACE INTO {MERGED} VALUES (?, ?)", (loser["position"], by))
    for row in chain:
        later = max(row["confirmed_at"], loser["confirmed_at"])
        db.execute(f"UPDATE {FACTS} SET confirmed_at = ? WHERE id = ?", (later, row["id"]))


def part(db: sqlite3.Connection, loser: sqlite3.Row) -> None:
    """A fact is no longer merged into the one that `loser`, its row until now, names; what was merged into it before
    stays with it."""
    db.execute(f"DELETE FROM {MERGED} WHERE position = ?", (loser["position"],))
    db.execute(_BELOW, (loser["id"], loser["position"]))
    refresh(db, loser["superseded_by"])


def refresh(db: sqlite3.Connection, fact_id: str) -> None:
    """When a fact, and whatever it was merged into, was last said in any form."""
    for row in _upwards(db, fact_id):
        db.execute(_LATEST, (row["id"],))


def _upwards(db: sqlite3.Connection, fact_id: str) -> list[sqlite3.Row]:
    """A fact, what it was merged into, and so on."""
    found: dict[str, sqlite3.Row] = {}
    while fact_id and fact_id not in found:
        row = db.execute(f"SELECT * FROM {FACTS} WHERE id = ?", (fact_id,)).fetchone()
        if row is None:
            break
        found[fact_id] = row
        fact_id = row["superseded_by"] if row["ended_for"] == "merge" else ""
    return list(found.values())
