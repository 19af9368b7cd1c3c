"""The pull loop: one way to bring views up to the ledger, to rebuild them beside the old ones, and to park poison.

A page is decoded first. Then, in one transaction of the views' file, each view's position is claimed and moved, and the
page is applied: exactly once, whoever is killed where.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from domain.erasure import TextErased
from domain.errors import HomeNotWritable, LedgerDamaged, OtherHistory, PoisonEvent, ThtError
from domain.event import Envelope, Event
from projections.view import Parked, Standing, Tables, View, ViewsFile

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
        said = f"{what} is at position {standing.position}, ahead of its ledger at {head}"
        raise OtherHistory(said, f"an older copy of the ledger, or events are missing from it: find out, then {mend}")
    if chain != standing.chain:
        raise OtherHistory(
            f"{what} follows another history: position {standing.position} is not what it has seen", mend
        )


def catch_up(
    ledger: LedgerReader,
    file: ViewsFile,
    views: Sequence[Tables] = (),
    *,
    until: int | None = None,
    progress: Progress | None = None,
    fail_fast: bool = False,
) -> int:
    """Bring the views (all of the file's by default) to the head, or to position `until`; returns the lowest reached.

    With `fail_fast` an event that cannot be applied raises PoisonEvent; else its stream is parked in that view.
    """
    followers = tuple(views) or file.views
    head = ledger.head()
    goal = head.position if until is None else until
    standings = file.standings(followers)
    for standing, view in dict(zip(standings, followers, strict=True)).items():
        if (standing.position, standing.chain) != (head.position, head.chain):
            require_same_history(f"the view {view.name}", standing, ledger, "tht projection rebuild")
    while (start := min(standing.position for standing in standings)) < goal:
        page = ledger.read(start, PAGE, goal)
        if not page:
            raise LedgerDamaged(f"the ledger has no event {start + 1}, though its head is {goal}: its tail is cut")
        reached = Standing(page[-1].position, ledger.chain_at(page[-1].position) or "")
        alone = _apply_page(file, followers, standings, page, reached, fail_fast)
        if progress:
            progress(reached.position, goal)
        if alone and reached.position >= goal:
            return reached.position
        standings = file.standings(followers)
    return start


def _apply_page(
    file: ViewsFile,
    views: Sequence[Tables],
    standings: Sequence[Standing],
    page: Sequence[Envelope | Broken],
    reached: Standing,
    fail_fast: bool,
) -> bool:
    """One page, in one transaction; whether no other process was quicker. Nearly always every event applies; only if
    one does not, each gets a savepoint."""
    behind = [
        (view, before) for view, before in zip(views, standings, strict=True) if before.position < reached.position
    ]
    areas = {event.event.name.partition(".")[0] for event in page if isinstance(event, Envelope)}
    legible = all(isinstance(event, Envelope) for event in page)  # what does not decode may be of concern to any
    concerned = [(view.loaded(), before) for view, before in behind if view.follows(areas) or not legible]
    parked = file.parked()
    try:
        try:
            with _claimed(file, behind, reached, page) as db:
                for view, before in concerned:
                    for event in _wanted(parked, view, before, page):
                        _apply(db, view, event)
        except PoisonEvent:
            if fail_fast:
                raise
            with _claimed(file, behind, reached, page) as db:
                for view, before in concerned:
                    _apply_or_park(file, db, view, _wanted(parked, view, before, page))
    except _Overtaken:
        return False  # another process applied this page; the next round reads the positions again
    return True


class _Overtaken(Exception):
    pass


@contextmanager
def _claimed(
    file: ViewsFile, behind: Sequence[tuple[Tables, Standing]], reached: Standing, page: Sequence[Envelope | Broken]
) -> Iterator[sqlite3.Connection]:
    with file.transaction() as db:
        alike: dict[Standing, list[Tables]] = {}
        for view, before in behind:
            alike.setdefault(before, []).append(view)
        if not all(file.claim(views, before, reached) for before, views in alike.items()):
            raise _Overtaken
        erasures = [one.position for one in page if isinstance(one, Envelope) and isinstance(one.event, TextErased)]
        if erasures:
            file.note_erasure(erasures[-1])
        yield db


def _wanted(
    parked: Sequence[Parked], view: View, before: Standing, page: Sequence[Envelope | Broken]
) -> list[Envelope | Broken]:
    """What of a page a view has to see."""
    stopped = {one.stream for one in parked if (one.name, one.version) == (view.name, view.version)}
    return [
        event
        for event in page
        if event.position > before.position
        and event.stream not in stopped
        and (isinstance(event, Broken) or _concerns(view.concerned, type(event.event)))
    ]


@cache
def _concerns(concerned: tuple[type[Event], ...], kind: type[Event]) -> bool:
    return issubclass(kind, concerned)


def _apply(db: sqlite3.Connection, view: View, event: Envelope | Broken) -> None:
    """Fold one event in; PoisonEvent when it cannot be, whatever the reason in it."""
    try:
        if isinstance(event, Broken):
            raise ThtError(event.error)
        view.apply(db, event)
    except (sqlite3.OperationalError, MemoryError):
        raise  # the disk, a lock or the memory, not the event
    except Exception as error:
        if type(error) is sqlite3.DatabaseError:  # the file itself: "database disk image is malformed"
            raise
        raise PoisonEvent(
            f"the view {view.name} cannot apply the event at position {event.position} ({event.stream}):"
            f" {type(error).__name__}: {error}",
            "the old view stays in place; upgrade tht, or report this event",
        ) from error


def _apply_or_park(file: ViewsFile, db: sqlite3.Connection, view: View, events: Sequence[Envelope | Broken]) -> None:
    parked: set[str] = set()
    for event in events:
        if event.stream in parked:
            continue
        db.execute("SAVEPOINT one")
        try:
            _apply(db, view, event)
        except PoisonEvent as error:
            db.execute("ROLLBACK TO one")
            file.park(view, event.stream, event.position, error.message)
            parked.add(event.stream)
        db.execute("RELEASE one")


def rebuild(
    ledger: LedgerReader, file: ViewsFile, views: Sequence[Tables], scratch: Path, progress: Progress | None = None
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
        file.take_over(views, scratch)
    finally:
        remove_database(scratch)


def _check_copy(copy: ViewsFile) -> None:
    found = [str(row[0]) for row in copy.db.execute("PRAGMA quick_check(3)")]
    if found != ["ok"]:
        raise HomeNotWritable(f"the rebuilt copy is damaged: {found[0]}", "check the disk; the old view stays in place")
    for view in copy.views:
        for broken in view.loaded().broken_invariants(copy.db):
            raise PoisonEvent(f"the rebuilt view {view.name} breaks an invariant: {broken}", "the old view stays")


def remove_database(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).unlink()
