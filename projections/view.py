"""A SQL view: its name, version, tables and digest; and the one file in which all views of a workspace live.

Most commands find the views where the ledger is: the file is opened and checked with the tables that are declared, and
what folds events into them, with the events' classes, is loaded when there are events that may concern it.
"""

from __future__ import annotations

import hashlib
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from domain.errors import HomeNotWritable, ThtError
from domain.event import Envelope, Event
from projections.shape import PARTS, Part, declared_parts, differences
from projections.wal import use_wal

CACHE = 8_192  # KiB of pages that a connection keeps: a search of many records reads the same ones again
LOCK_TIMEOUT = 30.0  # seconds that one process waits for another's page
SHOWN_PARTS = 3
MOST = 2**31 - 1  # that the header's field holds
# How a full-text table is merged: every segment is asked about every word, and by default one that grows record by
# record has a dozen. With these it has half as many, and writing costs no more.
MERGING = (("automerge", 2), ("crisismerge", 4))
_STANDINGS = "SELECT 'projection', name || ' v' || version, name, CAST(version AS TEXT) FROM projections"

TRACKING = (
    """CREATE TABLE IF NOT EXISTS projections (
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        position INTEGER NOT NULL,
        chain TEXT NOT NULL,
        PRIMARY KEY (name, version)
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS parked (
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        stream TEXT NOT NULL,
        position INTEGER NOT NULL,
        error TEXT NOT NULL,
        PRIMARY KEY (name, version, stream)
    ) STRICT""",
)

Row = sqlite3.Row


class Tables:
    """The tables of a view. A change of meaning or of tables needs a new `version`."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    tables: ClassVar[tuple[str, ...]]  # named <name>_v<version>_…, so that two versions stand side by side
    schema: ClassVar[tuple[str, ...]]
    derived: ClassVar[tuple[str, ...]] = ()  # full-text tables over `tables`, made anew after a copy
    areas: ClassVar[tuple[str, ...] | None] = None  # of the events that may concern the view; None: of any
    folded_by: ClassVar[str]  # where the view is: `module.Class`

    def follows(self, areas: Collection[str]) -> bool:
        """Whether any event of these areas may concern the view."""
        return self.areas is None or any(area in areas for area in self.areas)

    def loaded(self) -> View:
        """The view with these tables."""
        module, _, name = self.folded_by.rpartition(".")
        view: View = getattr(import_module(module), name)()
        return view

    def create(self, db: sqlite3.Connection) -> None:
        for statement in self.schema:
            db.execute(statement)
        self._set_merging(db)

    def _set_merging(self, db: sqlite3.Connection) -> None:
        for table in self.derived:
            db.executemany(f"INSERT INTO {table}({table}, rank) VALUES (?, ?)", MERGING)

    def refresh_derived(self, db: sqlite3.Connection) -> None:
        self._set_merging(db)
        for table in self.derived:
            db.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")

    def digests(self, db: sqlite3.Connection) -> dict[str, str]:
        """SHA-256 over every row of every table, in the order of all columns."""
        return {table: _table_digest(db, table) for table in self.tables}


class View(Tables, ABC):
    """Tables that follow from the ledger, and how."""

    concerned: ClassVar[tuple[type[Event], ...]] = (Event,)  # by events of these classes only

    def loaded(self) -> View:
        return self

    @abstractmethod
    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        """Fold one event in. Called once for every event of `concerned`, in order of position, inside the loop's
        transaction; other events would leave the view as it is."""

    def broken_invariants(self, db: sqlite3.Connection) -> list[str]:
        """What of the domain's invariants does not hold in this view; empty when all do."""
        return []


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a view has come. The chain is the ledger's hash (hex) at that position."""

    position: int
    chain: str


@dataclass(frozen=True, slots=True)
class Parked:
    """A stream that a view stopped following, at the event which it could not apply."""

    name: str
    version: int
    stream: str
    position: int
    error: str


class ViewsFile:
    """`views.sqlite3`, or a scratch copy of it. Everything in it can be deleted and replayed."""

    def __init__(self, path: Path | None, views: Sequence[Tables], genesis: str) -> None:
        """Opens or makes the file; None keeps it in memory. Tables are made under a lock, so openers do not collide."""
        self.path, self.views, self.is_open = path, tuple(views), True
        with self.translated():
            self.db = sqlite3.connect(
                path or ":memory:", timeout=LOCK_TIMEOUT, isolation_level=None, check_same_thread=False
            )
            self.db.row_factory = sqlite3.Row
            if path:
                use_wal(self.db, LOCK_TIMEOUT)
            self.db.execute("PRAGMA synchronous=NORMAL")  # a lost page is replayed
            self.db.execute(f"PRAGMA cache_size=-{CACHE}")
            self.db.execute("PRAGMA secure_delete=ON")  # a text that was erased leaves nothing behind in its place
            if not self._complete():
                with self.transaction():
                    self._create(genesis)
            if odd := self.odd_shape():
                raise self._damaged(f"its tables are not those of its views: {'; '.join(odd[:SHOWN_PARTS])}")

    def _complete(self) -> bool:
        parts = {Part(*row) for row in self.db.execute(PARTS)}
        if not any(part.name == "projections" for part in parts):
            return False
        if not declared_parts(TRACKING) <= parts:
            raise self._damaged("its tables are not those of its views")
        held = self._held()
        for view in self.views:
            if _standing_of(view) not in held:
                if any(part.name in view.tables for part in held):
                    raise self._damaged(f"it does not say how far the view {view.name} has come")
                return False
        return True

    def _held(self) -> set[Part]:
        """One statement, so that another process changes nothing in between."""
        return {Part(*row) for row in self.db.execute(f"{PARTS} UNION ALL {_STANDINGS}")}

    def odd_shape(self) -> list[str]:
        """What of the file is not as its views declare it. Other versions of a view may stand beside it, complete."""
        with self.translated():
            held = self._held()
        statements = *TRACKING, *(statement for view in self.views for statement in view.schema)
        declared = declared_parts(statements) | {_standing_of(view) for view in self.views}
        return [one.what for one in differences(declared, held - self._other_versions(held - declared))]

    def _other_versions(self, undeclared: set[Part]) -> set[Part]:
        """Tables and indexes of another version of a known view, and the row that says how far it has come."""
        names = {view.name for view in self.views}
        found: set[Part] = set()
        for standing in undeclared:
            if standing.kind == "projection" and standing.table in names:
                prefix = f"{standing.table}_v{standing.declaration}_"
                own = {one for one in undeclared if one.kind in ("table", "index") and one.table.startswith(prefix)}
                found |= {standing, *own} if own else own
        return found

    def _create(self, genesis: str) -> None:
        for statement in TRACKING:
            self.db.execute(statement)
        for view in self.views:
            view.create(self.db)
            self.db.execute("INSERT OR IGNORE INTO projections VALUES (?, ?, 0, ?)", (view.name, view.version, genesis))

    def close(self) -> None:
        self.is_open = False
        self.db.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One write transaction that takes its lock at once."""
        with self.translated():
            self.db.execute("BEGIN IMMEDIATE")
            try:
                yield self.db
                self.db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One read transaction: everything in it is seen at one position."""
        with self.translated():
            self.db.execute("BEGIN")
            try:
                yield self.db
            finally:
                self._roll_back()

    def _roll_back(self) -> None:
        """SQLite rolls back by itself when the disk fails: a second time would raise and hide the reason."""
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Turns SQLite's trouble with this file into the domain's words."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._explained(error) from error
        except UnicodeDecodeError as error:  # the message itself quotes damaged bytes
            raise self._damaged("what SQLite says about it is no text") from error

    def _explained(self, error: sqlite3.DatabaseError) -> ThtError:
        name = self.path.name if self.path else "the scratch view"
        text = str(error).lower()
        if "locked" in text or "busy" in text:
            return HomeNotWritable(f"{name} stayed locked by another process", "wait for it, then try again")
        if any(sign in text for sign in ("malformed", "not a database", "could not decode")):
            return self._damaged(error)
        if "full" in text:
            return HomeNotWritable(f"no space left for {name}", "free some space, then run the command again")
        return HomeNotWritable(f"{name}: {error}", "check the disk and the permissions of the home")

    def _damaged(self, how: object) -> HomeNotWritable:
        name = self.path.name if self.path else "the scratch view"
        return HomeNotWritable(
            f"{name} is damaged: {how}", "it holds nothing of its own: tht projection rebuild makes it anew"
        )

    # -- erasures

    def erased(self) -> int:
        """The position of the last erasure that the views have followed, 0 without one."""
        with self.translated():
            return int(self.db.execute("PRAGMA user_version").fetchone()[0])

    def note_erasure(self, position: int) -> None:
        """Inside the transaction that applies it: whoever is killed after it finds what is to be cleaned. In a field
        of the file's header, which every older version of this file has."""
        if position > self.erased():
            self.db.execute(f"PRAGMA user_version = {min(position, MOST)}")

    # -- standing

    def standing(self, view: Tables) -> Standing:
        (found,) = self.standings((view,))
        return found

    def standings(self, views: Sequence[Tables]) -> list[Standing]:
        """How far each of the views has come, all seen at one moment."""
        rows = self.db.execute("SELECT name, version, position, chain FROM projections").fetchall()
        held = {(name, version): Standing(position, chain) for name, version, position, chain in rows}
        for view in views:
            if (view.name, view.version) not in held:
                raise self._damaged(f"it does not say how far the view {view.name} has come")
        return [held[view.name, view.version] for view in views]

    def claim(self, views: Sequence[Tables], before: Standing, after: Standing) -> bool:
        """Move views that stand alike inside the current transaction; False when another process moved one first."""
        which = " OR ".join(["(name = ? AND version = ?)"] * len(views))
        names = [part for view in views for part in (view.name, view.version)]
        moved = self.db.execute(
            f"UPDATE projections SET position = ?, chain = ? WHERE position = ? AND ({which})",
            (after.position, after.chain, before.position, *names),
        )
        return moved.rowcount == len(views)

    def parked(self, view: Tables | None = None) -> list[Parked]:
        rows = self.db.execute("SELECT * FROM parked ORDER BY name, version, position").fetchall()
        return [
            Parked(**dict(row))
            for row in rows
            if view is None or (row["name"], row["version"]) == (view.name, view.version)
        ]

    def park(self, view: Tables, stream: str, position: int, error: str) -> None:
        self.db.execute(
            "INSERT OR IGNORE INTO parked VALUES (?, ?, ?, ?, ?)", (view.name, view.version, stream, position, error)
        )

    # -- copies

    def take_over(self, views: Sequence[Tables], scratch: Path) -> None:
        """Replace the views' rows by those of rebuilt copies and drop older versions, all in one transaction."""
        with self.translated():
            self.db.execute("ATTACH DATABASE ? AS scratch", (str(scratch),))
        try:
            with self.transaction() as db:
                for view in views:
                    self._take_rows(db, view)
                    self._drop_older(view)
        finally:
            self.db.execute("DETACH DATABASE scratch")

    def purge(self) -> None:
        """Leave nothing of what was overwritten: full-text tables made anew, older versions of a view dropped, every
        page written afresh, the log emptied. HomeNotWritable when others go on reading."""
        with self.transaction() as db:
            for view in self.views:
                view.refresh_derived(db)
                self._drop_older(view)
        with self.translated():
            self.db.execute("VACUUM")
            busy = self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise HomeNotWritable("the views are being read by another process", "wait for it, then try again")

    @staticmethod
    def _take_rows(db: sqlite3.Connection, view: Tables) -> None:
        for table in view.tables:
            db.execute(f"DELETE FROM main.{table}")
            db.execute(f"INSERT INTO main.{table} SELECT * FROM scratch.{table}")
        view.refresh_derived(db)
        db.execute("DELETE FROM main.parked WHERE name = ? AND version = ?", (view.name, view.version))
        db.execute(
            "INSERT OR REPLACE INTO main.projections SELECT * FROM scratch.projections WHERE name = ? AND version = ?",
            (view.name, view.version),
        )

    def _drop_older(self, view: Tables) -> None:
        older = self.db.execute(
            "SELECT version FROM main.projections WHERE name = ? AND version < ?", (view.name, view.version)
        ).fetchall()
        for (version,) in older:
            prefix = f"{view.name}_v{version}_"
            names = self.db.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall()
            for (name,) in names:
                if name.startswith(prefix) and self._is_own_table(name, names):
                    self.db.execute(f"DROP TABLE IF EXISTS main.{name}")
            for table in ("projections", "parked"):
                self.db.execute(f"DELETE FROM main.{table} WHERE name = ? AND version = ?", (view.name, version))

    @staticmethod
    def _is_own_table(name: str, names: Sequence[Any]) -> bool:
        """False for the shadow tables of a full-text table, which go with it."""
        return not any(name != other[0] and name.startswith(f"{other[0]}_") for other in names)


def _standing_of(view: Tables) -> Part:
    return Part("projection", f"{view.name} v{view.version}", view.name, str(view.version))


def _table_digest(db: sqlite3.Connection, table: str) -> str:
    digest = hashlib.sha256()
    width = len(db.execute(f"SELECT * FROM {table} LIMIT 0").description)
    order = ", ".join(str(column + 1) for column in range(width))
    for row in db.execute(f"SELECT * FROM {table} ORDER BY {order}"):
        digest.update(repr(tuple(row)).encode())
    return digest.hexdigest()
