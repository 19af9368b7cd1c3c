"""The domain's invariants (spec, README) over the ledger itself: plain functions of all its events, in order.

They share no code with the deciders that enforce them, nor with the views: a fault there must not hide itself here.
What an import brought in was decided elsewhere, before these gates, and is recognised by its missing revision or its
own time; it is held to the rules about types, not to those about reviewers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from domain.event import Envelope
from domain.memory import MemoryRecorded, MemoryRestored, NumberTaken, SourceAdded
from domain.session_events import ConceptClarified, Decided, MemoryPromoted
from domain.text import is_person, memory_id, same_actor
from projections.verify import Finding

REUSABLE = ("concept_clarified",)  # as the spec says it, not as the domain does

Events = Sequence[Envelope]
Rule = Callable[[Events], Iterator[Finding]]


def broken_invariants(events: Events) -> Iterator[Finding]:
    """Everything in the ledger that breaks a rule of the domain. `events` are all of them, in order of position."""
    for rule in RULES:
        yield from rule(events)


def only_clarifications_become_memories(events: Events) -> Iterator[Finding]:
    """1. Only `concept_clarified` decisions become memories; others are there as imported history alone."""
    decisions: dict[tuple[str, int], Decided] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, Decided):
            decisions[envelope.stream, event.seq] = event
        if isinstance(event, MemoryRecorded) and event.type not in REUSABLE and not _is_imported(event):
            yield _finding(envelope, f"{event.memory_id} is a {event.type}")
        if isinstance(event, MemoryPromoted):
            for seq in (event.seq, *event.covers):
                decision = decisions.get((envelope.stream, seq))
                if decision is None and event.revision:
                    yield _finding(envelope, f"{event.memory_id} was promoted from seq {seq}, which is not recorded")
                elif decision is not None and not isinstance(decision, ConceptClarified):
                    yield _finding(envelope, f"{event.memory_id} was promoted from seq {seq}, a {decision.kind}")


def promoted_at_most_once(events: Events) -> Iterator[Finding]:
    """3. A decision of a session is promoted at most once."""
    promoted: dict[tuple[str, int], str] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, MemoryPromoted):
            for seq in (event.seq, *event.covers):
                if (before := promoted.get((envelope.stream, seq))) is not None:
                    yield _finding(envelope, f"seq {seq} was promoted to {before} and again to {event.memory_id}")
                promoted[envelope.stream, seq] = event.memory_id


def marker_and_memory_come_together(events: Events) -> Iterator[Finding]:
    """2. No `memory_promoted` without its memory's source, and no memory or source without its marker."""
    commands: dict[str, list[Envelope]] = defaultdict(list)
    sources: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for envelope in events:
        commands[envelope.correlation_id].append(envelope)
    for command in commands.values():
        marked = _marked(command)
        restored = {one.event.memory_id for one in command if isinstance(one.event, MemoryRestored)}
        for envelope in command:
            event = envelope.event
            if not isinstance(event, (MemoryRecorded, SourceAdded)):
                continue
            gained = {(source.session_id, source.seq) for source in event.sources}
            sources[event.memory_id] |= gained
            elsewhere = _is_imported(event) or event.memory_id in restored
            if not elsewhere and not gained <= marked.get(event.memory_id, set()):
                yield _finding(envelope, f"{event.memory_id} has a source that no reviewer promoted")
        for envelope in command:
            event = envelope.event
            if isinstance(event, MemoryPromoted) and event.revision:
                session_id = envelope.stream.removeprefix("session/")
                if not {(session_id, seq) for seq in (event.seq, *event.covers)} <= sources[event.memory_id]:
                    yield _finding(envelope, f"seq {event.seq} is marked as {event.memory_id}, which does not know it")


def _marked(command: Events) -> dict[str, set[tuple[str, int]]]:
    """Memory id: the decisions that a command marked as promoted to it."""
    marked: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for envelope in command:
        event = envelope.event
        if isinstance(event, MemoryPromoted):
            session_id = envelope.stream.removeprefix("session/")
            marked[event.memory_id] |= {(session_id, seq) for seq in (event.seq, *event.covers)}
    return marked


def _is_imported(event: MemoryRecorded | SourceAdded) -> bool:
    return event.occurred_at is not None if isinstance(event, MemoryRecorded) else event.merged_from is not None


def numbers_are_taken_once(events: Events) -> Iterator[Finding]:
    """Every memory has a number of its own, taken in the numbering stream, in order."""
    taken: dict[int, str] = {}
    recorded: dict[str, str] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, NumberTaken):
            if event.number in taken or event.memory_id != memory_id(event.number):
                yield _finding(envelope, f"the number {event.number} was taken twice or for {event.memory_id}")
            taken[event.number] = event.memory_id
        if isinstance(event, MemoryRecorded):
            if event.memory_id in recorded:
                yield _finding(envelope, f"{event.memory_id} is recorded on two streams")
            recorded[event.memory_id] = envelope.stream


def reused_memories_exist(events: Events) -> Iterator[Finding]:
    """4. What a session reuses was a memory by then."""
    recorded: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, MemoryRecorded):
            recorded.add(event.memory_id)
        reused = isinstance(event, ConceptClarified) and event.occurred_at is None and event.source_memory
        if reused and reused not in recorded:
            yield _finding(envelope, f"a clarification reuses {reused}, which was no memory then")


def approved_by_another_person(events: Events) -> Iterator[Finding]:
    """8. Who proposes does not approve: the reviewer is a person, and not the author unless it says self-reviewed."""
    authors: dict[tuple[str, int], str] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, Decided):
            authors[envelope.stream, event.seq] = envelope.actor
        if not isinstance(event, MemoryPromoted) or not event.revision:
            continue
        if not is_person(envelope.actor):
            yield _finding(envelope, f"{event.memory_id} was approved by {envelope.actor}, who is no person")
        own = any(
            same_actor(envelope.actor, authors.get((envelope.stream, seq), "")) for seq in (event.seq, *event.covers)
        )
        if own and not event.self_reviewed:
            yield _finding(envelope, f"{envelope.actor} approved {event.memory_id} from their own words")


def one_command_one_actor(events: Events) -> Iterator[Finding]:
    """What was written together was done by one actor: the marker's reviewer is the memory's."""
    actors: dict[str, str] = {}
    for envelope in events:
        first = actors.setdefault(envelope.correlation_id, envelope.actor)
        if envelope.actor != first:
            yield _finding(
                envelope, f"{envelope.event.kind} is by {envelope.actor}, the rest of its command by {first}"
            )


RULES: tuple[Rule, ...] = (
    one_command_one_actor,
    only_clarifications_become_memories,
    promoted_at_most_once,
    marker_and_memory_come_together,
    numbers_are_taken_once,
    reused_memories_exist,
    approved_by_another_person,
)


def _finding(envelope: Envelope, what: str) -> Finding:
    memory = getattr(envelope.event, "memory_id", "") or getattr(envelope.event, "source_memory", "")
    mend = f"tht audit memory {memory} shows how it came about; tht registry retire {memory} takes it out"
    return Finding("invariant", f"position {envelope.position}", what, mend)
