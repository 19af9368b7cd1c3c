"""The ledger's table on SQLite: positions that are never reused, append-only by trigger, chained by hash."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from eventsourcing.persistence import IntegrityError, Notification, StoredEvent
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

from adapters.ledger_schema import SCHEMA, SEALS
from adapters.sealing import ErasingEvent, Seal, SealedNotification, seal_of
from adapters.sqlite_errors import translated
from domain.errors import HomeNotWritable, LedgerDamaged
from projections.shape import PARTS, Part

GENESIS = hashlib.sha256(b"tht ledger").digest()
LOCK_TIMEOUT = 30  # seconds that a writer waits for the others
PAGE = 500  # events


_PLAIN = "SELECT e.*, NULL FROM events e"
_SEALED = """SELECT e.*, s.key, s.record, s.about
    FROM events e LEFT JOIN seals s ON s.position = e.position"""
_ON_STREAM = "record = ? AND position IN (SELECT position FROM events WHERE originator_id = ?)"


@dataclass(frozen=True, slots=True)
class Link:
    """A stored event with its place and the chain hash up to and including it.

    `erases`, of an event from elsewhere: the record whose seals on its stream it destroys.
    """

    notification: Notification
    chain: bytes
    erases: str = ""


class Sealed(NamedTuple):
    """Whose text stands sealed at a position, and whom it is about."""

    record: str
    about: str
    position: int


def next_link(chain: bytes, event: StoredEvent) -> bytes:
    """SHA-256 over the previous hash and the event's stored bytes, each part framed by its length."""
    digest = hashlib.sha256(chain)
    for part in (
        _hex(event.originator_id).encode(),
        str(event.originator_version).encode(),
        event.topic.encode(),
        event.state,
    ):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


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


class LedgerDatastore(SQLiteDatastore):
    def __init__(self, path: Path) -> None:
        super().__init__(db_name=str(path), lock_timeout=LOCK_TIMEOUT)
        self.pool.close()
        self.pool = _Pool(db_name=str(path), lock_timeout=LOCK_TIMEOUT)


class LedgerRecorder(SQLiteApplicationRecorder):
    """The stock recorder numbers events by implicit rowids, which a dump renumbers and a deleted tail reuses."""

    def __init__(self, path: Path) -> None:
        super().__init__(LedgerDatastore(path), events_table_name="events")
        self.path = path
        self._seals_seen = False

    def create(self, ledger_id: str) -> None:
        """Make the tables, once; a second process that does the same at the same time finds them made."""
        with translated(self.path), self.datastore.transaction(commit=True) as cursor:
            for statement in SCHEMA:
                cursor.execute(statement)
            cursor.execute("INSERT OR IGNORE INTO head VALUES (1, 0, ?)", (GENESIS,))
            cursor.execute("INSERT OR IGNORE INTO about VALUES (1, ?)", (ledger_id,))

    def close(self) -> None:
        self.datastore.close()

    # -- write

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
        last, chain = c.fetchone()
        _require_unmoved(c, loaded, {event.originator_id for event in stored_events})
        positions = range(last - len(stored_events) + 1, last + 1)
        rows = []
        for position, event in zip(positions, stored_events, strict=True):
            chain = next_link(chain, event)
            rows.append(
                (position, _hex(event.originator_id), event.originator_version, event.topic, event.state, chain)
            )
        if key:
            c.execute("INSERT INTO idempotency VALUES (?, ?, ?)", (key, positions[0], positions[-1]))
        c.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
        c.execute("UPDATE head SET chain = ?", (chain,))
        self._keep_seals(
            c, ((place, one, _erased_by(one)) for place, one in zip(positions, stored_events, strict=True))
        )
        return list(positions)

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
                c.execute(f"DELETE FROM seals WHERE {_ON_STREAM}", (erases, _hex(event.originator_id)))

    def _has_seals(self, c: SQLiteCursor) -> bool:
        """Whether the file has a table of keys, apart from what this transaction has made."""
        if not self._seals_seen:
            c.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'seals'")
            self._seals_seen = c.fetchone() is not None
        return self._seals_seen

    def insert_chained(self, links: Sequence[Link], keys: Sequence[tuple[str, int, int]]) -> None:
        """Append events that were exported elsewhere, at their own positions. The caller has checked the chain."""
        with translated(self.path), self.datastore.transaction(commit=True) as cursor:
            tail = links[-1]
            cursor.execute("UPDATE head SET position = ?, chain = ?", (tail.notification.id, tail.chain))
            cursor.executemany("INSERT INTO idempotency VALUES (?, ?, ?)", keys)
            cursor.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", [_row(link) for link in links])
            self._keep_seals(cursor, ((link.notification.id, link.notification, link.erases) for link in links))

    # -- read

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        if topics:
            raise ValueError("projections follow every event: filtering by topic makes waiting time out")
        first = (start or 0) if inclusive_of_start else (start or 0) + 1
        return [link.notification for link in self.select_links(first, limit, stop)]

    def select_links(self, first: int, limit: int, stop: int | None = None) -> list[Link]:
        """At most `limit` events from position `first` to `stop`, in order, with their chain hashes."""
        where = "WHERE e.position >= ? AND e.position <= ? ORDER BY e.position LIMIT ?"
        bound = stop if stop is not None else 2**62
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(f"{self._events(cursor)} {where}", (first, bound, limit))
            return [_link(row) for row in cursor.fetchall()]

    def _events(self, c: SQLiteCursor) -> str:
        return _SEALED if self._has_seals(c) else _PLAIN

    def links(self, after: int = 0) -> Iterator[Link]:
        """Every stored event above a position with its chain hash, page by page."""
        while found := self.select_links(after + 1, PAGE):
            yield from found
            after = found[-1].notification.id

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> list[StoredEvent]:
        """As the library says, but as notifications, so that each knows its position."""
        order = "DESC" if desc else "ASC"
        where = (
            "WHERE e.originator_id = ? AND e.originator_version > ? AND e.originator_version <= ?"
            f" ORDER BY e.originator_version {order} LIMIT ?"
        )
        parameters = (
            _hex(originator_id),
            gt or 0,
            lte if lte is not None else 2**62,
            limit if limit is not None else -1,
        )
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(f"{self._events(cursor)} {where}", parameters)
            return [_link(row).notification for row in cursor.fetchall()]

    def max_notification_id(self) -> int:
        return self.head()[0]

    def head(self) -> tuple[int, bytes]:
        """The last position (0 when empty) and the chain hash there."""
        row = self._one("SELECT position, chain FROM head")
        return int(row["position"]), bytes(row["chain"])

    def chain_at(self, position: int) -> bytes | None:
        """The chain hash at a position; None when the ledger does not have it."""
        if position == 0:
            return GENESIS
        row = self._one("SELECT chain FROM events WHERE position = ?", position)
        return bytes(row[0]) if row else None

    def find_key(self, key: str) -> tuple[int, int] | None:
        """First and last position recorded under an idempotency key."""
        row = self._one("SELECT first, last FROM idempotency WHERE key = ?", key)
        return (row[0], row[1]) if row else None

    def ledger_id(self) -> str:
        row = self._one("SELECT ledger_id FROM about")
        return str(row[0])

    def keys(self, reached: int) -> list[tuple[str, int, int]]:
        """Idempotency keys with first and last position: those up to a position, and those of no event at all."""
        statement = """SELECT key, first, last FROM idempotency
            WHERE first <= ? OR last < first OR last > (SELECT position FROM head)"""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(statement, (reached,))
            return [(row[0], row[1], row[2]) for row in cursor.fetchall()]

    # -- seals

    def has_seals(self) -> bool:
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            return self._has_seals(cursor)

    def sealed_places(self, record: str = "", about: str = "", stream: UUID | None = None) -> list[Sealed]:
        """Every event that can be opened, in order: of one record, about one subject, on one stream."""
        wanted = {"record = ?": record, "about = ?": about, "originator_id = ?": stream.hex if stream else ""}
        given = {condition: value for condition, value in wanted.items() if value}
        statement = "SELECT record, about, position FROM seals JOIN events USING (position)"
        if given:
            statement += f" WHERE {' AND '.join(given)}"
        return [Sealed(*row) for row in self._sealed(f"{statement} ORDER BY position", *given.values())]

    def stray_seals(self) -> list[int]:
        """Positions of keys without an event."""
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
        """Every event of one name, in order. Reads through the whole ledger."""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(f"{self._events(cursor)} WHERE e.topic = ? ORDER BY e.position", (topic,))
            return [_link(row).notification for row in cursor.fetchall()]

    def positions_with(self, text: str) -> list[int]:
        """Where these words stand readable in a stored event. Reads through the whole ledger."""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute("SELECT position FROM events WHERE instr(state, ?) ORDER BY position", (text.encode(),))
            return [row[0] for row in cursor.fetchall()]

    # -- the file

    def parts(self) -> list[Part]:
        """The tables, indexes, triggers and views that the file has."""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(PARTS)
            return [Part(*row) for row in cursor.fetchall()]

    def rows(self, table: str) -> int:
        return int(self._one(f"SELECT count(*) FROM {table}")[0])

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the file; empty when nothing."""
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute("PRAGMA integrity_check(10)")
            found = [str(row[0]) for row in cursor.fetchall()]
        return [] if found == ["ok"] else found

    def _one(self, statement: str, *parameters: object) -> Any:
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchone()


def _require_unmoved(c: SQLiteCursor, loaded: Mapping[UUID, int], appended: Collection[UUID | str]) -> None:
    """IntegrityError when a stream that the command was decided on has grown since. Those that are appended to are
    guarded by the uniqueness of their versions."""
    for stream, version in loaded.items():
        if stream not in appended:
            c.execute("SELECT max(originator_version) FROM events WHERE originator_id = ?", (stream.hex,))
            if (c.fetchone()[0] or 0) != version:
                raise IntegrityError(f"the stream {stream} has grown since it was loaded at version {version}")


def _link(row: Any) -> Link:
    """A row as `_events` selects it. LedgerDamaged where a column holds what was never put there."""
    position, stream, version, topic, state, chain, key, *whose = row
    try:
        stored = (UUID(stream), version, topic, state, position)
    except (ValueError, TypeError, AttributeError):
        raise LedgerDamaged(f"the event at position {position} has no stream id") from None
    if not (type(version) is int and type(topic) is str and type(state) is type(chain) is bytes):
        raise LedgerDamaged(f"the event at position {position} is no event any more")
    if key is None:
        return Link(Notification(*stored), chain)
    if not (type(key) is bytes and all(type(one) is str for one in whose)):
        raise LedgerDamaged(f"the key of the event at position {position} is no key any more")
    return Link(SealedNotification(*stored, Seal(key, *whose)), chain)


def _row(link: Link) -> tuple[object, ...]:
    event = link.notification
    return (event.id, _hex(event.originator_id), event.originator_version, event.topic, event.state, link.chain)


def _hex(stream: UUID | str) -> str:
    return stream.hex if isinstance(stream, UUID) else stream


def _erased_by(event: StoredEvent) -> str:
    return event.erases if isinstance(event, ErasingEvent) else ""
