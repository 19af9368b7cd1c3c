"""What was decoded of a stream is kept, and yet what is loaded is always what the ledger says at that moment."""

from __future__ import annotations

from random import Random
from typing import ClassVar

import pytest
from eventsourcing.persistence import StoredEvent

from adapters.kept_streams import KeptStreams
from adapters.ledger import Ledger
from domain.erasure import TextErased
from domain.event import ERASED, Envelope, Event, stream_id
from tests.contracts.ledgers import Backend, append, entered, opened


class PageTorn(Event, name="test.page-torn"):
    sealed: ClassVar[tuple[str, ...]] = ("text",)
    page: str
    text: str

    @property
    def record(self) -> str:
        return self.page


def anew(backend: Backend, stream: str) -> list[Envelope]:
    """The stream as somebody reads it who never did before."""
    ledger = backend.reopen()
    found = ledger.load(stream)
    ledger.close()
    return found


@pytest.mark.parametrize("seed", range(4))
def test_whatever_others_append_and_erase_is_seen(backend: Backend, ledger: Ledger, seed: int) -> None:
    chance, other = Random(seed), backend.reopen()
    streams = [f"session/{name}" for name in "abc"]
    for number in range(40):
        stream, who = chance.choice(streams), chance.choice((ledger, other))
        kind = chance.choice(("page", "page", "plain", "erase"))
        if kind == "page":
            append(who, (stream, PageTorn(page=f"page-{chance.randrange(3)}", text=f"what stood on {number}")))
        elif kind == "plain":
            append(who, (stream, entered()))
        else:
            append(who, (stream, TextErased(record=f"page-{chance.randrange(3)}")))
        for one in chance.sample(streams, 2):
            assert ledger.load(one) == anew(backend, one)
    other.close()
    assert [ledger.load(one) for one in streams] == [anew(backend, one) for one in streams]


def test_a_text_that_another_process_erases_is_not_read_again(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", PageTorn(page="page-1", text="Mario is ill")), ("session/a", entered()))
    assert "Mario" in str(ledger.load("session/a"))
    other = backend.reopen()
    append(other, ("session/a", TextErased(record="page-1")))
    other.close()
    found = ledger.load("session/a")
    assert "Mario" not in str(found)
    assert ERASED in str(found)
    assert found[0].erased


def test_a_text_does_not_stay_in_memory_until_somebody_asks_again(ledger: Ledger) -> None:
    append(ledger, ("session/a", PageTorn(page="page-1", text="Mario is ill")), ("session/b", entered()))
    assert len(ledger.load("session/a")) == len(ledger.load("session/b")) == 1
    assert "Mario" in str(ledger.streams._kept)
    append(ledger, ("session/a", TextErased(record="page-1")))
    assert "Mario" not in str(ledger.streams._kept)
    assert stream_id("session/b") in ledger.streams._kept


def test_a_ledger_that_was_set_back_is_read_anew(backend: Backend, ledger: Ledger) -> None:
    """As when its server is restored while this process runs: at the same versions there is something else."""
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    assert len(ledger.load("session/a")) == 3
    backend.tamper("DELETE FROM events WHERE position >= 2")
    assert ledger.load("session/a") == anew(backend, "session/a")
    assert len(ledger.load("session/a")) == 1
    backend.tamper("UPDATE head SET position = 1")
    append(ledger, ("session/a", opened("another")), ("session/a", opened("history")), ("session/a", entered()))
    assert ledger.load("session/a") == anew(backend, "session/a")


def test_what_a_caller_does_with_the_list_changes_nothing(ledger: Ledger) -> None:
    append(ledger, ("session/a", entered()))
    ledger.load("session/a").clear()
    assert len(ledger.load("session/a")) == 1


def test_only_what_is_new_is_decoded_and_the_least_used_give_way(ledger: Ledger) -> None:
    for name in "abc":
        append(ledger, (f"session/{name}", PageTorn(page="page-1", text="x" * 1_000)), (f"session/{name}", entered()))
    decoded: list[StoredEvent] = []

    def decode(stored: StoredEvent) -> Envelope:
        decoded.append(stored)
        return ledger.mapper.to_domain_event(stored)

    two = sum(
        len(event.state) for name in "ab" for event in ledger.recorder.select_events(stream_id(f"session/{name}"))
    )
    kept = KeptStreams(ledger.recorder, decode, limit=two)
    steps = [("a", 2), ("a", 0), ("b", 2), ("a", 0), ("c", 2), ("a", 0), ("b", 2), ("never", 0)]
    for name, expected in steps:
        decoded.clear()
        kept.load(stream_id(f"session/{name}"))
        assert len(decoded) == expected, (name, steps)
    append(ledger, ("session/b", entered()))
    decoded.clear()
    assert len(kept.load(stream_id("session/b"))) == 3
    assert len(decoded) == 1
