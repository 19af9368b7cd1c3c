"""agent_working_memory.*: what an agent writes for itself; nobody is told another's."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StringConstraints

from adapters.notes import Notes
from adapters.preamble import preamble, record_shown
from adapters.serving.rpc_method import Call, Changing, Method, Name, Paged, Params, Share, Text, page, recorded
from adapters.serving.rpc_methods.facts import Watch, watching
from domain.event import iso_utc


class Own(Paged):
    agent: Name = Field("", description="Whose: nobody but the caller's own.")
    history: bool = False


class Update(Changing):
    text: Text


class Remember(Changing):
    content: Text
    memory_type: Name = ""
    importance: Share | None = None
    session_id: Name = ""
    ttl: Annotated[str, StringConstraints(max_length=20)] = ""


class InMind(Params):
    agent: Name = ""
    session_id: Name = ""


class Task(Params):
    task: Text
    repo: Name = ""


def show(call: Call, params: Own) -> dict[str, Any]:
    size = call.size(params)
    found = Notes(call.workspace).show(
        call.reader, params.agent, history=params.history, limit=size, offset=params.offset
    )
    return found.as_json() | page(params, len(found.observations), found.total)


def update(call: Call, params: Update) -> dict[str, Any]:
    return recorded(Notes(call.workspace).update(params.text, call.by(params)), params)


def observe(call: Call, params: Update) -> dict[str, Any]:
    observation_id, done = Notes(call.workspace).observe(params.text, call.by(params))
    return recorded(done, params, observation_id=observation_id)


def remember(call: Call, params: Remember) -> dict[str, Any]:
    item, done = Notes(call.workspace).remember(
        params.content,
        call.by(params),
        memory_type=params.memory_type,
        importance=params.importance,
        session_id=params.session_id,
        ttl=params.ttl,
    )
    until = iso_utc(item.expires_at) if item.expires_at else None
    return recorded(done, params, item_id=item.item_id, memory_type=item.memory_type, expires_at=until)


def in_mind(call: Call, params: InMind) -> dict[str, Any]:
    items = Notes(call.workspace).in_mind(call.reader, params.agent, session_id=params.session_id)
    return {"items": [one.as_json() for one in items[: call.page_limit]], "truncated": len(items) > call.page_limit}


def dispatch(call: Call, params: Task) -> dict[str, Any]:
    made = preamble(call.workspace, params.task, call.by(), repo=params.repo)
    record_shown(call.workspace, call.by(), made)
    return made.as_json()


METHODS: tuple[Method[Any], ...] = (
    Method("agent_working_memory.get", "The caller's own notes and observations.", Own, show),
    Method("agent_working_memory.upsert", "Replace the caller's notes, verbatim.", Update, update, True),
    Method("agent_working_memory.observe", "Record an observation; facts can cite its id.", Update, observe, True),
    Method("agent_working_memory.remember", "Keep something in mind.", Remember, remember, True),
    Method("agent_working_memory.inMind", "What the caller keeps in mind.", InMind, in_mind),
    Method("agent_working_memory.preamble", "What reaches the caller's prompt for a task.", Task, dispatch, True),
    Method(
        "agent_working_memory.watch", "Where the caller's own are streamed.", Watch, watching("agent_working_memory")
    ),
)
