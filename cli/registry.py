"""`tht registry`: the memories, their sources and how they end; commands of people, each reversible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.arguments import MEMORY, at_option, position_of, reviewer_token
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import counted, cut_note, markdown, print_json, printable, say, show, show_committed, table, time_text
from domain.errors import UnknownMemory
from domain.memory import STATUSES
from domain.text import accept_text
from projections import registry

if TYPE_CHECKING:
    import sqlite3

    from rich.console import RenderableType

    from adapters.curation import Curation
    from adapters.workspace import Workspace
    from projections.record import Entry

ALL_STATUSES = (*STATUSES, "history", "all")

DETAIL = 200  # characters of a detail in the list

memory_argument = click.argument("memory_id", metavar="MEM", type=MEMORY)


@click.group("registry", cls=Commands)
@common
def registry_command() -> None:
    """The registry of memories: a view that follows from the ledger and can be replayed."""


# -- reading


@registry_command.command("list")
@click.option("--status", type=click.Choice(ALL_STATUSES), default="live", show_default=True, help="Only these.")
@at_option
@paged
@pass_run
def list_command(run: Run, status: str, at: str, limit: int, offset: int) -> None:
    """The memories by number. `history` are imported ones that can never be reused."""
    with run.opened() as workspace:
        list_memories(run, workspace, status, at, limit, offset)


@registry_command.command("show")
@memory_argument
@at_option
@common
@pass_run
def show_command(run: Run, memory_id: str, at: str) -> None:
    """A memory: its record, its sources and whether they still hold, its status and reviewer."""
    with run.opened() as workspace:
        show_memory(run, workspace, memory_id, at)


@registry_command.command("export")
@click.argument("target", metavar="[FILE|-]", default="-")
@click.option("--all", "everything", is_flag=True, help="Not only the live ones, and with what the ledger adds.")
@common
@pass_run
def export(run: Run, target: str, everything: bool) -> None:
    """Write registry.jsonl: one memory a line, by id. A file is replaced in one step."""
    with run.opened() as workspace:
        kept = curation(workspace)
        if target == "-":
            for line in kept.export_lines(everything=everything):
                click.echo(line)
            return
        count = kept.export(Path(target), everything=everything)
        if run.json:
            print_json({"path": target, "memories": count})
        else:
            say(run, f"{counted(count, 'memory', 'memories')} written to {printable(target)}")


def list_memories(run: Run, workspace: Workspace, status: str, at: str, limit: int, offset: int) -> None:
    """Print a page of memories, now or as they were."""
    with _view(workspace, at) as (db, position):
        wanted = "" if status == "all" else status
        entries, total = registry.list_entries(db, status=wanted, limit=limit, offset=offset)
        columns = ("id", "memory", "status, sources, reviewer")
        show(
            run,
            {"memories": [entry.as_json() for entry in entries], "total": total, "at": position},
            lambda: table(
                "Memories", columns, [_row(entry) for entry in entries], cut=cut_note(len(entries), total, offset)
            ),
        )


def show_memory(run: Run, workspace: Workspace, memory_id: str, at: str) -> None:
    """Print one memory, now or as it was. UnknownMemory when it did not exist."""
    with _view(workspace, at) as (db, position):
        entry = registry.find_entry(db, memory_id)
        if entry is None:
            when = "" if position is None else f" at position {position}"
            raise UnknownMemory(f"there is no memory {memory_id!r}{when}")
        show(run, entry.as_json() | {"at": position}, lambda: _page(entry))


@contextmanager
def _view(workspace: Workspace, at: str) -> Iterator[tuple[sqlite3.Connection, int | None]]:
    position = position_of(workspace, at)
    if position is None:
        yield workspace.caught_up(), None
        return
    with workspace.as_of(position) as past:
        yield past.db, position


def _row(entry: Entry) -> tuple[object, ...]:
    status = f"{entry.status} {entry.successor or ''}".strip()
    sources = ", ".join(f"{one.session_id}:{one.seq}" for one in entry.sources if not one.withdrawn)
    detail = " ".join(entry.record.detail.split())
    detail = detail if len(detail) <= DETAIL else f"{detail[: DETAIL - 1]}…"
    stands = (status, sources, entry.reviewer, entry.flag)
    return (entry.record.id, f"{entry.record.subject}\n{detail}", "\n".join(part for part in stands if part))


def _page(entry: Entry) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    record = entry.record
    parts: list[RenderableType] = [Text(f"{record.id}  {printable(record.subject)}", style="bold")]
    parts.append(Text(_standing(entry)))
    if entry.flag:
        parts.append(Text(f"! {printable(entry.flag)}", style="bold yellow"))
    parts.append(markdown(record.detail))
    if record.rationale.strip():
        parts += [Text("Why", style="bold"), markdown(record.rationale)]
    if record.question_context.strip():
        parts += [Text("Asked", style="bold"), markdown(record.question_context)]
    if record.concepts:
        parts.append(Text(f"Concepts: {printable(', '.join(record.concepts))}"))
    rows = [
        (one.session_id, one.seq, _hold(one.withdrawn, one.effective), one.by, one.merged_from) for one in entry.sources
    ]
    parts.append(table("Sources", ("session", "seq", "holds", "by", "merged from"), rows))
    return Group(*parts)


def _standing(entry: Entry) -> str:
    word = {"merged": "merged into", "superseded": "superseded by"}.get(entry.status, entry.status)
    ended = f", by {entry.status_by}" if entry.status_by else ""
    reason = f": {entry.status_reason}" if entry.status_reason else ""
    own = ", self-reviewed" if entry.self_reviewed else ""
    status = f"{word} {entry.successor or ''}".strip()
    return printable(
        f"{status}{ended}{reason}; approved by {entry.reviewer}{own} at {time_text(entry.record.timestamp)}"
    )


def _hold(withdrawn: bool, effective: bool | None) -> str:
    if withdrawn:
        return "withdrawn"
    return {True: "effective", False: "no longer effective", None: "not in this ledger"}[effective]


# -- commands


def curation(workspace: Workspace) -> Curation:
    from adapters.curation import Curation

    return Curation(workspace, reviewer_token(""))


@registry_command.command("merge")
@memory_argument
@click.option("--into", required=True, type=MEMORY, metavar="MEM", help="The one that stays and takes the sources.")
@mutating
@pass_run
def merge(run: Run, memory_id: str, into: str, reason: str, dry_run: bool, key: str) -> None:
    """End a memory that says the same as another."""
    with run.opened() as workspace:
        done = curation(workspace).merge(memory_id, into, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"{memory_id} is merged into {into}", dry_run=dry_run, memory_id=memory_id, into=into)


@registry_command.command("supersede")
@memory_argument
@click.option("--by", "successor", required=True, type=MEMORY, metavar="MEM", help="The one that holds now.")
@mutating
@pass_run
def supersede(run: Run, memory_id: str, successor: str, reason: str, dry_run: bool, key: str) -> None:
    """Let another memory take its place: it was true once."""
    with run.opened() as workspace:
        done = curation(workspace).supersede(memory_id, successor, run.by(workspace, reason, key, dry_run))
        text = f"{memory_id} is superseded by {successor}"
        show_committed(run, done, text, dry_run=dry_run, memory_id=memory_id, by=successor)


@registry_command.command("retire")
@memory_argument
@click.option("--source", default="", metavar="SESSION:SEQ", help="Only this source; the last takes the memory along.")
@mutating
@pass_run
def retire(run: Run, memory_id: str, source: str, reason: str, dry_run: bool, key: str) -> None:
    """Take a memory out because it is wrong, or one of its sources."""
    accept_text(source, "--source", limit=400)
    with run.opened() as workspace:
        done = curation(workspace).retire(memory_id, run.by(workspace, reason, key, dry_run), source=source)
        text = f"source {source} of {memory_id} is withdrawn" if source else f"{memory_id} is retired"
        show_committed(run, done, text, dry_run=dry_run, memory_id=memory_id)


@registry_command.command("restore")
@memory_argument
@mutating
@pass_run
def restore(run: Run, memory_id: str, reason: str, dry_run: bool, key: str) -> None:
    """Undo a retirement, supersession or merge."""
    with run.opened() as workspace:
        done = curation(workspace).restore(memory_id, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"{memory_id} is live again", dry_run=dry_run, memory_id=memory_id)
