"""The tables of view `decisions`."""

from __future__ import annotations

from projections.view import Tables

SESSIONS = "decisions_v1_sessions"
DECISIONS = "decisions_v1_decisions"
CHOICES = "decisions_v1_choices"


class DecisionTables(Tables):
    name = "decisions"
    version = 1
    tables = (SESSIONS, DECISIONS, CHOICES)
    areas = ("erasure", "session")
    folded_by = "projections.decisions.DecisionsView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {SESSIONS} (
            session_id TEXT PRIMARY KEY,
            question TEXT NOT NULL,
            database TEXT NOT NULL,
            phase TEXT NOT NULL,
            status TEXT NOT NULL,
            review TEXT NOT NULL,
            opened_by TEXT NOT NULL,
            opened_at TEXT NOT NULL,
            opened_position INTEGER NOT NULL,
            changed_position INTEGER NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {DECISIONS} (
            session_id TEXT NOT NULL,
            seq INTEGER NOT NULL,
            type TEXT NOT NULL,
            phase TEXT NOT NULL,
            subject TEXT NOT NULL,
            detail TEXT NOT NULL,
            rationale TEXT NOT NULL,
            question_context TEXT NOT NULL,
            concepts TEXT NOT NULL,
            tables TEXT NOT NULL,
            source_memory TEXT,
            source_changed INTEGER NOT NULL,
            supersedes INTEGER,
            author TEXT NOT NULL,
            content_key TEXT NOT NULL,
            standing TEXT NOT NULL,
            standing_position INTEGER NOT NULL,
            outcome TEXT NOT NULL,
            outcome_by TEXT NOT NULL,
            outcome_position INTEGER NOT NULL,
            memory_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (session_id, seq)
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {DECISIONS}_source ON {DECISIONS} (source_memory) WHERE source_memory NOT NULL",
        f"CREATE INDEX IF NOT EXISTS {DECISIONS}_memory ON {DECISIONS} (memory_id) WHERE memory_id <> ''",
        f"""CREATE TABLE IF NOT EXISTS {CHOICES} (
            session_id TEXT NOT NULL,
            memory_id TEXT NOT NULL,
            choice TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (session_id, memory_id, choice)
        ) STRICT""",
    )
