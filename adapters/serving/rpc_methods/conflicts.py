"""conflicts.* and beliefs.*: what contradicts, decided by people; what several agree on."""

from __future__ import annotations

from typing import Annotated, Any

from adapters.conflicts import STATES, Conflicts
from adapters.knowledge import seen_by
from adapters.known import Known
from adapters.serving.rpc_method import Call, Changing, Id, Method, Paged, Params, Text, page, recorded
from adapters.serving.rpc_methods.facts import Watch, watching
from projections import beliefs

State = Annotated[str, Known(STATES)]


class Listing(Paged):
    state: State = "open"


class One(Params):
    conflict_id: Id


class Keep(Changing):
    conflict_id: Id
    fact_id: Id


class Change(Changing):
    conflict_id: Id


class Merge(Changing):
    conflict_id: Id
    content: Text


def listed(call: Call, params: Listing) -> dict[str, Any]:
    size, state = call.size(params), "" if params.state == "all" else params.state
    found, total, denied = Conflicts(call.workspace).list(call.reader, state=state, limit=size, offset=params.offset)
    told = {"conflicts": [one.as_json() for one in found], "denied": denied or None}
    return told | page(params, len(found), total)


def get(call: Call, params: One) -> dict[str, Any]:
    return Conflicts(call.workspace).get(params.conflict_id, call.reader)


def keep(call: Call, params: Keep) -> dict[str, Any]:
    done = Conflicts(call.workspace, call.proof).keep(params.conflict_id, params.fact_id, call.by(params))
    return recorded(done, params, conflict_id=params.conflict_id)


def keep_both(call: Call, params: Change) -> dict[str, Any]:
    done = Conflicts(call.workspace, call.proof).keep_both(params.conflict_id, call.by(params))
    return recorded(done, params, conflict_id=params.conflict_id)


def merge(call: Call, params: Merge) -> dict[str, Any]:
    made, done = Conflicts(call.workspace, call.proof).merge(params.conflict_id, params.content, call.by(params))
    return recorded(done, params, conflict_id=params.conflict_id, fact_id=made)


def reopen(call: Call, params: Change) -> dict[str, Any]:
    done = Conflicts(call.workspace, call.proof).reopen(params.conflict_id, call.by(params))
    return recorded(done, params, conflict_id=params.conflict_id)


def believed(call: Call, params: Paged) -> dict[str, Any]:
    with seen_by(call.workspace, call.reader) as (db, scope):
        found = beliefs.list_beliefs(db, scope)
    shown = found[params.offset : params.offset + call.size(params)]
    told = {"beliefs": [one.as_json() for one in shown], "denied": scope.denied or None}
    return told | page(params, len(shown), len(found))


METHODS: tuple[Method[Any], ...] = (
    Method("conflicts.getByWorkspace", "Facts that contradict each other, or may.", Listing, listed),
    Method("conflicts.getById", "A conflict with both facts.", One, get),
    Method("conflicts.keep", "One of the two stays; a person's.", Keep, keep, True),
    Method("conflicts.keepBoth", "Both hold; a person's.", Change, keep_both, True),
    Method("conflicts.merge", "A third says what both meant; a person's.", Merge, merge, True),
    Method("conflicts.reopen", "Take a decision back; a person's.", Change, reopen, True),
    Method("conflicts.watch", "Where changes are streamed.", Watch, watching("memory_conflict")),
    Method("beliefs.getByWorkspace", "What several authors agree on.", Paged, believed),
)
