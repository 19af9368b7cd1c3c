"""The session's summary, made at read time from its stream: old sessions get today's layout and filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from domain import session as sessions
from domain.event import Envelope
from domain.promotion import candidates, names_a_table
from domain.session import Decision, Marker, Session

State = Literal["approved", "declined"]


@dataclass(frozen=True, slots=True)
class SummaryMemory:
    """A clarification that a reviewer decided about. Texts are Markdown.

    `flag` says when its source fell away or was erased.
    """

    state: State
    subject: str
    detail: str
    rationale: str
    memory_id: str | None
    seq: int
    by: str
    reason: str
    flag: str

    def as_json(self) -> dict[str, Any]:
        return {
            "state": self.state,
            "subject": self.subject,
            "detail": self.detail,
            "rationale": self.rationale,
            "memory_id": self.memory_id,
            "seq": self.seq,
            "by": self.by,
            "reason": self.reason,
            "flag": self.flag,
        }


@dataclass(frozen=True, slots=True)
class Summary:
    session_id: str
    question: str
    phase: str
    closed: bool
    memories: tuple[SummaryMemory, ...]
    pending: int
    deferred: int

    def as_json(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "question": self.question,
            "phase": self.phase,
            "closed": self.closed,
            "memories": [memory.as_json() for memory in self.memories],
            "pending": self.pending,
            "deferred": self.deferred,
        }


def summarise(envelopes: Iterable[Envelope]) -> Summary | None:
    """Approved memories first, then declined, each by seq; None for an empty stream.

    Left out: markers whose source is no clarification, and subjects that name a table or column.
    """
    session = sessions.fold(envelopes)
    if session is None:
        return None
    waiting = [one for one in candidates(session) if not one.refusal]
    return Summary(
        session.session_id,
        session.question,
        session.phase,
        session.closed,
        (*_marked(session, session.promoted, "approved"), *_marked(session, session.declined, "declined")),
        pending=sum(1 for one in waiting if one.deferred is None),
        deferred=sum(1 for one in waiting if one.deferred is not None),
    )


def _marked(session: Session, markers: Mapping[int, Marker], state: State) -> Iterable[SummaryMemory]:
    for seq in sorted({marker.leader for marker in markers.values()}):
        if not 1 <= seq <= len(session.decisions):
            continue  # an imported marker without its decision: there is nothing to show
        decision = session.decision(seq)
        if decision.reusable and not names_a_table(session, decision):
            marker = markers[seq]
            yield SummaryMemory(
                state=state,
                subject=decision.subject,
                detail=decision.detail,
                rationale=decision.rationale,
                memory_id=marker.memory_id or None,
                seq=seq,
                by=marker.by,
                reason=marker.reason,
                flag=_flag(decision, state),
            )


def _flag(decision: Decision, state: State) -> str:
    if decision.erased:
        return "erased"
    return "" if decision.standing == "effective" or state == "declined" else "source no longer effective"
