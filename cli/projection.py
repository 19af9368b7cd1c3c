"""`tht projection`: list, status, replay, rebuild, verify the SQL views, and follow a ledger that others write."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getdoc
from typing import TYPE_CHECKING

import click

from cli.health import findings_table, projections_table
from cli.options import Commands, Run, common, pass_run
from cli.output import counted, print_json, progress, say, show, table

if TYPE_CHECKING:
    from adapters.projecting import ProjectionStatus

names_argument = click.argument("names", nargs=-1, metavar="[NAME]…")
dry_run_option = click.option("--dry-run", is_flag=True, help="Say what would be done; do nothing.")


@click.group("projection", cls=Commands)
@common
def projection_command() -> None:
    """The SQL views: each can be thrown away and replayed from the ledger."""


@projection_command.command("list")
@common
@pass_run
def list_projections(run: Run) -> None:
    """Every SQL view of this program, with its version and tables."""
    from projections.declared import make_views

    views = [(view.name, view.version, view.tables, _about(view)) for view in make_views()]
    show(
        run,
        {
            "projections": [
                {"name": name, "version": version, "tables": list(tables), "about": about}
                for name, version, tables, about in views
            ]
        },
        lambda: table(
            "",
            ("projection", "version", "tables", "what it tells"),
            [(name, version, "\n".join(tables), about) for name, version, tables, about in views],
        ),
    )


@projection_command.command("status")
@names_argument
@common
@pass_run
def status_projections(run: Run, names: tuple[str, ...]) -> None:
    """Position, version, lag and parked streams, as found."""
    from adapters.projecting import Projecting

    with run.opened() as workspace:
        found = Projecting(workspace).status(names)
        show(run, {"projections": [one.as_json() for one in found]}, lambda: projections_table(found))


@projection_command.command("replay")
@names_argument
@dry_run_option
@common
@pass_run
def replay_projections(run: Run, names: tuple[str, ...], dry_run: bool) -> None:
    """Bring views to the head; one with parked streams is rebuilt."""
    from adapters.projecting import Projecting

    with run.opened() as workspace:
        with progress(run, "replaying") as moved:
            done = Projecting(workspace).replay(names, dry_run=dry_run, progress=moved)
        words = ("would rebuild", "would bring forward") if dry_run else ("rebuilt", "brought forward")
        which = zip(words, (done.rebuilt, done.followed), strict=True)
        parts = [f"{word} {', '.join(names)}" for word, names in which if names]
        text = f"{'; '.join(parts)}: {counted(done.events, 'event')}" if parts else "every view is at the head"
        show(run, done.as_json() | {"dry_run": dry_run}, lambda: f"{text} (position {done.position:,})")


@projection_command.command("rebuild")
@names_argument
@dry_run_option
@common
@pass_run
def rebuild_projections(run: Run, names: tuple[str, ...], dry_run: bool) -> None:
    """Replay views from the first event beside the old ones, then swap. Stopped halfway, the old ones stay."""
    from adapters.projecting import Projecting

    with run.opened() as workspace:
        with progress(run, "rebuilding") as moved:
            done = Projecting(workspace).rebuild(names, dry_run=dry_run, progress=moved)
        word = "would rebuild" if dry_run else "rebuilt"
        position = workspace.ledger.head().position
        show(
            run,
            {"projections": [one.as_json() for one in done], "position": position, "dry_run": dry_run},
            lambda: f"{word} {_named(names, done)} from {counted(position, 'event')}",
        )


def _named(names: tuple[str, ...], done: Sequence[ProjectionStatus]) -> str:
    return ", ".join(one.name for one in done) if names else f"all {len(done)} views"


@projection_command.command("verify")
@names_argument
@common
@click.pass_context
@pass_run
def verify_projections(run: Run, ctx: click.Context, names: tuple[str, ...]) -> None:
    """Whether views equal a replay of the ledger where they stand. Exit 1 on drift."""
    from adapters.projecting import Projecting

    with run.opened() as workspace:
        with progress(run, "replaying into a scratch copy") as moved:
            findings = Projecting(workspace).verify(names, moved)
        show(
            run,
            {"ok": not findings, "findings": [one.as_json() for one in findings]},
            lambda: findings_table(findings) if findings else "ok: the views are what the ledger gives",
        )
    ctx.exit(1 if findings else 0)


@projection_command.command("wait")
@click.argument("position", type=click.IntRange(0))
@click.option("--timeout", type=click.FloatRange(0, 3600), default=30.0, show_default=True, help="Seconds.")
@common
@pass_run
def wait_for_position(run: Run, position: int, timeout: float) -> None:
    """Wait until the ledger has a position that was told elsewhere, and bring the views up to it."""
    from adapters.following import Following

    with run.opened() as workspace:
        reached = Following(workspace).wait_for(position, timeout)
        show(run, {"position": reached}, lambda: f"the views are at position {reached:,}")


@projection_command.command("follow")
@common
@pass_run
def follow_ledger(run: Run) -> None:
    """Keep the views up with a ledger that others write, in the foreground, one line a step, until interrupted."""
    from adapters.following import Following
    from cli.upkeep import interrupted

    with run.opened() as workspace, interrupted() as stop:
        Following(workspace).follow(stop.is_set, lambda position: _reached(run, position))


def _reached(run: Run, position: int) -> None:
    if run.json:
        print_json({"position": position})
    else:
        say(run, f"position {position:,}")


def _about(view: object) -> str:
    from sys import modules

    text = getdoc(modules[type(view).__module__]) or ""
    return text.partition(": ")[2].partition("\n")[0]
