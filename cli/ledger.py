"""`tht ledger`: verify, head, export, copy and log of the ledger itself, without any view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.health import findings_table
from cli.options import Commands, Run, common, paged, pass_run
from cli.output import counted, cut_note, progress, show, table, time_text

if TYPE_CHECKING:
    from adapters.ledger_log import Entry


class LedgerGroup(Commands):
    """`export` here is `tht export`, loaded when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*self.commands, "export"])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name != "export":
            return super().get_command(ctx, cmd_name)
        from cli.exchange import export_command

        return export_command


@click.group("ledger", cls=LedgerGroup)
@common
def ledger_command() -> None:
    """The ordered, append-only record of all events: the only truth."""


@ledger_command.command("verify")
@click.option("--head", "kept", default="", metavar="POSITION:HASH", help="A head that was kept elsewhere.")
@common
@click.pass_context
@pass_run
def verify_ledger(run: Run, ctx: click.Context, kept: str) -> None:
    """The chain, contiguous stream versions, every event decodes; and with --head: nothing was cut off or rewritten."""
    from adapters.ledger_log import check_head, parse_head

    with run.opened() as workspace:
        findings = list(workspace.ledger.find_damage())
        if kept and (lost := check_head(workspace.ledger, parse_head(kept))) is not None:
            findings.append(lost)
        head = workspace.ledger.head()
        fine = f"ok: {counted(head.position, 'event')}, each as it was recorded" + (
            "; the kept head is among them" if kept else ""
        )
        show(
            run,
            {
                "ok": not findings,
                "position": head.position,
                "head": head.chain,
                "findings": [one.as_json() for one in findings],
            },
            lambda: findings_table(findings) if findings else f"{fine}\n{head.position}:{head.chain}",
        )
    ctx.exit(1 if findings else 0)


@ledger_command.command("head")
@common
@pass_run
def show_head(run: Run) -> None:
    """POSITION:HASH, to be kept elsewhere: it shows later whether the history up to here is still the same."""
    with run.opened() as workspace:
        head = workspace.ledger.head()
        ledger_id = workspace.ledger.recorder.ledger_id()
        show(
            run,
            {"position": head.position, "head": head.chain, "ledger_id": ledger_id},
            lambda: f"{head.position}:{head.chain}",
        )


@ledger_command.command("copy")
@click.option("--to", required=True, metavar="URL|HOME", help="postgresql://…, or the folder of another home.")
@click.option("--move", is_flag=True, help="Go over to the copy: this ledger is then closed for good.")
@common
@pass_run
def copy_command(run: Run, to: str, move: bool) -> None:
    """Take the whole ledger to a PostgreSQL, or from there into a home; its chain is verified at both ends.

    Nothing is written over: where events are already, it is refused. A copy that was stopped leaves nothing behind;
    a move that was stopped goes on when the same command is given again.
    """
    from adapters.ledger_copy import copy_ledger_to

    with run.opened() as workspace, progress(run, "copying") as moved:
        run.require_keeper(workspace, "a copy of the ledger")
        done = copy_ledger_to(workspace, to, move=move, progress=moved)
    gone = "; this workspace is kept there from now on" if done.moved else ""
    told = f"{counted(done.head.position, 'event')} copied to {done.to}{gone}\n{done.head.position}:{done.head.chain}"
    show(run, done.as_json(), lambda: told)


@ledger_command.command("log")
@click.option("--stream", default="", help="One stream, or all that begin so: session/s1, memory.")
@click.option("--kind", default="", help="One kind of event: memory_promoted, session.memory-promoted.")
@click.option("--by", default="", metavar="WHO", help="Events of one actor.")
@click.option("--after", type=click.IntRange(0), default=0, help="Only above this position.")
@paged
@pass_run
def show_log(run: Run, stream: str, kind: str, by: str, after: int, limit: int, offset: int) -> None:
    """The stored events in order; with --json the whole payload. Events that do not decode are shown too."""
    from adapters.ledger_log import Wanted, log

    with run.opened() as workspace:
        run.require_whole(workspace, "the ledger's log")
        entries, total = log(workspace.ledger, Wanted(stream, kind, by, after), limit=limit, offset=offset)
        show(
            run,
            {"events": [entry.as_json() for entry in entries], "total": total},
            lambda: table(
                "",
                ("position", "time (UTC)", "actor", "stream", "event", "reason"),
                [_row(entry) for entry in entries],
                cut=cut_note(len(entries), total, offset),
            ),
        )


def _row(entry: Entry) -> tuple[object, ...]:
    event = entry.kind + (f"\n{entry.problem}" if entry.problem else "")
    stream = f"{entry.stream} {entry.version}"
    return (entry.position, time_text(entry.at), entry.actor, stream, event, entry.reason)
