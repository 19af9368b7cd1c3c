"""The contract of every ledger: one order, append-only, all streams of a command or none, chained (ledger.md)."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import sqlite3
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from eventsourcing.persistence import IntegrityError

from adapters.ledger import By, Draft, Ledger
from adapters.sqlite import LedgerRecorder
from domain.errors import KeyReused, LedgerDamaged, LostRace, NothingChanged
from domain.event import stream_id
from projections.loop import Broken
from tests.contracts.ledgers import (
    ADA,
    BACKENDS,
    START,
    Backend,
    Sqlite,
    append,
    append_many,
    create_and_write,
    entered,
    opened,
    ticking,
)

GENESIS = hashlib.sha256(b"tht ledger").digest()


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.__name__)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    made: Backend = request.param(tmp_path)
    return made


@pytest.fixture
def ledger(backend: Backend) -> Iterator[Ledger]:
    made = backend.create()
    yield made
    made.close()


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
    draft = Draft(ledger, {"session/b": 0})
    draft.append("session/b", (free,))
    both = [*draft.envelopes(ADA, START, ""), taken]
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


def test_a_command_that_always_loses_says_so_and_writes_nothing(backend: Backend, ledger: Ledger) -> None:
    other = backend.reopen()
    runs: list[int] = []

    def work(draft: Draft) -> None:
        runs.append(1)
        draft.load("session/a")
        append(other, ("session/a", entered()))
        draft.append("session/a", (opened("a"),))

    with pytest.raises(LostRace):
        ledger.transact(work, ADA, ("test",))
    other.close()
    assert [one.event for one in ledger.load("session/a")] == [entered()] * len(runs)


def test_a_stream_is_loaded_before_it_is_appended_to(ledger: Ledger) -> None:
    with pytest.raises(LookupError):
        ledger.transact(lambda draft: draft.append("session/a", (opened(),)), ADA, ("test",))


# -- idempotency keys --------------------------------------------------------------------------------------------------

KEYED = By("human:ada", idempotency_key="k#1")


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


# -- the chain ---------------------------------------------------------------------------------------------------------


def chained(chain: bytes, *parts: bytes) -> bytes:
    """The chain hash, made here a second time from ledger.md and hashlib alone."""
    return hashlib.sha256(chain + b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()


def test_the_chain_is_over_the_stored_bytes(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")), ("session/b", opened("b")))
    append(ledger, ("session/a", entered()))
    chain = GENESIS
    assert ledger.chain_at(0) == chain.hex()
    for row in backend.execute(
        "SELECT originator_id, originator_version, topic, state, position FROM events ORDER BY position"
    ):
        originator, version, topic, state, position = row
        chain = chained(chain, originator.encode(), str(version).encode(), topic.encode(), bytes(state))
        assert ledger.chain_at(position) == chain.hex()
    assert ledger.head().chain == chain.hex()
    assert ledger.chain_at(4) is None


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE events SET state = ? WHERE position = 2", 2),
        ("UPDATE events SET topic = 'session.session-closed' WHERE position = 2", 2),
        ("UPDATE events SET originator_version = 7 WHERE position = 2", 2),
        ("UPDATE events SET chain = x'00' WHERE position = 2", 2),
        ("DELETE FROM events WHERE position = 2", 3),
    ],
)
def test_a_changed_event_is_found_and_never_projected(
    backend: Backend, ledger: Ledger, statement: str, where: int
) -> None:
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    state = backend.execute("SELECT state FROM events WHERE position = 2")[0][0].replace(b"human:ada", b"human:eve")
    backend.tamper(statement, (state,) if "?" in statement else ())
    with pytest.raises(LedgerDamaged, match=f"position {where}"):
        ledger.read(0)
    assert f"position {where}" in [finding.where for finding in ledger.find_damage()]


def test_a_page_that_begins_after_the_change_is_refused_too_where_the_hash_is_gone(
    backend: Backend, ledger: Ledger
) -> None:
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    backend.tamper("DELETE FROM events WHERE position = 2")
    with pytest.raises(LedgerDamaged, match="position 3"):
        ledger.read(2)


def test_a_cut_tail_is_found(backend: Backend, ledger: Ledger) -> None:
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    backend.tamper("DELETE FROM events WHERE position = 3")
    assert ["cut tail" in finding.what for finding in ledger.find_damage()] == [True]


def test_an_event_of_a_newer_program_is_handed_on_as_broken_and_the_chain_still_holds(
    backend: Backend, ledger: Ledger
) -> None:
    append(ledger, ("session/a", opened("a")))
    stored = ledger.mapper.to_stored_event(ledger.load("session/a")[0])
    newer = json.loads(stored.state) | {"v": 99}
    ledger.recorder.insert_events(
        [type(stored)(stored.originator_id, 2, stored.topic, json.dumps(newer).encode())]
    )
    append(ledger, ("session/b", opened("b")))
    first, broken, last = ledger.read(0)
    assert isinstance(broken, Broken)
    assert (broken.stream, broken.position) == ("session/a", 2)
    assert "version 99" in broken.error
    assert (first.position, last.position) == (1, 3)
    with pytest.raises(LedgerDamaged, match="position 2"):
        ledger.page(0)
    assert [finding.where for finding in ledger.find_damage()] == ["position 2"]


# -- append-only -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET state = state",
        "UPDATE events SET position = position + 10",
        "DELETE FROM events",
        "DELETE FROM events WHERE position = 1",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "INSERT OR REPLACE INTO events SELECT 9, originator_id, originator_version, topic, x'00', chain FROM events",
        "INSERT OR REPLACE INTO idempotency SELECT key, 7, 7 FROM idempotency",
        "UPDATE idempotency SET first = 2",
        "DELETE FROM idempotency",
    ],
)
def test_the_database_itself_refuses_to_change_what_is_recorded(
    backend: Backend, ledger: Ledger, statement: str
) -> None:
    append(ledger, ("session/a", opened("a")), by=KEYED)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        backend.execute(statement)
    assert positions(ledger) == [1]
    assert list(ledger.find_damage()) == []


# -- several processes -------------------------------------------------------------------------------------------------

SPAWN = multiprocessing.get_context("spawn")  # as on every platform


def test_processes_that_race_lose_nothing(tmp_path: Path, backend: Backend, ledger: Ledger) -> None:
    with ProcessPoolExecutor(2, SPAWN) as pool:
        tasks = [pool.submit(append_many, type(backend), tmp_path, writer, 25) for writer in (1, 2)]
        for task in tasks:
            task.result()
    assert positions(ledger) == list(range(1, 101))
    shared = [one.event.model_dump()["seq"] for one in ledger.load("session/shared")]
    assert sorted(shared) == [*range(1_000, 1_025), *range(2_000, 2_025)]
    for writer in (1, 2):
        own = [one.event.model_dump()["seq"] for one in ledger.load(f"session/w{writer}")]
        assert own == [seq for seq in shared if seq // 1_000 == writer] == sorted(own)
    assert list(ledger.find_damage()) == []


def test_processes_that_create_the_same_workspace_at_once_get_one_ledger(tmp_path: Path) -> None:
    """ledger.md, fact 10."""
    with ProcessPoolExecutor(6, SPAWN) as pool:
        for number in range(6):
            home = tmp_path / f"home-{number}"
            ids = set(pool.map(create_and_write, [home] * 6, range(6)))
            config = tomllib.loads((home / "default" / "config.toml").read_text("utf-8"))
            assert ids == {config["ledger"]["id"]}
            made = Ledger(home / "default" / "ledger.sqlite3", ticking())
            assert {one.stream for one in made.page(0)} == {f"session/w{writer}" for writer in range(6)}
            assert list(made.find_damage()) == []
            made.close()


# -- SQLite alone ------------------------------------------------------------------------------------------------------


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Ledger]:
    made = Sqlite(tmp_path).create()
    yield made
    made.close()


def pragma(recorder: LedgerRecorder, name: str) -> object:
    """On a connection of the ledger's own pool."""
    with recorder.datastore.get_connection(commit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA {name}")
        return cursor.fetchone()[0]


@pytest.mark.parametrize(("name", "value"), [("synchronous", 2), ("journal_mode", "wal"), ("trusted_schema", 0)])
def test_what_was_acknowledged_survives_a_power_cut(sqlite: Ledger, name: str, value: object) -> None:
    """On the first connection and on one opened while it is in use."""
    assert pragma(sqlite.recorder, name) == value
    with sqlite.recorder.datastore.get_connection(commit=False):
        assert pragma(sqlite.recorder, name) == value


def test_every_table_is_strict(tmp_path: Path, sqlite: Ledger) -> None:
    rows = Sqlite(tmp_path).execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
    assert {name: strict for name, strict in rows if not name.startswith("sqlite_")} == dict.fromkeys(
        ("events", "head", "idempotency", "about"), 1
    )
    with pytest.raises(sqlite3.IntegrityError):
        Sqlite(tmp_path).execute("INSERT INTO events VALUES ('one', 'x', 1, 't', x'', x'')")


def test_a_deleted_tail_position_is_not_given_again_by_the_database(tmp_path: Path, sqlite: Ledger) -> None:
    """ledger.md, fact 6."""
    for _ in range(3):
        append(sqlite, ("session/a", entered()))
    Sqlite(tmp_path).tamper("DELETE FROM events WHERE position = 3")
    rows = Sqlite(tmp_path).execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
    assert rows == [(3,)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CIPHER_KEY", "YmJiYmJiYmJiYmJiYmJiYg=="),
        ("CIPHER_TOPIC", "eventsourcing.cipher:AESCipher"),
        ("COMPRESSOR_TOPIC", "eventsourcing.compressor:ZlibCompressor"),
        ("MAPPER_TOPIC", "eventsourcing.persistence:Mapper"),
        ("PERSISTENCE_MODULE", "eventsourcing.popo"),
        ("SQLITE_DBNAME", ":memory:"),
        ("CREATE_TABLE", "no"),
    ],
)
def test_the_environment_does_not_change_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """ledger.md, fact 9."""
    stored = []
    for folder, change in (("plain", False), ("stray", True)):
        (tmp_path / folder).mkdir()
        if change:
            monkeypatch.setenv(name, value)
        made = Sqlite(tmp_path / folder)
        ledger = made.create()
        append(ledger, ("session/a", opened("a")), ("session/b", opened("b")), by=KEYED)
        ledger.close()
        stored.append(made.execute("SELECT * FROM events ORDER BY position"))
    assert stored[0] == stored[1]
    assert len(stored[0]) == 2
    assert stored[0][0][1] == stream_id("session/a").hex


def test_the_clock_is_passed_in(tmp_path: Path) -> None:
    def clock() -> Callable[[], object]:
        raise AssertionError("read when nothing is recorded")

    ledger = Sqlite(tmp_path).create()
    ledger.clock = clock  # type: ignore[assignment]
    assert ledger.page(0) == []
    ledger.clock = lambda: START
    assert append(ledger, ("session/a", opened("a"))).envelopes[0].at == START
    ledger.close()
