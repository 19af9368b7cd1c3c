"""The tables of view `timeline`."""

from __future__ import annotations

from projections.view import Tables

EVENTS = "timeline_v5_events"
NAMED = "timeline_v5_named"  # the other records that an event names


class TimelineTables(Tables):
    name = "timeline"
    version = 5
    tables = (EVENTS, NAMED)
    folded_by = "projections.timeline.TimelineView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {EVENTS} (
            position INTEGER PRIMARY KEY,
            at TEXT NOT NULL,
            actor TEXT NOT NULL,
            role TEXT NOT NULL,
            reason TEXT NOT NULL,
            correlation_id TEXT NOT NULL,
            stream TEXT NOT NULL,
            version INTEGER NOT NULL,
            kind TEXT NOT NULL,
            session_id TEXT NOT NULL,
            seq INTEGER,
            memory_id TEXT NOT NULL,
            what TEXT NOT NULL,
            record TEXT NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {NAMED} (
            record TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (record, position)
        ) STRICT, WITHOUT ROWID""",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_session ON {EVENTS} (session_id, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_memory ON {EVENTS} (memory_id, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_actor ON {EVENTS} (actor, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_at ON {EVENTS} (at, position)",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_record ON {EVENTS} (record) WHERE record <> ''",
        f"CREATE INDEX IF NOT EXISTS {EVENTS}_together ON {EVENTS} (correlation_id)",
    )
