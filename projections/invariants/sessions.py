"""What a session holds: decisions numbered without a gap, and markers about what is recorded, each at most once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from domain.event import Envelope
from domain.memory import MemoryRecorded
from domain.session_events import (
    ConceptClarified,
    Decided,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    PromotionDeferred,
)
from projections.invariants.told import (
    IMPORTER,
    Events,
    Rule,
    Told,
    finding,
    is_imported,
    said_in,
    session_of,
)
from projections.verify import Finding

REUSABLE = ("concept_clarified",)  # as the spec says it, not as the domain does


def decisions_are_numbered(events: Events) -> Iterator[Finding]:
    """`seq` counts the session's decisions from 1."""
    counted: Counter[str] = Counter()
    for envelope in events:
        event = envelope.event
        if isinstance(event, Decided):
            counted[envelope.stream] += 1
            if event.seq != counted[envelope.stream]:
                what = f"decision {counted[envelope.stream]} of {session_of(envelope)} has the seq {event.seq}"
                yield finding(envelope, what)


def markers_name_what_is_recorded(events: Events) -> Iterator[Finding]:
    """What is promoted, declined, deferred or retracted was recorded by then; an import may have lost it."""
    told = Told(events)
    for envelope in events:
        told.see(envelope)
        session_id = session_of(envelope)
        for seq in _marked(envelope, told):
            if seq not in told.decisions[session_id]:
                yield finding(envelope, f"{envelope.event.kind} is about seq {seq}, which is not recorded")


def _marked(envelope: Envelope, told: Told) -> tuple[int, ...]:
    """The seqs that an event is about, if it was decided here."""
    event = envelope.event
    match event:
        case MemoryPromoted():
            return () if is_imported(event) else (event.seq, *event.covers)
        case MemoryPromotionDeclined():
            elsewhere = envelope.actor == IMPORTER and session_of(envelope) not in told.begun_here
            return () if elsewhere else (event.seq, *event.covers)
        case PromotionDeferred() | DecisionRetracted():
            return (event.seq,)
        case _:
            return ()


def only_clarifications_become_memories(events: Events) -> Iterator[Finding]:
    """1. Only `concept_clarified` decisions become memories; others are there as imported history alone."""
    told = Told(events)
    for envelope in events:
        told.see(envelope)
        event = envelope.event
        if isinstance(event, MemoryRecorded) and event.type not in REUSABLE and not is_imported(event):
            yield finding(envelope, f"{event.memory_id} is a {event.type}")
        if isinstance(event, MemoryPromoted):
            for seq in (event.seq, *event.covers):
                decision = told.decisions[session_of(envelope)].get(seq)
                if decision is not None and not isinstance(decision.event, ConceptClarified):
                    kind = said_in(decision).kind
                    yield finding(envelope, f"{event.memory_id} was promoted from seq {seq}, a {kind}")


def only_effective_decisions_are_promoted(events: Events) -> Iterator[Finding]:
    """What was retracted or stale at that moment was no candidate."""
    told = Told(events)
    for envelope in events:
        event = envelope.event
        if isinstance(event, MemoryPromoted) and not is_imported(event):
            undone = told.undone[session_of(envelope)]
            for seq in (event.seq, *event.covers):
                if seq in undone:
                    what = f"{event.memory_id} was promoted from seq {seq}, which was {undone[seq]} then"
                    yield finding(envelope, what)
        told.see(envelope)


def promoted_at_most_once(events: Events) -> Iterator[Finding]:
    """3. A decision of a session is promoted at most once."""
    promoted: dict[tuple[str, int], str] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, MemoryPromoted):
            for seq in (event.seq, *event.covers):
                if (before := promoted.get((envelope.stream, seq))) is not None:
                    yield finding(envelope, f"seq {seq} was promoted to {before} and again to {event.memory_id}")
                promoted[envelope.stream, seq] = event.memory_id


def promoted_or_declined(events: Events) -> Iterator[Finding]:
    """A reviewer's answer is one of the two; old files may say both, and an import tells what they say."""
    answers: dict[tuple[str, int], Envelope] = {}
    for envelope in events:
        event = envelope.event
        if not isinstance(event, (MemoryPromoted, MemoryPromotionDeclined)):
            continue
        for seq in (event.seq, *event.covers):
            before = answers.setdefault((envelope.stream, seq), envelope)
            if type(before.event) is type(event) or _both_from_one_file(before, envelope):
                continue
            yield finding(envelope, f"seq {seq} was both promoted and declined")


def _both_from_one_file(one: Envelope, other: Envelope) -> bool:
    promoted = [envelope.event for envelope in (one, other) if isinstance(envelope.event, MemoryPromoted)]
    together = one.correlation_id == other.correlation_id or one.actor == other.actor == IMPORTER
    return together and all(is_imported(event) for event in promoted)


def reused_memories_exist(events: Events) -> Iterator[Finding]:
    """4. What a session reuses was a memory by then."""
    recorded: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, MemoryRecorded):
            recorded.add(event.memory_id)
        reused = isinstance(event, ConceptClarified) and event.occurred_at is None and event.source_memory
        if reused and reused not in recorded:
            yield finding(envelope, f"a clarification reuses {reused}, which was no memory then")


RULES: tuple[Rule, ...] = (
    decisions_are_numbered,
    markers_name_what_is_recorded,
    only_clarifications_become_memories,
    only_effective_decisions_are_promoted,
    promoted_at_most_once,
    promoted_or_declined,
    reused_memories_exist,
)
