"""How a session and its summary are shown to people and to programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cli.output import table
from domain.session import Decision, Session
from projections.summary import Summary, SummaryMemory

if TYPE_CHECKING:
    from rich.console import RenderableType


def outcome_of(session: Session, seq: int) -> str:
    """What a reviewer decided about a decision: promoted, declined, deferred, or '' while nobody did."""
    if seq in session.promoted:
        return "promoted"
    if seq in session.declined:
        return "declined"
    return "deferred" if seq in session.deferred else ""


def session_json(session: Session) -> dict[str, Any]:
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


def session_page(session: Session, position: int | None) -> RenderableType:
    """The session's header and its decisions, one row each."""
    from rich.console import Group
    from rich.text import Text

    from cli.output import printable

    when = f" as it was at position {position:,}" if position is not None else ""
    reopened = f", reopened {', '.join(sorted(session.reopened))}" if session.reopened else ""
    state = "closed" if session.closed else "open"
    header = Text.assemble(
        (f"Session {printable(session.session_id)}{when}\n", "bold"),
        f"{printable(session.question)}\n",
        f"{state}, in {session.phase}{reopened}; review {'closed' if session.review_closed else 'open'}",
    )
    columns = ("seq", "phase", "subject", "type, author", "standing, outcome")
    return Group(header, table("", columns, [_row(session, decision) for decision in session.decisions]))


def _row(session: Session, decision: Decision) -> tuple[object, ...]:
    marker = session.promoted.get(decision.seq)
    outcome = f"{outcome_of(session, decision.seq)} {marker.memory_id if marker else ''}".strip()
    reused = f"reuses {decision.source_memory}" if decision.source_memory else ""
    stands = "\n".join(part for part in (decision.standing, reused, outcome) if part)
    return (decision.seq, decision.phase, decision.subject, f"{decision.type}\nby {decision.author}", stands)


def summary_markdown(summary: Summary) -> str:
    """The summary as one Markdown text: approved memories first, then declined."""
    state = "closed" if summary.closed else "open"
    waiting = f"{summary.pending} undecided, {summary.deferred} deferred"
    parts = [f"# {summary.session_id}", summary.question, f"*{state}, in {summary.phase}; {waiting}*"]
    for title, wanted in (("Approved memories", "approved"), ("Declined", "declined")):
        chosen = [memory for memory in summary.memories if memory.state == wanted]
        if chosen:
            parts.append(f"## {title}")
            parts.extend(_memory_markdown(memory) for memory in chosen)
    if not summary.memories:
        parts.append("No memory was decided about in this session.")
    return "\n\n".join(parts) + "\n"


def _memory_markdown(memory: SummaryMemory) -> str:
    name = f" — {memory.memory_id}" if memory.memory_id else ""
    subject = " ".join(memory.subject.split())
    parts = [f"### {subject}{name}", memory.detail]
    if memory.rationale.strip():
        parts.append(memory.rationale)
    said = f", because: {memory.reason}" if memory.reason else ""
    parts.append(f"*seq {memory.seq}, {memory.state} by {memory.by}{said}*")
    if memory.flag:
        parts.append(f"**{memory.flag}**")
    return "\n\n".join(parts)
