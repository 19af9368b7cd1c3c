"""The tables of view `counters`."""

from __future__ import annotations

from projections.view import Tables

RECALLS = "counters_v1_recalls"
SHOWN = "counters_v1_shown"


class CounterTables(Tables):
    name = "counters"
    version = 1
    tables = (RECALLS, SHOWN)
    areas = ("recall",)
    folded_by = "projections.counters.CountersView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {RECALLS} (
            fact_id TEXT PRIMARY KEY,
            count INTEGER NOT NULL,
            last_at TEXT NOT NULL
        ) STRICT, WITHOUT ROWID""",
        f"""CREATE TABLE IF NOT EXISTS {SHOWN} (
            actor TEXT NOT NULL,
            fact_id TEXT NOT NULL,
            at TEXT NOT NULL,
            first_at TEXT NOT NULL,
            PRIMARY KEY (actor, fact_id)
        ) STRICT, WITHOUT ROWID""",
        f"CREATE INDEX IF NOT EXISTS {SHOWN}_fact ON {SHOWN} (fact_id)",
    )
