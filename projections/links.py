"""View `links`: the graph of facts, one row a link. Reading it is filtered by the scope like everything else."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from domain.event import Envelope
from domain.topic_events import FactLinked, FactUnlinked
from projections.scope import Scope
from projections.tables.facts import FACTS
from projections.tables.links import LINKS, LinkTables
from projections.view import View


class LinksView(LinkTables, View):
    concerned = (FactLinked, FactUnlinked)

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        match envelope.event:
            case FactLinked(fact_id=source, links=links, by_hand=by_hand):
                origin = (int(by_hand), envelope.actor, envelope.position)
                for link in links:
                    row = (source, link.to, link.kind, link.weight, *origin)
                    db.execute(f"INSERT OR REPLACE INTO {LINKS} VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            case FactUnlinked(fact_id=source, to=target, kind_of_link=kind):
                db.execute(f"DELETE FROM {LINKS} WHERE source = ? AND target = ? AND kind = ?", (source, target, kind))
            case _:
                return


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A fact at the other end of a link. `outward`: the link goes from the fact that was asked about."""

    id: str
    kind: str
    weight: float
    by_hand: bool
    outward: bool

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "weight": round(self.weight, 3),
            "by_hand": self.by_hand,
            "direction": "out" if self.outward else "in",
        }


def neighbours(db: sqlite3.Connection, fact_id: str, scope: Scope) -> list[Neighbour]:
    """The live facts linked with one, and what is referenced that is no fact; strongest first, ties by id."""
    seen, domains = scope.where("f.domain")
    statement = f"""
        SELECT target, kind, weight, by_hand, 1 FROM {LINKS} LEFT JOIN {FACTS} f ON f.id = target
            WHERE source = ? AND (f.id IS NULL OR (f.status = 'live' AND {seen}))
        UNION ALL
        SELECT source, kind, weight, by_hand, 0 FROM {LINKS} JOIN {FACTS} f ON f.id = source
            WHERE target = ? AND f.status = 'live' AND {seen}"""
    rows = db.execute(statement, (fact_id, *domains, fact_id, *domains)).fetchall()
    found = [Neighbour(row[0], row[1], row[2], bool(row[3]), bool(row[4])) for row in rows]
    return sorted(found, key=lambda one: (-one.weight, one.id, one.kind, one.outward))


@dataclass(frozen=True, slots=True)
class Edge:
    """A link between two live facts."""

    source: str
    target: str
    kind: str
    weight: float
    by_hand: bool


def strongest(
    db: sqlite3.Connection, scope: Scope, *, limit: int, domain: str = "", around: Sequence[str] = ()
) -> list[Edge]:
    """Links between live facts that the reader sees, strongest first, ties by id; `around`: only those of these facts,
    `domain`: only those with an end in it."""
    ends = [scope.where(f"{side}.domain") for side in ("a", "b")]
    marks = ", ".join("?" * len(around))
    near = f"AND (source IN ({marks}) OR target IN ({marks}))" if around else ""
    rows = db.execute(
        f"""SELECT source, target, kind, weight, by_hand FROM {LINKS}
            JOIN {FACTS} a ON a.id = source JOIN {FACTS} b ON b.id = target
            WHERE a.status = 'live' AND b.status = 'live' AND {ends[0][0]} AND {ends[1][0]}
            AND ? IN ('', a.domain, b.domain) {near}
            ORDER BY weight DESC, source, target, kind LIMIT ?""",
        (*ends[0][1], *ends[1][1], domain, *around, *around, limit),
    )
    return [Edge(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]
