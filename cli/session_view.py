"""How a session and its summary are shown to people and to programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adapters.session_json import outcome_of
from cli.output import table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from domain.session import Decision, Session
    from projections.summary import Summary, SummaryMemory


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
