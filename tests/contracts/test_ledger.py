"""The contract of every ledger: one order, append-only, all streams of a command or none, chained (ledger.md)."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import pytest
from eventsourcing.persistence import IntegrityError

from adapters.ledger import ATTEMPTS, By, Draft, Ledger
from domain.errors import KeyReused, LostRace, NothingChanged
from tests.contracts.ledgers import (
    ADA,
    KEYED,
    START,
    Backend,
    append,
    entered,
    opened,
)

GENESIS = hashlib.sha256(b"tht ledger").digest()


def positions(ledger: Ledger) -> list[int]:
    return [envelope.position for envelope in ledger.page(0)]


# -- order -------------------------------------------------------------------------------------------------------------


def test_a_new_ledger_is_empty(ledger: Ledger) -> None:
    assert (ledger.head().position, ledger.head().chain) == (0, GENESIS.hex())
    assert ledger.page(0) == []
    assert ledger.read(0) == []
    assert ledger.load("session/s1") == []
    assert ledger.last("session/s1") is None
    assert list(ledger.find_damage()) == []


def test_positions_count_from_1_and_versions_within_their_stream(ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")), ("session/b", opened("b")))
    done = append(ledger, ("session/a", entered()))
    assert done.position == 3
    assert [(one.stream, one.version, one.position) for one in ledger.page(0)] == [
        ("session/a", 1, 1),
        ("session/b", 1, 2),
        ("session/a", 2, 3),
    ]


def test_a_failed_append_leaves_no_gap(ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")))
    taken = ledger.mapper.to_stored_event(ledger.load("session/a")[0])
    with pytest.raises(IntegrityError):
        ledger.recorder.insert_events([taken])
    assert append(ledger, ("session/a", entered())).position == 2
    assert positions(ledger) == [1, 2]
    assert list(ledger.find_damage()) == []


def test_a_refused_command_writes_nothing(ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")))

    def refuse(draft: Draft) -> None:
        draft.load("session/a")
        draft.append("session/a", (entered(),))
        raise NothingChanged("no")

    with pytest.raises(NothingChanged):
        ledger.transact(refuse, ADA, ("test",))
    assert positions(ledger) == [1]


def test_a_command_without_events_or_on_a_dry_run_writes_nothing(ledger: Ledger) -> None:
    assert append(ledger).position == 0
    dry = append(ledger, ("session/a", opened("a")), by=By("human:ada", dry_run=True))
    assert [one.event for one in dry.envelopes] == [opened("a")]
    assert dry.position == 0
    assert ledger.head().position == 0


# -- several streams, optimistic concurrency ---------------------------------------------------------------------------


def test_all_streams_of_a_command_are_recorded_or_none(ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")))
    free, taken = opened("b"), ledger.load("session/a")[0]
    draft = Draft(ledger, ADA, START, {"session/b": 0})
    draft.append("session/b", (free,))
    both = [*draft.envelopes(""), taken]
    with pytest.raises(IntegrityError):
        ledger.store.put(both)
    assert ledger.load("session/b") == []
    assert positions(ledger) == [1]


def test_a_command_that_lost_a_race_is_decided_again_on_what_is_recorded(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")))
    other = backend.reopen()
    seen: list[int] = []

    def work(draft: Draft) -> None:
        seen.append(len(draft.load("session/a")))
        if len(seen) == 1:
            append(other, ("session/a", entered()))
        draft.append("session/a", (entered(),))

    done = ledger.transact(work, ADA, ("test",))
    other.close()
    assert seen == [1, 2]
    assert done.envelopes[0].version == 3


def test_another_stream_is_no_race(backend: Backend, ledger: Ledger) -> None:
    other = backend.reopen()
    runs: list[int] = []

    def work(draft: Draft) -> None:
        runs.append(1)
        draft.load("session/a")
        append(other, ("session/b", entered()))
        draft.append("session/a", (opened("a"),))

    ledger.transact(work, ADA, ("test",))
    other.close()
    assert len(runs) == 1


def test_a_command_that_keeps_losing_is_decided_while_the_others_wait(backend: Backend, ledger: Ledger) -> None:
    """Nobody loses for ever: somebody else is always quicker, until they have to wait."""
    other = backend.reopen()
    seen: list[int] = []
    waiting: list[threading.Thread] = []

    def work(draft: Draft) -> None:
        seen.append(len(draft.load("session/a")))
        quicker = threading.Thread(target=append, args=(other, ("session/a", entered())))
        quicker.start()
        quicker.join(5 if len(seen) <= ATTEMPTS else 0.5)
        waiting.append(quicker)
        draft.append("session/a", (opened("a"),))

    done = ledger.transact(work, ADA, ("test",))
    waiting[-1].join(30)
    other.close()
    assert seen == list(range(ATTEMPTS + 1))
    assert done.envelopes[0].version == ATTEMPTS + 1
    assert [one.event for one in ledger.load("session/a")] == [*[entered()] * ATTEMPTS, opened("a"), entered()]
    assert list(ledger.find_damage()) == []


def test_a_refusal_while_the_others_wait_writes_nothing_and_lets_them_go_on(backend: Backend, ledger: Ledger) -> None:
    other = backend.reopen()
    runs: list[int] = []

    def work(draft: Draft) -> None:
        runs.append(1)
        draft.load("session/a")
        draft.append("session/a", (opened("a"),))
        if len(runs) > ATTEMPTS:
            raise NothingChanged("no")
        append(other, ("session/a", entered()))

    with pytest.raises(NothingChanged):
        ledger.transact(work, ADA, ("test",))
    assert append(other, ("session/a", entered())).position == ATTEMPTS + 1
    other.close()
    assert positions(ledger) == list(range(1, ATTEMPTS + 2))


def test_a_command_that_loses_even_then_says_so_and_writes_nothing(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> None:
        raise IntegrityError("somebody was quicker")

    monkeypatch.setattr(ledger.recorder, "insert_events", lost)
    with pytest.raises(LostRace):
        append(ledger, ("session/a", opened("a")))
    assert positions(ledger) == []


def test_a_stream_is_loaded_before_it_is_appended_to(ledger: Ledger) -> None:
    with pytest.raises(LookupError):
        ledger.transact(lambda draft: draft.append("session/a", (opened(),)), ADA, ("test",))


# -- idempotency keys --------------------------------------------------------------------------------------------------


def test_the_same_key_and_command_answers_as_before_and_writes_nothing(backend: Backend, ledger: Ledger) -> None:
    first = append(ledger, ("session/a", opened("a")), ("session/b", opened("b")), by=KEYED)
    append(ledger, ("session/c", opened("c")))
    again = append(ledger, ("session/a", entered()), by=KEYED)
    assert (first.already, again.already) == (False, True)
    assert again.envelopes == first.envelopes
    other = backend.reopen()
    assert append(other, ("session/a", entered()), by=KEYED).envelopes == first.envelopes
    other.close()
    assert ledger.head().position == 3


def test_the_same_key_with_another_command_is_refused(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")), by=KEYED)
    other = backend.reopen()
    for one in (ledger, other):
        with pytest.raises(KeyReused, match="position 1"):
            append(one, ("session/b", opened("b")), by=KEYED, command=("test", 2))
    other.close()
    assert ledger.head().position == 1


def test_a_refused_command_does_not_use_its_key_up(ledger: Ledger) -> None:
    def refuse(draft: Draft) -> None:
        raise NothingChanged("no")

    with pytest.raises(NothingChanged):
        ledger.transact(refuse, KEYED, ("test",))
    assert not append(ledger, ("session/a", opened("a")), by=KEYED).already


def test_without_a_key_the_same_command_is_a_second_one(ledger: Ledger) -> None:
    append(ledger, ("session/a", entered()))
    append(ledger, ("session/a", entered()))
    assert ledger.head().position == 2


# -- envelopes ---------------------------------------------------------------------------------------------------------


def test_the_envelope_keeps_who_when_and_why(ledger: Ledger) -> None:
    by = By("agent:coder-1", "analyst", "perché «sì»", "k")
    append(ledger, ("session/a", opened("a")), by=by)
    append(ledger, ("session/a", entered()), by=by)  # answered from the first: the key is the same
    append(ledger, ("session/a", entered()), by=ADA)
    first, second = ledger.load("session/a")
    assert (first.actor, first.role, first.reason) == ("agent:coder-1", "analyst", "perché «sì»")
    assert (second.actor, second.role, second.reason, second.idempotency_key) == ("human:ada", "", "", "")
    assert first.idempotency_key.startswith("k#")
    assert (first.at, second.at) == (START, START.replace(second=1))


def test_events_of_one_command_share_a_correlation_id_that_follows_from_the_streams(
    tmp_path: Path, backend: Backend, ledger: Ledger
) -> None:
    one = append(ledger, ("session/a", opened("a")), ("session/b", opened("b"))).envelopes
    two = append(ledger, ("session/a", entered())).envelopes
    assert one[0].correlation_id == one[1].correlation_id != two[0].correlation_id
    elsewhere = type(backend)(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").mkdir()
    second = elsewhere.create()
    assert append(second, ("session/a", opened("a")), ("session/b", opened("b"))).envelopes == one
    assert second.head().position == 2
    assert second.chain_at(2) == ledger.chain_at(2)
    second.close()


def test_what_is_read_equals_what_was_written(backend: Backend, ledger: Ledger) -> None:
    written = append(ledger, ("session/a", opened("a")), ("session/b", opened("b"))).envelopes
    other = backend.reopen()
    for one in (ledger, other):
        assert tuple(one.page(0)) == tuple(one.read(0)) == written
        assert one.load("session/a") == [written[0]]
        assert one.last("session/b") == written[1]
    other.close()


# -- pages -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "limit", "until", "expected"),
    [
        (0, 500, None, [1, 2, 3, 4, 5]),
        (2, 500, None, [3, 4, 5]),
        (0, 2, None, [1, 2]),
        (1, 2, 4, [2, 3]),
        (1, 500, 4, [2, 3, 4]),
        (0, 500, 0, []),
        (3, 500, 2, []),
        (5, 500, None, []),
        (99, 500, None, []),
        (0, 0, None, []),
    ],
)
def test_a_page_is_above_one_position_and_up_to_another(
    ledger: Ledger, after: int, limit: int, until: int | None, expected: list[int]
) -> None:
    for _ in range(5):
        append(ledger, ("session/a", entered()))
    assert [one.position for one in ledger.page(after, limit, until)] == expected
    assert [one.position for one in ledger.read(after, limit, until)] == expected


def test_projections_follow_every_event(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="every event"):
        ledger.recorder.select_notifications(1, 10, topics=("session.phase-entered",))
