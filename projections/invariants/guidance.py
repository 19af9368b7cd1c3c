"""Grants, policies and notes: people set grants, a policy needs write, what is not first hand needs a second person,
and nobody writes another's notes."""

from __future__ import annotations

from collections.abc import Iterator

from domain.access import DomainCreated, GrantChanged
from domain.event import Envelope
from domain.hot import ItemRemembered
from domain.notes import NotesUpdated, ObservationRecorded
from domain.policy_events import PolicyActivated, PolicyActivationRefused, PolicyEvent, PolicyProposed
from domain.text import is_person, same_actor
from domain.topic_events import FactProposed
from projections.invariants.told import Events, Rule
from projections.verify import Finding

_FIRST_HAND = ("stated", "inferred")
_TOOL = "tool:"


def _finding(envelope: Envelope, what: str, mend: str) -> Finding:
    return Finding("invariant", f"position {envelope.position}", what, mend)


def _of_policy(envelope: Envelope, event: PolicyEvent, what: str) -> Finding:
    mend = f"tht policy show {event.policy_id} shows how it came about; tht policy deactivate takes it out"
    return _finding(envelope, f"{event.policy_id} {what}", mend)


def grants_are_set_by_people(events: Events) -> Iterator[Finding]:
    """7. Who reads and writes what is said by people; a new domain's first rows come with it."""
    for envelope in events:
        event = envelope.event
        if isinstance(event, GrantChanged) and not is_person(envelope.actor):
            what = f"the grant of {event.role} for {event.domain} was set by {envelope.actor}, who is no person"
            mend = f"tht grant set --domain {event.domain} puts it right"
            yield _finding(envelope, what, mend)


def policies_need_write(events: Events) -> Iterator[Finding]:
    """7. Whoever changed a policy had write for its domain then, or is a person who acted in no role."""
    writers: set[tuple[str, str]] = set()
    domains: dict[str, str] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, DomainCreated):
            writers |= {(event.domain, role) for role in event.writers}
        elif isinstance(event, GrantChanged):
            writers.discard((event.domain, event.role))
            writers |= {(event.domain, event.role)} if event.permission == "write" else set()
        elif isinstance(event, PolicyEvent) and not isinstance(event, PolicyActivationRefused):
            domain = event.domain if isinstance(event, PolicyProposed) else domains.get(event.policy_id, "")
            domains[event.policy_id] = domain
            unbound = is_person(envelope.actor) and not envelope.role
            if not unbound and (domain, envelope.role) not in writers:
                yield _of_policy(envelope, event, f"was changed by {envelope.actor} without write for {domain}")


def held_policies_need_another_person(events: Events) -> Iterator[Finding]:
    """8. What rests on a tool or came from elsewhere is let in by a person who did not propose it (S-59). A correction
    is trusted no more than what it corrects, and a tool's own proposal not at all."""
    proposed: dict[str, Envelope] = {}
    doubtful: set[str] = set()  # facts
    waiting: set[str] = set()  # policies
    for envelope in events:
        event = envelope.event
        if isinstance(event, FactProposed):
            sources = (*event.source_observation_ids, event.corrects)
            if event.veracity not in _FIRST_HAND or not doubtful.isdisjoint(sources):
                doubtful.add(event.fact_id)
        elif isinstance(event, PolicyProposed):
            proposed[event.policy_id] = envelope
            of_tool = envelope.actor.startswith(_TOOL)
            if event.held or of_tool or not doubtful.isdisjoint(event.derived_from):
                waiting.add(event.policy_id)
                what = f"was proposed by {envelope.actor}" if of_tool else "rests on what is not first hand"
                if event.active:
                    yield _of_policy(envelope, event, f"{what}, and was active at once")
        elif isinstance(event, PolicyActivated) and event.policy_id in waiting:
            waiting.discard(event.policy_id)
            own = same_actor(envelope.actor, proposed[event.policy_id].actor)
            if not is_person(envelope.actor):
                yield _of_policy(envelope, event, f"was let in by {envelope.actor}, who is no person")
            elif own and not event.self_reviewed:
                yield _of_policy(envelope, event, f"was let in by {envelope.actor}, who proposed it")


def notes_are_their_own(events: Events) -> Iterator[Finding]:
    """6. Notes, observations and items are written by the agent whose they are."""
    for envelope in events:
        if isinstance(envelope.event, (NotesUpdated, ObservationRecorded, ItemRemembered)):
            owner = envelope.stream.partition("/")[2]
            if not same_actor(owner, envelope.actor):
                what = f"{envelope.event.kind} in the notes of {owner} is by {envelope.actor}"
                yield _finding(envelope, what, f"tht notes update --actor {owner} says it anew")


RULES: tuple[Rule, ...] = (
    grants_are_set_by_people,
    policies_need_write,
    held_policies_need_another_person,
    notes_are_their_own,
)
