"""The audit's queries over histories that the command line cannot make: fixed clocks, imports, edits of reuses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.audit import Asked, Audit
from adapters.ledger import By
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from domain.session import NewDecision

ANNA, BRUNO = By("human:anna"), By("human:bruno")
START = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


class Minutes:
    """A clock that goes on by one minute each time it is looked at."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default", Minutes()) as made:
        yield made


def clarified(detail: str, **more: str) -> NewDecision:
    return NewDecision("concept_clarified", "ablazione", detail, source_memory=more.get("source_memory"))


def approve(workspace: Workspace, session_id: str, seq: int) -> str:
    review = Review(workspace)
    shown = review.preview(session_id, limit=-1).candidates
    revision = next(one.candidate.revision for one in shown if one.candidate.seq == seq)
    return review.save_one(session_id, seq, revision, BRUNO).memory_id


def test_an_edit_of_a_reuse_rests_on_the_memory_too(workspace: Workspace) -> None:
    """Changed by an edit that no longer names the memory: what it became is still to be looked at again."""
    sessions = Sessions(workspace)
    sessions.open("s1", "q", ANNA)
    sessions.record("s1", clarified("una procedura"), ANNA)
    first = approve(workspace, "s1", 1)
    sessions.open("s2", "q", ANNA)
    sessions.choose("s2", [first], [first], ANNA)
    sessions.edit("s2", 1, clarified("una procedura, esclusi i reinterventi"), ANNA)
    sessions.enter("s2", "F8", ANNA)
    second = approve(workspace, "s2", 2)
    lineage = Audit(workspace).memory(first).lineage
    assert [(one.seq, one.edits, one.changed, one.standing, one.became) for one in lineage.reuses] == [
        (1, None, False, "retracted", None),
        (2, 1, True, "effective", second),
    ]
    assert lineage.memories == (second,)


def test_a_time_means_the_last_position_recorded_by_then(workspace: Workspace) -> None:
    sessions, audit = Sessions(workspace), Audit(workspace)
    sessions.open("s1", "q", ANNA)
    sessions.record("s1", clarified("uno"), ANNA)
    sessions.record("s1", clarified("due"), ANNA)
    assert audit.session("s1", "2026-03-02T10:02:00Z").position == 2
    assert audit.session("s1", "2026-03-02T11:02:59+01:00").position == 2
    assert [line.position for line in audit.log(Asked(since="2026-03-02T10:03:00Z"), limit=10)[0]] == [3]
    assert [line.position for line in audit.log(Asked(until="2026-03-02T10:01:30Z"), limit=10)[0]] == [1]


def test_a_reopening_makes_later_phases_stale_and_the_step_says_so(workspace: Workspace) -> None:
    sessions = Sessions(workspace)
    sessions.open("s1", "q", ANNA)
    sessions.record("s1", clarified("uno"), ANNA)
    sessions.enter("s1", "F3", ANNA)
    sessions.record("s1", clarified("due"), ANNA)
    sessions.reopen("s1", "F1", ANNA)
    found = Audit(workspace).session("s1")
    assert (found.steps[-1].stale, found.steps[-1].effective) == ((2,), ())
    assert [decision.seq for decision in found.session.effective] == [1]
