"""Verify, backup and restore agree about what a sound ledger is: its triggers and its idempotency keys belong to it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from eventsourcing.persistence import Notification, StoredEvent

from adapters.ledger import By, Ledger
from adapters.ledger_check import first_fault
from domain.event import Envelope
from tests.contracts.ledgers import KEYED, Sqlite, append, entered, opened

DAMAGE = {
    "a trigger dropped": ("DROP TRIGGER events_stay", "the trigger events_stay is missing"),
    "a trigger weakened": (
        "DROP TRIGGER events_last; CREATE TRIGGER events_last BEFORE DELETE ON events BEGIN SELECT 1; END",
        "the trigger events_last is not as it was declared",
    ),
    "a trigger added": (
        "CREATE TRIGGER evil AFTER INSERT ON events BEGIN SELECT 1; END",
        "the trigger evil is not one of its own",
    ),
    "a trigger that drops rows, under the name of the one that closes a ledger": (
        "CREATE TRIGGER events_moved BEFORE INSERT ON events BEGIN SELECT RAISE(IGNORE); END",
        "the trigger events_moved is not one of its own",
    ),
    "the same, telling a place": (
        "CREATE TRIGGER events_moved BEFORE INSERT ON events WHEN 'this ledger has moved to /srv/b' <> ''"
        " BEGIN SELECT RAISE(IGNORE); END",
        "the trigger events_moved is not as it was declared",
    ),
    "a table of the name of the trigger that closes a ledger": (
        "CREATE TABLE events_moved (one INTEGER)",
        "the table events_moved is not one of its own",
    ),
    "a view added": ("CREATE VIEW evil AS SELECT * FROM events", "the view evil is not one of its own"),
    "an index added": ("CREATE INDEX evil ON events (topic)", "the index evil is not one of its own"),
    "a table dropped": ("DROP TABLE idempotency", "the table idempotency is missing"),
    "the keys emptied": ("DELETE FROM idempotency", "keys are not those of its events: 'k#1'"),
    "a key moved": ("UPDATE idempotency SET first = 1", "keys are not those of its events: 'k#1'"),
    "a key renamed": ("UPDATE idempotency SET key = 'mine'", "keys are not those of its events: 'k#1', 'mine'"),
    "a key invented": ("INSERT INTO idempotency VALUES ('mine', 1, 1)", "keys are not those of its events: 'mine'"),
    "a key beyond the head": ("INSERT INTO idempotency VALUES ('mine', 8, 9)", "not those of its events: 'mine'"),
    "no head": ("DELETE FROM head", "its table head is not one row"),
}


@pytest.fixture
def backend(tmp_path: Path) -> Sqlite:
    made = Sqlite(tmp_path)
    ledger = made.create()
    append(ledger, ("session/a", opened("a")))
    append(ledger, ("session/a", entered()), ("session/b", opened("b")), by=KEYED)
    append(ledger, ("session/b", entered()))
    ledger.close()
    return made


def damaged(backend: Sqlite, script: str) -> None:
    """Run it with the triggers out of the way where it is about rows."""
    if script.startswith(("DROP", "CREATE")):
        with closing(sqlite3.connect(backend.path)) as db:
            db.executescript(script)
    else:
        backend.tamper(script)


def test_a_sound_ledger_is_sound_for_all_of_them(backend: Sqlite) -> None:
    ledger = backend.reopen()
    assert list(ledger.find_damage()) == []
    ledger.close()
    assert first_fault(backend.path) is None


@pytest.mark.parametrize("kind", DAMAGE)
def test_verify_finds_what_a_backup_refuses(backend: Sqlite, kind: str) -> None:
    script, said = DAMAGE[kind]
    damaged(backend, script)
    ledger = backend.reopen()
    findings = list(ledger.find_damage())
    ledger.close()
    assert [said in one.what for one in findings].count(True) == 1, findings
    assert all(one.level == "ledger" and "restore FILE" in one.mend for one in findings)
    assert first_fault(backend.path) is not None


def test_keys_of_commands_recorded_meanwhile_are_no_damage(backend: Sqlite) -> None:
    ledger, other = backend.reopen(), backend.reopen()
    found = ledger.find_damage()
    reached = ledger.head().position
    append(other, ("session/c", opened("c")), by=By("human:ada", idempotency_key="k#2"))
    assert [key for key, _, _ in ledger.recorder.keys(reached)] == ["k#1"]
    assert list(found) == []
    ledger.close()
    other.close()


def test_a_last_event_that_ends_its_command_is_found_in_small_steps(backend: Sqlite) -> None:
    ledger = backend.reopen()
    assert [ledger.end_of_command(position) for position in (1, 2, 3, 4)] == [1, 3, 3, 4]
    ledger.close()


def test_the_end_of_a_command_does_not_hang_on_what_a_newer_program_recorded_later(backend: Sqlite) -> None:
    ledger = backend.reopen()
    stored = ledger.mapper.to_stored_event(ledger.load("session/a")[0])
    newer = stored.state.replace(b'"v":1', b'"v":99')
    assert newer != stored.state
    ledger.recorder.insert_events([StoredEvent(stored.originator_id, 3, stored.topic, newer)])
    assert ledger.end_of_command(4) == 4
    assert ledger.end_of_command(2) == 3
    ledger.close()


def test_the_end_of_a_command_reads_no_further_than_it(backend: Sqlite, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = backend.reopen()
    for _ in range(20):
        append(ledger, ("session/a", entered()))
    read: list[int] = []
    decode = Ledger._envelope

    def noted(self: Ledger, stored: Notification) -> Envelope:
        read.append(stored.id)
        return decode(self, stored)

    monkeypatch.setattr(Ledger, "_envelope", noted)
    assert ledger.end_of_command(2) == 3
    assert read == [2, 3, 4]
    ledger.close()
