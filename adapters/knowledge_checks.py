"""What `tht doctor` looks for among facts, policies and conflicts, as far as the reader may see; it tells no text."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adapters.checks import Check
from adapters.knowledge import curves, scope_for
from adapters.workspace import Workspace
from domain.equivalents import merges, restatements
from domain.event import iso_utc
from domain.secrets import secret_in
from projections import conflicts, policies
from projections.fact_queries import all_live
from projections.scope import Reader, Scope
from projections.tables.facts import FACTS
from projections.upkeep import ended, faded, known_facts, unneeded

NAMED = 5  # ids that one finding names


@dataclass(frozen=True)
class KnowledgeChecks:
    workspace: Workspace
    reader: Reader

    def checks(self) -> Iterator[Check]:
        with self.workspace.snapshot() as (db, _):
            scope = scope_for(self.workspace, self.reader, db)
            looks: Sequence[Callable[[sqlite3.Connection, Scope], Iterator[Check]]] = (
                self._duplicates,
                _loops,
                self._stale,
                _secrets,
                _held,
                _open_conflicts,
            )
            found = [check for look in looks for check in look(db, scope)]
        if not found:
            fine = "no duplicates, loops, stale facts, secrets, held policies or open conflicts"
            yield Check("knowledge", "ok", fine)
        yield from found

    def _duplicates(self, db: sqlite3.Connection, scope: Scope) -> Iterator[Check]:
        facts = known_facts(db, scope, self._now)
        doubled = [one.loser for one in merges(facts)]
        if doubled:
            what = f"{_count(len(doubled), 'fact says', 'facts say')} what another says: {_named(doubled)}"
            yield Check("duplicates", "warn", what, "tht consolidate merges them; --dry-run shows how")
        apart = list(restatements(facts))
        if apart:
            one, other = (fact.fact_id for fact in apart[0])
            many = _count(len(apart), "statement stands", "statements stand")
            what = f"{many} under topics of two subjects, such as {one} and {other}"
            mend = f"nothing, if they are of two subjects; else tht fact supersede {other} {one}"
            yield Check("restated", "warn", what, mend)

    def _stale(self, db: sqlite3.Connection, scope: Scope) -> Iterator[Check]:
        below, curve = float(self.workspace.config.value("upkeep.prune_below")), curves(self.workspace)
        past = ended(db, self._now, scope)
        unused = unneeded(db, scope, self._now, below, curve)
        if past or unused:
            many = _count(len(past) + len(unused), "fact has", "facts have")
            what = f"{many} ended, or faded unused: {_named([*past, *unused])}"
            yield Check("stale", "warn", what, "tht consolidate prunes them; --dry-run shows which")
        used = [row.id for row in faded(db, scope, self._now, below, curve) if row.id not in set(unused)]
        if used:
            what = f"{_count(len(used), 'fact has', 'facts have')} faded though used: {_named(used)}"
            yield Check("faded", "warn", what, f"tht fact show {used[0]}; propose it again if it holds, or retire it")

    @property
    def _now(self) -> str:
        return iso_utc(self.workspace.clock())


def _loops(db: sqlite3.Connection, scope: Scope) -> Iterator[Check]:
    """Facts that replace each other in a circle, so that none of them is ever read."""
    seen, domains = scope.where("domain")
    rows = db.execute(f"SELECT id, superseded_by FROM {FACTS} WHERE superseded_by <> '' AND {seen}", domains).fetchall()
    successor = {str(row[0]): str(row[1]) for row in rows}
    circles = sorted({min(circle) for one in successor if (circle := _circle(one, successor))})
    if circles:
        what = f"{_count(len(circles), 'circle', 'circles')} of facts that replace each other: {_named(circles)}"
        yield Check("loops", "broken", what, f"tht fact restore {circles[0]} breaks the first")


def _circle(fact_id: str, successor: dict[str, str]) -> list[str]:
    """The circle that a fact is part of; empty when it is in none."""
    way = [fact_id]
    while (following := successor.get(way[-1], "")) and following not in way:
        way.append(following)
    return way if following == fact_id else []


def _secrets(db: sqlite3.Connection, scope: Scope) -> Iterator[Check]:
    found = [(row.id, kind) for row in all_live(db, scope) if (kind := secret_in(row.content))]
    if found:
        told = ", ".join(f"{fact_id} ({kind})" for fact_id, kind in found[:NAMED])
        more = f" and {len(found) - NAMED:,} more" if len(found) > NAMED else ""
        mend = f"change the secret, then tht erase {found[0][0]} makes it unreadable"
        yield Check("secrets", "warn", f"what looks like a secret is in {told}{more}", mend)


def _held(db: sqlite3.Connection, scope: Scope) -> Iterator[Check]:
    found, total = policies.list_policies(db, scope, status="held", limit=NAMED)
    if total:
        what = (
            f"{_count(total, 'policy waits', 'policies wait')} for a person: {_named([one.id for one in found], total)}"
        )
        yield Check("held policies", "warn", what, "tht policy list --status held, then tht policy activate POLICY")


def _open_conflicts(db: sqlite3.Connection, scope: Scope) -> Iterator[Check]:
    found, total = conflicts.list_conflicts(db, scope, state="open", limit=NAMED)
    if total:
        what = f"{_count(total, 'conflict is', 'conflicts are')} open: {_named([one.id for one in found], total)}"
        yield Check("conflicts", "warn", what, "tht conflicts list, then tht conflicts resolve CONFLICT")


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _named(ids: Sequence[str], total: int = 0) -> str:
    more = max(len(ids), total) - NAMED
    return ", ".join(ids[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
