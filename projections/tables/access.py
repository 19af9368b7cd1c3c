"""The tables of view `access`."""

from __future__ import annotations

from projections.view import Tables

DOMAINS = "access_v1_domains"
GRANTS = "access_v1_grants"


class AccessTables(Tables):
    name = "access"
    version = 1
    tables = (DOMAINS, GRANTS)
    areas = ("domain",)
    folded_by = "projections.access.AccessView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {DOMAINS} (
            id TEXT PRIMARY KEY,
            label TEXT NOT NULL,
            repo TEXT NOT NULL,
            repo_name TEXT NOT NULL,
            by TEXT NOT NULL,
            at TEXT NOT NULL,
            position INTEGER NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {GRANTS} (
            domain TEXT NOT NULL,
            role TEXT NOT NULL,
            permission TEXT NOT NULL,
            seeded INTEGER NOT NULL,
            by TEXT NOT NULL,
            reason TEXT NOT NULL,
            at TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (role, domain)
        ) STRICT, WITHOUT ROWID""",
    )
