"""The tables of view `conflicts`."""

from __future__ import annotations

from projections.view import Tables

CONFLICTS = "conflicts_v1_conflicts"


class ConflictTables(Tables):
    name = "conflicts"
    version = 1
    tables = (CONFLICTS,)
    areas = ("conflict",)
    folded_by = "projections.conflicts.ConflictsView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {CONFLICTS} (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            older TEXT NOT NULL,
            newer TEXT NOT NULL,
            found TEXT NOT NULL,
            rule TEXT NOT NULL,
            state TEXT NOT NULL,
            winner TEXT NOT NULL,
            at TEXT NOT NULL,
            resolved_by TEXT NOT NULL,
            resolved_at TEXT NOT NULL,
            resolved_reason TEXT NOT NULL,
            changed_position INTEGER NOT NULL
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {CONFLICTS}_state ON {CONFLICTS} (state, position)",
        f"CREATE INDEX IF NOT EXISTS {CONFLICTS}_older ON {CONFLICTS} (older)",
        f"CREATE INDEX IF NOT EXISTS {CONFLICTS}_newer ON {CONFLICTS} (newer)",
    )
