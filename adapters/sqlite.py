"""The ledger's table on SQLite: positions that are never reused, append-only by trigger, chained by hash."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import UUID

from eventsourcing.persistence import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    Notification,
    OperationalError,
    PersistenceError,
    StoredEvent,
)
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteConnection,
    SQLiteConnectionPool,
    SQLiteCursor,
    SQLiteDatastore,
)

from adapters.ledger_schema import SCHEMA
from domain.errors import HomeNotWritable, LedgerDamaged, ThtError, Unavailable
from projections.shape import PARTS, Part

GENESIS = hashlib.sha256(b"tht ledger").digest()
LOCK_TIMEOUT = 30  # seconds that a writer waits for the others
PAGE = 500  # events


@dataclass(frozen=True, slots=True)
class Link:
    """A stored event with its place and the chain hash up to and including it."""

    notification: Notification
    chain: bytes


def next_link(chain: bytes, event: StoredEvent) -> bytes:
    """SHA-256 over the previous hash and the event's stored bytes, each part framed by its length."""
    digest = hashlib.sha256(chain)
    originator = event.originator_id.hex if isinstance(event.originator_id, UUID) else event.originator_id
    for part in (originator.encode(), str(event.originator_version).encode(), event.topic.encode(), event.state):
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
            originator = event.originator_id.hex if isinstance(event.originator_id, UUID) else event.originator_id
            rows.append((position, originator, event.originator_version, event.topic, event.state, chain))
        if key:
            c.execute("INSERT INTO idempotency VALUES (?, ?, ?)", (key, positions[0], positions[-1]))
        c.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
        c.execute("UPDATE head SET chain = ?", (chain,))
        return list(positions)

    def insert_chained(self, links: Sequence[Link], keys: Sequence[tuple[str, int, int]]) -> None:
        """Append events that were exported elsewhere, at their own positions. The caller has checked the chain."""
        with translated(self.path), self.datastore.transaction(commit=True) as cursor:
            tail = links[-1]
            cursor.execute("UPDATE head SET position = ?, chain = ?", (tail.notification.id, tail.chain))
            cursor.executemany("INSERT INTO idempotency VALUES (?, ?, ?)", keys)
            cursor.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", [_row(link) for link in links])

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
        statement = "SELECT * FROM events WHERE position >= ? AND position <= ? ORDER BY position LIMIT ?"
        bound = stop if stop is not None else 2**62
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(statement, (first, bound, limit))
            return [_link(row) for row in cursor.fetchall()]

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
        statement = (
            "SELECT * FROM events WHERE originator_id = ? AND originator_version > ? AND originator_version <= ?"
            f" ORDER BY originator_version {order} LIMIT ?"
        )
        originator = originator_id.hex if isinstance(originator_id, UUID) else originator_id
        parameters = (originator, gt or 0, lte if lte is not None else 2**62, limit if limit is not None else -1)
        with translated(self.path), self.datastore.transaction(commit=False) as cursor:
            cursor.execute(statement, parameters)
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
    try:
        originator_id = UUID(row["originator_id"])
    except (ValueError, TypeError, AttributeError):  # a damaged row may hold anything
        raise LedgerDamaged(f"the event at position {row['position']} has no stream id") from None
    return Link(
        Notification(
            id=row["position"],
            originator_id=originator_id,
            originator_version=row["originator_version"],
            topic=row["topic"],
            state=row["state"],
        ),
        bytes(row["chain"]),
    )


def _row(link: Link) -> tuple[object, ...]:
    event = link.notification
    originator = event.originator_id.hex if isinstance(event.originator_id, UUID) else event.originator_id
    return (event.id, originator, event.originator_version, event.topic, event.state, link.chain)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns what SQLite and the library raise into the domain's words. Lost races (IntegrityError) pass unchanged."""
    try:
        yield
    except (IntegrityError, sqlite3.IntegrityError, ThtError):
        raise
    except (sqlite3.Error, PersistenceError) as error:
        raise explain(error, path) from error
    except UnicodeDecodeError as error:  # the message itself quotes damaged bytes
        raise LedgerDamaged(f"{path.name} is damaged: what SQLite says about it is no text") from error


def explain(error: Exception, path: Path) -> Unavailable:
    """The domain's error for a database failure."""
    text = str(error).lower()
    if any(word in text for word in ("malformed", "not a database", "corrupt", "could not decode")):
        return LedgerDamaged(f"{path.name} is damaged: {error}") if _is_ledger(path) else _damaged_view(path, error)
    if "no such table" in text:
        return LedgerDamaged(f"{path.name} is no ledger of tht: {error}")
    if "full" in text:
        return HomeNotWritable(f"no space left for {path}", "free some space, then run the command again")
    if "readonly" in text or "read-only" in text or "unable to open" in text:
        return HomeNotWritable(f"{path} cannot be written: {error}", "check the permissions of the home, or its disk")
    if "locked" in text or "busy" in text or "timed out" in text:
        return HomeNotWritable(f"{path.name} stayed locked by another process", "wait for it, then try again")
    if isinstance(error, (OperationalError, sqlite3.OperationalError, InterfaceError)):
        return HomeNotWritable(f"{path}: {error}", "check the disk and the permissions of the home")
    if isinstance(error, (DatabaseError, sqlite3.DatabaseError)):
        return LedgerDamaged(f"{path.name}: {error}")
    return HomeNotWritable(f"{path}: {error}", "check the disk and the permissions of the home")


def _is_ledger(path: Path) -> bool:
    return path.name.startswith("ledger")


def _damaged_view(path: Path, error: Exception) -> Unavailable:
    return HomeNotWritable(
        f"{path.name} is damaged: {error}", f"it holds nothing of its own: delete {path.name} and run the command again"
    )
