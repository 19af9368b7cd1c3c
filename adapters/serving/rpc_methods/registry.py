"""registry.*: the memories, and what a reviewer may change about them."""

from __future__ import annotations

from typing import Annotated, Any

from adapters.curation import Curation
from adapters.known import Known
from adapters.serving.rpc_method import Call, Changing, Id, Method, Name, Paged, Params, page, recorded
from adapters.serving.rpc_methods.facts import Watch, watching
from domain.memory import STATUSES

Status = Annotated[str, Known((*STATUSES, "history", "all"))]


class Listing(Paged):
    status: Status = "live"


class One(Params):
    memory_id: Id


class Retire(Changing):
    memory_id: Id
    source: Name = ""


class Into(Changing):
    memory_id: Id
    other: Id


class Change(Changing):
    memory_id: Id


def listed(call: Call, params: Listing) -> dict[str, Any]:
    size, status = call.size(params), "" if params.status == "all" else params.status
    found, total = Curation(call.workspace).list(status=status, limit=size, offset=params.offset)
    return {"memories": [one.as_json() for one in found]} | page(params, len(found), total)


def get(call: Call, params: One) -> dict[str, Any]:
    return Curation(call.workspace).get(params.memory_id).as_json()


def retire(call: Call, params: Retire) -> dict[str, Any]:
    done = Curation(call.workspace, call.proof).retire(params.memory_id, call.by(params), source=params.source)
    return recorded(done, params, memory_id=params.memory_id)


def supersede(call: Call, params: Into) -> dict[str, Any]:
    done = Curation(call.workspace, call.proof).supersede(params.memory_id, params.other, call.by(params))
    return recorded(done, params, memory_id=params.memory_id)


def merge(call: Call, params: Into) -> dict[str, Any]:
    done = Curation(call.workspace, call.proof).merge(params.memory_id, params.other, call.by(params))
    return recorded(done, params, memory_id=params.memory_id)


def restore(call: Call, params: Change) -> dict[str, Any]:
    done = Curation(call.workspace, call.proof).restore(params.memory_id, call.by(params))
    return recorded(done, params, memory_id=params.memory_id)


METHODS: tuple[Method[Any], ...] = (
    Method("registry.getByWorkspace", "The memories.", Listing, listed),
    Method("registry.getById", "A memory.", One, get),
    Method("registry.retire", "It was wrong; or one of its sources was.", Retire, retire, True),
    Method("registry.supersede", "It was true; now the other one is.", Into, supersede, True),
    Method("registry.merge", "It says the same as the other one.", Into, merge, True),
    Method("registry.restore", "Undo a retirement, supersession or merge.", Change, restore, True),
    Method("registry.watch", "Where changes are streamed.", Watch, watching("registry")),
)
