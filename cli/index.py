"""`tht index`: status, rebuild and verify the vector index."""

from __future__ import annotations

import click

from cli.health import index_table, show_report
from cli.options import Commands, Run, common, pass_run
from cli.output import counted, progress, show


@click.group("index", cls=Commands)
@common
def index_command() -> None:
    """The vector index: made from the ledger's live memories and facts, and made anew at will."""


@index_command.command("status")
@common
@pass_run
def index_status(run: Run) -> None:
    """Position, lag, coverage, model and engine. Loads no model."""
    from adapters.health import Health

    with run.opened() as workspace:
        status = Health(workspace).status()
        position = status.head.position
        show(run, status.index.as_json(position), lambda: index_table(status.index, position))


@index_command.command("rebuild")
@common
@pass_run
def rebuild_index(run: Run) -> None:
    """A new index beside the old one, then swapped in. Texts whose vectors are cached are not embedded again."""
    from adapters.indexing import Indexing

    with run.opened() as workspace:
        indexing = Indexing(workspace)
        with progress(run, "embedding") as moved:
            done = indexing.rebuild(moved)
        texts = f"{counted(done.embedded, 'text')} embedded, {done.cached:,} taken from the cache"
        told = f"{counted(done.points, 'point')}: {texts}"
        show(run, done.as_json(), lambda: told + (f"\n{done.notice}" if done.notice else ""))


@index_command.command("verify")
@common
@click.pass_context
@pass_run
def verify_index(run: Run, ctx: click.Context) -> None:
    """The index against the records that the ledger gives: missing, stale, orphan. Exit 1 on drift."""
    from adapters.health import Health

    with run.opened() as workspace:
        report = Health(workspace).verify_index()
        show_report(run, ctx, report, "the index is what the views say")
