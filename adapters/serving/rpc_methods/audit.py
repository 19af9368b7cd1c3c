"""audit.*: why it is so."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from adapters.audit import Asked, Audit
from adapters.audit_answers import line_json
from adapters.audit_facts import audit_fact
from adapters.knowledge import require_whole
from adapters.serving.rpc_method import Call, Id, Method, Name, Paged, Params, page


class SessionOf(Params):
    session_id: Id
    at: Name = ""


class MemoryOf(Params):
    memory_id: Id
    at: Name = ""


class FactOf(Params):
    fact_id: Id
    at: Name = ""


class Log(Paged):
    actor: Name = ""
    kind: Name = ""
    session_id: Name = ""
    memory_id: Name = ""
    record: Name = ""
    since: Name = ""
    until: Name = ""
    at: Name = ""


class ActorOf(Paged):
    actor: Id
    at: Name = ""


class Reads(Paged):
    ref: Name = Field("", description="A fact's id, or memory:mem-0001.")
    actor: Name = ""


def session(call: Call, params: SessionOf) -> dict[str, Any]:
    return Audit(call.workspace).session(params.session_id, params.at).as_json()


def memory(call: Call, params: MemoryOf) -> dict[str, Any]:
    return Audit(call.workspace).memory(params.memory_id, params.at).as_json()


def fact(call: Call, params: FactOf) -> dict[str, Any]:
    return audit_fact(call.workspace, call.reader, params.fact_id, params.at).as_json()


def log(call: Call, params: Log) -> dict[str, Any]:
    require_whole(call.workspace, call.reader, "the audit")
    size = call.size(params)
    asked = Asked(**params.model_dump(exclude={"limit", "offset"}))
    lines, total = Audit(call.workspace).log(asked, limit=size, offset=params.offset)
    return {"events": [line_json(line) for line in lines]} | page(params, len(lines), total)


def actor(call: Call, params: ActorOf) -> dict[str, Any]:
    require_whole(call.workspace, call.reader, "the audit")
    size = call.size(params)
    lines, total, kinds = Audit(call.workspace).actor(params.actor, at=params.at, limit=size, offset=params.offset)
    told = {"actor": params.actor, "events": [line_json(line) for line in lines], "kinds": kinds}
    return told | page(params, len(lines), total)


def reads(call: Call, params: Reads) -> dict[str, Any]:
    require_whole(call.workspace, call.reader, "the audit")
    size = call.size(params)
    found, total = Audit(call.workspace).reads(ref=params.ref, actor=params.actor, limit=size, offset=params.offset)
    return {"reads": [one.as_json() for one in found]} | page(params, len(found), total)


METHODS: tuple[Method[Any], ...] = (
    Method("audit.session", "Every event of a session, and what followed.", SessionOf, session),
    Method("audit.memory", "From clarification to reuse.", MemoryOf, memory),
    Method("audit.fact", "Why a fact is believed.", FactOf, fact),
    Method("audit.log", "The timeline of the workspace, filtered.", Log, log),
    Method("audit.actor", "What an actor did.", ActorOf, actor),
    Method("audit.reads", "Who was shown what.", Reads, reads),
)
