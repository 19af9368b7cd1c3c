"""Verify: the SQL views against one scratch replay of the ledger, without mending anything on the way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from domain.errors import ThtError
from projections.loop import LedgerReader, Progress, catch_up, require_same_history
from projections.view import Standing, Tables, ViewsFile


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that does not hold: at which level, where, what, and the command that mends it."""

    level: str  # ledger, view, index, invariant
    where: str
    what: str
    mend: str

    def as_json(self) -> dict[str, Any]:
        return {"level": self.level, "where": self.where, "what": self.what, "mend": self.mend}


@dataclass(frozen=True, slots=True)
class _Held:
    """What a view holds now. `parked` are stream names."""

    view: Tables
    standing: Standing
    digests: dict[str, str]
    parked: frozenset[str]


def verify_views(
    ledger: LedgerReader,
    file: ViewsFile,
    scratch: ViewsFile,
    names: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[Finding]:
    """The file holds what its views declare and nothing else; every view (or those named) follows this ledger, equals
    its replay, keeps its invariants and has parked nothing.

    `scratch` is an empty copy of the views; it is left at the highest position that was compared. A view that is
    behind the ledger is compared where it stands: lag is no drift.
    """
    yield from _odd_shape(file)
    held: list[_Held] = []
    for view in file.views:
        if not names or view.name in names:
            yield from _look(ledger, file, view, held)
    for one in sorted(held, key=lambda one: one.standing.position):
        try:
            waiting = [view for view in scratch.views if scratch.standing(view).position < one.standing.position]
            if waiting:
                catch_up(ledger, scratch, waiting, until=one.standing.position, progress=progress)
        except ThtError as error:
            yield Finding("view", one.view.name, f"it cannot be replayed: {error.message}", error.hint)
            return
        yield from _compare(one, scratch)


def _odd_shape(file: ViewsFile) -> Iterator[Finding]:
    where, rebuild = file.path.name if file.path else "views", "tht projection rebuild"
    try:
        for what in file.odd_shape():
            yield Finding("view", where, what, rebuild)
    except ThtError as error:
        yield Finding("view", where, error.message, rebuild)


def _look(ledger: LedgerReader, file: ViewsFile, view: Tables, held: list[_Held]) -> Iterator[Finding]:
    """What is wrong with a view by itself. One that can be compared with a replay is added to `held`."""
    rebuild = f"tht projection rebuild {view.name}"
    try:
        with file.reading() as db:
            standing = file.standing(view)
            parked = file.parked(view)
            digests = view.digests(db)
            broken = view.loaded().broken_invariants(db)
        damaged = _damaged_texts(file, view)
        require_same_history("it", standing, ledger, rebuild)
    except ThtError as error:
        yield Finding("view", view.name, error.message, rebuild)
        return
    for one in parked:
        yield Finding(
            "view",
            f"{view.name}, {one.stream}",
            f"parked at position {one.position}: {one.error}",
            f"upgrade tht or mend the cause, then: tht projection replay {view.name}",
        )
    for what in broken:
        yield Finding("invariant", view.name, what, rebuild)
    for table in damaged:
        yield Finding("view", f"{view.name}, {table}", "the full-text table does not match the rows it covers", rebuild)
    held.append(_Held(view, standing, digests, frozenset(one.stream for one in parked)))


def _damaged_texts(file: ViewsFile, view: Tables) -> list[str]:
    """Full-text tables that FTS5 itself finds unlike their content (rank 1: compare with the rows too)."""
    found = []
    for table in view.derived:
        try:
            file.db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                with file.translated():
                    raise
            found.append(table)
    return found


def _compare(one: _Held, scratch: ViewsFile) -> Iterator[Finding]:
    fresh = next(view for view in scratch.views if view.name == one.view.name)
    rebuild = f"tht projection rebuild {one.view.name}"
    for table, digest in fresh.digests(scratch.db).items():
        if one.digests[table] != digest:
            yield Finding(
                "view",
                f"{one.view.name}, {table}",
                f"its rows at position {one.standing.position} are not those that the ledger gives",
                rebuild,
            )
    for parked in scratch.parked(fresh):
        if parked.stream not in one.parked:
            what = f"passed over the event at position {parked.position} without parking its stream: {parked.error}"
            yield Finding("view", f"{one.view.name}, {parked.stream}", what, rebuild)
