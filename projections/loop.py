"""The pull loop: one way to bring views up to the ledger, to rebuild them beside the old ones, and to park poison.

A page is decoded first. Then, in one transaction of the views' file, each view's position is claimed and moved, and the
page is applied: exactly once, whoever is killed where.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from domain.errors import HomeNotWritable, OtherHistory, PoisonEvent, ThtError
from domain.event import Envelope
from projections.view import Standing, View, ViewsFile

PAGE = 500  # events

Progress = Callable[[int, int], None]  # position reached, position to reach


@dataclass(frozen=True, slots=True)
class Head:
    """The ledger's last position (0: empty) and the chain hash there, hex."""

    position: int
    chain: str


@dataclass(frozen=True, slots=True)
class Broken:
    """An event that is stored soundly but does not decode, as one written by a newer program."""

    stream: str
    position: int
    error: str


class LedgerReader(Protocol):
    """What a projection needs of the ledger."""

    def head(self) -> Head: ...

    def chain_at(self, position: int) -> str | None: ...

    def read(self, after: int, limit: int = PAGE, until: int | None = None) -> list[Envelope | Broken]:
        """At most `limit` events above position `after`, in order. LedgerDamaged where the chain is broken."""
        ...


def require_same_history(what: str, standing: Standing, ledger: LedgerReader, mend: str) -> None:
    """OtherHistory when `what` followed a ledger that is not this one, or more of it than there is."""
    chain = ledger.chain_at(standing.position)
    if chain is None:
        head = ledger.head().position
        raise OtherHistory(f"{what} is at position {standing.position}, ahead of its ledger at {head}", mend)
    if chain != standing.chain:
        raise OtherHistory(
            f"{what} follows another history: position {standing.position} is not what it has seen", mend
        )


def catch_up(
    ledger: LedgerReader,
    file: ViewsFile,
    views: Sequence[View] = (),
    *,
    until: int | None = None,
    progress: Progress | None = None,
    fail_fast: bool = False,
) -> int:
    """Bring the views (all of the file's by default) to the head, or to position `until`; returns the lowest reached.

    With `fail_fast` an event that cannot be applied raises PoisonEvent; else its stream is parked in that view.
    """
    followers = tuple(views) or file.views
    goal = ledger.head().position if until is None else until
    for view in followers:
        require_same_history(f"the view {view.name}", file.standing(view), ledger, "tht projection rebuild")
    while True:
        standings = [file.standing(view) for view in followers]
        start = min(standing.position for standing in standings)
        if start >= goal:
            return start
        page = ledger.read(start, PAGE, goal)
        reached = Standing(page[-1].position, ledger.chain_at(page[-1].position) or "")
        _apply_page(file, followers, standings, page, reached, fail_fast)
        if progress:
            progress(reached.position, goal)


def _apply_page(
    file: ViewsFile,
    views: Sequence[View],
    standings: Sequence[Standing],
    page: Sequence[Envelope | Broken],
    reached: Standing,
    fail_fast: bool,
) -> None:
    behind = [
        (view, before) for view, before in zip(views, standings, strict=True) if before.position < reached.position
    ]
    try:
        with file.transaction() as db:
            if not all(file.claim(view, before, reached) for view, before in behind):
                raise _Overtaken
            for view, before in behind:
                parked = {one.stream for one in file.parked(view)}
                for event in page:
                    if event.position > before.position and event.stream not in parked:
                        _apply_one(file, db, view, event, fail_fast, parked)
    except _Overtaken:
        return  # another process applied this page; the next round reads the positions again


class _Overtaken(Exception):
    pass


def _apply_one(
    file: ViewsFile,
    db: sqlite3.Connection,
    view: View,
    event: Envelope | Broken,
    fail_fast: bool,
    parked: set[str],
) -> None:
    if isinstance(event, Broken):
        problem: Exception = ThtError(event.error)
    else:
        db.execute("SAVEPOINT one")
        try:
            view.apply(db, event)
            db.execute("RELEASE one")
            return
        except sqlite3.OperationalError:
            raise  # the disk or a lock, not the event
        except Exception as error:  # whatever the event did to this view, the others go on
            db.execute("ROLLBACK TO one")
            db.execute("RELEASE one")
            problem = error
    if fail_fast:
        raise PoisonEvent(
            f"the view {view.name} cannot apply the event at position {event.position} ({event.stream}): {problem}",
            "the old view stays in place; upgrade tht, or report this event",
        ) from problem
    file.park(view, event.stream, event.position, f"{type(problem).__name__}: {problem}")
    parked.add(event.stream)


def rebuild(
    ledger: LedgerReader, file: ViewsFile, views: Sequence[View], scratch: Path, progress: Progress | None = None
) -> None:
    """Fill fresh copies of the views beside the old ones, check them, then swap them in.

    Readers see the old rows until the swap; a rebuild that is stopped or fails leaves them in place.
    """
    remove_database(scratch)
    try:
        copy = ViewsFile(scratch, views, ledger.chain_at(0) or "")
        try:
            copy.db.execute("PRAGMA synchronous=OFF")
            catch_up(ledger, copy, views, progress=progress, fail_fast=True)
            _check_copy(copy)
        finally:
            copy.close()
        for view in views:
            file.take_over(view, scratch)
    finally:
        remove_database(scratch)


def _check_copy(copy: ViewsFile) -> None:
    found = [str(row[0]) for row in copy.db.execute("PRAGMA quick_check(3)")]
    if found != ["ok"]:
        raise HomeNotWritable(f"the rebuilt copy is damaged: {found[0]}", "check the disk; the old view stays in place")
    for view in copy.views:
        for broken in view.broken_invariants(copy.db):
            raise PoisonEvent(f"the rebuilt view {view.name} breaks an invariant: {broken}", "the old view stays")


def remove_database(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
