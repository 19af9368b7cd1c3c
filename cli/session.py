"""`tht session`: open, record, edit, retract, walk and roll back phases, close, show, list, summary."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adapters.session_history import session_as_told
from adapters.session_json import session_json
from cli.arguments import MEMORY, SESSION, at_option, position_of
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import console, cut_note, markdown, note, print_json, printable, say, show, show_committed, table
from cli.session_view import session_page, summary_markdown
from domain.errors import InvalidInput
from domain.session import NewDecision
from domain.session_events import DECISION_TYPES, PHASES, Decided

if TYPE_CHECKING:
    from adapters.decision_lines import LineOutcome
    from adapters.ledger import By
    from adapters.sessions import Sessions
    from adapters.workspace import Workspace

FILE_LIMIT = 256 * 2**20  # bytes

session_argument = click.argument("session_id", metavar="ID", type=SESSION)
phase_option = click.option("--phase", required=True, metavar="F1…F8", help=f"One of {', '.join(PHASES)}.")


@click.group("session", cls=Commands)
@common
def session_command() -> None:
    """Sessions: one question each, worked through phases F1…F8."""


def sessions_of(workspace: Workspace) -> Sessions:
    """The commands of sessions, with the rules that they follow: showing one needs none of them."""
    from adapters.sessions import Sessions

    return Sessions(workspace)


@session_command.command("open")
@session_argument
@click.option("--question", required=True, help="The question that the session answers.")
@click.option("--database", default="", help="Which database it is about.")
@mutating
@pass_run
def open_session(run: Run, session_id: str, question: str, database: str, reason: str, dry_run: bool, key: str) -> None:
    """Begin a session. Makes the workspace when there is none."""
    with run.opened(create=True, dry_run=dry_run) as workspace:
        done = sessions_of(workspace).open(
            session_id, question, run.by(workspace, reason, key, dry_run), database=database
        )
        show_committed(run, done, f"session {session_id} is open in F1", dry_run=dry_run, session_id=session_id)


@session_command.command("record")
@session_argument
@click.option("--type", "kind", default="", metavar="TYPE", help=f"One of {', '.join(DECISION_TYPES)}.")
@click.option("--subject", default="", help="What the decision is about.")
@click.option("--detail", default="", help="What was decided (Markdown).")
@click.option("--rationale", default="", help="Why (Markdown).")
@click.option("--phase", default="", metavar="F1…F8", help="The current phase, or a reopened earlier one.")
@click.option("--question-context", default="", help="The question in whose context it holds.")
@click.option("--concept", "concepts", multiple=True, help="A concept it concerns; repeat for more.")
@click.option("--table", "tables", multiple=True, help="A table or column it maps to; repeat for more.")
@click.option("--source-memory", type=MEMORY, default=None, metavar="MEM", help="The memory that it reuses.")
@click.option("--file", "source", default="", metavar="FILE|-", help="Decisions as JSON: one object, or one a line.")
@mutating
@pass_run
def record(
    run: Run,
    session_id: str,
    kind: str,
    subject: str,
    detail: str,
    rationale: str,
    phase: str,
    question_context: str,
    concepts: tuple[str, ...],
    tables: tuple[str, ...],
    source_memory: str | None,
    source: str,
    reason: str,
    dry_run: bool,
    key: str,
) -> int:
    """Record a decision, or every decision of a file: each line is recorded or reported on its own."""
    alone = (kind, subject, detail, rationale, phase, question_context, concepts, tables, source_memory)
    if source and any(alone):
        raise click.UsageError("--file takes its decisions from the file: leave the other fields out")
    if not source and not (kind and subject):
        raise click.UsageError("a decision needs --type and --subject, or --file with decisions in it")
    with run.opened() as workspace:
        by = run.by(workspace, reason, key, dry_run)
        if source:
            return _record_file(run, sessions_of(workspace), session_id, source, by)
        from adapters.sessions import accept_phase

        at = accept_phase(phase) if phase else None
        new = NewDecision(kind, subject, detail, rationale, at, question_context, concepts, tables, source_memory)
        done = sessions_of(workspace).record(session_id, new, by)
        seq = next(one.event.seq for one in done.envelopes if isinstance(one.event, Decided))
        text = f"recorded as seq {seq} of {session_id}"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, seq=seq)
    return 0


def _record_file(run: Run, sessions: Sessions, session_id: str, source: str, by: By) -> int:
    from adapters.decision_lines import record_lines

    outcomes = record_lines(sessions, session_id, _content(source), by)
    failed = [one for one in outcomes if one.error]
    counts = {"recorded": len(outcomes) - len(failed), "failed": len(failed)}
    if run.json:
        listed = [one.as_json() for one in outcomes]
        print_json({"session_id": session_id, "outcomes": listed, "counts": counts, "dry_run": by.dry_run})
    else:
        for one in outcomes:
            _say_line(run, one, by.dry_run)
        say(run, f"{counts['recorded']:,} recorded, {counts['failed']:,} failed")
    return 1 if failed else 0


def _say_line(run: Run, outcome: LineOutcome, dry_run: bool) -> None:
    if outcome.error:
        hint = f" ({outcome.error.hint})" if outcome.error.hint else ""
        note(run, printable(f"line {outcome.line}: {outcome.error.type}: {outcome.error.message}{hint}"))
    else:
        before = ", recorded before" if outcome.already else ""
        say(run, f"line {outcome.line}: {'would be recorded' if dry_run else f'seq {outcome.seq}{before}'}")


def _content(source: str) -> bytes:
    try:
        if source == "-":
            content = sys.stdin.buffer.read(FILE_LIMIT + 1)
        else:
            with Path(source).open("rb") as file:
                content = file.read(FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{source} cannot be read: {error}", "name a file of decisions, or - for stdin") from error
    if len(content) > FILE_LIMIT:
        raise InvalidInput(f"{source} has more than {FILE_LIMIT:,} bytes", "split it")
    return content


@session_command.command("edit")
@session_argument
@click.argument("seq", type=int)
@click.option("--subject", default=None, help="The new subject.")
@click.option("--detail", default=None, help="The new detail.")
@click.option("--rationale", default=None, help="The new rationale.")
@mutating
@pass_run
def edit(
    run: Run,
    session_id: str,
    seq: int,
    subject: str | None,
    detail: str | None,
    rationale: str | None,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Say a clarification in other words: a new one, yours, supersedes the old. Somebody else approves it."""
    if subject is None and detail is None and rationale is None:
        raise click.UsageError("say what changes: --subject, --detail or --rationale")
    with run.opened() as workspace:
        sessions = sessions_of(workspace)
        old = sessions.get(session_id).decision(seq)
        from adapters.decision_lines import reworded

        changes = reworded(old, subject=subject, detail=detail, rationale=rationale)
        done = sessions.edit(session_id, seq, changes, run.by(workspace, reason, key, dry_run))
        new = next(one.event.seq for one in done.envelopes if isinstance(one.event, Decided))
        text = f"seq {new} supersedes seq {seq} of {session_id}"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, seq=new, supersedes=seq)


@session_command.command("retract")
@session_argument
@click.argument("seq", type=int)
@mutating
@pass_run
def retract(run: Run, session_id: str, seq: int, reason: str, dry_run: bool, key: str) -> None:
    """Withdraw a decision. A memory made from it stays and is flagged."""
    with run.opened() as workspace:
        done = sessions_of(workspace).retract(session_id, seq, run.by(workspace, reason, key, dry_run))
        text = f"seq {seq} of {session_id} is retracted"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, seq=seq)


@session_command.command("enter")
@session_argument
@phase_option
@mutating
@pass_run
def enter(run: Run, session_id: str, phase: str, reason: str, dry_run: bool, key: str) -> None:
    """Go on to a later phase."""
    with run.opened() as workspace:
        done = sessions_of(workspace).enter(session_id, phase, run.by(workspace, reason, key, dry_run))
        text = f"session {session_id} is in {phase.upper()}"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, phase=phase.upper())


@session_command.command("reopen")
@session_argument
@phase_option
@mutating
@pass_run
def reopen(run: Run, session_id: str, phase: str, reason: str, dry_run: bool, key: str) -> None:
    """Go back to a phase and keep its decisions; those of later phases become stale."""
    with run.opened() as workspace:
        done = sessions_of(workspace).reopen(session_id, phase, run.by(workspace, reason, key, dry_run))
        text = f"session {session_id} is back in {phase.upper()}"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, phase=phase.upper())


@session_command.command("rollback")
@session_argument
@phase_option
@mutating
@pass_run
def roll_back(run: Run, session_id: str, phase: str, reason: str, dry_run: bool, key: str) -> None:
    """Go back to a phase and undo its decisions too; nothing is deleted."""
    with run.opened() as workspace:
        done = sessions_of(workspace).roll_back(session_id, phase, run.by(workspace, reason, key, dry_run))
        text = f"session {session_id} is rolled back to the start of {phase.upper()}"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, phase=phase.upper())


@session_command.command("close")
@session_argument
@mutating
@pass_run
def close(run: Run, session_id: str, reason: str, dry_run: bool, key: str) -> None:
    """End a session; refused while a candidate is undecided."""
    with run.opened() as workspace:
        done = sessions_of(workspace).close(session_id, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"session {session_id} is closed", dry_run=dry_run, session_id=session_id)


@session_command.command("show")
@session_argument
@at_option
@common
@pass_run
def show_session(run: Run, session_id: str, at: str) -> None:
    """A session with its decisions: how each stands, what became of it, and whose it is."""
    with run.opened() as workspace:
        position = position_of(workspace, at)
        session = session_as_told(workspace.ledger, session_id, position)
        show(run, session_json(session) | {"at": position}, lambda: session_page(session, position))


@session_command.command("list")
@click.option("--status", type=click.Choice(["open", "closed"]), default=None, help="Only these.")
@paged
@pass_run
def list_sessions(run: Run, status: str | None, limit: int, offset: int) -> None:
    """The sessions by id."""
    with run.opened() as workspace:
        rows, total = sessions_of(workspace).list(limit=limit, offset=offset, status=status or "")
        show(
            run,
            {"sessions": [{name: getattr(row, name) for name in row.__slots__} for row in rows], "total": total},
            lambda: table(
                "Sessions",
                ("session", "phase", "status", "effective", "promoted", "question"),
                [
                    (
                        row.session_id,
                        row.phase,
                        row.status,
                        f"{row.effective} of {row.decisions}",
                        f"{row.promoted} of {row.clarifications}",
                        row.question,
                    )
                    for row in rows
                ],
                cut=cut_note(len(rows), total, offset),
            ),
        )


@session_command.command("summary")
@session_argument
@click.option("--markdown", "as_markdown", is_flag=True, help="The Markdown text itself, to be kept elsewhere.")
@at_option
@common
@pass_run
def summary(run: Run, session_id: str, as_markdown: bool, at: str) -> None:
    """What became of the session's clarifications: approved memories first, then declined."""
    with run.opened() as workspace:
        found = sessions_of(workspace).summary(session_id, position_of(workspace, at))
        if run.json:
            print_json(found.as_json())
        elif as_markdown:
            click.echo(printable(summary_markdown(found)), nl=False)
        else:
            console(run).print(markdown(summary_markdown(found)))
