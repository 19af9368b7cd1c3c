"""A conflict between two facts: found once, whoever finds it again; decided by rule or by a person; open until then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from domain.errors import InvalidInput, NothingChanged, Refused
from domain.event import Envelope, Event
from domain.ids import short_id

Found = Literal["contradiction", "unsure", "cross_agent"]
State = Literal["open", "decided", "both", "kept", "merged", "withdrawn"]


class ConflictFound(Event, name="conflict.conflict-found"):
    """`facts`: the older and the newer. `rule`: why, without the words of the facts. `winner`: decided by rule."""

    conflict_id: str
    facts: tuple[str, str]
    found: Found
    rule: str
    winner: str = ""
    state: Literal["open", "decided", "both"] = "open"


class ConflictResolved(Event, name="conflict.conflict-resolved"):
    """A person's word. `kept`: the fact that stays, or the one that both were merged into."""

    conflict_id: str
    state: Literal["both", "kept", "merged"]
    kept: str = ""


class ConflictReopened(Event, name="conflict.conflict-reopened"):
    conflict_id: str


class ConflictWithdrawn(Event, name="conflict.conflict-withdrawn"):
    """The run of upkeep that found it was undone. Whoever finds it again opens it again."""

    conflict_id: str


@dataclass(frozen=True, slots=True)
class Conflict:
    conflict_id: str
    facts: tuple[str, str]
    found: Found
    rule: str
    state: State
    winner: str = ""


Finding = Callable[[Conflict | None, ConflictFound], tuple[Event, ...]]


def conflict_id(one: str, other: str) -> str:
    """The id of the pair, whichever is named first."""
    return short_id("conflict", *sorted((one, other)))


def conflict_stream(conflict: str) -> str:
    return f"conflict/{conflict}"


def evolve(conflict: Conflict | None, envelope: Envelope) -> Conflict | None:
    match envelope.event:
        case ConflictFound() as event if conflict is None or conflict.state == "withdrawn":
            return Conflict(event.conflict_id, event.facts, event.found, event.rule, event.state, event.winner)
        case ConflictResolved(state=state, kept=kept) if conflict is not None:
            return replace(conflict, state=state, winner=kept)
        case ConflictReopened() if conflict is not None:
            return replace(conflict, state="open", winner="")
        case ConflictWithdrawn() if conflict is not None:
            return replace(conflict, state="withdrawn", winner="")
        case _:
            return conflict


def fold(envelopes: Iterable[Envelope]) -> Conflict | None:
    conflict: Conflict | None = None
    for envelope in envelopes:
        conflict = evolve(conflict, envelope)
    return conflict


def find(conflict: Conflict | None, found: ConflictFound) -> tuple[Event, ...]:
    """What finding it records: nothing when the pair is known, whatever a person made of it since."""
    return (found,) if conflict is None or conflict.state == "withdrawn" else ()


def find_again(conflict: Conflict | None, found: ConflictFound) -> tuple[Event, ...]:
    """What records that both are live side by side: a pair for which one had given way is open again."""
    if conflict is not None and conflict.state in ("decided", "kept", "merged"):
        return (ConflictReopened(conflict_id=conflict.conflict_id),)
    return find(conflict, found)


def keep(conflict: Conflict, kept: str) -> ConflictResolved:
    """One of the two stays. NothingChanged when that is what stands."""
    if kept not in conflict.facts:
        raise InvalidInput(f"{kept} is not part of {conflict.conflict_id}", f"one of {', '.join(conflict.facts)}")
    if conflict.state == "kept" and conflict.winner == kept:
        raise NothingChanged(f"{conflict.conflict_id} keeps {kept} already")
    return ConflictResolved(conflict_id=conflict.conflict_id, state="kept", kept=kept)


def keep_both(conflict: Conflict) -> ConflictResolved:
    if conflict.state == "both":
        raise NothingChanged(f"{conflict.conflict_id} keeps both already")
    return ConflictResolved(conflict_id=conflict.conflict_id, state="both")


def merge(conflict: Conflict, merged: str) -> ConflictResolved:
    """Both give way to a third that says what both meant."""
    if conflict.state == "merged":
        raise NothingChanged(f"{conflict.conflict_id} is merged into {conflict.winner} already")
    return ConflictResolved(conflict_id=conflict.conflict_id, state="merged", kept=merged)


def reopen(conflict: Conflict) -> ConflictReopened:
    if conflict.state == "open":
        raise Refused(f"{conflict.conflict_id} is open")
    return ConflictReopened(conflict_id=conflict.conflict_id)
