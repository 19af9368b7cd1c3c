"""Facts among themselves: said once, each with the words it began with, giving way to one that is there and in no
circle; and who lost a conflict stays out until somebody brings them back."""

from __future__ import annotations

from collections.abc import Iterator

from domain.belief import BeliefFormed, BeliefRevised
from domain.conflict_case import ConflictFound, ConflictResolved
from domain.erasure import TextErased
from domain.event import Envelope
from domain.topic_events import FactEvent, FactProposed, FactRestored, FactRetired, FactSuperseded
from domain.upkeep import RunUndone, UpkeepRun
from projections.invariants.told import Events, Rule, commands
from projections.verify import Finding


def _finding(envelope: Envelope, fact_id: str, what: str) -> Finding:
    mend = f"tht fact history {fact_id} shows how it came about; tht fact restore {fact_id} brings it back"
    return Finding("invariant", f"position {envelope.position}", what, mend)


def facts_are_never_edited(events: Events) -> Iterator[Finding]:
    """5. A fact is proposed once, on one stream, and what happens to it happens there."""
    stream: dict[str, str] = {}
    for envelope in events:
        event = envelope.event
        if not isinstance(event, FactEvent):
            continue
        if isinstance(event, FactProposed):
            if event.fact_id in stream:
                yield _finding(envelope, event.fact_id, f"{event.fact_id} was proposed twice: its words were changed")
            stream.setdefault(event.fact_id, envelope.stream)
        elif event.fact_id not in stream:
            yield _finding(envelope, event.fact_id, f"{event.kind} is about {event.fact_id}, which is no fact")
        if stream.get(event.fact_id, envelope.stream) != envelope.stream:
            what = f"{event.kind} of {event.fact_id} is on {envelope.stream}, not on its own stream"
            yield _finding(envelope, event.fact_id, what)


def successors_are_facts(events: Events) -> Iterator[Finding]:
    """5. What takes a fact's place is another fact that was there by then."""
    known: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, FactProposed):
            known.add(event.fact_id)
        elif isinstance(event, FactSuperseded) and (event.by not in known or event.by == event.fact_id):
            what = f"{event.fact_id} gave way to {event.by}, which was no other fact then"
            yield _finding(envelope, event.fact_id, what)


def no_facts_replace_each_other(events: Events) -> Iterator[Finding]:
    """5. Following what took a fact's place ends at one that nothing replaced."""
    successor: dict[str, str] = {}
    for envelope in events:
        event = envelope.event
        if isinstance(event, FactSuperseded):
            successor[event.fact_id] = event.by
            if _returns(event.fact_id, successor):
                what = f"{event.fact_id} gave way to {event.by}, which had given way to it"
                yield _finding(envelope, event.fact_id, what)
        elif isinstance(event, FactRestored | FactRetired):
            successor.pop(event.fact_id, None)
        elif isinstance(event, TextErased):
            successor.pop(event.record, None)


def _returns(fact_id: str, successor: dict[str, str]) -> bool:
    seen: set[str] = set()
    following = successor.get(fact_id, "")
    while following and following not in seen:
        if following == fact_id:
            return following != successor[fact_id]  # itself is another rule's business
        seen.add(following)
        following = successor.get(following, "")
    return False


def losers_are_out(events: Events) -> Iterator[Finding]:
    """5. Who lost a conflict is not live when the command ends that decided it; only a restoration makes it so."""
    live: set[str] = set()
    pairs: dict[str, tuple[str, str]] = {}
    for command in commands(events):
        decided: dict[str, Envelope] = {}
        for envelope in command:
            _follow(live, envelope)
            event = envelope.event
            if isinstance(event, ConflictFound):
                pairs[event.conflict_id] = event.facts
            for loser in _losers(event, pairs):
                decided[loser] = envelope
        for loser, envelope in decided.items():
            if loser in live:
                yield _finding(envelope, loser, f"{loser} lost a conflict and was live all the same")


def _follow(live: set[str], envelope: Envelope) -> None:
    event = envelope.event
    if isinstance(event, FactProposed | FactRestored):
        live.add(event.fact_id)
    elif isinstance(event, FactSuperseded | FactRetired):
        live.discard(event.fact_id)
    elif isinstance(event, TextErased):
        live.discard(event.record)


def _losers(event: object, pairs: dict[str, tuple[str, str]]) -> tuple[str, ...]:
    match event:
        case ConflictFound(winner=winner, facts=facts) if winner:
            return tuple(one for one in facts if one != winner)
        case ConflictResolved(state="kept" | "merged", kept=kept, conflict_id=conflict):
            return tuple(one for one in pairs.get(conflict, ()) if one != kept)
        case _:
            return ()


def beliefs_rest_on_facts(events: Events) -> Iterator[Finding]:
    """2. A belief is of two authors or more, and of facts that were there by then."""
    known: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, FactProposed):
            known.add(event.fact_id)
        elif isinstance(event, BeliefFormed | BeliefRevised) and not _rests(event, known):
            what = f"{event.belief_id} rests on fewer than two authors, or on what is no fact"
            mend = "tht harmonize forms the beliefs anew"
            yield Finding("invariant", f"position {envelope.position}", what, mend)


def _rests(event: BeliefFormed | BeliefRevised, known: set[str]) -> bool:
    return len(set(event.authors)) > 1 and bool(event.facts) and known.issuperset(event.facts)


def runs_are_undone_once(events: Events) -> Iterator[Finding]:
    """What is undone was a run, and is undone once."""
    runs: set[str] = set()
    for envelope in events:
        event = envelope.event
        if isinstance(event, UpkeepRun):
            runs.add(event.run_id)
        elif isinstance(event, RunUndone) and event.finished:
            if event.run_id not in runs:
                what = f"{event.run_id} was undone, and was no run or undone before"
                mend = "tht audit log --kind upkeep_run shows the runs"
                yield Finding("invariant", f"position {envelope.position}", what, mend)
            runs.discard(event.run_id)


RULES: tuple[Rule, ...] = (
    facts_are_never_edited,
    successors_are_facts,
    no_facts_replace_each_other,
    losers_are_out,
    beliefs_rest_on_facts,
    runs_are_undone_once,
)
