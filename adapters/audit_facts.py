"""Why does the system believe a fact: who said so, what it met, and what has relied on it. No model, no index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adapters.fact_reading import NOW, FactReading, Moment, moment_of
from adapters.workspace import Workspace
from domain.event import Envelope, iso_utc
from projections import beliefs, counters, fact_queries, policies
from projections.scope import Reader


@dataclass(frozen=True, slots=True)
class FactAudit:
    """`fact` as `tht fact show` tells it. `rests`: what has relied on it, by kind."""

    fact: dict[str, Any]
    events: tuple[Envelope, ...]
    rests: dict[str, list[dict[str, Any]]]

    def as_json(self) -> dict[str, Any]:
        return {
            "fact": self.fact,
            "events": [event_json(envelope) for envelope in self.events],
            "relied_on": self.rests,
        }


def audit_fact(workspace: Workspace, reader: Reader, fact_id: str, at: str = "") -> FactAudit:
    """A fact's whole history, until `at` (a position or a time of the ledger), within what the reader may see.

    UnknownFact when it was not there; AccessDenied where its domain is closed.
    """
    reading = FactReading(workspace, reader)
    moment = moment_of(workspace, known_at=at)
    fact = reading.get(fact_id, moment)
    until = moment.position
    events = tuple(one for one in reading.history(fact_id) if until is None or one.position <= until)
    return FactAudit(fact, events, _relying(reading, fact_id, moment))


def look_again(workspace: Workspace, reader: Reader, fact_id: str) -> tuple[str, ...]:
    """What still counts and rests on a fact that no longer does: active policies, live facts, beliefs; by id."""
    reading = FactReading(workspace, reader)
    rests = _relying(reading, fact_id, NOW)
    counting = {"policies": "active", "facts": "live", "beliefs": "live"}
    return tuple(str(one["id"]) for kind, state in counting.items() for one in rests[kind] if one["status"] == state)


def _relying(reading: FactReading, fact_id: str, moment: Moment) -> dict[str, list[dict[str, Any]]]:
    """Policies derived from it, facts and beliefs that rest on it, and who was shown it."""
    with reading.seen(moment) as seen:
        rules = policies.list_policies(seen.db, seen.scope, status="")[0]
        derived = [one for one in rules if fact_id in one.derived_from]
        citing = [one for one in fact_queries.citing(seen.db, fact_id) if seen.scope.sees(one.domain)]
        held = beliefs.list_beliefs(seen.db, seen.scope, fact_id=fact_id)
        return {
            "policies": [{"id": one.id, "rule": one.rule, "status": one.status} for one in derived],
            "facts": [{"id": one.id, "content": one.content, "status": one.status} for one in citing],
            "beliefs": [one.as_json() for one in held],
            "shown_to": [one.as_json() for one in counters.shown_to_whom(seen.db, fact_id)],
        }


def event_json(envelope: Envelope) -> dict[str, Any]:
    """An event in the history of a fact, for programs."""
    return {
        "position": envelope.position,
        "at": iso_utc(envelope.at),
        "kind": envelope.event.kind,
        "actor": envelope.actor,
        "role": envelope.role or None,
        "reason": envelope.reason or None,
        "event": envelope.event.model_dump(mode="json"),
        "erased": envelope.erased,
    }
