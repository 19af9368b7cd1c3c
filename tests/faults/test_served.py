"""`tht serve` killed at random while its clients record, approve, propose and watch: what they were told stays.

Seeded, as the other storm is. Rounds: tests/faults/rounds.py.
"""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest

from adapters.health import Health
from adapters.ledger_copy import copy_ledger_to
from adapters.session_history import session_envelopes
from projections import fact_queries, registry
from tests.crash.soundness import assert_goes_on, assert_index_follows, assert_sound, open_home
from tests.faults.rounds import OF_SERVERS
from tests.postgres import cut_connections, new_database
from tests.serving.conftest import hash_embedder, home, start
from tests.serving.test_watch import Stream, watching

if TYPE_CHECKING:
    from adapters.workspace import Workspace
    from tests.serving.conftest import Live, Start

__all__ = ["hash_embedder", "home", "start"]  # fixtures
pytestmark = pytest.mark.posix
BEGUN = 30.0  # seconds until every client has had its first answer, however busy the machine is


@dataclass
class Promised:
    """What clients were told before the server died."""

    positions: list[int] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)
    decisions: list[tuple[str, int]] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    changes: list[tuple[int, str]] = field(default_factory=list)  # as /watch told them: position and kind

    def __iter__(self) -> Iterator[int]:
        return iter((len(self.facts), len(self.decisions), len(self.memories), len(self.changes)))


def until_it_dies(client: Callable[[int], None]) -> None:
    """Round after round; only the end of its connection ends it."""
    try:
        for turn in itertools.count():
            client(turn)
    except (httpx2.TransportError, EOFError):
        return


def clients(live: Live, promised: Promised, turn: int) -> list[Callable[[int], None]]:
    proposer, coder, reader = (live.caller(f"agent:coder-{number}") for number in (1, 2, 3))
    ada, watcher = live.caller("human:ada"), live.caller("human:bea")

    def propose(number: int) -> None:
        told = proposer(
            "memory_fact.upsert",
            content=f"Room {turn}-{number} has port {8000 + number}",
            domain="ops",
            topic=f"port {turn}-{number}",
        )
        promised.facts.append(told["fact_id"])
        promised.positions.append(told["position"])

    def review(number: int) -> None:
        name = f"s-{turn}-{number}"
        coder("sessions.open", session_id=name, question="How many?")
        told = coder(
            "sessions.record", session_id=name, type="concept_clarified", subject=f"concept {name}", detail="once each"
        )
        promised.decisions.append((name, told["seq"]))
        (one,) = ada("review.preview", session_id=name)["candidates"]
        saved = ada("review.saveOne", session_id=name, seq=one["seq"], revision=one["revision"])
        promised.memories.append(saved["memory_id"])

    def watch(_: int) -> None:
        with watching(watcher) as stream:
            follow(stream)

    def follow(stream: Stream) -> None:
        while True:
            (change,) = stream.changes(1)
            promised.changes.append((change["position"], change["kind"]))

    def read(number: int) -> None:
        reader("memory_fact.search", question=f"which port has room {turn}-{number}", mode="hybrid")

    return [propose, review, watch, read]


def storm(start: Start, chance: random.Random, turn: int, disturb: Callable[[], object]) -> Promised:
    """One server, killed at a moment of its own while four clients use it."""
    live, promised = start(), Promised()
    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(until_it_dies, client) for client in clients(live, promised, turn)]
        try:
            patience = time.monotonic() + BEGUN
            while not all(promised) and not any(one.done() for one in running) and time.monotonic() < patience:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.6))
            disturb()
            time.sleep(chance.uniform(0.0, 0.6))
            assert live.process.poll() is None, "it died by itself"
        finally:
            code = live.stop(signal.SIGKILL)
        for one in running:
            one.result(BEGUN)
    assert code == -signal.SIGKILL
    assert all(promised), f"a client had no answer: {promised}"
    return promised


def assert_kept(workspace: Workspace, promised: Promised) -> None:
    head = workspace.ledger.head().position
    assert max(promised.positions) <= head
    for fact_id in promised.facts:
        assert fact_queries.find_fact(workspace.file.db, fact_id) is not None, f"{fact_id} was acknowledged"
    for session_id, seq in promised.decisions:
        events = [one.event for one in session_envelopes(workspace.ledger, session_id)]
        assert seq in [getattr(event, "seq", None) for event in events], f"{session_id}:{seq} was acknowledged"
    listed = {entry.id for entry in registry.list_entries(workspace.file.db)[0]}
    assert set(promised.memories) <= listed
    kept = {one.position: one.event.name.partition(".")[2].replace("-", "_") for one in workspace.ledger.page(0, head)}
    told = [position for position, _ in promised.changes]
    assert told == sorted(set(told)), "a watcher was told something twice, or out of order"
    assert [one for one in promised.changes if kept.get(one[0]) != one[1]] == [], "told, and not in the ledger"


def weathered(home: Path, start: Start, disturb: Callable[[], object]) -> None:
    for turn in range(OF_SERVERS):
        promised = storm(start, random.Random(turn), turn, disturb)
        with open_home(home) as workspace:
            assert_sound(workspace)
            assert_kept(workspace, promised)
            assert_index_follows(workspace)
            report = Health(workspace).verify()
            assert report.ok, report.findings
    with open_home(home) as workspace:
        assert_goes_on(workspace)
        assert_index_follows(workspace)


def test_on_a_file(home: Path, start: Start) -> None:
    weathered(home, start, lambda: None)


def test_on_a_server_that_cuts_its_connections_too(home: Path, start: Start, postgres: str) -> None:
    with new_database(postgres) as url:
        with open_home(home) as workspace:
            copy_ledger_to(workspace, url, move=True)
        weathered(home, start, lambda: cut_connections(url))
