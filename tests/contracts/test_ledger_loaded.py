"""A command is decided again when any stream that it was decided on has grown, also one it appends nothing to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.curation import Curation
from adapters.ledger import By, Draft, Ledger
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain import memory as memories
from domain import promotion
from domain.errors import MemoryNotLive
from domain.memory import NUMBERING, MemoryRecorded, NumberTaken, Source, memory_stream
from domain.session import NewDecision
from domain.session_events import MemoryPromoted
from tests.contracts.ledgers import ADA, Backend, append, entered, opened

ANNA, BRUNO = By("human:anna"), By("human:bruno")


def test_a_stream_that_is_only_loaded_is_guarded_too(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")))
    other = backend.reopen()
    seen: list[int] = []

    def work(draft: Draft) -> None:
        seen.append(len(draft.load("session/a")))
        draft.load("session/never")
        draft.load("session/b")
        if len(seen) == 1:
            append(other, ("session/a", entered()))
        if len(seen) == 2:
            append(other, ("session/never", opened("never")))
        draft.append("session/b", (opened("b"),))

    done = ledger.transact(work, ADA, ("test",))
    other.close()
    assert seen == [1, 2, 2]
    assert done.position == 4
    assert list(ledger.find_damage()) == []


def test_a_stream_loaded_twice_counts_as_it_was_first(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")))
    other = backend.reopen()
    seen: list[int] = []

    def work(draft: Draft) -> None:
        seen.append(len(draft.load("session/a")))
        if len(seen) == 1:
            append(other, ("session/a", entered()))
        draft.last("session/a")
        draft.append("session/a", (entered(),))

    ledger.transact(work, ADA, ("test",))
    other.close()
    assert seen == [1, 2]


# -- what follows for memories -----------------------------------------------------------------------------------------


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default") as made:
        Sessions(made).open("s1", "Quante ablazioni?", ANNA)
        yield made


@pytest.fixture
def other(tmp_path: Path, workspace: Workspace) -> Iterator[Workspace]:
    """The same workspace in the hands of somebody else."""
    with open_workspace(tmp_path, "default") as opened_again:
        yield opened_again


def clarify(workspace: Workspace, subject: str) -> tuple[int, str]:
    """A candidate: its seq, and the revision that a reviewer is shown."""
    Sessions(workspace).record("s1", NewDecision("concept_clarified", subject, f"definizione di {subject}"), ANNA)
    candidate = Review(workspace).preview("s1", limit=-1).candidates[-1].candidate
    return candidate.seq, candidate.revision


def promoted(workspace: Workspace, subject: str) -> str:
    return Review(workspace).save_one("s1", *clarify(workspace, subject), BRUNO).memory_id


def once_before(meanwhile: Callable[[], object], decide: Callable[..., Any]) -> Callable[..., Any]:
    """The real decision; the first time, somebody else's command comes between the loading and it."""
    waiting = [meanwhile]

    def decided(*given: Any, **more: Any) -> Any:
        if waiting:
            waiting.pop()()
        return decide(*given, **more)

    return decided


def test_two_memories_cannot_supersede_each_other(
    workspace: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = promoted(workspace, "ablazione"), promoted(workspace, "cardioversione")
    real = memories.supersede

    def crosswise() -> None:
        monkeypatch.setattr(memories, "supersede", real)
        Curation(other).supersede(two, one, BRUNO)

    monkeypatch.setattr(memories, "supersede", once_before(crosswise, real))
    with pytest.raises(MemoryNotLive, match=f"{two} was superseded by {one}"):
        Curation(workspace).supersede(one, two, BRUNO)
    assert [Curation(workspace).get(memory).status for memory in (one, two)] == ["live", "superseded"]


def test_a_promotion_that_adds_no_source_fails_when_its_memory_was_retired_meanwhile(
    workspace: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    seq, revision = clarify(workspace, "ablazione")
    stream = memory_stream("ablazione", "definizione di ablazione")

    def force(draft: Draft) -> None:
        """A memory that has the candidate as its source already, without the marker."""
        sources = (Source(session_id="s1", seq=seq),)
        known = MemoryRecorded(
            memory_id="mem-0001",
            type="concept_clarified",
            subject="ablazione",
            detail="definizione di ablazione",
            sources=sources,
        )
        draft.load(stream)
        draft.append(stream, (known,))
        draft.load(NUMBERING)
        draft.append(NUMBERING, (NumberTaken(number=1, memory_id="mem-0001", stream=stream),))

    workspace.ledger.transact(force, BRUNO, ("forced",))
    retire = once_before(lambda: Curation(other).retire("mem-0001", BRUNO), promotion.promote)
    monkeypatch.setattr(promotion, "promote", retire)
    with pytest.raises(MemoryNotLive, match="mem-0001 is retired"):
        Review(workspace).save_one("s1", seq, revision, BRUNO)
    recorded = [envelope.event for envelope in workspace.ledger.load("session/s1")]
    assert not [event for event in recorded if isinstance(event, MemoryPromoted)]
