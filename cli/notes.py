"""`tht notes` and `tht remember`: what an agent writes for itself. Nobody else reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from adapters.notes import Notes, NotesShown
from cli.arguments import SESSION, require, text_or_stdin
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import cut_note, show, show_committed, table, time_text, verbatim
from domain.decay import MEMORY_TYPES
from domain.errors import InvalidInput
from domain.event import iso_utc

if TYPE_CHECKING:
    from rich.console import RenderableType

agent_option = click.option("--agent", default="", metavar="WHO", help="Whose: nobody but yourself.")


@click.group("notes", cls=Commands)
@common
def notes_command() -> None:
    """Your own notes: one text that every dispatch carries, and observations that facts can cite."""


@notes_command.command("show")
@agent_option
@click.option("--history", is_flag=True, help="With the earlier versions.")
@paged
@pass_run
def show_command(run: Run, agent: str, history: bool, limit: int, offset: int) -> None:
    """Your notes as they stand, and your observations, the newest first."""
    with run.opened() as workspace:
        reader = run.reader(workspace)
        found = Notes(workspace).show(reader, agent, history=history, limit=limit, offset=offset)
        show(run, found.as_json(), lambda: _page(found, offset))


@notes_command.command("update")
@click.argument("text", metavar="TEXT|-")
@mutating
@pass_run
def update(run: Run, text: str, reason: str, dry_run: bool, key: str) -> None:
    """Replace your notes, verbatim; an empty text takes them away."""
    with run.opened(create=True, dry_run=dry_run) as workspace:
        by = run.by(workspace, reason, key, dry_run)
        done = Notes(workspace).update(text_or_stdin(text), by)
        show_committed(run, done, f"the notes of {by.actor} are updated", dry_run=dry_run, agent=by.actor)


@notes_command.command("observe")
@click.argument("text", metavar="TEXT|-")
@mutating
@pass_run
def observe(run: Run, text: str, reason: str, dry_run: bool, key: str) -> None:
    """Record an observation; its id can be the --source of a fact."""
    with run.opened(create=True, dry_run=dry_run) as workspace:
        by = run.by(workspace, reason, key, dry_run)
        observation_id, done = Notes(workspace).observe(text_or_stdin(text), by)
        show_committed(run, done, f"{observation_id} is recorded", dry_run=dry_run, observation_id=observation_id)


def _page(found: NotesShown, offset: int) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [Text(f"Notes of {found.agent}", style="bold")]
    parts.append(verbatim(found.current.text) if found.current and found.current.text else Text("none"))
    if found.observations:
        cut = cut_note(len(found.observations), found.total, offset)
        rows = [(one.id, one.text, time_text(one.at)) for one in found.observations]
        parts.append(table("Observations", ("id", "observation", "at (UTC)"), rows, cut=cut))
    if found.versions:
        written = [(one.position, one.text, time_text(one.at), one.by, one.reason) for one in found.versions]
        parts.append(table("Versions", ("position", "text", "at (UTC)", "by", "reason"), written))
    return Group(*parts)


@click.command("remember")
@click.argument("content", metavar="[CONTENT|-]", default="")
@click.option("--type", "memory_type", type=click.Choice(MEMORY_TYPES), default=None, help="Default: by its words.")
@click.option("--importance", type=float, default=None, help="0 to 1; default: 0.5.")
@click.option("--session", "session_id", type=SESSION, default=None, metavar="ID", help="The session it belongs to.")
@click.option("--ttl", default="", metavar="6h", help="How long: 30m, 6h, 2d. Default: until upkeep raises it.")
@click.option("--list", "listing", is_flag=True, help="What you keep in mind, instead; of a session with --session.")
@agent_option
@mutating
@pass_run
def remember_command(
    run: Run,
    content: str,
    memory_type: str | None,
    importance: float | None,
    session_id: str | None,
    ttl: str,
    listing: bool,
    agent: str,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Keep something in mind; only you recall it. Upkeep raises what lasts to a fact."""
    if listing:
        if content:
            raise InvalidInput("--list shows what is in mind and takes no CONTENT")
        list_items(run, agent, session_id or "")
        return
    if agent:
        raise InvalidInput("--agent goes with --list: what is remembered is the actor's")
    text = require(text_or_stdin(content), "CONTENT", "give what to keep in mind, or - and the text on stdin")
    with run.opened(create=True, dry_run=dry_run) as workspace:
        by = run.by(workspace, reason, key, dry_run)
        item, done = Notes(workspace).remember(
            text,
            by,
            memory_type=memory_type or "",
            importance=importance,
            session_id=session_id or "",
            ttl=ttl,
        )
        until = iso_utc(item.expires_at) if item.expires_at else None
        told = f"{item.item_id} is in mind as {item.memory_type}" + (f" until {time_text(until)}" if until else "")
        more = {"item_id": item.item_id, "memory_type": item.memory_type, "expires_at": until}
        show_committed(run, done, told, dry_run=dry_run, **more)


def list_items(run: Run, agent: str, session_id: str) -> None:
    """Print what the actor keeps in mind."""
    with run.opened() as workspace:
        items = Notes(workspace).in_mind(run.reader(workspace), agent, session_id=session_id)
        rows = [
            (one.id, one.content, one.memory_type, one.importance, one.session_id, time_text(one.expires_at))
            for one in items
        ]
        columns = ("id", "in mind", "type", "importance", "session", "until (UTC)")
        show(run, {"items": [one.as_json() for one in items]}, lambda: table("In mind", columns, rows))
