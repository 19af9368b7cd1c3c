"""The ledger's table on SQLite: positions that are never reused, append-only by trigger, chained by hash."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from eventsourcing.persistence import ConnectionPoolClosedError, IntegrityError, Notification, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

from adapters.chain import GENESIS, Link, Sealed, chained_rows, erased_by, hex_of, link_of, row_of
from adapters.ledger_schema import BEFORE_SEALING, CLOSING, SCHEMA, SEALS, closing_trigger
from adapters.recorder import Batch, Recorder, T, no_row, told_place
from adapters.scratch import scratch_folder
from adapters.sealing import seal_of
from adapters.sqlite_errors import translated
from domain.errors import AlreadyThere, HomeNotWritable
from projections.shape import PARTS, Difference, Part, declared_parts, differences

LOCK_TIMEOUT = 30  # seconds that a writer waits for the others


_PLAIN = "SELECT e.*, NULL FROM events e"
_SEALED = """SELECT e.*, s.key, s.record, s.about
    FROM events e LEFT JOIN seals s ON s.position = e.position"""
_ON_STREAM = "record = ? AND position IN (SELECT position FROM events WHERE originator_id = ?)"


class _Pool(SQLiteConnectionPool):
    def _create_connection(self) -> SQLiteConnection:
        connection = super()._create_connection()
        cursor = connection.cursor()
        cursor.execute("PRAGMA synchronous=FULL")  # what was acknowledged survives a power cut
        cursor.execute("PRAGMA fullfsync=ON")  # on macOS a plain fsync stops at the disk's cache; nothing elsewhere
        cursor.execute("PRAGMA checkpoint_fullfsync=ON")
        cursor.execute("PRAGMA trusted_schema=OFF")
        cursor.execute("PRAGMA secure_delete=ON")  # a destroyed key leaves nothing behind in its place
        return connection

    def fresh(self) -> SQLiteConnection:
        """A connection beside those that it lends; none once it is closed, which would make a file where none is."""
        if self.closed:
            raise ConnectionPoolClosedError
        return self._create_connection()


class LedgerDatastore(SQLiteDatastore):
    pool: _Pool

    def __init__(self, path: Path) -> None:
        super().__init__(db_name=str(path), lock_timeout=LOCK_TIMEOUT)
        self.pool.close()
        self.pool = _Pool(db_name=str(path), lock_timeout=LOCK_TIMEOUT)


class LedgerRecorder(Recorder, SQLiteApplicationRecorder):
    """The stock recorder numbers events by implicit rowids, which a dump renumbers and a deleted tail reuses."""

    datastore: LedgerDatastore

    def __init__(self, path: Path) -> None:
        super().__init__(LedgerDatastore(path), events_table_name="events")
        self.path = path
        self.engine, self.name, self.place = "SQLite", path.name, str(path)
        self._seals_seen = False
        self._idle: list[SQLiteConnection] = []  # for single reads, as many as there were threads at a time
        self._mine = threading.local()  # the cursor of a transaction that is open in this thread

    def create(self, ledger_id: str) -> None:
        with translated(self.path), self.datastore.transaction(commit=True) as cursor:
            for statement in SCHEMA:
                cursor.execute(statement)
            cursor.execute("INSERT OR IGNORE INTO head VALUES (1, 0, ?)", (GENESIS,))
            cursor.execute("INSERT OR IGNORE INTO about VALUES (1, ?)", (ledger_id,))

    def close(self) -> None:
        self.datastore.close()  # first: a reader that is at work then closes its own
        self._close_idle()

    # -- write

    def insert_events(self, stored_events: Sequence[StoredEvent], **kwargs: Any) -> Sequence[int] | None:
        with translated(self.path):
            if (cursor := getattr(self._mine, "cursor", None)) is not None:
                return self._insert_events(cursor, stored_events, **kwargs)
            return super().insert_events(stored_events, **kwargs)

    def undisturbed(self, body: Callable[[], T]) -> T:
        with translated(self.path), self.datastore.transaction(commit=True) as cursor:
            cursor.execute("UPDATE head SET position = position")  # takes the lock
            self._mine.cursor = cursor
            try:
                return body()
            finally:
                self._mine.cursor = None

    def _insert_events(
        self,
        c: SQLiteCursor,
        stored_events: Sequence[StoredEvent],
        *,
        key: str = "",
        loaded: Mapping[UUID, int] = MappingProxyType({}),
        **_: Any,
    ) -> Sequence[int]:
        # Writing first takes the lock: reading first would fail at once when another process commits in between.
        c.execute("UPDATE head SET position = position + ? RETURNING position, chain", (len(stored_events),))
        if (moved := c.fetchone()) is None:
            raise no_row(self.place, "head")
        last, chain = moved
        _require_unmoved(c, loaded, {event.originator_id for event in stored_events})
        rows = chained_rows(chain, last - len(stored_events) + 1, stored_events)
        positions = [row[0] for row in rows]
        if key:
            c.execute("INSERT INTO idempotency VALUES (?, ?, ?)", (key, positions[0], positions[-1]))
        c.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
        c.execute("UPDATE head SET chain = ?", (rows[-1][-1],))
        self._keep_seals(c, ((row[0], one, erased_by(one)) for row, one in zip(rows, stored_events, strict=True)))
        return positions

    def _keep_seals(self, c: SQLiteCursor, events: Iterable[tuple[int, StoredEvent, str]]) -> None:
        """In order: the keys of what was sealed are kept, those of what was erased destroyed.

        A ledger made before there were sealed events gets the table for their keys with the first of them.
        """
        there = self._has_seals(c)
        for position, event, erases in events:
            if (seal := seal_of(event)) is not None:
                for statement in () if there else SEALS:
                    c.execute(statement)
                there = True
                c.execute("INSERT INTO seals VALUES (?, ?, ?, ?)", (position, seal.record, seal.about, seal.key))
            elif erases and there:
                c.execute(f"DELETE FROM seals WHERE {_ON_STREAM}", (erases, hex_of(event.originator_id)))

    def _has_seals(self, c: SQLiteCursor) -> bool:
        """Whether the file has a table of keys, apart from what this transaction has made."""
        if not self._seals_seen:
            c.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'seals'")
            self._seals_seen = c.fetchone() is not None
        return self._seals_seen

    def insert_chained(self, links: Sequence[Link], keys: Sequence[tuple[str, int, int]]) -> None:
        with translated(self.path), self.datastore.transaction(commit=True) as cursor:
            before, tail = links[0].notification.id - 1, links[-1]
            claim = "UPDATE head SET position = ?, chain = ? WHERE position = ? RETURNING 1"
            cursor.execute(claim, (tail.notification.id, tail.chain, before))
            if cursor.fetchone() is None:
                raise IntegrityError(f"the ledger does not end at position {before}")
            cursor.executemany("INSERT INTO idempotency VALUES (?, ?, ?)", keys)
            cursor.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", [row_of(link) for link in links])
            self._keep_seals(cursor, ((link.notification.id, link.notification, link.erases) for link in links))

    def fill(self, ledger_id: str, batches: Callable[[], Iterable[Batch]]) -> None:
        """Into a file that nobody else has yet: half filled, it is thrown away."""
        self.create(ledger_id)
        if self.head()[0]:
            raise AlreadyThere(f"{self.place} holds events already")
        for links, keys in batches():
            self.insert_chained(links, keys)

    @contextmanager
    def held(self) -> Iterator[Callable[[str], None]]:
        with (
            translated(self.path),
            closing(sqlite3.connect(self.path, timeout=LOCK_TIMEOUT, isolation_level=None)) as db,
        ):
            db.execute("PRAGMA synchronous = FULL")
            db.execute("BEGIN IMMEDIATE")

            def move(to: str) -> None:
                db.execute(f"DROP TRIGGER IF EXISTS {CLOSING}")
                db.execute(closing_trigger(to))
                db.execute("COMMIT")

            yield move
            if db.in_transaction:
                db.execute("ROLLBACK")

    def moved_to(self) -> str:
        row = self._one(f"SELECT (SELECT sql FROM sqlite_schema WHERE (type, name) = ('trigger', '{CLOSING}'))")
        return told_place(row[0] or "")

    @contextmanager
    def snapshot(self) -> Iterator[LedgerRecorder]:
        """A copy of the file, beside it."""
        with scratch_folder(self.path.absolute().parent) as folder:
            copy_database(self.path, Path(folder) / self.path.name)
            frozen = LedgerRecorder(Path(folder) / self.path.name)
            try:
                yield frozen
            finally:
                frozen.close()

    # -- read

    def select_links(self, first: int, limit: int, stop: int | None = None) -> list[Link]:
        where = "WHERE e.position >= ? AND e.position <= ? ORDER BY e.position LIMIT ?"
        bound = stop if stop is not None else 2**62
        with self._reading() as cursor:
            cursor.execute(f"{self._events(cursor)} {where}", (first, bound, limit))
            return [link_of(row) for row in cursor.fetchall()]

    def _events(self, c: SQLiteCursor) -> str:
        return _SEALED if self._has_seals(c) else _PLAIN

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> list[StoredEvent]:
        order = "DESC" if desc else "ASC"
        where = (
            "WHERE e.originator_id = ? AND e.originator_version > ? AND e.originator_version <= ?"
            f" ORDER BY e.originator_version {order} LIMIT ?"
        )
        parameters = (
            hex_of(originator_id),
            gt or 0,
            lte if lte is not None else 2**62,
            limit if limit is not None else -1,
        )
        with self._reading() as cursor:
            cursor.execute(f"{self._events(cursor)} {where}", parameters)
            return [link_of(row).notification for row in cursor.fetchall()]

    def head(self) -> tuple[int, bytes]:
        row = self._one("SELECT position, chain FROM head")
        if row is None:
            raise no_row(self.place, "head")
        return int(row["position"]), bytes(row["chain"])

    def chain_at(self, position: int) -> bytes | None:
        if position == 0:
            return GENESIS
        row = self._one("SELECT chain FROM events WHERE position = ?", position)
        return bytes(row[0]) if row else None

    def find_key(self, key: str) -> tuple[int, int] | None:
        row = self._one("SELECT first, last FROM idempotency WHERE key = ?", key)
        return (row[0], row[1]) if row else None

    def ledger_id(self) -> str:
        row = self._one("SELECT ledger_id FROM about")
        if row is None:
            raise no_row(self.place, "about")
        return str(row[0])

    def keys(self, reached: int) -> list[tuple[str, int, int]]:
        statement = """SELECT key, first, last FROM idempotency
            WHERE first <= ? OR last < first OR last > (SELECT position FROM head)"""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(statement, (reached,))
            return [(row[0], row[1], row[2]) for row in cursor.fetchall()]

    # -- seals

    def sealed_places(self, record: str = "", about: str = "", stream: UUID | None = None) -> list[Sealed]:
        wanted = {"record = ?": record, "about = ?": about, "originator_id = ?": stream.hex if stream else ""}
        given = {condition: value for condition, value in wanted.items() if value}
        statement = "SELECT record, about, position FROM seals JOIN events USING (position)"
        if given:
            statement += f" WHERE {' AND '.join(given)}"
        return [Sealed(*row) for row in self._sealed(f"{statement} ORDER BY position", *given.values())]

    def stray_seals(self) -> list[int]:
        rows = self._sealed("SELECT position FROM seals WHERE position NOT IN (SELECT position FROM events)")
        return [row[0] for row in rows]

    def _sealed(self, statement: str, *parameters: object) -> list[Any]:
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            if not self._has_seals(cursor):
                return []
            cursor.execute(statement, parameters)
            return list(cursor.fetchall())

    def purge(self) -> None:
        """Write the whole file afresh, so that no page of it or of its log holds a destroyed key any more.

        HomeNotWritable when others go on reading, or the disk has no room for a second copy.
        """
        with (
            translated(self.path),
            closing(sqlite3.connect(self.path, timeout=LOCK_TIMEOUT, isolation_level=None)) as db,
        ):
            db.execute("PRAGMA synchronous = FULL")
            db.execute("PRAGMA secure_delete = ON")
            db.execute("VACUUM")
            busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise HomeNotWritable(f"{self.path.name} is being read by another process", "wait for it, then try again")

    def of_topic(self, topic: str) -> list[Notification]:
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(f"{self._events(cursor)} WHERE e.topic = ? ORDER BY e.position", (topic,))
            return [link_of(row).notification for row in cursor.fetchall()]

    def positions_with(self, text: str) -> list[int]:
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute("SELECT position FROM events WHERE instr(state, ?) ORDER BY position", (text.encode(),))
            return [row[0] for row in cursor.fetchall()]

    # -- the file

    def odd_shape(self) -> list[Difference]:
        """Its tables, indexes, triggers and views. A file from before sealing is as it was declared then."""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            declared = SCHEMA if self._has_seals(cursor) else BEFORE_SEALING
            cursor.execute(PARTS)
            held = [Part(*row) for row in cursor.fetchall()]
        for part in held:
            if part[:2] == ("trigger", CLOSING) and (gone := told_place(part.declaration or "")):
                declared = (*declared, closing_trigger(gone))
        return differences(declared_parts(declared), held)

    def rows(self, table: str) -> int:
        return int(self._one(f"SELECT count(*) FROM {table}")[0])

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file; empty when nothing."""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute("PRAGMA integrity_check(10)")
            found = [str(row[0]) for row in cursor.fetchall()]
        return [] if found == ["ok"] else [f"SQLite: {one}" for one in found]

    def _one(self, statement: str, *parameters: object) -> Any:
        with self._reading() as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchone()

    @contextmanager
    def _reading(self) -> Iterator[SQLiteCursor]:
        """For one statement, which sees one state by itself: without the transaction around it and without the pool's
        locks, which cost more than it does. For two, until the keys' table is known to be there."""
        with translated(self.path):
            if not self._seals_seen:
                with self.datastore.transaction(commit=False) as cursor:
                    yield cursor
                return
            connection = self._idle_connection()
            alone = connection.cursor()
            try:
                yield alone
            finally:
                alone.sqlite_cursor.close()
                self._idle.append(connection)
                if self.datastore.pool.closed:
                    self._close_idle()

    def _close_idle(self) -> None:
        with suppress(IndexError):
            while True:
                self._idle.pop().close()

    def _idle_connection(self) -> SQLiteConnection:
        with suppress(IndexError):  # asked first, another thread might take the last one in between
            return self._idle.pop()
        return self.datastore.pool.fresh()


def _require_unmoved(c: SQLiteCursor, loaded: Mapping[UUID, int], appended: Collection[UUID | str]) -> None:
    """IntegrityError when a stream that the command was decided on has grown since. Those that are appended to are
    guarded by the uniqueness of their versions."""
    for stream, version in loaded.items():
        if stream not in appended:
            c.execute("SELECT max(originator_version) FROM events WHERE originator_id = ?", (stream.hex,))
            if (c.fetchone()[0] or 0) != version:
                raise IntegrityError(f"the stream {stream} has grown since it was loaded at version {version}")


def copy_database(source: Path, target: Path, progress: Callable[[int, int], None] = lambda done, total: None) -> None:
    """SQLite's online backup: one consistent state, whatever is written meanwhile."""
    with translated(source), closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as live:
        live.execute("PRAGMA busy_timeout = 30000")
        with closing(sqlite3.connect(target)) as copy:
            live.backup(copy, progress=lambda _, remaining, total: progress(total - remaining, total))


def has_moved(path: Path) -> bool:
    """Whether the ledger in this file is closed for good, as it has moved elsewhere. It is opened to be read only."""
    with translated(path), closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        found = db.execute("SELECT sql FROM sqlite_schema WHERE (type, name) = ('trigger', ?)", (CLOSING,)).fetchone()
    return found is not None and bool(told_place(found[0]))
