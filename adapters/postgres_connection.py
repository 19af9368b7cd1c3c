"""Connections to a ledger on PostgreSQL: pooled, settings of our own, found again after they were lost.

A transaction whose connection was lost while it was being committed may have been committed or not. The server is asked
which, so that nothing is recorded twice and nothing that was acknowledged is doubted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from eventsourcing.persistence import InterfaceError, InternalError, OperationalError
from eventsourcing.postgres import ConnectionPool, PostgresDatastore
from psycopg import Connection, Cursor, IsolationLevel
from psycopg.rows import tuple_row
from psycopg_pool import PoolTimeout

from adapters.postgres_errors import begins_or_ends, is_there, passes, translated, was_refused
from adapters.recorder import Recorder, Waiting
from domain.errors import LedgerUnavailable

LOCK_TIMEOUT = 30  # seconds that a writer waits for the others
FIRST_PATIENCE = 5.0  # seconds for a first connection, unless it fails before
FIRST_LOOK = 0.2  # seconds between two looks whether it has failed
PATIENCE = 30.0  # seconds to find a server again that has answered before
LONGEST_PAUSE = 2.0  # seconds between two tries, after doubling from FIRST_PAUSE
FIRST_PAUSE = 0.05
STILL = 20  # seconds that a writer may stand still, as one that was stopped, with the lock: others wait for longer
CONNECTIONS = 4  # at most, for a ledger that is open; one is kept

T = TypeVar("T")


class _Pool(ConnectionPool[Connection[Any]]):
    """Remembers why a connection could not be made: who waits for one is told that it took too long, and no more."""

    failure: BaseException | None = None

    def _connect(self, timeout: float | None = None) -> Connection[Any]:
        try:
            made = super()._connect(timeout)
        except BaseException as error:
            self.failure = error
            raise
        self.failure = None
        return made


class LedgerDatastore(PostgresDatastore):
    """The library's, with libpq's own ways to say where: a URL, PGPASSWORD, a password or service file."""

    def __init__(self, url: str, schema: str) -> None:
        super().__init__("", "", "", "", "", lock_timeout=LOCK_TIMEOUT, schema=schema, originator_id_type="text")
        self.pool = _Pool(
            url,
            connection_class=Connection[Any],
            kwargs={"row_factory": tuple_row, **SETTINGS},
            min_size=1,
            max_size=CONNECTIONS,
            open=False,
            configure=lambda connection: set_up(connection, STILL),
            timeout=FIRST_LOOK,
            reconnect_timeout=PATIENCE,
            num_workers=1,
        )

    def register_type_adapters(self) -> None:
        """Rows go in column by column: nothing to look up on the server."""


SETTINGS: dict[str, Any] = {
    "application_name": "tht",
    "client_encoding": "utf8",
    "connect_timeout": 5,  # seconds, as the next: a server that vanished without a word is given up in half a minute
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds
}

# What a session must have, however server, database and role are set up. Names first: nothing of ours is looked up
# anywhere else. `standard_conforming_strings` off would spoil bytes on their way. A time limit have only our own wait
# for the lock, and who stands still in a transaction while the others wait. What a server does not know is left out.
_OURS = """SET search_path = pg_catalog, pg_temp;
    SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
        ('standard_conforming_strings', 'on'), ('bytea_output', 'hex'), ('statement_timeout', '0'),
        ('transaction_timeout', '0'), ('idle_session_timeout', '0'), ('idle_in_transaction_session_timeout', '{idle}s'),
        ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3')
    ) AS ours (name, value) USING (name);
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"""


def set_up(connection: Connection[Any], idle: int = 0) -> None:
    """What is stored and promised does not hang on how database or role are set up. `idle`: seconds that a transaction
    may stand still before the server ends it; 0 is for ever."""
    connection.autocommit = True
    connection.isolation_level = IsolationLevel.READ_COMMITTED
    connection.execute(_OURS.format(idle=idle).encode())


class Connections:
    """Reads and writes on whichever connection there is; after a loss, on a new one."""

    def __init__(self, url: str, schema: str, place: str) -> None:
        """`place`: what a message calls it."""
        self.url, self.datastore, self.place = url, LedgerDatastore(url, schema), place
        self._answered = False
        self._closed = False

    def close(self) -> None:
        self._closed = True
        self.datastore.close()

    def read(self, statement: Any, parameters: Sequence[object] = ()) -> list[Any]:
        """The rows of one statement."""

        def rows(cursor: Cursor[Any]) -> list[Any]:
            return cursor.execute(statement, parameters).fetchall()

        return self._again(lambda: self._on_one(rows))

    def attempt(self, work: Callable[[Cursor[Any]], T], *, commit: bool = True) -> T:
        """Run `work` in one transaction that can be run again from its start; undone at the end without `commit`."""

        def once() -> T:
            with (
                self.datastore.get_connection() as connection,
                connection.transaction(force_rollback=not commit),
                connection.cursor(binary=True) as cursor,
            ):
                return work(cursor)

        return self._again(once)

    def write(self, work: Callable[[Cursor[Any]], T], is_there: Callable[[], bool] = lambda: True) -> T:
        """Run `work` in one transaction, and commit it once, whatever becomes of the connection.

        `is_there` looks for what it wrote, where the server says that a transaction that was cut off was committed: one
        that took over, or is back at an older state, says so of somebody else's of the same number.
        LedgerUnavailable when the server cannot be asked any more what became of it.
        """
        tries = _Tries(PATIENCE)
        while True:
            number: list[str] = []
            done: list[T] = []
            try:
                self._again(partial(self._write_once, work, number, done), lost=number)
                return done[0]
            except _Lost as lost:
                if done and self._was_committed(number[0], is_there):
                    return done[0]
                tries.pause(lost.cause, self.place)

    def _write_once(self, work: Callable[[Cursor[Any]], T], number: list[str], done: list[T]) -> None:
        with (
            self.datastore.get_connection() as connection,
            connection.transaction(),
            connection.cursor(binary=True) as cursor,
        ):
            found: Any = cursor.execute("SELECT pg_current_xact_id()::text").fetchone()
            number.append(found[0])
            done.append(work(cursor))

    def _was_committed(self, transaction: str, is_there: Callable[[], bool]) -> bool:
        """What became of a transaction whose connection was lost, asked until it is settled."""
        tries = _Tries(PATIENCE)
        while True:
            try:
                status = self._again(lambda: self._on_one(partial(_status_of, transaction)))
            except LedgerUnavailable as error:
                raise _unsettled(error.message) from error
            if status is None:
                raise _unsettled(f"{self.place} does not know any more what became of it")
            if status != "in progress":
                return status == "committed" and is_there()
            tries.pause(None, self.place)

    @contextmanager
    def alone(self) -> Iterator[Connection[Any]]:
        """A connection beside the pool, each statement committed, closed at the end."""
        with psycopg.connect(self.url, autocommit=True, **SETTINGS) as connection:
            set_up(connection)
            yield connection

    def _on_one(self, work: Callable[[Cursor[Any]], T]) -> T:
        with self.datastore.get_connection() as connection, connection.cursor(binary=True) as cursor:
            return work(cursor)

    def _again(self, work: Callable[[], T], lost: Sequence[str] = ()) -> T:
        """Until it succeeds, with growing pauses, while what fails is the connection alone. A first connection is
        waited for less long. With `lost` filled, `work` is not run again: _Lost says that its end is not known."""
        tries = _Tries(PATIENCE if self._answered else FIRST_PATIENCE)
        with translated(self.place):
            while True:
                try:
                    result = work()
                    self._answered, self.datastore.pool.timeout = True, FIRST_PATIENCE
                    return result
                except (OperationalError, InterfaceError, InternalError) as error:
                    if not passes(error) or self._closed:
                        raise
                    if lost:
                        raise _Lost(error) from error
                    reason = self._reason(error)
                    gone = not self._answered and not begins_or_ends(reason) and not is_there(reason)
                    if reason is not error and (gone or was_refused(reason)):
                        raise reason from error
                    tries.pause(reason, self.place)
                    self.datastore.pool.check()  # those that were idle may have been lost as well

    def _reason(self, error: Exception) -> Exception:
        """The failure behind a wait for a connection that did not come; without one, what was raised."""
        failure = getattr(self.datastore.pool, "failure", None)
        return failure if isinstance(error.__cause__, PoolTimeout) and isinstance(failure, Exception) else error


def _status_of(transaction: str, cursor: Cursor[Any]) -> str | None:
    """committed, aborted, in progress; None when the server does not know any more. A number that it has not come to
    is of a transaction of which nothing was left when it recovered: aborted."""
    try:
        found = cursor.execute("SELECT pg_xact_status(%s::text::xid8)", (transaction,)).fetchone()
    except psycopg.errors.InvalidParameterValue:
        return "aborted"
    return found[0] if found else None


def _unsettled(why: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the connection was lost while the command was being recorded, and {why}",
        "it may have been recorded: look with tht ledger log, or give the same --idempotency-key again",
    )


class Pinned:
    """Reads in one transaction that stays open."""

    def __init__(self, cursor: Cursor[Any]) -> None:
        self._cursor = cursor

    def read(self, statement: Any, parameters: Sequence[object] = ()) -> list[Any]:
        return self._cursor.execute(statement, parameters).fetchall()


class _Lost(Exception):
    """The connection was lost inside a transaction."""

    def __init__(self, cause: Exception) -> None:
        self.cause = cause


class _Tries:
    """Pauses that double, until there has been enough patience, which is counted from the first failure on: a writer
    may have waited for the others, or been stopped, for longer than that."""

    def __init__(self, patience: float) -> None:
        self._patience, self._next = patience, FIRST_PAUSE
        self._until: float | None = None

    def pause(self, error: Exception | None, place: str) -> None:
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._patience
        left = self._until - now
        if left <= 0:
            if error is None:
                raise LedgerUnavailable(f"{place}: a transaction that was cut off is still not settled")
            with translated(place):
                raise error
        time.sleep(min(self._next, left))
        self._next = min(self._next * 2, LONGEST_PAUSE)


class Listening(Waiting):
    """Woken by NOTIFY, which may be lost with its connection: the head is looked at again all the same."""

    def __init__(self, recorder: Recorder, url: str, channel: str) -> None:
        super().__init__(recorder)
        self._url, self._channel = url, channel
        self._ears: Connection[Any] | None = None
        self._one = threading.Lock()

    def close(self) -> None:
        if self._ears is not None:
            self._ears.close()
            self._ears = None

    def _pause(self, seconds: float) -> None:
        with self._one:
            begun = time.monotonic()
            try:
                for _ in self._listening().notifies(timeout=seconds, stop_after=1):
                    return
            except psycopg.Error:
                self.close()
                time.sleep(max(0.0, seconds - (time.monotonic() - begun)))

    def _listening(self) -> Connection[Any]:
        """The connection for NOTIFY. What was told before it was there is found by the next look at the head."""
        if self._ears is None:
            self._ears = psycopg.connect(self._url, autocommit=True, **SETTINGS)
            set_up(self._ears)
            self._ears.execute(psycopg.sql.SQL("LISTEN {}").format(psycopg.sql.Identifier(self._channel)))
        return self._ears
