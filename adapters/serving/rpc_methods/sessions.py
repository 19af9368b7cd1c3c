"""sessions.*: one question each, worked through phases F1…F8."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adapters.serving.rpc_method import Call, Changing, Id, Ids, Method, Name, Paged, Params, Seq, Text, page, recorded
from adapters.serving.rpc_methods.facts import Watch, watching
from adapters.session_json import session_json
from adapters.sessions import Sessions, accept_phase
from domain.session import NewDecision
from domain.session_events import Decided, DecisionType, Phase

Names = Annotated[list[Name], Field(max_length=100)]


class Listing(Paged):
    status: Literal["", "open", "closed"] = ""


class One(Params):
    session_id: Id


class Open(Changing):
    session_id: Id
    question: Text
    database: Name = ""


class Said(Changing):
    session_id: Id
    type: DecisionType
    subject: Text
    detail: Text = ""
    rationale: Text = ""
    phase: Phase | None = None
    question_context: Text = ""
    concepts: Names = Field(default_factory=list)
    tables: Names = Field(default_factory=list)
    source_memory: Id | None = None


class Edit(Said):
    seq: Seq


class Retract(Changing):
    session_id: Id
    seq: Seq


class Move(Changing):
    session_id: Id
    phase: Phase


class Change(Changing):
    session_id: Id


class Choose(Changing):
    session_id: Id
    offered: Ids
    selected: Ids = Field(default_factory=list)


def listed(call: Call, params: Listing) -> dict[str, Any]:
    size = call.size(params)
    found, total = Sessions(call.workspace).list(limit=size, offset=params.offset, status=params.status)
    rows = [{name: getattr(row, name) for name in row.__slots__} for row in found]
    return {"sessions": rows} | page(params, len(found), total)


def get(call: Call, params: One) -> dict[str, Any]:
    return session_json(Sessions(call.workspace).get(params.session_id))


def summary(call: Call, params: One) -> dict[str, Any]:
    return Sessions(call.workspace).summary(params.session_id).as_json()


def begin(call: Call, params: Open) -> dict[str, Any]:
    by = call.by(params)
    done = Sessions(call.workspace).open(params.session_id, params.question, by, database=params.database)
    return recorded(done, params, session_id=params.session_id)


def _decision(params: Said) -> NewDecision:
    return NewDecision(
        params.type,
        params.subject,
        params.detail,
        params.rationale,
        accept_phase(params.phase) if params.phase else None,
        params.question_context,
        tuple(params.concepts),
        tuple(params.tables),
        params.source_memory,
    )


def record(call: Call, params: Said) -> dict[str, Any]:
    done = Sessions(call.workspace).record(params.session_id, _decision(params), call.by(params))
    return recorded(done, params, seq=done.events(Decided)[0].seq)


def edit(call: Call, params: Edit) -> dict[str, Any]:
    done = Sessions(call.workspace).edit(params.session_id, params.seq, _decision(params), call.by(params))
    return recorded(done, params, seq=done.events(Decided)[0].seq)


def retract(call: Call, params: Retract) -> dict[str, Any]:
    return recorded(Sessions(call.workspace).retract(params.session_id, params.seq, call.by(params)), params)


def enter(call: Call, params: Move) -> dict[str, Any]:
    return recorded(Sessions(call.workspace).enter(params.session_id, params.phase, call.by(params)), params)


def reopen(call: Call, params: Move) -> dict[str, Any]:
    return recorded(Sessions(call.workspace).reopen(params.session_id, params.phase, call.by(params)), params)


def roll_back(call: Call, params: Move) -> dict[str, Any]:
    return recorded(Sessions(call.workspace).roll_back(params.session_id, params.phase, call.by(params)), params)


def close(call: Call, params: Change) -> dict[str, Any]:
    return recorded(Sessions(call.workspace).close(params.session_id, call.by(params)), params)


def choose(call: Call, params: Choose) -> dict[str, Any]:
    done = Sessions(call.workspace).choose(params.session_id, params.offered, params.selected, call.by(params))
    return recorded(done, params, selected=params.selected)


METHODS: tuple[Method[Any], ...] = (
    Method("sessions.getByWorkspace", "The sessions.", Listing, listed),
    Method("sessions.getById", "A session with its decisions.", One, get),
    Method("sessions.summary", "What a session came to.", One, summary),
    Method("sessions.open", "Begin a session.", Open, begin, True),
    Method("sessions.record", "Record a decision.", Said, record, True),
    Method("sessions.edit", "Say a clarification differently.", Edit, edit, True),
    Method("sessions.retract", "Take a decision back.", Retract, retract, True),
    Method("sessions.enter", "Go on to a later phase.", Move, enter, True),
    Method("sessions.reopen", "Open an earlier phase again.", Move, reopen, True),
    Method("sessions.rollBack", "Undo what a phase and the later ones recorded.", Move, roll_back, True),
    Method("sessions.close", "End a session.", Change, close, True),
    Method("sessions.choose", "The choice of F2, a person's: which memories apply.", Choose, choose, True),
    Method("sessions.watch", "Where changes are streamed.", Watch, watching("session")),
)
