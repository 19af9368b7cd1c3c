"""The events of a session, one class each, and the words that they use: phases F1…F8 and types of decision."""

from __future__ import annotations

from typing import ClassVar, Literal

from domain.erasure import TextErased
from domain.event import Event, UtcTime

Phase = Literal["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"]
PHASES: tuple[Phase, ...] = ("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8")  # ordered as text too
REUSE_PHASE: Phase = "F2"
REVIEW_PHASE: Phase = "F8"
PREFIX = "session/"  # of the names of their streams

DecisionType = Literal["concept_clarified", "table_promoted", "table_excluded", "column_promoted", "column_excluded"]
REUSABLE_TYPES = frozenset({"concept_clarified"})


class SessionOpened(Event, name="session.session-opened"):
    sealed = ("question",)
    session_id: str
    question: str
    database: str = ""

    def record_in(self, stream: str) -> str:
        return question_record(stream.removeprefix(PREFIX))


class Decided(Event):
    """What every decision holds; its subclasses are the events."""

    sealed: ClassVar[tuple[str, ...]] = ("subject", "detail", "rationale")
    seq: int
    phase: Phase
    subject: str
    detail: str
    rationale: str = ""
    occurred_at: UtcTime | None = None  # imported history only: when it was said

    def record_in(self, stream: str) -> str:
        return decision_record(stream.removeprefix(PREFIX), self.seq)


class ConceptClarified(Decided, name="session.concept-clarified"):
    sealed = (*Decided.sealed, "question_context", "concepts")
    question_context: str = ""
    concepts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    source_memory: str | None = None  # the memory that it reuses
    source_changed: bool = False  # it says something else than that memory
    supersedes: int | None = None  # seq of the clarification that it is an edit of


class TablePromoted(Decided, name="session.table-promoted"):
    pass


class TableExcluded(Decided, name="session.table-excluded"):
    pass


class ColumnPromoted(Decided, name="session.column-promoted"):
    pass


class ColumnExcluded(Decided, name="session.column-excluded"):
    pass


class DecisionRetracted(Event, name="session.decision-retracted"):
    seq: int
    reason: str = ""


class PhaseEntered(Event, name="session.phase-entered"):
    phase: Phase


class PhaseReopened(Event, name="session.phase-reopened"):
    phase: Phase


class PhaseRolledBack(Event, name="session.phase-rolled-back"):
    phase: Phase


class MemorySetAside(Event, name="session.memory-set-aside"):
    memory_id: str


class MemoryRejected(Event, name="session.memory-rejected"):
    memory_id: str


class MemoryPromoted(Event, name="session.memory-promoted"):
    seq: int
    detail: str  # "seq:N"
    memory_id: str
    covers: tuple[int, ...] = ()
    revision: str = ""
    self_reviewed: bool = False


class MemoryPromotionDeclined(Event, name="session.memory-promotion-declined"):
    seq: int
    detail: str  # "seq:N"
    covers: tuple[int, ...] = ()
    reason: str = ""


class PromotionDeferred(Event, name="session.promotion-deferred"):
    seq: int
    reason: str = ""


class PromotionRefused(Event, name="session.promotion-refused"):
    """Somebody tried to approve what they may not. Changes nothing, but the audit knows."""

    seq: int
    reviewer: str
    reason: str


class PromotionReviewClosed(Event, name="session.promotion-review-closed"):
    follows = True


class SessionClosed(Event, name="session.session-closed"):
    pass


SessionEvent = (
    SessionOpened
    | ConceptClarified
    | TablePromoted
    | TableExcluded
    | ColumnPromoted
    | ColumnExcluded
    | DecisionRetracted
    | PhaseEntered
    | PhaseReopened
    | PhaseRolledBack
    | MemorySetAside
    | MemoryRejected
    | MemoryPromoted
    | MemoryPromotionDeclined
    | PromotionDeferred
    | PromotionRefused
    | PromotionReviewClosed
    | SessionClosed
    | TextErased
)

LINKING: dict[str, type[TablePromoted | TableExcluded | ColumnPromoted | ColumnExcluded]] = {
    "table_promoted": TablePromoted,
    "table_excluded": TableExcluded,
    "column_promoted": ColumnPromoted,
    "column_excluded": ColumnExcluded,
}
DECISION_TYPES: tuple[str, ...] = ("concept_clarified", *LINKING)


def session_stream(session_id: str) -> str:
    return f"{PREFIX}{session_id}"


def question_record(session_id: str) -> str:
    """How an erasure names a session's question."""
    return f"session:{session_id}"


def decision_record(session_id: str, seq: int) -> str:
    """How an erasure names a decision. Within one session's stream it is never that of the question."""
    return f"{session_id}:{seq}"
