"""`/sessions` and `/sessions/<id>`: what was asked, the ledger of a session as a timeline, and what came of it."""

from __future__ import annotations

from typing import Any

from adapters.audit import Audit
from adapters.audit_answers import Step
from adapters.session_json import outcome_of
from adapters.sessions import Sessions
from adapters.web.addresses import paging, session_of
from adapters.web.visit import Page, PageRoute, Visit
from domain.session import Session
from domain.session_events import PHASES, Decided

STATUSES = ("all", "open", "closed")


def show_list(visit: Visit) -> Page:
    status = visit.asked("status", STATUSES)
    found, total = Sessions(visit.workspace).list(
        limit=visit.size, offset=visit.offset(), status="" if status == "all" else status
    )
    return Page(
        "sessions.html",
        {
            "sessions": found,
            "status": status,
            "statuses": STATUSES,
            "paging": paging(visit, "/sessions", len(found), total),
        },
    )


def show(visit: Visit) -> Page:
    """Now, or as it was at `?at=` (a position or a time)."""
    session_id, at = session_of(visit), visit.asked("at")
    found = Audit(visit.workspace).session(session_id, at)
    summary = Sessions(visit.workspace).summary(session_id, found.position if at else None)
    return Page(
        "session.html",
        {
            "session": found.session,
            "summary": summary,
            "approved": [one for one in summary.memories if one.state == "approved"],
            "declined": [one for one in summary.memories if one.state == "declined"],
            "steps": [_step(found.session, one) for one in found.steps],
            "phases": PHASES,
            "at": at,
            "position": found.position,
        },
    )


def _step(session: Session, step: Step) -> dict[str, Any]:
    """An event with the decision it recorded, as that stands now."""
    told = step.as_json()
    decision = session.decision(step.envelope.event.seq) if isinstance(step.envelope.event, Decided) else None
    outcome = outcome_of(session, decision.seq) if decision else ""
    marker = session.promoted.get(decision.seq) if decision else None
    return told | {"decision": decision, "outcome": outcome, "memory_id": marker.memory_id if marker else ""}


ROUTES = (PageRoute("/sessions", show_list), PageRoute("/sessions/{session:path}", show))
