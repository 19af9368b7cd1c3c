"""The tables of view `beliefs`."""

from __future__ import annotations

from projections.view import Tables

BELIEFS = "beliefs_v1_beliefs"
MEMBERS = "beliefs_v1_members"
RUNS = "beliefs_v1_runs"


class BeliefTables(Tables):
    """A withdrawn belief keeps its row and has no members."""

    name = "beliefs"
    version = 1
    tables = (BELIEFS, MEMBERS, RUNS)
    areas = ("belief", "upkeep")
    folded_by = "projections.beliefs.BeliefsView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {BELIEFS} (
            id TEXT PRIMARY KEY,
            domain TEXT NOT NULL,
            status TEXT NOT NULL,
            confidence REAL NOT NULL,
            authors TEXT NOT NULL,
            formed_at TEXT NOT NULL,
            changed_at TEXT NOT NULL,
            position INTEGER NOT NULL,
            changed_position INTEGER NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {MEMBERS} (
            belief_id TEXT NOT NULL,
            fact_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            PRIMARY KEY (belief_id, fact_id)
        ) STRICT, WITHOUT ROWID""",
        f"""CREATE TABLE IF NOT EXISTS {RUNS} (
            id TEXT PRIMARY KEY,
            what TEXT NOT NULL,
            parts INTEGER NOT NULL,
            finished INTEGER NOT NULL,
            did TEXT NOT NULL,
            by TEXT NOT NULL,
            reason TEXT NOT NULL,
            at TEXT NOT NULL,
            position INTEGER NOT NULL,
            undone_by TEXT NOT NULL,
            undone_at TEXT NOT NULL,
            undone_reason TEXT NOT NULL,
            left_alone TEXT NOT NULL
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {MEMBERS}_fact ON {MEMBERS} (fact_id)",
    )
