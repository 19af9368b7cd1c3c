"""Runs of upkeep and what undoing them records in the aggregates: given these events, when …, then these."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from domain import conflict_case, topic, upkeep
from domain.conflict_case import ConflictFound, ConflictResolved, ConflictWithdrawn
from domain.errors import NothingChanged, UnknownRun
from domain.event import Envelope, Event
from domain.topic_events import FactMentioned, FactMentionWithdrawn, FactProposed
from domain.upkeep import RunUndone, UpkeepRun, require_undoable

START = datetime(2026, 3, 2, 10, tzinfo=UTC)


def recorded(stream: str, *events: Event) -> list[Envelope]:
    """One command each, an hour apart."""
    return [
        Envelope(stream, n, n, START + timedelta(hours=n), "agent:a1", "", "", f"command-{n}", "", event)
        for n, event in enumerate(events, 1)
    ]


# -- runs


def test_a_run_is_the_sum_of_its_parts() -> None:
    run = upkeep.fold(
        recorded(
            "upkeep/run-1",
            UpkeepRun(run_id="run-1", what="consolidate", finished=False, merged=(("fact-a", "fact-b"),)),
            UpkeepRun(run_id="run-1", what="consolidate", pruned=("fact-c",)),
        )
    )
    assert run is not None
    assert (run.run_id, run.what, run.finished, run.undone) == ("run-1", "consolidate", True, False)
    assert run.commands == {"command-1", "command-2"}
    assert require_undoable(run, "run-1") == run


def test_what_never_ran_and_what_is_undone_cannot_be_undone() -> None:
    with pytest.raises(UnknownRun):
        require_undoable(upkeep.fold([]), "run-1")
    part = UpkeepRun(run_id="run-1", what="harmonize", formed=("belief-1",))
    half = upkeep.fold(recorded("upkeep/run-1", part, RunUndone(run_id="run-1", finished=False)))
    assert require_undoable(half, "run-1").undoing == {"command-2"}
    whole = upkeep.fold(recorded("upkeep/run-1", part, RunUndone(run_id="run-1")))
    with pytest.raises(NothingChanged):
        require_undoable(whole, "run-1")


# -- a mention taken back


def fact(*more: Event) -> topic.Fact:
    fields = {"fact_id": "fact-a", "domain": "ops", "topic": "t", "content": "c", "confidence": 0.5}
    proposed = FactProposed.model_validate(fields | {"memory_type": "fact", "veracity": "stated", "author": "agent:a1"})
    return topic.fold("topic/ops/t", recorded("topic/ops/t", proposed, *more)).facts["fact-a"]


def mention(author: str) -> FactMentioned:
    return FactMentioned(fact_id="fact-a", veracity="stated", confidence=0.65, author=author)


@pytest.mark.parametrize(("author", "forgets"), [("agent:a2", "agent:a2"), ("agent:A1", "")])
def test_a_mention_taken_back_leaves_the_fact_as_it_was(author: str, forgets: str) -> None:
    before, now = fact(), fact(mention(author))
    assert now != before
    withdrawn = topic.withdraw_mention(now, before)
    assert withdrawn == FactMentionWithdrawn(
        fact_id="fact-a", confidence=0.5, confirmed_at=before.confirmed_at, forgets=forgets
    )
    assert fact(mention(author), withdrawn) == before


# -- a conflict withdrawn


def test_a_withdrawn_conflict_is_found_again_and_a_persons_word_is_not_overruled() -> None:
    found = ConflictFound(conflict_id="conflict-1", facts=("fact-a", "fact-b"), found="cross_agent", rule="r")
    withdrawn = conflict_case.fold(recorded("conflict/1", found, ConflictWithdrawn(conflict_id="conflict-1")))
    assert withdrawn is not None
    assert withdrawn.state == "withdrawn"
    assert conflict_case.find(withdrawn, found) == (found,)
    again = conflict_case.fold(recorded("conflict/1", found, ConflictWithdrawn(conflict_id="conflict-1"), found))
    assert again is not None
    assert again.state == "open"
    decided = conflict_case.fold(
        recorded("conflict/1", found, ConflictResolved(conflict_id="conflict-1", state="both"))
    )
    assert conflict_case.find(decided, found) == ()
