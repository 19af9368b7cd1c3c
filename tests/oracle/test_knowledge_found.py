"""What the random histories have found, told as the shortest story that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.conflicts import Conflicts
from adapters.consolidate import Consolidate
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.harmonize import Harmonize
from adapters.health import Health
from adapters.ledger import By
from adapters.notes import Notes
from adapters.recalling import Recalling
from adapters.undo import Undo
from adapters.workspace import Workspace
from domain.propose import NewFact, OnConflict
from projections.beliefs import BeliefRow, list_beliefs
from projections.scope import Reader, everything
from tests.oracle.histories import hasty_workspace

ADA, BO = By("human:ada"), By("human:bo")
READER = Reader("human:ada")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with hasty_workspace(tmp_path) as opened:
        yield opened


def propose(workspace: Workspace, text: str, by: By, on_conflict: OnConflict = "decide", topic: str = "api") -> str:
    outcome, _ = Facts(workspace).propose("ops", NewFact(text, topic, by.actor), by, on_conflict=on_conflict)
    return outcome.fact_id


@pytest.mark.parametrize("again", ["agent:Coder", "agent:ｃoder"])
def test_s41_another_spelling_of_a_name_is_no_other_origin(workspace: Workspace, again: str) -> None:
    """S-41: nor is what it was shown under the one name news under the other."""
    fact = propose(workspace, "The API listens on port 8080", By("agent:coder"))
    propose(workspace, "the API listens on port 8080!", By(again))
    assert FactReading(workspace, READER).get(fact)["independent_origins"] == 1
    Recalling(workspace, Reader("agent:coder")).search("port of the API", By("agent:coder"))
    before = FactReading(workspace, READER).row(fact).confidence
    outcome, _ = Facts(workspace).propose("ops", NewFact("The API listens on port 8080", "api", again), By(again))
    assert (outcome.echoed, outcome.confidence) == (True, before)


def test_s35_what_a_resolution_brings_back_is_compared_with_what_is_live_by_then(workspace: Workspace) -> None:
    """S-35: it contradicts a third fact that nobody had to compare it with."""
    first = propose(workspace, "The API listens on port 8080", ADA)
    propose(workspace, "The API listens on port 9090", ADA)
    (decided,), _, _ = Conflicts(workspace).list(READER, state="decided")
    third = propose(workspace, "The API listens on port 7070", ADA)
    Conflicts(workspace).keep(decided.id, first, ADA)
    (told,), _, _ = Conflicts(workspace).list(READER)
    assert (set(told.facts), told.state, told.found) == ({first, third}, "open", "contradiction")


def test_keeping_one_after_a_merge_puts_no_two_facts_in_the_place_of_each_other(workspace: Workspace) -> None:
    """Invariant 5, at every event: what they were merged into gives way only when the one that is kept is back."""
    first = propose(workspace, "The API listens on port 8080", ADA)
    second = propose(workspace, "The API listens on port 9090", ADA, "ask")
    (found,), _, _ = Conflicts(workspace).list(READER)
    merged, _ = Conflicts(workspace).merge(found.id, "The API listens on ports 8080 and 9090", ADA)
    Conflicts(workspace).keep(found.id, first, BO)
    rows = {one: FactReading(workspace, READER).row(one) for one in (first, second, merged)}
    assert [rows[one].status for one in (first, second, merged)] == ["live", "superseded", "superseded"]
    assert rows[merged].superseded_by == first
    assert Health(workspace).verify(with_index=False).findings == ()


def test_s43_a_mention_is_undone_of_a_fact_whose_own_run_was_undone(workspace: Workspace) -> None:
    """S-43: a run raises it, is undone, somebody restores the fact, and another run mentions it."""
    Notes(workspace).remember("The API listens on port 8080", ADA, importance=1.0)
    first = Consolidate(workspace).run(ADA)
    fact = first.did["raised"][0][1]
    Undo(workspace).run(first.run_id, ADA)
    Facts(workspace).restore(fact, ADA)
    before = FactReading(workspace, READER).row(fact)
    second = Consolidate(workspace).run(ADA)
    assert second.did["raised"] == first.did["raised"]
    assert Undo(workspace).run(second.run_id, ADA).left == ()
    after = FactReading(workspace, READER).row(fact)
    assert (after.confidence, after.mention_count) == (before.confidence, before.mention_count)


def test_s43_a_belief_that_one_undoing_left_is_there_after_another(workspace: Workspace) -> None:
    """S-43: three runs, each with one author more; the first cannot be undone any more, the third can."""

    def agreeing(*authors: str) -> tuple[str, BeliefRow]:
        for author in authors:
            propose(workspace, "The API listens on port 8080", By(author), topic="api")
        run_id = Harmonize(workspace).run(ADA).run_id
        (belief,) = list_beliefs(workspace.caught_up(), everything())
        return run_id, belief

    first, formed = agreeing("human:ada", "human:bo")
    _, revised = agreeing("human:cy")
    assert Undo(workspace).run(first, ADA).left == (formed.id,)
    third, _ = agreeing("human:di")
    assert Undo(workspace).run(third, ADA).left == ()
    (now,) = list_beliefs(workspace.caught_up(), everything())
    assert (now.id, now.facts, now.authors, now.confidence) == (
        revised.id,
        revised.facts,
        revised.authors,
        revised.confidence,
    )
