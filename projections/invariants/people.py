"""Who did it: people decide about memories, nobody about their own words, and a command has one actor."""

from __future__ import annotations

from collections.abc import Iterator

from domain.erasure import TextErased
from domain.event import Envelope
from domain.memory import MemoryMerged, MemoryRecorded, MemoryRestored, MemoryRetired, MemorySuperseded, SourceWithdrawn
from domain.session_events import ConceptClarified, MemoryPromoted, MemoryPromotionDeclined, PromotionDeferred
from domain.text import is_person, same_actor
from projections.invariants.told import (
    IMPORTER,
    Events,
    Rule,
    Told,
    finding,
    is_imported,
    may_import,
    same_content,
    session_of,
)
from projections.verify import Finding

CURATION = (MemoryMerged, MemoryRestored, MemoryRetired, MemorySuperseded, SourceWithdrawn)


def one_command_one_actor(events: Events) -> Iterator[Finding]:
    """What was written together was done by one actor: the marker's reviewer is the memory's."""
    actors: dict[str, str] = {}
    for envelope in events:
        first = actors.setdefault(envelope.correlation_id, envelope.actor)
        if envelope.actor != first:
            what = f"{envelope.event.kind} is by {envelope.actor}, the rest of its command by {first}"
            yield finding(envelope, what)


def people_decide(events: Events) -> Iterator[Finding]:
    """4. Agents and tools propose; about memories, their reuse and their end a person decides."""
    told = Told(events)
    for envelope in events:
        told.see(envelope)
        event = envelope.event
        if is_person(envelope.actor):
            continue
        if isinstance(event, MemoryPromoted) and not is_imported(event):
            yield finding(envelope, f"{event.memory_id} was approved by {envelope.actor}, who is no person")
        elif isinstance(event, ConceptClarified) and event.source_memory:
            what = f"{event.source_memory} was reused by {envelope.actor}, who is no person"
            yield finding(envelope, what)
        elif isinstance(event, MemoryPromotionDeclined) and not _declined_elsewhere(envelope, event, told):
            yield finding(envelope, f"seq {event.seq} was declined by {envelope.actor}, who is no person")
        elif isinstance(event, PromotionDeferred):
            yield finding(envelope, f"seq {event.seq} was deferred by {envelope.actor}, who is no person")
        elif isinstance(event, TextErased):
            yield finding(envelope, f"the text of {event.record} was erased by {envelope.actor}, who is no person")
        elif isinstance(event, CURATION):
            what = f"{event.kind} of {event.memory_id} is by {envelope.actor}, who is no person"
            yield finding(envelope, what)


def _declined_elsewhere(envelope: Envelope, event: MemoryPromotionDeclined, told: Told) -> bool:
    """An old session's file says of one seq at a time that it was declined; the session came with it."""
    return envelope.actor == IMPORTER and not event.covers and session_of(envelope) not in told.begun_here


def imports_come_from_whoever_may(events: Events) -> Iterator[Finding]:
    """Approvals from elsewhere are let in by whoever could give them here."""
    for envelope in events:
        event = envelope.event
        if not isinstance(event, (MemoryRecorded, MemoryPromoted)) or not is_imported(event):
            continue
        if not may_import(envelope.actor):
            yield finding(envelope, f"{event.memory_id} was imported by {envelope.actor}, who is no person")


def approved_by_another_person(events: Events) -> Iterator[Finding]:
    """8. Who proposes does not approve: the reviewer is no author of these words, unless it says self-reviewed.

    Author is everybody who said the same in the session before, whatever became of it: an edit that changes no
    content, a retraction or somebody's repetition takes nobody's words away.
    """
    told = Told(events)
    for envelope in events:
        told.see(envelope)
        event = envelope.event
        if not isinstance(event, MemoryPromoted) or is_imported(event) or event.self_reviewed:
            continue
        authors = {author for seq in (event.seq, *event.covers) for author in _authors(told, session_of(envelope), seq)}
        if any(same_actor(envelope.actor, author) for author in authors):
            yield finding(envelope, f"{envelope.actor} approved {event.memory_id} from their own words")


def _authors(told: Told, session_id: str, seq: int) -> set[str]:
    decisions = told.decisions[session_id]
    if seq not in decisions:
        return set()
    said = decisions[seq]
    return {said.actor} | {one.actor for one in decisions.values() if same_content(one, said)}


RULES: tuple[Rule, ...] = (
    one_command_one_actor,
    people_decide,
    imports_come_from_whoever_may,
    approved_by_another_person,
)
