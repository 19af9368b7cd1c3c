"""Two times of a fact: when it holds, and when it was known (S-29, S-30)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.fact_reading import FactReading, moment_of
from adapters.facts import Facts
from adapters.ledger import By
from adapters.recalling import VOICES, Recalling
from adapters.workspace import Workspace, create_workspace
from domain.propose import NewFact
from projections.scope import Reader

ADA = By("human:ada")


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def workspace(tmp_path: Path, clock: Clock) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default", clock) as opened:
        opened.config.set("embedder.model", "hash:64")
        yield opened


def day(month: int, day: int) -> datetime:
    return datetime(2026, month, day, tzinfo=UTC)


def by_every_path(workspace: Workspace, at: str = "", known_at: str = "") -> list[str]:
    """What listing, and searching in every mode, show at a moment; all must say the same."""
    reading = FactReading(workspace, Reader("human:ada"))
    moment = moment_of(workspace, at=at, known_at=known_at)
    listed = sorted(fact.content for fact in reading.list(moment).facts)
    recalling = Recalling(workspace, Reader("human:ada"))
    for mode, voices in VOICES.items():
        answer = recalling.search("who has the rota", ADA, mode=mode, moment=moment)
        silent = {voice: said for voice, said in answer.voices.items() if said != "ran"}
        assert set(answer.voices) == set(voices)
        assert not silent or silent == {"vector": "unavailable: nothing that may answer has a vector yet"}
        assert sorted(fact.content for fact in answer.facts) == listed, mode
    return listed


def test_s30_what_held_and_what_was_known_are_two_questions(workspace: Workspace, clock: Clock) -> None:
    facts = Facts(workspace)
    first, _ = facts.propose("ops", NewFact("the owner of the rota is Ada", "on call", "human:ada"), ADA)
    clock.now = day(1, 10)
    second, _ = facts.propose("ops", NewFact("the owner of the rota is Bo", "on call", "human:ada"), ADA)
    assert second.superseded == (first.fact_id,)
    clock.now = day(2, 1)
    assert by_every_path(workspace, at="2026-01-05T00:00:00Z") == ["the owner of the rota is Ada"]
    assert by_every_path(workspace, at="2026-01-15T00:00:00Z") == ["the owner of the rota is Bo"]
    backdated = NewFact(
        "for a while Cy had the rota", "on call", "human:ada", valid_from=day(1, 3), valid_until=day(1, 7)
    )
    facts.propose("ops", backdated, ADA)
    clock.now = day(2, 2)
    assert "for a while Cy had the rota" in by_every_path(workspace, at="2026-01-05T00:00:00Z")
    assert by_every_path(workspace, known_at="2026-01-05T00:00:00Z") == ["the owner of the rota is Ada"]
    assert by_every_path(workspace) == ["the owner of the rota is Bo"]


def test_a_correction_says_that_the_old_wording_never_held(workspace: Workspace, clock: Clock) -> None:
    facts = Facts(workspace)
    old, _ = facts.propose("ops", NewFact("the owner of the rota is Ada", "on call", "human:ada"), ADA)
    clock.now = day(2, 1)
    facts.correct(old.fact_id, NewFact("the owner of the rota is Ida", "", "human:ada"), ADA)
    clock.now = day(2, 2)
    assert by_every_path(workspace, at="2026-01-05T00:00:00Z") == ["the owner of the rota is Ida"]
    assert by_every_path(workspace, known_at="2026-01-05T00:00:00Z") == ["the owner of the rota is Ada"]


def test_what_ends_or_begins_later_is_read_only_in_its_time(workspace: Workspace, clock: Clock) -> None:
    facts = Facts(workspace)
    facts.propose("ops", NewFact("the owner of the rota is Ada", "a", "human:ada", valid_until=day(2, 1)), ADA)
    facts.propose("ops", NewFact("the owner of the rota is Bo", "b", "human:ada", valid_from=day(2, 1)), ADA)
    assert by_every_path(workspace) == ["the owner of the rota is Ada"]
    clock.now = day(2, 1)
    assert by_every_path(workspace) == ["the owner of the rota is Bo"]


def test_a_retired_fact_was_wrong_at_every_time(workspace: Workspace, clock: Clock) -> None:
    facts = Facts(workspace)
    wrong, _ = facts.propose("ops", NewFact("the owner of the rota is Ada", "a", "human:ada"), ADA)
    clock.now = day(2, 1)
    facts.retire(wrong.fact_id, ADA)
    assert by_every_path(workspace, at="2026-01-05T00:00:00Z") == []
    assert by_every_path(workspace, known_at="2026-01-05T00:00:00Z") == ["the owner of the rota is Ada"]


def test_what_was_known_in_a_second_that_the_audit_shows_is_known_with_all_that_was_recorded_in_it(
    workspace: Workspace, clock: Clock
) -> None:
    clock.now = datetime(2026, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    Facts(workspace).propose("ops", NewFact("the owner of the rota is Ada", "a", "human:ada"), ADA)
    assert by_every_path(workspace, known_at="2026-01-01T10:00:00Z") == ["the owner of the rota is Ada"]
    assert by_every_path(workspace, known_at="2026-01-01T09:59:59Z") == []
    assert by_every_path(workspace, known_at="2026-01-01T10:00:00.4Z") == []


def test_s41_recalled_250_times_and_repeated_it_is_as_sure_as_before(workspace: Workspace, clock: Clock) -> None:
    facts, agent = Facts(workspace), By("agent:b")
    told, _ = facts.propose("ops", NewFact("the rota changes on Monday", "rota", "human:ada", confidence=0.5), ADA)
    reading, recalling = FactReading(workspace, Reader("agent:b")), Recalling(workspace, Reader("agent:b"))
    for _ in range(250):
        found = recalling.search("when does the rota change", agent, mode="keyword").facts
        assert [one.id for one in found] == [told.fact_id]
    again, _ = facts.propose("ops", NewFact("The rota changes on Monday.", "rota", "agent:b"), agent)
    shown = reading.get(told.fact_id)
    assert (again.outcome, again.echoed) == ("mentioned", True)
    assert (shown["recall_count"], shown["confidence"], shown["independent_origins"]) == (250, 0.5, 1)
    clock.now = day(3, 1)
    later, _ = facts.propose("ops", NewFact("The rota changes on Monday.", "rota", "agent:b"), agent)
    assert not later.echoed
