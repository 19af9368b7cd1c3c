"""Links: two steps in both directions, by the strongest way, damped; only through what may answer itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.access import Access
from adapters.facts import Facts
from adapters.ledger import By
from adapters.workspace import Workspace, create_workspace
from domain.propose import NewFact
from projections.fact_queries import Wanted
from projections.recall.graph import DAMPING, FAN, linked
from projections.recall.question import Question
from projections.recall.records import sources
from projections.scope import Reader, Scope, everything, scope_of

ADA = By("human:ada")
START = datetime(2026, 3, 2, tzinfo=UTC)
WORDS = "Saturn cellar autumn river piano copper".split()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default", lambda: START) as opened:
        yield opened


def facts(workspace: Workspace, count: int) -> list[str]:
    """Each in a domain of its own, linked with none."""
    return [
        Facts(workspace).propose(f"d{n}", NewFact(f"{WORDS[n % 6]} {n * 37}", f"t{n}", ADA.actor), ADA)[0].fact_id
        for n in range(count)
    ]


def link(workspace: Workspace, one: str, other: str, weight: float = 1.0) -> None:
    Facts(workspace).link(one, other, "related_to", weight, ADA)


def reached(
    db: sqlite3.Connection, seeds: dict[str, float], scope: Scope | None = None
) -> dict[str, tuple[float, str]]:
    question = Question("", Wanted("2026-03-02T00:00:01.000000Z"), scope or everything())
    found = linked(db, sources(question), question, {f"fact:{one}": strength for one, strength in seeds.items()})
    assert all(ref == one.candidate.ref for ref, one in found.items())
    return {one.candidate.id: (one.strength, one.via.removeprefix("fact:")) for one in found.values()}


def test_two_steps_and_no_more_either_way(workspace: Workspace) -> None:
    a, b, c, d, e = facts(workspace, 5)
    link(workspace, a, b)
    link(workspace, c, b, 0.5)  # against its direction
    link(workspace, c, d)
    link(workspace, d, e)
    db = workspace.caught_up()
    assert reached(db, {a: 1.0}) == {b: (DAMPING, a), c: (DAMPING * 0.5 * DAMPING, b)}
    assert reached(db, {}) == {}
    assert reached(db, {e: 0.5}) == {d: (0.5 * DAMPING, e), c: (0.5 * DAMPING**2, d)}


def test_the_strongest_way_counts_and_a_seed_is_not_lifted_by_a_weaker_one(workspace: Workspace) -> None:
    a, b, c = facts(workspace, 3)
    link(workspace, a, b, 0.4)
    link(workspace, a, c)
    link(workspace, c, b)
    db = workspace.caught_up()
    assert reached(db, {a: 1.0}) == {c: (DAMPING, a), b: (DAMPING**2, c)}
    assert reached(db, {a: 1.0, b: 0.9}) == {c: (DAMPING, a)}


def test_s54_no_way_leads_through_what_is_closed_or_ended(workspace: Workspace) -> None:
    """S-54."""
    a, b, c = facts(workspace, 3)
    link(workspace, a, b)
    link(workspace, b, c)
    Access(workspace).set_grant("d1", "qa", "none", ADA)
    db = workspace.caught_up()
    qa = scope_of(db, Reader("agent:q", "qa"), "read")
    assert reached(db, {a: 1.0}, qa) == {}
    assert set(reached(db, {a: 1.0})) == {b, c}
    Facts(workspace).retire(b, ADA)
    assert reached(workspace.caught_up(), {a: 1.0}) == {}


def test_of_many_links_the_strongest_are_followed(workspace: Workspace) -> None:
    hub, *others = facts(workspace, FAN + 6)
    for number, one in enumerate(others):
        link(workspace, hub, one, 0.5 + number / 100)
    found = reached(workspace.caught_up(), {hub: 1.0})
    assert set(found) == set(others[-FAN:])


def test_links_to_what_has_ended_take_no_place_of_others(workspace: Workspace) -> None:
    """S-04: more strong links to retired facts than are followed, and a weak one to a live fact."""
    hub, live, *ended = facts(workspace, FAN + 5)
    for one in ended:
        link(workspace, hub, one)
        Facts(workspace).retire(one, ADA)
    link(workspace, hub, live, 0.1)
    ((one, (strength, through)),) = reached(workspace.caught_up(), {hub: 1.0}).items()
    assert (one, through) == (live, hub)
    assert strength == pytest.approx(0.1 * DAMPING)
