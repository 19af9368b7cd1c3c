"""Tools of a session: what is clarified while a question is answered, and reviewed memories to reuse for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from adapters.known import Known
from adapters.mcp.call import Call
from adapters.mcp.knowledge_tools import Found, found_text
from adapters.mcp.recall import found
from adapters.mcp.tool import Arguments, Changing, Cursor, Limit, Recorded, Tool
from adapters.outcomes import committed_json
from adapters.searching import Asked
from adapters.sessions import Sessions
from domain.session import NewDecision
from domain.session_events import DECISION_TYPES, Decided, Phase

SessionId = Annotated[str, Field(description="The id of the session, as you were given it.")]


class RecordDecision(Changing):
    session_id: SessionId
    subject: Annotated[str, Field(description="The concept that is clarified; a table or column for the other types.")]
    detail: Annotated[str, Field(description="What was decided, complete without the conversation (Markdown).")]
    rationale: Annotated[str, Field(description="Why, and who said so (Markdown).")] = ""
    type: Annotated[
        str,
        Known(DECISION_TYPES),
        Field(description="concept_clarified may become a memory; the others are of this question only."),
    ] = "concept_clarified"
    phase: Annotated[Phase | None, Field(description="Empty: the session's current one.")] = None
    question_context: Annotated[str, Field(description="The question in whose context it holds.")] = ""
    concepts: Annotated[Sequence[str], Field(description="Concepts that it concerns.")] = ()
    tables: Annotated[Sequence[str], Field(description="Tables or columns that it maps to.")] = ()


class DecisionRecorded(Recorded):
    session_id: str
    seq: int = Field(description="The number of the decision in its session.")


def _record(call: Call, given: RecordDecision) -> dict[str, Any]:
    new = NewDecision(
        given.type,
        given.subject,
        given.detail,
        given.rationale,
        given.phase,
        given.question_context,
        tuple(given.concepts),
        tuple(given.tables),
    )
    done = Sessions(call.workspace).record(given.session_id, new, call.by(given.reason, given.idempotency_key))
    (decided,) = done.events(Decided)
    return committed_json(done, session_id=given.session_id, seq=decided.seq)


class SearchSessionMemory(Arguments):
    session_id: SessionId
    question: Annotated[str, Field(description="The question of the session, or a part of it.")]
    limit: Limit = 5
    cursor: Cursor = ""


def _search(call: Call, given: SearchSessionMemory) -> dict[str, Any]:
    asked = Asked(given.question, "memory", limit=given.limit, cursor=given.cursor, session_id=given.session_id)
    return found(call, asked)


TOOLS: tuple[Tool[Any], ...] = (
    Tool(
        "record_decision",
        "Record a clarification",
        """Record what was clarified in a session: what a concept means here, a criterion, a formula, how time is read,
        what a flag stands for. A person may later approve it as a memory that other sessions reuse; you
        cannot. Returns its seq. Refused: a session that is not there or closed (UnknownSession,
        SessionIsClosed), a phase that is neither the current nor a reopened one (WrongPhase).""",
        RecordDecision,
        DecisionRecorded,
        _record,
    ),
    Tool(
        "search_session_memory",
        "Find memories to reuse",
        """Reviewed memories that fit a session's question, without those that the session has applied, rejected or set
        aside. Nothing is applied by itself: show them to the person, who chooses; what is chosen is
        recorded by them. Refused: an unknown session (UnknownSession).""",
        SearchSessionMemory,
        Found,
        _search,
        found_text,
        reads=True,
    ),
)
