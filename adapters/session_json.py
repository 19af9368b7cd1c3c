"""A session as every interface for programs tells it."""

from __future__ import annotations

from typing import Any

from domain.session import Decision, Session


def outcome_of(session: Session, seq: int) -> str:
    """What a reviewer decided about a decision: promoted, declined, deferred, or '' while nobody did."""
    if seq in session.promoted:
        return "promoted"
    if seq in session.declined:
        return "declined"
    return "deferred" if seq in session.deferred else ""


def session_json(session: Session) -> dict[str, Any]:
    """A session with all its decisions and how each stands."""
    return {
        "session_id": session.session_id,
        "question": session.question,
        "database": session.database,
        "phase": session.phase,
        "reopened": sorted(session.reopened),
        "status": "closed" if session.closed else "open",
        "review": "closed" if session.review_closed else "open",
        "set_aside": sorted(session.set_aside),
        "decisions": [_decision_json(session, decision) for decision in session.decisions],
    }


def _decision_json(session: Session, decision: Decision) -> dict[str, Any]:
    marker = session.promoted.get(decision.seq)
    return {
        "seq": decision.seq,
        "phase": decision.phase,
        "type": decision.type,
        "subject": decision.subject,
        "detail": decision.detail,
        "rationale": decision.rationale,
        "question_context": decision.question_context,
        "concepts": list(decision.concepts),
        "tables": list(decision.tables),
        "source_memory": decision.source_memory,
        "supersedes": decision.supersedes,
        "standing": decision.standing,
        "outcome": outcome_of(session, decision.seq) or None,
        "memory_id": marker.memory_id if marker else None,
        "author": decision.author,
    }
