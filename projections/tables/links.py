"""The tables of view `links`."""

from __future__ import annotations

from projections.view import Tables

LINKS = "links_v1_links"


class LinkTables(Tables):
    name = "links"
    version = 1
    tables = (LINKS,)
    areas = ("fact",)
    folded_by = "projections.links.LinksView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {LINKS} (
            source TEXT NOT NULL,
            target TEXT NOT NULL,
            kind TEXT NOT NULL,
            weight REAL NOT NULL,
            by_hand INTEGER NOT NULL,
            by TEXT NOT NULL,
            position INTEGER NOT NULL,
            PRIMARY KEY (source, target, kind)
        ) STRICT, WITHOUT ROWID""",
        f"CREATE INDEX IF NOT EXISTS {LINKS}_target ON {LINKS} (target)",
    )
