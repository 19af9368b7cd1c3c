"""The tables of view `notes`."""

from __future__ import annotations

from projections.view import Tables

TEXTS = "notes_v1_texts"
OBSERVATIONS = "notes_v1_observations"
ITEMS = "notes_v1_items"


class NoteTables(Tables):
    name = "notes"
    version = 1
    tables = (TEXTS, OBSERVATIONS, ITEMS)
    areas = ("erasure", "hot", "notes")
    folded_by = "projections.notes.NotesView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {TEXTS} (
            position INTEGER PRIMARY KEY,
            agent TEXT NOT NULL,
            text TEXT NOT NULL,
            erased INTEGER NOT NULL,
            by TEXT NOT NULL,
            at TEXT NOT NULL,
            reason TEXT NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {OBSERVATIONS} (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            agent TEXT NOT NULL,
            text TEXT NOT NULL,
            erased INTEGER NOT NULL,
            at TEXT NOT NULL,
            reason TEXT NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {ITEMS} (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            agent TEXT NOT NULL,
            by TEXT NOT NULL,
            session_id TEXT NOT NULL,
            content TEXT NOT NULL,
            memory_type TEXT NOT NULL,
            importance REAL NOT NULL,
            at TEXT NOT NULL,
            expires_at TEXT,
            state TEXT NOT NULL,
            fact_id TEXT NOT NULL,
            changed_by TEXT NOT NULL,
            changed_at TEXT NOT NULL,
            changed_reason TEXT NOT NULL
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {TEXTS}_agent ON {TEXTS} (agent, position)",
        f"CREATE INDEX IF NOT EXISTS {OBSERVATIONS}_agent ON {OBSERVATIONS} (agent, position)",
        f"CREATE INDEX IF NOT EXISTS {ITEMS}_agent ON {ITEMS} (agent, state, position)",
    )
