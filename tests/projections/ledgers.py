"""A small real ledger and small views of it, for tests of the loop."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from adapters.ledger import By, Draft, Ledger
from domain.event import Envelope, Event
from domain.session_events import SessionOpened
from projections.view import Tables, View, ViewsFile

START = datetime(2026, 3, 2, 12, tzinfo=UTC)


@contextmanager
def new_ledger(folder: Path, ledger_id: str = "ledger-1") -> Iterator[Ledger]:
    """An empty one whose clock moves by a second an event."""
    ticks = itertools.count()
    folder.mkdir(exist_ok=True)
    ledger = Ledger(folder / "ledger.sqlite3", lambda: START + timedelta(seconds=next(ticks)))
    ledger.recorder.create(ledger_id)
    yield ledger
    ledger.close()


def append(ledger: Ledger, stream: str, *events: Event, actor: str = "agent:coder") -> int:
    """Record events on one stream; returns the last position."""

    def work(draft: Draft) -> None:
        draft.load(stream)
        draft.append(stream, events)

    return ledger.transact(work, By(actor), ("test", stream)).position


def fill(ledger: Ledger, streams: int) -> None:
    """One event on each of so many streams, in one transaction: `session/0`, `session/1` …"""

    def work(draft: Draft) -> None:
        for number in range(streams):
            draft.load(f"session/{number}")
            draft.append(f"session/{number}", (SessionOpened(session_id=str(number), question="?"),))

    ledger.transact(work, By("agent:coder"), ("test",))


class Lines(View):
    """One row an event and no uniqueness: an event applied twice or left out shows."""

    name = "lines"
    version = 1
    tables: ClassVar[tuple[str, ...]] = ("lines_v1_rows",)
    schema: ClassVar[tuple[str, ...]] = (
        "CREATE TABLE IF NOT EXISTS lines_v1_rows (position INTEGER NOT NULL, stream TEXT NOT NULL) STRICT",
    )

    def __init__(self, before: Callable[[Envelope], None] = lambda envelope: None) -> None:
        self.before = before

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        db.execute(f"INSERT INTO {self.tables[0]} VALUES (?, ?)", (envelope.position, envelope.stream))
        self.before(envelope)


class Others(Lines):
    """A second view in the same file."""

    name = "others"
    tables = ("others_v1_rows",)
    schema = ("CREATE TABLE IF NOT EXISTS others_v1_rows (position INTEGER NOT NULL, stream TEXT NOT NULL) STRICT",)


class Lines2(Lines):
    """What `lines` became: it has a full-text table too."""

    version = 2
    tables = ("lines_v2_rows",)
    derived = ("lines_v2_text",)
    schema = (
        "CREATE TABLE IF NOT EXISTS lines_v2_rows (position INTEGER NOT NULL, stream TEXT NOT NULL) STRICT",
        "CREATE VIRTUAL TABLE IF NOT EXISTS lines_v2_text USING fts5 (stream, content='lines_v2_rows')",
    )


class Lines3(Lines):
    version = 3
    tables = ("lines_v3_rows",)
    schema = ("CREATE TABLE IF NOT EXISTS lines_v3_rows (position INTEGER NOT NULL, stream TEXT NOT NULL) STRICT",)


def open_views(ledger: Ledger, path: Path | None, *views: View) -> ViewsFile:
    return ViewsFile(path, views, ledger.chain_at(0) or "")


def rows(file: ViewsFile, table: str = "lines_v1_rows") -> list[int]:
    """The positions that a view has applied, in the order in which it did."""
    return [row[0] for row in file.db.execute(f"SELECT position FROM {table} ORDER BY rowid")]


def tables_of(file: ViewsFile) -> set[str]:
    return {row[0] for row in file.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def positions(file: ViewsFile, views: Sequence[Tables]) -> list[int]:
    return [file.standing(view).position for view in views]
