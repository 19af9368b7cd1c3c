"""A memory: a reusable clarified concept, its sources, and how it ends and comes back.

The stream is named by the normalised content, so the same content promoted twice meets itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, assert_never, cast, get_args

from pydantic import BaseModel, ConfigDict

from domain.erasure import TextErased
from domain.errors import MemoryNotLive, NothingChanged, Refused, UnknownDecision
from domain.event import ERASED, Envelope, Event, UtcTime
from domain.text import content_key

Status = Literal["live", "merged", "superseded", "retired", "erased"]
STATUSES: tuple[Status, ...] = get_args(Status)
NUMBERING = "numbering/memory"


class Source(BaseModel):
    """The clarification that led to a memory."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    session_id: str
    seq: int

    def __str__(self) -> str:
        return f"{self.session_id}:{self.seq}"


class MemoryRecorded(Event, name="memory.memory-recorded"):
    sealed = ("subject", "detail", "rationale", "question_context", "concepts")
    memory_id: str
    type: str
    subject: str
    detail: str
    rationale: str = ""
    question_context: str = ""
    tables: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    sources: tuple[Source, ...]
    self_reviewed: bool = False
    occurred_at: UtcTime | None = None  # imported registries only: their timestamp

    def record_in(self, stream: str) -> str:
        return self.memory_id


class SourceAdded(Event, name="memory.source-added"):
    memory_id: str
    sources: tuple[Source, ...]
    merged_from: str | None = None  # the memory whose sources these were
    self_reviewed: bool = False


class SourceWithdrawn(Event, name="memory.source-withdrawn"):
    memory_id: str
    sources: tuple[Source, ...]
    reason: str = ""


class MemoryMerged(Event, name="memory.memory-merged"):
    memory_id: str
    into: str


class MemorySuperseded(Event, name="memory.memory-superseded"):
    memory_id: str
    by: str


class MemoryRetired(Event, name="memory.memory-retired"):
    memory_id: str
    reason: str = ""


class MemoryRestored(Event, name="memory.memory-restored"):
    memory_id: str
    reason: str = ""


class NumberTaken(Event, name="numbering.number-taken"):
    follows = True
    number: int
    memory_id: str
    stream: str


MemoryEvent = (
    MemoryRecorded
    | SourceAdded
    | SourceWithdrawn
    | MemoryMerged
    | MemorySuperseded
    | MemoryRetired
    | MemoryRestored
    | TextErased
)


def memory_stream(subject: str, detail: str) -> str:
    return f"memory/{content_key(subject, detail)}"


@dataclass(frozen=True, slots=True)
class Memory:
    """`sources` are those that stand; `gained` maps a merged-in memory to the sources that came with it."""

    memory_id: str
    stream: str
    type: str
    subject: str
    detail: str
    sources: tuple[Source, ...]
    rationale: str = ""
    concepts: tuple[str, ...] = ()
    withdrawn: tuple[Source, ...] = ()
    gained: tuple[tuple[str, tuple[Source, ...]], ...] = ()
    status: Status = "live"
    successor: str | None = None  # what it was merged into or superseded by

    @property
    def live(self) -> bool:
        return self.status == "live"

    @property
    def own_sources(self) -> tuple[Source, ...]:
        """Whatever it came from, withdrawn or not, without what it gained from memories that were merged into it."""
        gained = {one for _, sources in self.gained for one in sources}
        return tuple(one for one in (*self.sources, *self.withdrawn) if one not in gained)


def evolve(memory: Memory | None, envelope: Envelope) -> Memory:
    event = envelope.event
    if isinstance(event, MemoryRecorded):
        return Memory(
            event.memory_id,
            envelope.stream,
            event.type,
            event.subject,
            event.detail,
            event.sources,
            event.rationale,
            event.concepts,
        )
    if memory is None:
        raise Refused(f"{envelope.stream} does not begin with its recording")
    return _evolve(memory, cast("MemoryEvent", event))


def fold(envelopes: Iterable[Envelope]) -> Memory | None:
    memory: Memory | None = None
    for envelope in envelopes:
        memory = evolve(memory, envelope)
    return memory


def _evolve(memory: Memory, event: MemoryEvent) -> Memory:
    match event:
        case MemoryRecorded():
            return memory
        case SourceAdded(sources=sources, merged_from=origin):
            standing = (*memory.sources, *(one for one in sources if one not in memory.sources))
            withdrawn = tuple(one for one in memory.withdrawn if one not in sources)
            gained = (*memory.gained, (origin, sources)) if origin else memory.gained
            return replace(memory, sources=standing, withdrawn=withdrawn, gained=gained)
        case SourceWithdrawn(sources=sources):
            standing = tuple(one for one in memory.sources if one not in sources)
            return replace(memory, sources=standing, withdrawn=(*memory.withdrawn, *sources))
        case MemoryMerged(into=into):
            return replace(memory, status="merged", successor=into)
        case MemorySuperseded(by=by):
            return replace(memory, status="superseded", successor=by)
        case MemoryRetired():
            return replace(memory, status="retired", successor=None)
        case MemoryRestored():
            return replace(memory, status="live", successor=None)
        case TextErased():
            return _erased(memory)
        case _:
            assert_never(event)


def _erased(memory: Memory) -> Memory:
    """As if the text had never been read: the same as a replay, which does not get to see it."""
    bare = replace(memory, subject=ERASED, detail=ERASED, rationale=ERASED, concepts=())
    return replace(bare, status="erased", successor=None)


# -- decide ------------------------------------------------------------------------------------------------------------


def add_sources(memory: Memory, sources: Iterable[Source], *, self_reviewed: bool) -> tuple[SourceAdded, ...]:
    """More sources for a live memory; none when all are there already."""
    require_live(memory)
    fresh = tuple(one for one in sources if one not in memory.sources)
    if not fresh:
        return ()
    return (SourceAdded(memory_id=memory.memory_id, sources=fresh, self_reviewed=self_reviewed),)


def withdraw_source(memory: Memory, source: Source, reason: str) -> tuple[Event, ...]:
    """One source less. The last one takes the memory with it."""
    if source not in memory.sources:
        raise UnknownDecision(
            f"{source} is no source of {memory.memory_id}", f"tht registry show {memory.memory_id} lists its sources"
        )
    require_live(memory)
    withdrawn = SourceWithdrawn(memory_id=memory.memory_id, sources=(source,), reason=reason)
    if len(memory.sources) > 1:
        return (withdrawn,)
    return (withdrawn, MemoryRetired(memory_id=memory.memory_id, reason=reason or f"its last source, {source}, went"))


def retire(memory: Memory, reason: str) -> tuple[MemoryRetired, ...]:
    if memory.status == "retired":
        raise NothingChanged(f"{memory.memory_id} is retired already")
    require_live(memory)
    return (MemoryRetired(memory_id=memory.memory_id, reason=reason),)


def supersede(old: Memory, new: Memory) -> tuple[MemorySuperseded, ...]:
    """`old` gives way to `new`; both must be live, so no chain of successors can close into a loop."""
    _require_two(old, new)
    if old.status == "superseded" and old.successor == new.memory_id:
        raise NothingChanged(f"{old.memory_id} is superseded by {new.memory_id} already")
    require_live(old)
    require_live(new)
    return (MemorySuperseded(memory_id=old.memory_id, by=new.memory_id),)


def merge(old: Memory, into: Memory) -> tuple[tuple[MemoryMerged, ...], tuple[SourceAdded, ...]]:
    """Events of `old` and of `into`: the one ends, the other takes over its sources."""
    _require_two(old, into)
    if old.status == "merged" and old.successor == into.memory_id:
        raise NothingChanged(f"{old.memory_id} is merged into {into.memory_id} already")
    require_live(old)
    require_live(into)
    fresh = tuple(one for one in old.sources if one not in into.sources)
    gained = SourceAdded(memory_id=into.memory_id, sources=fresh, merged_from=old.memory_id)
    return (MemoryMerged(memory_id=old.memory_id, into=into.memory_id),), (gained,)


def restore(memory: Memory, absorber: Memory | None, reason: str) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
    """Events of `memory`, live again, and of the memory it was merged into, which gives back what it gained.

    A memory whose sources were all withdrawn gets the last of its own back; an absorber left without any retires.
    """
    if memory.live:
        raise NothingChanged(f"{memory.memory_id} is live already")
    if memory.status == "erased":
        require_live(memory)
    own: list[Event] = [MemoryRestored(memory_id=memory.memory_id, reason=reason)]
    if not memory.sources and memory.withdrawn:
        gained = {one for _, sources in memory.gained for one in sources}
        last = [one for one in memory.withdrawn if one not in gained][-1:] or list(memory.withdrawn[-1:])
        own.append(SourceAdded(memory_id=memory.memory_id, sources=tuple(last)))
    if absorber is None:
        return tuple(own), ()
    return tuple(own), give_back(absorber, memory.memory_id, to=memory.memory_id)[0]


def give_back(
    absorber: Memory, origin: str, *, to: str, owed: tuple[Source, ...] | None = None
) -> tuple[tuple[Event, ...], tuple[Source, ...]]:
    """Events of a memory that gives back to `to` what it gained from `origin` (of that only `owed`), and what it was.

    Where the absorber was merged on, what it gave back is owed by its own absorber in turn.
    """
    gained = dict.fromkeys(one for giver, sources in absorber.gained if giver == origin for one in sources)
    due = tuple(gained) if owed is None else tuple(one for one in gained if one in owed)
    back = tuple(one for one in due if one in absorber.sources)
    if not back:
        return (), due
    given = f"given back to {to}, which was restored"
    returned: list[Event] = [SourceWithdrawn(memory_id=absorber.memory_id, sources=back, reason=given)]
    if absorber.live and len(back) == len(absorber.sources):
        returned.append(MemoryRetired(memory_id=absorber.memory_id, reason=f"its last source was {given}"))
    return tuple(returned), due


def require_live(memory: Memory) -> None:
    """MemoryNotLive says what became of it and what to do."""
    if memory.live:
        return
    if memory.status == "erased":
        raise MemoryNotLive(
            f"{memory.memory_id} was erased", "nothing brings an erased text back; say it in other words if it must be"
        )
    if memory.status == "retired":
        raise MemoryNotLive(f"{memory.memory_id} is retired", f"tht registry restore {memory.memory_id} brings it back")
    word = "merged into" if memory.status == "merged" else "superseded by"
    raise MemoryNotLive(
        f"{memory.memory_id} was {word} {memory.successor}",
        f"use {memory.successor}, or tht registry restore {memory.memory_id}",
    )


def _require_two(one: Memory, other: Memory) -> None:
    if one.memory_id == other.memory_id:
        raise Refused(f"{one.memory_id} cannot take its own place", "name two different memories")
