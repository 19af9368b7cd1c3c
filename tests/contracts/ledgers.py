"""The ledgers that the contract suite runs on, and what other processes do to them."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Protocol

from adapters.ledger import By, Committed, Draft, Ledger
from adapters.workspace import create_workspace
from domain.event import Event
from domain.session_events import DecisionRetracted, PhaseEntered, SessionOpened
from tests.postgres import URL, connect, schema_for

ADA = By("human:ada")
KEYED = By("human:ada", idempotency_key="k#1")
START = datetime(2026, 3, 2, 12, tzinfo=UTC)


def ticking() -> Callable[[], datetime]:
    """A clock that moves by one second each time that it is read."""
    ticks = itertools.count()
    return lambda: START + timedelta(seconds=next(ticks))


def predictable() -> Callable[[int], bytes]:
    """Bytes for keys and nonces, the same for every ledger: two that record the same store the same."""
    drawn = itertools.count()
    return lambda count: hashlib.sha256(str(next(drawn)).encode()).digest()[:count]


class Backend(Protocol):
    """One kind of database below the ledger."""

    forbidden: ClassVar[tuple[str, ...]]  # statements that would change what is recorded
    refusal: ClassVar[str]  # what the database's driver raises for them

    def __init__(self, folder: Path) -> None: ...

    def create(self) -> Ledger:
        """A new, empty ledger."""
        ...

    def reopen(self) -> Ledger:
        """The same ledger on connections of its own, as another process opens it."""
        ...

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """SQL past the ledger, committed, as somebody with access to the database runs it."""
        ...

    def tamper(self, statement: str, parameters: Sequence[object] = ()) -> None:
        """The same, with the triggers that forbid it out of the way."""
        ...

    def drop(self) -> None:
        """Leave nothing behind that would outlive the test's folder."""
        ...


class Sqlite:
    refusal: ClassVar[str] = "sqlite3.IntegrityError"
    forbidden: ClassVar[tuple[str, ...]] = (
        "UPDATE events SET state = state",
        "UPDATE events SET position = position + 10",
        "DELETE FROM events",
        "DELETE FROM events WHERE position = 1",
        "INSERT OR REPLACE INTO events SELECT * FROM events",
        "INSERT OR REPLACE INTO events SELECT 9, originator_id, originator_version, topic, x'00', chain FROM events",
        "INSERT OR REPLACE INTO idempotency SELECT key, 7, 7 FROM idempotency",
        "UPDATE idempotency SET first = 2",
        "DELETE FROM idempotency",
    )

    def __init__(self, folder: Path) -> None:
        self.path = folder / "ledger.sqlite3"

    def create(self) -> Ledger:
        ledger = self.reopen()
        ledger.recorder.create("ledger-1")
        return ledger

    def reopen(self) -> Ledger:
        return Ledger(self.path, ticking(), predictable())

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as db, db:
            return db.execute(statement, parameters).fetchall()

    def tamper(self, statement: str, parameters: Sequence[object] = ()) -> None:
        with closing(sqlite3.connect(self.path)) as db, db:
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            db.execute(statement, parameters)
            for _, declaration in triggers:
                db.execute(declaration)

    def drop(self) -> None:
        """The folder goes with the test."""


class Postgres:
    """A schema that follows from the folder, on the server that TEST_POSTGRES_URL names."""

    refusal: ClassVar[str] = "psycopg.errors.IntegrityConstraintViolation"
    forbidden: ClassVar[tuple[str, ...]] = (
        "UPDATE events SET state = state",
        "UPDATE events SET position = position + 10",
        "DELETE FROM events",
        "DELETE FROM events WHERE position = 1",
        "TRUNCATE events",
        "TRUNCATE events, idempotency, seals",
        "INSERT INTO events SELECT * FROM events ON CONFLICT (position) DO UPDATE SET topic = 'other'",
        "MERGE INTO events e USING head h ON e.position = h.position WHEN MATCHED THEN DELETE",
        "SET session_replication_role = replica; DELETE FROM events",
        "UPDATE idempotency SET first = 2",
        "DELETE FROM idempotency",
        "TRUNCATE idempotency",
        "UPDATE seals SET key = key",
        "TRUNCATE seals",
        "DELETE FROM head",
    )

    def __init__(self, folder: Path) -> None:
        self.schema = schema_for(folder)

    def create(self) -> Ledger:
        ledger = self.reopen()
        ledger.recorder.create("ledger-1")
        return ledger

    def reopen(self) -> Ledger:
        from adapters.postgres import PostgresRecorder

        return Ledger(PostgresRecorder(os.environ[URL], self.schema, "the test's"), ticking(), predictable())

    def execute(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with connect() as db:
            db.execute(f"SET search_path = {self.schema}")
            found = db.execute(_postgres_words(statement), parameters or None)
            return found.fetchall() if found.description else []

    def tamper(self, statement: str, parameters: Sequence[object] = ()) -> None:
        triggers = self.execute(
            "SELECT relname, tgname FROM pg_trigger JOIN pg_class ON tgrelid = pg_class.oid"
            f" WHERE relnamespace = '{self.schema}'::regnamespace AND NOT tgisinternal"
        )
        for table, name in triggers:
            self.execute(f"ALTER TABLE {table} DISABLE TRIGGER {name}")
        self.execute(statement, parameters)
        for table, name in triggers:
            self.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")

    def drop(self) -> None:
        with connect() as db:
            db.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")


def _postgres_words(statement: str) -> str:
    """The parameters and bytes of a statement, as this engine writes them."""
    return re.sub(r"x'([0-9a-f]*)'", r"'\\x\1'::bytea", statement.replace("?", "%s"))


BACKENDS: tuple[type[Backend], ...] = (Sqlite, Postgres)


# -- commands ----------------------------------------------------------------------------------------------------------


def opened(session_id: str = "s1") -> SessionOpened:
    return SessionOpened(session_id=session_id, question="How many?")


def entered() -> PhaseEntered:
    return PhaseEntered(phase="F2")


def append(
    ledger: Ledger, *placed: tuple[str, Event], by: By = ADA, command: Sequence[object] = ("test",)
) -> Committed:
    """Record these events on their streams, in one command."""

    def work(draft: Draft) -> None:
        for stream, event in placed:
            if stream not in draft.versions:
                draft.load(stream)
            draft.append(stream, (event,))

    return ledger.transact(work, by, command)


# -- what other processes do -------------------------------------------------------------------------------------------


def append_many(backend: type[Backend], folder: Path, writer: int, times: int) -> None:
    """Append to a stream of its own and to one that all writers share, `times` times."""
    ledger = backend(folder).reopen()
    for number in range(times):
        mine = DecisionRetracted(seq=writer * 1_000 + number)
        append(ledger, (f"session/w{writer}", mine), ("session/shared", mine), by=By(f"agent:w{writer}"))
    ledger.close()


def create_and_write(home: Path, writer: int) -> str:
    """Make the workspace together with others, and record one event in it; returns the ledger's id."""
    with create_workspace(home, "default") as workspace:
        append(workspace.ledger, (f"session/w{writer}", opened(f"w{writer}")))
        workspace.caught_up()
        return workspace.ledger.recorder.ledger_id()
