"""The ledger's tables on PostgreSQL: one schema a workspace, one writer at a time, positions without gaps, chained.

The library's table lock is kept: an event becomes readable in the order of its position, so that whoever follows the
ledger misses none. The library's own way without it (POSTGRES_ENABLE_DB_FUNCTIONS) loses events and is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from types import MappingProxyType
from typing import Any, cast
from uuid import UUID

from eventsourcing.persistence import IntegrityError, Notification, StoredEvent
from eventsourcing.postgres import PostgresApplicationRecorder
from psycopg import Connection, Cursor, sql
from psycopg.errors import LockNotAvailable

from adapters.chain import GENESIS, Link, Row, Sealed, chained_rows, erased_by, hex_of, link_of, row_of
from adapters.postgres_connection import LOCK_TIMEOUT, Connections, Listening, Pinned
from adapters.postgres_errors import translated
from adapters.postgres_schema import close_tables, closed_for, differing_parts, held_parts, make_tables
from adapters.recorder import Batch, Recorder, T, Waiting, no_row
from adapters.sealing import Seal, seal_of
from domain.errors import AlreadyThere, Refused
from projections.shape import Difference, differences

Loaded = Mapping[UUID, int]

_EVENTS = """SELECT e.position, e.originator_id, e.originator_version, e.topic, e.state, e.chain,
        s.key, s.record, s.about
    FROM {s}.events e LEFT JOIN {s}.seals s ON s.position = e.position """
_INSERT = """INSERT INTO {s}.events SELECT * FROM
    unnest(%s::bigint[], %s::text[], %s::bigint[], %s::text[], %s::bytea[], %s::bytea[])"""
_SEAL = "INSERT INTO {s}.seals SELECT * FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bytea[])"
_UNSEAL = """DELETE FROM {s}.seals WHERE record = %s
    AND position IN (SELECT position FROM {s}.events WHERE originator_id = %s)"""


class PostgresRecorder(Recorder, PostgresApplicationRecorder):
    """On a server of version 13 or later, which tells what became of a transaction."""

    def __init__(self, url: str, schema: str, place: str) -> None:
        """`place`: where it is, as people may be told, without secrets. Nothing is connected to before it is used."""
        self.connections = Connections(url, schema, f"the ledger {place}")
        super().__init__(self.connections.datastore, events_table_name="events")
        self.engine, self.name, self.place, self.schema = "PostgreSQL", f"schema {schema}", place, schema
        self._mine = threading.local()  # the cursor of a transaction that is open in this thread
        self.channel_name = schema  # a database has one set of channels for all its schemas

    def create(self, ledger_id: str) -> None:
        """Needs the right to make a schema, or one that is there and empty."""
        self.connections.attempt(lambda cursor: self._make(cursor, ledger_id))

    def _make(self, cursor: Cursor[Any], ledger_id: str) -> None:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (self.schema,))
        if cursor.execute("SHOW server_encoding").fetchone() != ("UTF8",):
            raise Refused("the database is not in UTF8", "CREATE DATABASE … ENCODING 'UTF8' makes one that is")
        self._make_schema(cursor)
        cursor.execute(self._sql("INSERT INTO {s}.head VALUES (1, 0, %s) ON CONFLICT DO NOTHING"), (GENESIS,))
        cursor.execute(self._sql("INSERT INTO {s}.about VALUES (1, %s) ON CONFLICT DO NOTHING"), (ledger_id,))

    def _make_schema(self, cursor: Cursor[Any]) -> None:
        cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (self.schema,))
        if cursor.fetchone() is None:
            cursor.execute(self._sql("CREATE SCHEMA {s}"))
        cursor.execute("SELECT to_regclass(%s)", (f"{self.schema}.about",))
        if cursor.fetchone() == (None,):
            self._require_empty(cursor)
            make_tables(cursor, self.schema)

    def _require_empty(self, cursor: Cursor[Any]) -> None:
        """What somebody else keeps there is not mixed with a ledger, which would be no sound one."""
        if found := held_parts(cursor, self.schema):
            raise Refused(
                f"the schema {self.schema} is not empty: it has the {found[0].kind} {found[0].name}",
                "another database or workspace; or an administrator drops what is in it",
            )

    def close(self) -> None:
        self.connections.close()

    # -- write

    def insert_events(
        self,
        stored_events: Sequence[StoredEvent],
        *,
        key: str = "",
        loaded: Loaded = MappingProxyType({}),
        **_: Any,
    ) -> Sequence[int]:
        def append(cursor: Cursor[Any]) -> list[int]:
            self._require_unmoved(cursor, loaded, {event.originator_id for event in stored_events})
            position, chain = self._head(cursor)
            rows = chained_rows(chain, position + 1, stored_events)
            if key:
                taken = (key, rows[0][0], rows[-1][0])
                cursor.execute(self._sql("INSERT INTO {s}.idempotency VALUES (%s, %s, %s)"), taken)
            self._put(cursor, rows)
            placed = zip(rows, stored_events, strict=True)
            self._keep_seals(cursor, ((row[0], one, erased_by(one)) for row, one in placed))
            return [row[0] for row in rows]

        if not stored_events:
            return []
        cursor = getattr(self._mine, "cursor", None)
        return self._write(append) if cursor is None else append(cursor)

    def undisturbed(self, body: Callable[[], T]) -> T:
        def run(cursor: Cursor[Any]) -> T:
            self._mine.cursor = cursor
            try:
                return body()
            finally:
                self._mine.cursor = None

        return self._write(run)

    def _write(self, work: Callable[[Cursor[Any]], T]) -> T:
        """One writer at a time; whoever waits for new events looks when this is committed."""

        def begin(cursor: Cursor[Any]) -> T:
            self._lock_table(cursor)
            self._notify_channel(cursor)
            return work(cursor)

        self._mine.last = None
        return self.connections.write(begin, self._last_is_there)

    def _last_is_there(self) -> bool:
        last: tuple[int, bytes] | None = self._mine.last
        return last is None or self.chain_at(last[0]) == last[1]

    def insert_chained(self, links: Sequence[Link], keys: Sequence[tuple[str, int, int]]) -> None:
        self._write(lambda cursor: self._take(cursor, links, keys))

    def _take(self, cursor: Cursor[Any], links: Sequence[Link], keys: Sequence[tuple[str, int, int]]) -> None:
        if self._head(cursor)[0] + 1 != links[0].notification.id:
            raise IntegrityError(f"the ledger does not end before position {links[0].notification.id}")
        cursor.executemany(self._sql("INSERT INTO {s}.idempotency VALUES (%s, %s, %s)"), keys)
        self._put(cursor, [row_of(link) for link in links])
        self._keep_seals(cursor, ((link.notification.id, link.notification, link.erases) for link in links))

    def fill(self, ledger_id: str, batches: Callable[[], Iterable[Batch]]) -> None:
        def take(cursor: Cursor[Any]) -> None:
            self._make(cursor, ledger_id)
            self._lock_table(cursor)
            if self._head(cursor)[0]:
                raise AlreadyThere(f"there are events already in {self.place}", "name another database or workspace")
            cursor.execute(self._sql("UPDATE {s}.about SET ledger_id = %s"), (ledger_id,))
            for links, keys in batches():
                self._take(cursor, links, keys)

        self._mine.last = None
        self.connections.write(take, self._last_is_there)

    @contextmanager
    def held(self) -> Iterator[Callable[[str], None]]:
        with self._one_transaction() as (connection, cursor):
            self._lock_table(cursor)

            def move(to: str) -> None:
                close_tables(cursor, self.schema, to)
                connection.execute("COMMIT")

            yield move

    def moved_to(self) -> str:
        rows = self._read(
            """SELECT p.prosrc FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
            WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = %s) AND c.relname = 'events'
            AND t.tgname = 'events_moved'""",
            self.schema,
        )
        return closed_for(rows[0][0]) if rows else ""

    @contextmanager
    def snapshot(self) -> Iterator[PostgresRecorder]:
        with self._one_transaction() as (_, cursor):
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            frozen = copy(self)
            frozen.connections = cast("Connections", Pinned(cursor))
            yield frozen

    @contextmanager
    def _one_transaction(self) -> Iterator[tuple[Connection[Any], Cursor[Any]]]:
        """Undone at the end, unless what is inside has committed it. A connection of its own: it may last."""
        with (
            translated(f"the ledger {self.place}"),
            self.connections.alone() as connection,
            connection.cursor(binary=True) as cursor,
        ):
            connection.execute("BEGIN")
            yield connection, cursor

    def _head(self, cursor: Cursor[Any]) -> tuple[int, bytes]:
        found = cursor.execute(self._sql("SELECT position, chain FROM {s}.head")).fetchone()
        if found is None:
            raise no_row(self.place, "head")
        return found[0], found[1]

    def _put(self, cursor: Cursor[Any], rows: Sequence[Row]) -> None:
        cursor.execute(self._sql(_INSERT), [list(column) for column in zip(*rows, strict=True)])
        self._mine.last = (rows[-1][0], rows[-1][-1])
        cursor.execute(self._sql("UPDATE {s}.head SET position = %s, chain = %s"), self._mine.last)

    def _require_unmoved(self, cursor: Cursor[Any], loaded: Loaded, appended: Collection[UUID | str]) -> None:
        """IntegrityError when a stream that the command was decided on has grown since. Those that are appended to are
        guarded by the uniqueness of their versions."""
        watched = {stream.hex: version for stream, version in loaded.items() if stream not in appended}
        if not watched:
            return
        statement = self._sql("""SELECT originator_id, max(originator_version) FROM {s}.events
            WHERE originator_id = ANY(%s) GROUP BY originator_id""")
        now = dict(cursor.execute(statement, (list(watched),)).fetchall())
        for stream, version in watched.items():
            if now.get(stream, 0) != version:
                raise IntegrityError(f"the stream {stream} has grown since it was loaded at version {version}")

    def _keep_seals(self, cursor: Cursor[Any], events: Iterable[tuple[int, StoredEvent, str]]) -> None:
        """In order: the keys of what was sealed are kept, those of what was erased destroyed."""
        waiting: list[tuple[int, Seal]] = []
        for position, event, erases in events:
            if (seal := seal_of(event)) is not None:
                waiting.append((position, seal))
            elif erases:
                self._seal(cursor, waiting)
                cursor.execute(self._sql(_UNSEAL), (erases, hex_of(event.originator_id)))
        self._seal(cursor, waiting)

    def _seal(self, cursor: Cursor[Any], waiting: list[tuple[int, Seal]]) -> None:
        if waiting:
            rows = [(position, seal.record, seal.about, seal.key) for position, seal in waiting]
            cursor.execute(self._sql(_SEAL), [list(column) for column in zip(*rows, strict=True)])
            waiting.clear()

    def purge(self) -> None:
        """Write the table of keys afresh. The server's write-ahead log and its own backups keep what they have."""
        with translated(f"the ledger {self.place}"), self.connections.alone() as connection:
            connection.execute(f"SET lock_timeout = '{LOCK_TIMEOUT}s'")
            connection.execute(self._sql("VACUUM (FULL) {s}.seals"))

    # -- read

    def select_links(self, first: int, limit: int, stop: int | None = None) -> list[Link]:
        where = "WHERE e.position >= %s AND e.position <= %s ORDER BY e.position LIMIT %s"
        bound = stop if stop is not None else 2**62
        return [link_of(row) for row in self._read(_EVENTS + where, first, bound, limit)]

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> list[StoredEvent]:
        where = "WHERE e.originator_id = %s AND e.originator_version > %s AND e.originator_version <= %s"
        order = f" ORDER BY e.originator_version {'DESC' if desc else 'ASC'} LIMIT %s"
        bound = lte if lte is not None else 2**62
        rows = self._read(_EVENTS + where + order, hex_of(originator_id), gt or 0, bound, limit)
        return [link_of(row).notification for row in rows]

    def head(self) -> tuple[int, bytes]:
        rows = self._read("SELECT position, chain FROM {s}.head")
        if not rows:
            raise no_row(self.place, "head")
        return rows[0][0], rows[0][1]

    def chain_at(self, position: int) -> bytes | None:
        if position == 0:
            return GENESIS
        rows = self._read("SELECT chain FROM {s}.events WHERE position = %s", position)
        return rows[0][0] if rows else None

    def find_key(self, key: str) -> tuple[int, int] | None:
        rows = self._read("SELECT first, last FROM {s}.idempotency WHERE key = %s", key)
        return (rows[0][0], rows[0][1]) if rows else None

    def keys(self, reached: int) -> list[tuple[str, int, int]]:
        statement = """SELECT key, first, last FROM {s}.idempotency
            WHERE first <= %s OR last < first OR last > (SELECT position FROM {s}.head)"""
        return [(row[0], row[1], row[2]) for row in self._read(statement, reached)]

    def ledger_id(self) -> str:
        rows = self._read("SELECT ledger_id FROM {s}.about")
        if not rows:
            raise no_row(self.place, "about")
        return str(rows[0][0])

    def of_topic(self, topic: str) -> list[Notification]:
        rows = self._read(_EVENTS + "WHERE e.topic = %s ORDER BY e.position", topic)
        return [link_of(row).notification for row in rows]

    def positions_with(self, text: str) -> list[int]:
        statement = "SELECT position FROM {s}.events WHERE position(%s::bytea IN state) > 0 ORDER BY position"
        return [row[0] for row in self._read(statement, text.encode())]

    def sealed_places(self, record: str = "", about: str = "", stream: UUID | None = None) -> list[Sealed]:
        wanted = {"record = %s": record, "about = %s": about, "originator_id = %s": stream.hex if stream else ""}
        given = {condition: value for condition, value in wanted.items() if value}
        statement = "SELECT record, about, position FROM {s}.seals JOIN {s}.events USING (position)"
        if given:
            statement += f" WHERE {' AND '.join(given)}"
        return [Sealed(*row) for row in self._read(f"{statement} ORDER BY position", *given.values())]

    def stray_seals(self) -> list[int]:
        rows = self._read(
            "SELECT position FROM {s}.seals s WHERE NOT EXISTS "
            "(SELECT 1 FROM {s}.events e WHERE e.position = s.position) ORDER BY position"
        )
        return [row[0] for row in rows]

    def waiting(self) -> Waiting:
        return Listening(self, self.connections.url, self.channel_name)

    # -- what it is made of

    def odd_shape(self) -> list[Difference]:
        """Tables, columns, constraints, indexes, triggers, rules, functions: as this server makes them elsewhere."""
        return differences(*self.connections.attempt(lambda cursor: differing_parts(cursor, self.schema), commit=False))

    def integrity(self) -> list[str]:
        """A primary key that does not lead to every row: read by another way, the table has others."""
        statement = self._sql("SELECT count(*), count(DISTINCT position), coalesce(max(position), 0) FROM {s}.events")

        def counted(cursor: Cursor[Any], by: str) -> Any:
            for kind in ("indexscan", "indexonlyscan", "bitmapscan", "seqscan"):
                cursor.execute(sql.SQL(f"SET LOCAL enable_{kind} = {'on' if kind.startswith(by) else 'off'}"))
            return cursor.execute(statement).fetchone()

        def both(cursor: Cursor[Any]) -> tuple[Any, Any]:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")  # of one moment
            return counted(cursor, "seqscan"), counted(cursor, "index")

        rows, index = self.connections.attempt(both, commit=False)
        return [] if rows == index else [f"PostgreSQL: the table events has {rows[0]} rows, its index {index[0]}"]

    def settings(self) -> dict[str, str]:
        """What the server promises."""
        names = ["fsync", "full_page_writes", "server_version", "server_encoding"]
        return dict(self._read("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", names))

    def is_held(self) -> bool:
        """Whether another transaction holds the lock that writers take."""

        def take(cursor: Cursor[Any]) -> bool:
            try:
                cursor.execute(self._sql("LOCK TABLE {s}.events IN EXCLUSIVE MODE NOWAIT"))
            except LockNotAvailable:
                return True
            return False

        return self.connections.attempt(take, commit=False)

    def rows(self, table: str) -> int:
        return int(self._read(f"SELECT count(*) FROM {{s}}.{table}")[0][0])

    def _read(self, statement: str, *parameters: object) -> list[Any]:
        """On the connection that this thread writes on, if it does: others may wait with all that the pool has."""
        cursor = getattr(self._mine, "cursor", None)
        if cursor is not None:
            return list(cursor.execute(self._sql(statement), parameters).fetchall())
        return self.connections.read(self._sql(statement), parameters)

    def _sql(self, statement: str) -> sql.Composed:
        return sql.SQL(statement).format(s=sql.Identifier(self.schema))
