"""How a memory gets its sources: by a reviewer's marker in the same command, by a merge, or from an old registry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from domain.event import Envelope
from domain.memory import MemoryMerged, MemoryRecorded, MemoryRestored, SourceAdded
from domain.session_events import MemoryPromoted
from projections.invariants.sessions import REUSABLE
from projections.invariants.told import (
    Events,
    Rule,
    Told,
    commands,
    content,
    finding,
    is_imported,
    is_imported_memory,
    is_imported_source,
    may_import,
    said_in,
    session_of,
)
from projections.verify import Finding

Pairs = set[tuple[str, int]]  # session id and seq


def marker_and_memory_come_together(events: Events) -> Iterator[Finding]:
    """2. No `memory_promoted` without its memory's source, and no memory or source without its marker."""
    sources: dict[str, Pairs] = defaultdict(set)
    for command in commands(events):
        for envelope in command:
            event = envelope.event
            if isinstance(event, (MemoryRecorded, SourceAdded)):
                gained = {(source.session_id, source.seq) for source in event.sources}
                if not _accounted(event, gained, command, sources):
                    yield finding(envelope, f"{event.memory_id} has a source that no reviewer promoted")
                sources[event.memory_id] |= gained
        for envelope in command:
            event = envelope.event
            if not isinstance(event, MemoryPromoted) or is_imported(event):
                continue
            if not _pairs(envelope, event) <= sources[event.memory_id]:
                yield finding(envelope, f"seq {event.seq} is marked as {event.memory_id}, which does not know it")


def _accounted(event: MemoryRecorded | SourceAdded, gained: Pairs, command: Events, sources: dict[str, Pairs]) -> bool:
    """Whether something in the command says why a memory gained these sources."""
    if isinstance(event, MemoryRecorded):
        return is_imported(event) or gained <= _promoted(command, event.memory_id)
    if event.merged_from is None:
        restored = MemoryRestored in {type(one.event) for one in command if _is_about(one, event.memory_id)}
        return gained <= _promoted(command, event.memory_id) or (restored and gained <= sources[event.memory_id])
    if any(_merges(one, event.merged_from, event.memory_id) for one in command):
        return gained <= sources[event.merged_from]
    return is_imported_source(command) and may_import(command[0].actor)


def _promoted(command: Events, memory_id: str) -> Pairs:
    """The decisions that a reviewer of this command marked as promoted to a memory."""
    marked: Pairs = set()
    for envelope in command:
        event = envelope.event
        if isinstance(event, MemoryPromoted) and event.memory_id == memory_id and not is_imported(event):
            marked |= _pairs(envelope, event)
    return marked


def _pairs(envelope: Envelope, event: MemoryPromoted) -> Pairs:
    return {(session_of(envelope), seq) for seq in (event.seq, *event.covers)}


def _is_about(envelope: Envelope, memory_id: str) -> bool:
    return getattr(envelope.event, "memory_id", None) == memory_id


def _merges(envelope: Envelope, old: str, into: str) -> bool:
    event = envelope.event
    return isinstance(event, MemoryMerged) and (event.memory_id, event.into) == (old, into)


def imports_are_from_elsewhere(events: Events) -> Iterator[Finding]:
    """What claims to be imported is written as an import writes it, and is not about a session that was held here:
    the clarifications of that one are approved here."""
    told = Told(events)
    history: set[str] = set()
    by_command = {command[0].correlation_id: command for command in commands(events)}
    for envelope in events:
        event = envelope.event
        command = by_command[envelope.correlation_id]
        if isinstance(event, MemoryPromoted) and is_imported(event):
            if session_of(envelope) in told.begun_here or any(one.stream != envelope.stream for one in command):
                yield finding(envelope, f"seq {event.seq} was promoted to {event.memory_id} without a revision")
        elif isinstance(event, MemoryRecorded) and is_imported(event):
            if not is_imported_memory(command):
                yield finding(envelope, f"{event.memory_id} claims to be imported, with more than its number")
            if event.type in REUSABLE:
                yield from _own_source(envelope, event, told)
            else:
                history.add(event.memory_id)
        elif isinstance(event, SourceAdded) and is_imported_source(command) and event.memory_id not in history:
            yield from _own_source(envelope, event, told)
        told.see(envelope)


def _own_source(envelope: Envelope, event: MemoryRecorded | SourceAdded, told: Told) -> Iterator[Finding]:
    for source in event.sources:
        decision = told.decisions[source.session_id].get(source.seq)
        if decision is None:
            continue
        if source.session_id in told.begun_here:
            what = f"{event.memory_id} claims an approval of {source} from elsewhere, but that session was held here"
            yield finding(envelope, what)
        elif isinstance(event, MemoryRecorded) and not (envelope.erased or _says(decision, event)):
            yield finding(envelope, f"{event.memory_id} does not say what its source {source} says")


def _says(decision: Envelope, memory: MemoryRecorded) -> bool:
    """The same clarification; what an old file did not record (`(detail not recorded)`) says nothing against it, nor
    what was erased."""
    if decision.erased:
        return True
    said = said_in(decision)
    told, kept = content(said.subject, said.detail), content(memory.subject, memory.detail)
    lost = ("(subject not recorded)", "(detail not recorded)")
    return said.kind == memory.type and all(
        one in (gone, other) for one, other, gone in zip(told, kept, lost, strict=True)
    )


RULES: tuple[Rule, ...] = (marker_and_memory_come_together, imports_are_from_elsewhere)
