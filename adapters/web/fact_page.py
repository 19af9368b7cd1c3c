"""`/facts/<id>`: why a fact is believed, what happened to it, what relied on it; and what a person can do about it."""

from __future__ import annotations

from datetime import datetime

from adapters.audit_facts import audit_fact, event_json, look_again
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.knowledge import curves
from adapters.web.addresses import fact_url, record_url
from adapters.web.drawing import trend
from adapters.web.facts_page import new_fact, outcome_notices, share
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from domain.decay import CURVES, GIVEN_VERACITIES, hours_between, recall_factor, veracity_weight
from domain.errors import InvalidInput
from domain.topic_events import LINK_KINDS, LinkKind, accept_link_kind


def show(visit: Visit) -> Page:
    workspace, fact_id = visit.workspace, visit.path["fact"]
    found = audit_fact(workspace, visit.reader, fact_id)
    reading = FactReading(workspace, visit.reader)
    row = reading.row(fact_id)
    now, known = workspace.clock(), curves(workspace)
    age = hours_between(datetime.fromisoformat(row.confirmed_at), now)
    contents = {}
    for link in found.fact["links"]:
        if link["id"].startswith("fact-"):
            contents[link["id"]] = reading.row(link["id"]).content
    for conflict in found.fact["conflicts"]:
        for one in conflict["facts"]:
            contents[one] = reading.row(one).content
    return Page(
        "fact.html",
        {
            "fact": found.fact,
            "row": row,
            "weight": veracity_weight(row.veracity),
            "factor": recall_factor(row.memory_type, age, known),
            "days": age / 24,
            "trend": trend(row, found.events, now, known),
            "events": [event_json(one) for one in found.events][::-1],
            "rests": found.rests,
            "contents": contents,
            "link_kinds": LINK_KINDS,
            "memory_types": tuple(CURVES),
            "veracities": GIVEN_VERACITIES,
        },
    )


def correct(visit: Visit) -> Moved:
    outcome, _ = Facts(visit.workspace).correct(visit.path["fact"], new_fact(visit), visit.by())
    notices = (Notice("The correction is recorded: the old wording never held."),)
    return Moved(fact_url(outcome.fact_id), notices + outcome_notices(outcome, visit.workspace.name)[1:])


def supersede(visit: Visit) -> Moved:
    """By a fact that is there, or by a new one that is said here."""
    old, new = visit.path["fact"], visit.said("successor")
    if not new:
        raise InvalidInput("no fact is named that takes its place", "give its id, or say the new fact first")
    Facts(visit.workspace).supersede(old, new, visit.by())
    return Moved(fact_url(old), (Notice(f"{new} takes its place from now on.", url=fact_url(new)), *_again(visit, old)))


def retire(visit: Visit) -> Moved:
    fact_id = visit.path["fact"]
    Facts(visit.workspace).retire(fact_id, visit.by())
    return Moved(fact_url(fact_id), (Notice("The fact is retired: it is found no more."), *_again(visit, fact_id)))


def restore(visit: Visit) -> Moved:
    fact_id = visit.path["fact"]
    Facts(visit.workspace).restore(fact_id, visit.by())
    return Moved(fact_url(fact_id), (Notice("The fact is live again."),))


def link(visit: Visit) -> Moved:
    fact_id, to = visit.path["fact"], visit.said("to")
    weight = share(visit.said("weight"), "weight")
    Facts(visit.workspace).link(fact_id, to, _kind(visit), 1.0 if weight is None else weight, visit.by())
    return Moved(fact_url(fact_id), (Notice(f"It is linked with {to}.", url=fact_url(to)),))


def unlink(visit: Visit) -> Moved:
    fact_id, to = visit.path["fact"], visit.said("to")
    Facts(visit.workspace).unlink(fact_id, to, _kind(visit), visit.by())
    return Moved(fact_url(fact_id), (Notice(f"The link with {to} is taken away."),))


def _kind(visit: Visit) -> LinkKind:
    return accept_link_kind(visit.said("kind") or "related_to")


def _again(visit: Visit, fact_id: str) -> tuple[Notice, ...]:
    """What still counts and rests on it."""
    resting = look_again(visit.workspace, visit.reader, fact_id)
    return tuple(
        Notice(f"Look again at {one}: it rests on this fact.", url=record_url(one, visit.workspace.name))
        for one in resting
    )


ACTS = {
    "correct": correct,
    "supersede": supersede,
    "retire": retire,
    "restore": restore,
    "link": link,
    "unlink": unlink,
}
ROUTES = (PageRoute("/facts/{fact}", show, ACTS),)
