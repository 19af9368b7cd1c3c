"""Runs of upkeep: what each did, by ids alone, so that every part of it can be undone by an event of its own.

A long run is recorded in parts, one a transaction, each with what that transaction did: whatever a killed run has
done is told by its parts, and another run does the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from domain.errors import NothingChanged, UnknownRun
from domain.event import Envelope, Event
from domain.ids import short_id

What = Literal["consolidate", "harmonize", "harvest", "close"]
Pair = tuple[str, str]


class UpkeepRun(Event, name="upkeep.upkeep-run"):
    """One part of a run. `raised`: item and fact; `merged`: loser and keeper. `finished`: there are no more parts."""

    run_id: str
    what: What
    finished: bool = True
    expired: tuple[str, ...] = ()  # items
    raised: tuple[Pair, ...] = ()
    merged: tuple[Pair, ...] = ()
    pruned: tuple[str, ...] = ()  # facts that had ended, or that nobody needed any more
    proposed: tuple[str, ...] = ()  # facts: a meeting's decisions
    retired: tuple[str, ...] = ()  # facts: decisions that are no longer listed, and those of a domain that was closed
    deactivated: tuple[str, ...] = ()  # policies of a domain that was closed
    formed: tuple[str, ...] = ()  # beliefs
    revised: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()

    @property
    def record(self) -> str:
        return self.run_id


class RunUndone(Event, name="upkeep.run-undone"):
    """One part of undoing a run. `left`: what somebody has changed since, and that therefore stays as it is now."""

    run_id: str
    finished: bool = True
    left: tuple[str, ...] = ()

    @property
    def record(self) -> str:
        return self.run_id


COUNTED = (
    "expired",
    "raised",
    "merged",
    "pruned",
    "proposed",
    "retired",
    "deactivated",
    "formed",
    "revised",
    "withdrawn",
    "conflicts",
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run with all its parts. `commands`: the correlation ids of its transactions, by which its events are known;
    `undoing`: those of the transactions that undid it."""

    run_id: str
    what: What
    parts: tuple[UpkeepRun, ...]
    commands: frozenset[str]
    undoing: frozenset[str]
    undone: bool

    @property
    def finished(self) -> bool:
        return self.parts[-1].finished


def run_stream(run_id: str) -> str:
    return f"upkeep/{run_id}"


def new_run_id(what: What, chain: str, at: str) -> str:
    """The id of a run that begins at this head of the ledger at this time."""
    return short_id("run", what, chain, at)


def fold(envelopes: Iterable[Envelope]) -> Run | None:
    parts: list[UpkeepRun] = []
    commands: set[str] = set()
    undoing: set[str] = set()
    undone = False
    for envelope in envelopes:
        if isinstance(envelope.event, UpkeepRun):
            parts.append(envelope.event)
            commands.add(envelope.correlation_id)
        elif isinstance(envelope.event, RunUndone):
            undoing.add(envelope.correlation_id)
            undone = undone or envelope.event.finished
    if not parts:
        return None
    return Run(parts[0].run_id, parts[0].what, tuple(parts), frozenset(commands), frozenset(undoing), undone)


def require_undoable(run: Run | None, run_id: str) -> Run:
    """UnknownRun without one, NothingChanged when it was undone before."""
    if run is None:
        raise UnknownRun(f"there is no run {run_id!r}")
    if run.undone:
        raise NothingChanged(f"{run_id} is undone already")
    return run
