"""The tables of view `facts`."""

from __future__ import annotations

from projections.view import Tables

FACTS = "facts_v2_facts"
ORIGINS = "facts_v2_origins"
MERGED = "facts_v2_merged"  # see projections.fact_merges
TEXT = "facts_v2_text"

_MERGING = (
    f"""CREATE TABLE IF NOT EXISTS {MERGED} (
        position INTEGER PRIMARY KEY,
        answered_by INTEGER NOT NULL
    ) STRICT""",
    f"CREATE INDEX IF NOT EXISTS {MERGED}_by ON {MERGED} (answered_by)",
)


class FactTables(Tables):
    """`held_until`: when a fact that ended stopped holding; not after `held_from` when it never held. `confirmed_at`:
    when it was last said, or what was merged into it; `said_at`: it alone."""

    name = "facts"
    version = 2
    tables = (FACTS, ORIGINS, MERGED)
    derived = (TEXT,)
    areas = ("erasure", "fact")
    folded_by = "projections.facts.FactsView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {FACTS} (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            stream TEXT NOT NULL,
            domain TEXT NOT NULL,
            topic TEXT NOT NULL,
            content TEXT NOT NULL,
            words TEXT NOT NULL,
            stems TEXT NOT NULL,
            confidence REAL NOT NULL,
            memory_type TEXT NOT NULL,
            veracity TEXT NOT NULL,
            trust TEXT NOT NULL,
            author TEXT NOT NULL,
            author_role TEXT NOT NULL,
            about TEXT NOT NULL,
            sources TEXT NOT NULL,
            corrects TEXT NOT NULL,
            mention_count INTEGER NOT NULL,
            recorded_at TEXT NOT NULL,
            confirmed_at TEXT NOT NULL,
            said_at TEXT NOT NULL,
            held_from TEXT NOT NULL,
            valid_until TEXT,
            status TEXT NOT NULL,
            superseded_by TEXT NOT NULL,
            ended_for TEXT NOT NULL,
            ended_by TEXT NOT NULL,
            ended_reason TEXT NOT NULL,
            held_until TEXT,
            content_hash TEXT NOT NULL,
            changed_position INTEGER NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {ORIGINS} (
            fact_id TEXT NOT NULL,
            author TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (fact_id, author)
        ) STRICT, WITHOUT ROWID""",
        *_MERGING,
        f"CREATE INDEX IF NOT EXISTS {FACTS}_topic ON {FACTS} (domain, topic, status)",
        f"CREATE INDEX IF NOT EXISTS {FACTS}_author ON {FACTS} (author, position)",
        f"CREATE INDEX IF NOT EXISTS {FACTS}_changed ON {FACTS} (changed_position)",
        f"CREATE INDEX IF NOT EXISTS {FACTS}_successor ON {FACTS} (superseded_by) WHERE superseded_by <> ''",
        f"""CREATE VIRTUAL TABLE IF NOT EXISTS {TEXT} USING fts5 (
            words, stems, content='{FACTS}', content_rowid='position', tokenize="unicode61 remove_diacritics 2"
        )""",
    )
