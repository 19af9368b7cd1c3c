"""Questions to the view `facts`: one fact, lists, and by keywords; each within a scope, at a moment."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from domain.ids import slug_of
from projections.counters import recall_count
from projections.lexical import filled, lexical_terms, query_of, ranked
from projections.scope import Scope
from projections.tables.facts import FACTS, ORIGINS, TEXT


@dataclass(frozen=True, slots=True)
class FactRow:
    """A fact as it is read. Times are ISO 8601 in UTC;"""

    id: str
    stream: str
    domain: str
    topic: str
    content: str
    confidence: float
    memory_type: str
    veracity: str
    trust: str
    author: str
    author_role: str
    about: str
    sources: tuple[str, ...]
    corrects: str
    mention_count: int
    recorded_at: str
    confirmed_at: str
    held_from: str
    valid_until: str | None
    status: str
    superseded_by: str
    ended_for: str
    ended_by: str
    ended_reason: str
    held_until: str | None
    content_hash: str
    position: int
    changed_position: int

    @property
    def live(self) -> bool:
        return self.status == "live"

    @property
    def valid_from(self) -> str | None:
        """None when it holds from when it was recorded."""
        return None if self.held_from == self.recorded_at else self.held_from

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "domain": self.domain,
            "topic": self.topic,
            "content": self.content,
            "confidence": round(self.confidence, 6),
            "memory_type": self.memory_type,
            "veracity": self.veracity,
            "trust": self.trust,
            "source_observation_ids": list(self.sources),
            "superseded_by": self.superseded_by or None,
            "valid_from": self.valid_from,
            "valid_until": self.valid_until,
            "mention_count": self.mention_count,
            "author": self.author,
            "author_role": self.author_role or None,
            "about": self.about or None,
            "corrects": self.corrects or None,
            "status": self.status,
            "ended_for": self.ended_for or None,
            "ended_by": self.ended_by or None,
            "ended_reason": self.ended_reason or None,
            "recorded_at": self.recorded_at,
            "confirmed_at": self.confirmed_at,
            "position": self.position,
        }


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which facts are wanted; an empty field takes all. `at`: what held at that time (ISO 8601, UTC).

    `status`: live (and valid at `at`), superseded, retired, erased, or empty for every one there ever was.
    """

    at: str
    status: str = "live"
    domain: str = ""
    topic: str = ""
    author: str = ""
    repo: str = ""  # slug of the repository whose domains are wanted
    past: bool = False  # `at` was asked for: what has been superseded since counts as it did then

    @property
    def narrow(self) -> bool:
        """Whether more is asked for than what holds."""
        return bool(self.domain or self.topic or self.author or self.repo or self.past or self.status != "live")

    def conditions(self) -> tuple[str, list[object]]:
        found: list[tuple[str, object]] = [
            ("domain = ?", self.domain),
            ("author = ?", self.author),
        ]
        if self.status and self.status != "live":
            found.append(("status = ?", self.status))
        texts = [text for text, value in found if value]
        values = [value for _, value in found if value]
        if self.repo:
            texts.append("substr(domain, 1, ?) = ?")
            values += [len(f"repo:{self.repo}/"), f"repo:{self.repo}/"]
        if self.topic:  # however the label was written
            ending = f"/{slug_of(self.topic, 'topic')}"
            texts.append("substr(stream, ?) = ?")
            values += [-len(ending), ending]
        if self.status == "live":
            texts.append(_HELD if self.past else _LIVE)
            values += [self.at] * (4 if self.past else 2)
        return " AND ".join(texts) or "1", values


# Of now. A fact that says nothing of when it began holds from its recording on, whatever the clock said there: those of
# two machines differ.
_LIVE = "status = 'live' AND (held_from <= ? OR held_from = recorded_at) AND (valid_until IS NULL OR valid_until > ?)"
_HELD = (
    "status IN ('live', 'superseded', 'retired') AND held_from <= ? AND (valid_until IS NULL OR valid_until > ?)"
    " AND (status <> 'superseded' OR held_until > ?)"
    " AND (status <> 'retired' OR (ended_for NOT IN ('wrong', 'undone')"
    " AND coalesce(held_until, valid_until, '~') > ?))"
)


def find_fact(db: sqlite3.Connection, fact_id: str) -> FactRow | None:
    row = db.execute(f"SELECT * FROM {FACTS} WHERE id = ?", (fact_id,)).fetchone()
    return _fact(row) if row else None


def list_facts(
    db: sqlite3.Connection, wanted: Wanted, scope: Scope, *, limit: int = -1, offset: int = 0
) -> tuple[list[FactRow], int]:
    """Facts in the order in which they were proposed, and how many in all."""
    seen, domains = scope.where("domain")
    conditions, values = wanted.conditions()
    where, parameters = f"WHERE {conditions} AND {seen}", (*values, *domains)
    total: int = db.execute(f"SELECT count(*) FROM {FACTS} {where}", parameters).fetchone()[0]
    rows = db.execute(f"SELECT * FROM {FACTS} {where} ORDER BY position LIMIT ? OFFSET ?", (*parameters, limit, offset))
    return [_fact(row) for row in rows.fetchall()], total


def all_live(db: sqlite3.Connection, scope: Scope) -> Iterator[FactRow]:
    """Every fact whose status is live, valid now or not, in the order in which they were proposed."""
    seen, domains = scope.where("domain")
    for row in db.execute(f"SELECT * FROM {FACTS} WHERE status = 'live' AND {seen} ORDER BY position", domains):
        yield _fact(row)


def nominate(db: sqlite3.Connection, text: str, scope: Scope, limit: int) -> list[tuple[str, str]]:
    """Id and content of the live facts that share most words with a text, for links: of those that its author sees, or
    a link would answer every guess about the others."""
    query = query_of(db, TEXT, lexical_terms(text))
    if not query.text:
        return []
    seen, values = scope.where("domain")
    statement = (
        f"SELECT id, content FROM ({ranked(TEXT)}) CROSS JOIN {FACTS} ON position = number"
        f" WHERE status = 'live' AND {seen}"
    )
    return [(str(row["id"]), str(row["content"])) for row in filled(db, TEXT, statement, query, values, limit)]


def as_seen(db: sqlite3.Connection, facts: Sequence[FactRow], scope: Scope) -> list[FactRow]:
    """The facts without the ids of others in closed domains: a source or a successor tells that it is there."""
    if not scope.limited:
        return list(facts)
    named = {one for fact in facts for one in (*fact.sources, fact.superseded_by, fact.corrects) if one}
    closed = closed_among(db, named, scope)
    return [
        replace(
            fact,
            sources=tuple(one for one in fact.sources if one not in closed),
            superseded_by="" if fact.superseded_by in closed else fact.superseded_by,
            corrects="" if fact.corrects in closed else fact.corrects,
        )
        for fact in facts
    ]


def closed_among(db: sqlite3.Connection, ids: Collection[str], scope: Scope) -> frozenset[str]:
    """Those of some ids that are facts in a domain which is closed to the reader."""
    found = facts_of(db, sorted(ids)) if scope.limited else {}
    return frozenset(one for one, fact in found.items() if not scope.sees(fact.domain))


def facts_of(db: sqlite3.Connection, ids: Sequence[str]) -> dict[str, FactRow]:
    """The facts of these ids, by id."""
    marks = ", ".join("?" * len(ids))
    rows = db.execute(f"SELECT * FROM {FACTS} WHERE id IN ({marks})", tuple(ids))
    return {row["id"]: _fact(row) for row in rows.fetchall()}


def successors(db: sqlite3.Connection, fact_id: str) -> list[str]:
    """What a fact was superseded by, and that in turn, until one that was not."""
    found: list[str] = []
    row = db.execute(f"SELECT superseded_by FROM {FACTS} WHERE id = ?", (fact_id,)).fetchone()
    while row and row[0] and row[0] not in found:
        found.append(str(row[0]))
        row = db.execute(f"SELECT superseded_by FROM {FACTS} WHERE id = ?", (row[0],)).fetchone()
    return found


def predecessors(db: sqlite3.Connection, fact_id: str) -> list[FactRow]:
    """The facts that this one superseded, oldest first."""
    rows = db.execute(f"SELECT * FROM {FACTS} WHERE superseded_by = ? ORDER BY position", (fact_id,))
    return [_fact(row) for row in rows.fetchall()]


def citing(db: sqlite3.Connection, fact_id: str) -> list[FactRow]:
    """The facts that name this one as their source, oldest first."""
    rows = db.execute(f"SELECT * FROM {FACTS} WHERE instr(sources, ?) ORDER BY position", (json.dumps(fact_id),))
    return [_fact(row) for row in rows.fetchall()]


def origins(db: sqlite3.Connection, fact_id: str) -> list[str]:
    """Who said so of their own, each once, folded to lower case, by name."""
    rows = db.execute(f"SELECT author FROM {ORIGINS} WHERE fact_id = ? ORDER BY author", (fact_id,))
    return [str(row[0]) for row in rows]


def usage(db: sqlite3.Connection, fact: FactRow) -> dict[str, Any]:
    """How often it was said and shown, and by how many independently."""
    return {
        "mention_count": fact.mention_count,
        "recall_count": recall_count(db, fact.id),
        "independent_origins": len(origins(db, fact.id)),
    }


def _fact(row: sqlite3.Row) -> FactRow:
    held = {name: row[name] for name in row.keys() if name not in ("words", "stems", "sources", "said_at")}  # noqa: SIM118  a Row
    sources = () if row["sources"] == "[]" else tuple(json.loads(row["sources"]))
    return FactRow(**held, sources=sources)
