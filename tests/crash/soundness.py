"""What must hold in a home whatever happened to the processes that used it, judged from the events themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import Answer, Recalling
from adapters.review import Review
from adapters.session_history import session_envelopes
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.memory import MemoryRecorded, NumberTaken, SourceAdded
from domain.session import NewDecision
from domain.session_events import ConceptClarified, MemoryPromoted
from projections import fact_queries, registry
from projections.declared import make_views
from projections.loop import catch_up
from projections.scope import Reader, everything
from projections.view import ViewsFile

ADA, BEA = By("human:ada", reason="reviewed"), By("human:bea", reason="reviewed")
CODER = By("agent:coder-1")


def clarification(subject: str, detail: str = "") -> NewDecision:
    return NewDecision("concept_clarified", subject, detail or f"{subject} is counted once for every patient")


def make_home(home: Path, *, model: str = "hash:64") -> Path:
    """A workspace `default` with the test embedder in its settings."""
    with create_workspace(home, "default") as workspace:
        workspace.config.set("embedder.model", model)
    return home


def open_home(home: Path) -> Workspace:
    return open_workspace(home, "default")


def open_session(workspace: Workspace, session_id: str, subjects: Iterable[str], question: str = "") -> None:
    """A session in F8 with one clarification a subject, by an agent."""
    sessions = Sessions(workspace)
    sessions.open(session_id, question or f"what is meant in {session_id}?", CODER)
    for subject in subjects:
        sessions.record(session_id, clarification(subject), CODER)
    sessions.enter(session_id, "F8", CODER)


def promote_all(workspace: Workspace, session_id: str, by: By = ADA) -> list[str]:
    """Approve every open candidate; the memory ids."""
    review = Review(workspace)
    shown = review.preview(session_id, limit=-1, with_deferred=True).candidates
    return [
        review.save_one(session_id, one.seq, one.revision, by).memory_id for one in (each.candidate for each in shown)
    ]


def search(workspace: Workspace, question: str, *, limit: int = 5, indexing: Indexing | None = None) -> Answer:
    """The memories that a question is about, as a person asks for them."""
    return Recalling(workspace, Reader(ADA.actor), indexing).search(question, ADA, kind="memory", limit=limit)


def standing(workspace: Workspace) -> tuple[int, str]:
    """Position and chain hash of the ledger's head: a promise that all of it stays."""
    head = workspace.ledger.head()
    return head.position, head.chain


@dataclass(frozen=True)
class Told:
    """What the events say about promotions, folded here without any code of the product's."""

    markers: Counter[tuple[str, int, str]]
    sources: Counter[tuple[str, int, str]]
    memories: list[str]
    numbers: list[tuple[int, str]]


def told(workspace: Workspace) -> Told:
    found = Told(Counter(), Counter(), [], [])
    for link in workspace.ledger.links():
        envelope = workspace.ledger.decode(link)
        event = envelope.event
        if isinstance(event, MemoryPromoted):
            session_id = envelope.stream.removeprefix("session/")
            found.markers.update((session_id, seq, event.memory_id) for seq in (event.seq, *event.covers))
        if isinstance(event, MemoryRecorded) or (isinstance(event, SourceAdded) and event.merged_from is None):
            found.sources.update((one.session_id, one.seq, event.memory_id) for one in event.sources)
        if isinstance(event, MemoryRecorded):
            found.memories.append(event.memory_id)
        if isinstance(event, NumberTaken):
            found.numbers.append((event.number, event.memory_id))
    return found


def assert_sound(workspace: Workspace, promises: Iterable[tuple[int, str]] = ()) -> None:
    """The chain holds, what was acknowledged is there, views equal a replay, memories equal markers."""
    assert list(workspace.ledger.find_damage()) == []
    for position, chain in promises:
        assert workspace.ledger.chain_at(position) == chain, f"what was acknowledged at {position} is not there"
    workspace.caught_up()
    assert_views_equal_a_replay(workspace)
    heads = {workspace.file.standing(view).position for view in workspace.file.views}
    assert heads == {workspace.ledger.head().position}
    found = told(workspace)
    assert found.markers == found.sources, "a memory without its marker, or a marker without its memory"
    assert set(found.markers.values()) <= {1}, "a decision was promoted twice"
    assert found.numbers == [(number, f"mem-{number:04d}") for number in range(1, len(found.memories) + 1)]
    assert sorted(found.memories) == [memory_id for _, memory_id in found.numbers]
    assert [entry.id for entry in registry.list_entries(workspace.file.db)[0]] == sorted(found.memories)


def assert_views_equal_a_replay(workspace: Workspace) -> None:
    scratch = ViewsFile(None, make_views(), workspace.ledger.chain_at(0) or "")
    try:
        catch_up(workspace.ledger, scratch, fail_fast=True)
        for held, fresh in zip(workspace.file.views, scratch.views, strict=True):
            assert held.digests(workspace.file.db) == fresh.digests(scratch.db)
            assert held.loaded().broken_invariants(workspace.file.db) == []
        assert workspace.file.parked() == []
    finally:
        scratch.close()


def assert_goes_on(workspace: Workspace) -> None:
    """The next command works and takes the next number: nothing that a dead process held stops anyone."""
    head, memories = workspace.ledger.head().position, len(told(workspace).memories)
    open_session(workspace, f"next-{head}", [f"what comes after position {head}"])
    assert promote_all(workspace, f"next-{head}") == [f"mem-{memories + 1:04d}"]


def assert_index_follows(workspace: Workspace) -> None:
    """After catching up the index holds exactly the live memories and facts, each with its text as it is now."""
    indexing = Indexing(workspace)
    reached = indexing.catch_up()
    assert reached.position == workspace.ledger.head().position
    status = indexing.status()
    assert status.problem == ""
    assert status.drift is not None
    assert not status.drift.found, status.drift
    assert status.drift.behind == ()
    memories = registry.list_entries(workspace.file.db, status="live")[1]
    facts = sum(1 for _ in fact_queries.all_live(workspace.file.db, everything()))
    assert status.drift.kinds == {"memory": (memories, memories), "fact": (facts, facts)}


def assert_seqs_count(workspace: Workspace, session_id: str, decisions: int) -> None:
    """The session's decisions are numbered 1 … n in the order of recording."""
    events = [envelope.event for envelope in session_envelopes(workspace.ledger, session_id)]
    seqs = [event.seq for event in events if isinstance(event, ConceptClarified)]
    assert seqs == list(range(1, decisions + 1))
