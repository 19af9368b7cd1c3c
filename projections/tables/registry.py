"""The tables of view `registry`."""

from __future__ import annotations

from typing import ClassVar

from projections.view import Tables

MEMORIES = "registry_v2_memories"
SOURCES = "registry_v2_sources"
TEXT = "registry_v2_text"


class RegistryTables(Tables):
    name = "registry"
    version = 2
    tables = (MEMORIES, SOURCES)
    derived = (TEXT,)
    areas: ClassVar[tuple[str, ...] | None] = ("erasure", "memory")
    folded_by = "projections.registry.RegistryView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {MEMORIES} (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            stream TEXT NOT NULL UNIQUE,
            type TEXT NOT NULL,
            subject TEXT NOT NULL,
            detail TEXT NOT NULL,
            rationale TEXT NOT NULL,
            question_context TEXT NOT NULL,
            words TEXT NOT NULL,
            stems TEXT NOT NULL,
            tables TEXT NOT NULL,
            concepts TEXT NOT NULL,
            session_id TEXT NOT NULL,
            decision_seq INTEGER NOT NULL,
            timestamp TEXT NOT NULL,
            reviewer TEXT NOT NULL,
            self_reviewed INTEGER NOT NULL,
            status TEXT NOT NULL,
            successor TEXT,
            status_by TEXT NOT NULL,
            status_reason TEXT NOT NULL,
            ended_at TEXT NOT NULL,
            content_hash TEXT NOT NULL,
            position INTEGER NOT NULL,
            changed_position INTEGER NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {SOURCES} (
            memory_id TEXT NOT NULL,
            session_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            by TEXT NOT NULL,
            withdrawn INTEGER NOT NULL,
            merged_from TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (memory_id, session_id, seq)
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {MEMORIES}_changed ON {MEMORIES} (changed_position)",
        f"CREATE INDEX IF NOT EXISTS {SOURCES}_session ON {SOURCES} (session_id, seq)",
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS {TEXT} USING fts5 (
            words, stems, content='{MEMORIES}', content_rowid='number', tokenize="unicode61 remove_diacritics 2"
        )""",
    )
