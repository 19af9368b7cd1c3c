"""`tht session`: open, record, retract, walk and roll back phases, close, show, list, summary."""

from __future__ import annotations

import click

from adapters.sessions import Sessions
from cli.options import Run, common, mutating, paged, pass_run
from cli.output import cut_note, show, show_committed, table


@click.group("session")
@common
def session_command() -> None:
    """Sessions: one question each, worked through phases F1…F8."""


@session_command.command("open")
@click.argument("session_id", metavar="ID")
@click.option("--question", required=True, help="The question that the session answers.")
@click.option("--database", default="", help="Which database it is about.")
@mutating
@pass_run
def open_session(
    run: Run, session_id: str, question: str, database: str, reason: str, dry_run: bool, key: str
) -> None:
    """Begin a session. Makes the workspace when there is none."""
    with run.opened(create=True) as workspace:
        done = Sessions(workspace).open(session_id, question, run.by(workspace, reason, key, dry_run), database=database)
        show_committed(run, done, f"session {session_id} is open in F1", dry_run=dry_run, session_id=session_id)


@session_command.command("list")
@click.option("--status", type=click.Choice(["open", "closed"]), default=None, help="Only these.")
@paged
@pass_run
def list_sessions(run: Run, status: str | None, limit: int, offset: int) -> None:
    """The sessions by id."""
    with run.opened() as workspace:
        rows, total = Sessions(workspace).list(limit=limit, offset=offset, status=status or "")
        columns = ("session_id", "phase", "status", "decisions", "effective", "clarifications", "promoted", "question")
        show(
            run,
            {"sessions": [{name: getattr(row, name) for name in row.__slots__} for row in rows], "total": total},
            lambda: table(
                "Sessions",
                columns,
                [[getattr(row, name) for name in columns] for row in rows],
                cut=cut_note(len(rows), total, offset),
            ),
        )
