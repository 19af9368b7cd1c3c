"""`tht audit`: session, memory, fact, actor, log and reads. Loads neither a model nor the vector index."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from adapters.audit import Asked, Audit
from adapters.audit_answers import line_json
from cli.arguments import FACT, MEMORY, SESSION, at_option
from cli.options import Commands, Run, common, paged, pass_run
from cli.output import cut_note, printable, show, table, time_text
from projections.refs import memory_ref

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adapters.audit_answers import MemoryAudit, Origin, SessionAudit, Step
    from projections.lineage import Reuse
    from projections.timeline import Line

F = TypeVar("F", bound=Callable[..., Any])


def of_actor(command: F) -> F:
    """--actor says whose acts are looked at, in the place of the global option that says who acts: passed as `who`."""
    given = getattr(command, "__click_params__", [])
    given[:] = [one for one in given if one.name != "actor"]
    return click.option("--actor", "who", default="", metavar="WHO", help="Only of this actor: human:ada.")(command)


@click.group("audit", cls=Commands)
@common
def audit_command() -> None:
    """Why is it so: who did what, when, why, and what followed."""


@audit_command.command("session")
@click.argument("session_id", metavar="ID", type=SESSION)
@at_option
@common
@pass_run
def audit_session(run: Run, session_id: str, at: str) -> None:
    """Every event of a session, what it made effective or stale, and what followed from it elsewhere."""
    with run.opened() as workspace:
        found = Audit(workspace).session(session_id, at)
        show(run, found.as_json(), lambda: _session(found))


@audit_command.command("memory")
@click.argument("memory_id", metavar="MEM", type=MEMORY)
@at_option
@common
@pass_run
def audit_memory(run: Run, memory_id: str, at: str) -> None:
    """From the clarification to everything that rests on the memory, directly or through others."""
    with run.opened() as workspace:
        found = Audit(workspace).memory(memory_id, at)
        show(run, found.as_json(), lambda: _memory(found))


@audit_command.command("fact")
@click.argument("fact_id", metavar="FACT", type=FACT)
@at_option
@common
@pass_run
def audit_fact(run: Run, fact_id: str, at: str) -> None:
    """Why a fact is believed: who said so, what it met, and what has relied on it."""
    from adapters import audit_facts
    from cli.fact_view import fact_audit

    with run.opened() as workspace:
        found = audit_facts.audit_fact(workspace, run.reader(workspace), fact_id, at)
        show(run, found.as_json(), lambda: fact_audit(found))


@audit_command.command("actor")
@click.argument("who", metavar="WHO")
@at_option
@paged
@pass_run
def audit_actor(run: Run, who: str, at: str, limit: int, offset: int) -> None:
    """What a person, agent or tool did."""
    with run.opened() as workspace:
        run.require_whole(workspace, "the audit")
        lines, total, kinds = Audit(workspace).actor(who, at=at, limit=limit, offset=offset)
        told = ", ".join(f"{kind} {count:,}" for kind, count in kinds.items()) or "nothing recorded"
        show(
            run,
            {"actor": who, "events": [line_json(line) for line in lines], "total": total, "kinds": kinds},
            lambda: _lines(f"{who}: {told}", lines, cut_note(len(lines), total, offset)),
        )


@audit_command.command("log")
@of_actor
@click.option("--kind", default="", help="Only this kind of event: memory_promoted, promotion_refused, …")
@click.option("--since", default="", metavar="TIME", help="From this time on: 2026-03-02T10:00:00Z.")
@click.option("--until", default="", metavar="TIME", help="Up to this time.")
@click.option("--session", "session_id", default="", metavar="ID", help="Only this session.")
@click.option("--memory", "memory_id", default="", metavar="MEM", help="Only what concerns this memory.")
@click.option(
    "--record", default="", metavar="ID", help="Only what is about or names this: a fact, a run, SESSION:SEQ, …"
)
@at_option
@paged
@pass_run
def audit_log(
    run: Run,
    who: str,
    kind: str,
    since: str,
    until: str,
    session_id: str,
    memory_id: str,
    record: str,
    at: str,
    limit: int,
    offset: int,
) -> None:
    """The timeline of the whole workspace, filtered."""
    with run.opened() as workspace:
        run.require_whole(workspace, "the audit")
        asked = Asked(who, kind, session_id, memory_id, since, until, at, record)
        lines, total = Audit(workspace).log(asked, limit=limit, offset=offset)
        show(
            run,
            {"events": [line_json(line) for line in lines], "total": total},
            lambda: _lines("", lines, cut_note(len(lines), total, offset)),
        )


@audit_command.command("reads")
@of_actor
@click.option("--memory", "memory_id", default="", metavar="MEM", help="Who was shown this memory.")
@click.option("--fact", "fact_id", default="", metavar="FACT", help="Who was shown this fact.")
@paged
@pass_run
def audit_reads(run: Run, memory_id: str, fact_id: str, who: str, limit: int, offset: int) -> None:
    """Who was shown which memories and facts, when, how, in which session."""
    with run.opened() as workspace:
        run.require_whole(workspace, "the audit")
        ref = memory_ref(memory_id) if memory_id else fact_id
        reads, total = Audit(workspace).reads(ref=ref, actor=who, limit=limit, offset=offset)
        rows = [
            (
                one.position,
                time_text(one.at),
                one.actor,
                one.mode,
                one.session_id,
                " ".join(ref.removeprefix("memory:") for ref in one.refs),
            )
            for one in reads
        ]
        show(
            run,
            {"reads": [one.as_json() for one in reads], "total": total},
            lambda: table(
                "",
                ("position", "time (UTC)", "who", "by", "session", "shown, best first"),
                rows,
                cut=cut_note(len(reads), total, offset),
            ),
        )


# -- for people --------------------------------------------------------------------------------------------------------


def _session(found: SessionAudit) -> RenderableType:
    from rich.console import Group

    session = found.session
    standing = ", ".join(str(decision.seq) for decision in session.effective) or "none"
    end = f"in {session.phase}, {'closed' if session.closed else 'open'}; effective decisions: seq {standing}"
    rows = [
        (f"{step.envelope.position:,}", _when(step.as_json()["at"], step.envelope.actor), _what(step))
        for step in found.steps
    ]
    steps = table("", ("position", "time (UTC), who", "what, and what followed"), rows)
    return Group(_heading(f"{session.session_id}: {session.question}"), steps, _text(f"At {found.position:,}: {end}"))


def _what(step: Step) -> str:
    changes = (
        ("made effective", step.effective),
        ("made stale", step.stale),
        ("retracted", step.retracted),
    )
    lines = [": ".join(part for part in (step.envelope.event.kind, step.what) if part)]
    if reason := step.as_json()["reason"]:
        lines.append(f"because: {reason}")
    lines += [f"{word}: seq {', '.join(str(seq) for seq in seqs)}" for word, seqs in changes if seqs]
    return "\n".join([*lines, *(f"→ {one}" for one in step.followed)])


def _memory(found: MemoryAudit) -> RenderableType:
    from rich.console import Group

    entry, lineage = found.entry, found.lineage
    state = entry.status + (f" {entry.successor}" if entry.successor else "")
    parts: list[RenderableType] = [
        _heading(f"{entry.id}, {state}: {entry.record.subject}"),
        _text(entry.record.detail),
        table(
            "Where it comes from",
            ("session", "seq", "said by", "now", "approved by", "at", "reason"),
            [_origin(origin) for origin in found.origins],
        ),
    ]
    if found.refused:
        parts.append(_lines("Attempts that the gate refused", found.refused, ""))
    parts.append(_lines("What happened to it", found.history, ""))
    if not lineage.reuses and not lineage.memories:
        return Group(*parts, _text("Nothing rests on it: no session reused it."))
    parts.append(
        table(
            "What rests on it",
            ("through", "session", "seq", "subject", "by", "now", "became"),
            [_reuse(reuse) for reuse in lineage.reuses],
        )
    )
    again = [f"session {session_id}" for session_id in lineage.sessions]
    again += [f"memory {memory_id}" for memory_id in lineage.memories]
    return Group(*parts, _text(f"If {entry.id} turns out wrong, look again at: {', '.join(again)}"))


def _origin(origin: Origin) -> tuple[object, ...]:
    standing = f"{origin.standing}, withdrawn" if origin.withdrawn else origin.standing
    approved = origin.approved_by + (" (self-reviewed)" if origin.self_reviewed else "")
    return (origin.session_id, origin.seq, origin.author, standing, approved, f"{origin.approved:,}", origin.reason)


def _reuse(reuse: Reuse) -> tuple[object, ...]:
    subject = reuse.subject + (" (changed)" if reuse.changed else "")
    return (reuse.memory_id, reuse.session_id, reuse.seq, subject, reuse.by, reuse.standing, reuse.became or "")


def _lines(title: str, lines: tuple[Line, ...] | list[Line], cut: str) -> RenderableType:
    rows = [(f"{one.position:,}", _when(one.at, one.actor), _happened(one)) for one in lines]
    return table(title, ("position", "time (UTC), who", "what"), rows, cut=cut)


def _happened(line: Line) -> str:
    decision = f" seq {line.seq}" if line.seq is not None else ""
    record = "" if line.session_id or line.record == line.memory_id else line.record
    about = " ".join(part for part in (f"{line.session_id}{decision}", line.memory_id, record, line.what) if part)
    return f"{line.kind}: {about}" + (f"\nbecause: {line.reason}" if line.reason else "")


def _when(at: str, who: str) -> str:
    return f"{time_text(at)}\n{who}"


def _heading(text: str) -> RenderableType:
    from rich.text import Text

    return Text(printable(text), style="bold")


def _text(text: str) -> RenderableType:
    from rich.text import Text

    return Text(printable(text))
