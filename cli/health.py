"""`tht status`, `tht doctor`, `tht verify`: where things stand, what may give trouble, and whether all agrees."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from cli.options import Run, common, pass_run
from cli.output import counted, printable, progress, show, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adapters.checks import Check
    from adapters.health import Report, Status
    from adapters.indexing import IndexStatus
    from adapters.projecting import ProjectionStatus
    from projections.verify import Finding


@click.command("status")
@common
@pass_run
def status_command(run: Run) -> None:
    """Where ledger, projections and index stand, as found."""
    from adapters.health import Health

    with run.opened() as workspace:
        status = Health(workspace).status()
        show(run, status.as_json(), lambda: _status(status))


@click.command("verify")
@click.option("--ledger-only", is_flag=True, help="Only the chain, the stream versions and that every event decodes.")
@click.option("--no-index", is_flag=True, help="Leave the vector index out.")
@common
@click.pass_context
@pass_run
def verify_command(run: Run, ctx: click.Context, ledger_only: bool, no_index: bool) -> None:
    """Four levels: ledger, views, index, invariants. Exit 0 when all hold; 1 on drift, with what mends it."""
    from adapters.health import NOT_COMPARED, Health

    with run.opened() as workspace, progress(run, "replaying into a scratch copy") as moved:
        report = Health(workspace).verify(ledger_only=ledger_only, with_index=not no_index, progress=moved)
    compared = not no_index and not any(one.startswith(NOT_COMPARED) for one in report.notes)
    levels = "the ledger" if ledger_only else "ledger, views, invariants" + (", index" if compared else "")
    show_report(run, ctx, report, f"{levels}: all hold")


@click.command("doctor")
@common
@click.pass_context
@pass_run
def doctor_command(run: Run, ctx: click.Context) -> None:
    """What may give trouble, and what to do about it. Exit 1 when something is broken."""
    from adapters.doctor import Doctor

    with run.settings() as workspace:
        checks = list(Doctor(workspace, os.environ, run.reader(workspace)).checks())
    broken = [check for check in checks if check.state == "broken"]
    show(
        run,
        {"ok": not broken, "checks": [check.as_json() for check in checks]},
        lambda: _checks(checks),
    )
    ctx.exit(1 if broken else 0)


def _checks(checks: Sequence[Check]) -> RenderableType:
    """What is broken first, then the warnings; what is well in one line, by name."""
    from rich.console import Group
    from rich.text import Text

    fine = [one.name for one in checks if one.state == "ok"]
    wrong = sorted((one for one in checks if one.state != "ok"), key=lambda one: one.state != "broken")
    told = Text(printable(f"ok: {', '.join(fine)}" if fine else "nothing is ok"))
    if not wrong:
        return told
    rows = [(one.state, one.name, f"{one.what}\n→ {one.mend}") for one in wrong]
    return Group(table("To look at", ("", "what", "how it is → what to do"), rows), told)


def show_report(run: Run, ctx: click.Context, report: Report, fine: str) -> None:
    """Print what a verify found, and end with 0 when nothing, else 1."""
    show(run, report.as_json(), lambda: _report(report, fine))
    ctx.exit(0 if report.ok else 1)


def findings_table(findings: Sequence[Finding]) -> RenderableType:
    return table(
        f"{len(findings)} findings" if len(findings) > 1 else "1 finding",
        ("level", "where", "what", "mend it with"),
        [(one.level, one.where, one.what, one.mend) for one in findings],
    )


def projections_table(projections: Sequence[ProjectionStatus]) -> RenderableType:
    """Where the views stand, parked streams named."""
    columns = ["projection", "version", "position", "lag", "parked"]
    rows = [[one.name, one.version, f"{one.position:,}", f"{one.lag:,}", _parked(one)] for one in projections]
    if any(one.problem for one in projections):
        columns.append("problem")
        for row, one in zip(rows, projections, strict=True):
            row.append(one.problem)
    return table("Projections", columns, rows)


def _parked(one: ProjectionStatus) -> str:
    return "\n".join(f"{parked.stream} at {parked.position:,}: {parked.error}" for parked in one.parked) or "none"


def index_table(index: IndexStatus, ledger_position: int) -> RenderableType:
    told = index.as_json(ledger_position)
    coverage = told.pop("coverage")
    rows = [(name.replace("_", " "), "none" if value in (None, "") else value) for name, value in told.items()]
    return facts("Index", [*rows[:2], ("coverage", _coverage(coverage)), *rows[2:]])


def _coverage(told: dict[str, Any] | None) -> str:
    """`vectors for 1,204 of 1,210 live records: 700 memories, 504 facts`."""
    if told is None:
        return "not known"
    memories, known = told["memories"]["covered"], told["facts"]["covered"]
    kinds = f"{counted(memories, 'memory', 'memories')}, {counted(known, 'fact')}"
    return f"vectors for {told['covered']:,} of {counted(told['live'], 'live record')}: {kinds}"


def facts(title: str, rows: Sequence[tuple[str, object]]) -> RenderableType:
    """Names and values side by side, without lines."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, value in rows:
        grid.add_row(Text(f"  {name}", style="dim"), Text(printable(str(value)), overflow="fold"))
    return Group(Text(title, style="italic"), grid)


def _status(status: Status) -> RenderableType:
    from rich.console import Group

    ledger = facts(
        f"Workspace {status.workspace}",
        [
            ("home", status.home),
            ("ledger", status.ledger_id),
            ("kept in", status.ledger_place),
            *([("moved to", f"{status.moved_to}: this one is closed for good")] if status.moved_to else []),
            ("position", f"{status.head.position:,}"),
            ("chain head", status.head.chain),
        ],
    )
    views = status.views_problem or projections_table(status.projections)
    return Group(ledger, views, index_table(status.index, status.head.position))


def _report(report: Report, fine: str) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    notes = [Text(f"note: {what}") for what in report.notes]
    where = f"position {report.head.position:,}, chain {report.head.chain}"
    if report.ok:
        return Group(*notes, Text(f"ok: {fine}"), Text(where))
    return Group(*notes, findings_table(report.findings), Text(where))
