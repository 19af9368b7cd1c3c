"""One writer at a time for an index on a server: the turn to write, had by whoever holds a lock that dies with it.

Searches do not wait for it: they take the index as it is. What a writer does that has lost its turn without knowing is
found out by the index itself (`projections.index.follow`).
"""

from __future__ import annotations

import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adapters.locks import Held, alone
from domain.errors import HomeNotWritable, IndexBusy, IndexNotWritable

if TYPE_CHECKING:
    from psycopg import Connection

NAME = "tht index"  # begins the application name of a connection that holds a turn
_POLL = 0.1  # seconds between two tries
_HINT = "searches go on with the index as it is; try again when that is done"
_MEND = "searches go on with the index as it is; nobody brings it further until that is mended"
_MINE = """SELECT 1 FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid() AND database = {database} AND {key}"""
_HOLDER = """SELECT application_name, pid, host(client_addr) FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE locktype = 'advisory' AND granted AND database = {database} AND {key}"""
_DATABASE = "(SELECT oid FROM pg_database WHERE datname = current_database())"
_KEY = "((classid::bigint << 32) | objid::bigint) = hashtextextended(%s, 0) AND objsubid = 1"


class IndexTurn(ABC):
    """Whose turn it is to write."""

    @abstractmethod
    def taken(self, wait: float) -> AbstractContextManager[Callable[[], None]]:
        """Have the turn, after at most `wait` seconds.

        IndexBusy only where another has it, and says who if that can be told; IndexNotWritable where the lock itself
        cannot be asked for. What it gives is called before each write: IndexNotWritable once the turn is lost.
        """


class Nobodys(IndexTurn):
    """The embedded index lets one process in as it is."""

    def taken(self, wait: float) -> AbstractContextManager[Callable[[], None]]:
        return nullcontext(lambda: None)


class FileTurn(IndexTurn):
    """Among the processes of one home: a lock file, freed by the operating system when its holder dies."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @contextmanager
    def taken(self, wait: float) -> Iterator[Callable[[], None]]:
        with ExitStack() as held:
            try:
                held.enter_context(alone(self.path, "another process of this home writes to the index", wait=wait))
            except Held as error:
                raise IndexBusy(error.message, _HINT) from error
            except HomeNotWritable as error:
                raise IndexNotWritable(error.message, f"{error.hint}; {_MEND}") from error
            yield lambda: None


class PostgresTurn(IndexTurn):
    """Among all nodes of one ledger: a session's advisory lock in its PostgreSQL, freed by the server when the session
    ends. No clock, and nothing to clean up."""

    def __init__(self, url: str, lock: str) -> None:
        """`lock`: what is locked, by a name that all nodes give it."""
        self.url, self.lock = url, lock

    @contextmanager
    def taken(self, wait: float) -> Iterator[Callable[[], None]]:
        import psycopg

        try:
            connection = self._connected()
        except psycopg.Error as error:
            raise IndexNotWritable(f"no connection for the lock on the index: {_line(error)}", _MEND) from error
        try:
            self._lock(connection, wait)
            yield partial(self._require, connection)
        finally:
            connection.close()

    def _connected(self) -> Connection[Any]:
        import psycopg

        from adapters.postgres_connection import SETTINGS, set_up

        name = f"{NAME}: {socket.gethostname()[:40]} {os.getpid()}"
        connection = psycopg.connect(self.url, autocommit=True, **{**SETTINGS, "application_name": name})
        try:
            set_up(connection)  # with keepalives, so that a machine that vanished is noticed within half a minute
        except BaseException:
            connection.close()
            raise
        return connection

    def _lock(self, connection: Connection[Any], wait: float) -> None:
        until = time.monotonic() + wait
        while not self._ask(connection, "SELECT pg_try_advisory_lock(hashtextextended(%s, 0))")[0][0]:
            if time.monotonic() >= until:
                raise IndexBusy(f"another process writes to the index: {self._holder(connection)}", _HINT)
            time.sleep(_POLL)

    def _require(self, connection: Connection[Any]) -> None:
        if not self._ask(connection, _MINE.format(database=_DATABASE, key=_KEY)):
            raise IndexNotWritable("the lock on the index is lost: is a pooler between, not in session mode?", _MEND)

    def _holder(self, connection: Connection[Any]) -> str:
        found = self._ask(connection, _HOLDER.format(database=_DATABASE, key=_KEY))
        if not found:
            return "it has just ended"
        name, pid, address = found[0]
        host, _, process = str(name or "").removeprefix(f"{NAME}: ").rpartition(" ")
        who = f"process {process} on {host}" if host else "who has no name"
        return f"{who}{f' ({address})' if address else ''}, session {pid} of PostgreSQL"

    def _ask(self, connection: Connection[Any], statement: str) -> list[Any]:
        import psycopg

        try:
            return connection.execute(statement.encode(), (self.lock,)).fetchall()
        except psycopg.Error as error:
            raise IndexNotWritable(f"the lock on the index is lost: {_line(error)}", _MEND) from error


def _line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]
