"""Ledgers under several processes, and what SQLite alone has to keep (ledger.md, facts 5, 6, 9, 10)."""

from __future__ import annotations

import hashlib
import multiprocessing
import sqlite3
import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest
from eventsourcing.persistence import ConnectionPoolClosedError

from adapters.ledger import Ledger
from adapters.sqlite import LedgerRecorder
from domain.event import stream_id
from tests.contracts.ledgers import (
    KEYED,
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


def positions(ledger: Ledger) -> list[int]:
    return [envelope.position for envelope in ledger.page(0)]


def test_a_ledger_that_was_closed_is_read_no_more(tmp_path: Path) -> None:
    """SQLite makes a file where none is: one that was moved away would be there again, empty."""
    made = Sqlite(tmp_path)
    ledger = made.create()
    append(ledger, ("session/a", entered()))
    recorder = ledger.recorder
    assert isinstance(recorder, LedgerRecorder)
    with recorder._reading() as reader:  # another thread's, at work while it is closed
        ledger.close()
        reader.execute("SELECT position FROM head")
        assert reader.fetchone()[0] == 1
    assert not recorder._idle
    recorder.path.unlink()
    with pytest.raises(ConnectionPoolClosedError):
        recorder.head()
    assert not recorder.path.exists()


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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("synchronous", 2),
        ("fullfsync", 1),
        ("checkpoint_fullfsync", 1),
        ("journal_mode", "wal"),
        ("trusted_schema", 0),
    ],
)
def test_what_was_acknowledged_survives_a_power_cut(sqlite: Ledger, name: str, value: object) -> None:
    """On the first connection and on one opened while it is in use."""
    recorder = sqlite.recorder
    assert isinstance(recorder, LedgerRecorder)
    assert pragma(recorder, name) == value
    with recorder.datastore.get_connection(commit=False):
        assert pragma(recorder, name) == value


def test_every_table_is_strict(tmp_path: Path, sqlite: Ledger) -> None:
    rows = Sqlite(tmp_path).execute("SELECT name, strict FROM pragma_table_list WHERE schema = 'main'")
    assert {name: strict for name, strict in rows if not name.startswith("sqlite_")} == dict.fromkeys(
        ("events", "head", "idempotency", "about", "seals"), 1
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
    def clock() -> datetime:
        raise AssertionError("read when nothing is recorded")

    ledger = Sqlite(tmp_path).create()
    ledger.clock = clock
    assert ledger.page(0) == []
    ledger.clock = lambda: START
    assert append(ledger, ("session/a", opened("a"))).envelopes[0].at == START
    ledger.close()
