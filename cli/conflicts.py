"""`tht conflicts`: facts that contradict each other, or may; a person keeps one, both, or merges them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from adapters.conflicts import STATES, Conflicts
from cli.arguments import CONFLICT, FACT, reviewer_token
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import cut_note, note, printable, show, show_committed, table, time_text, verbatim
from domain.errors import InvalidInput
from domain.text import accept_text

if TYPE_CHECKING:
    from rich.console import RenderableType

conflict_argument = click.argument("conflict_id", metavar="CONFLICT", type=CONFLICT)


@click.group("conflicts", cls=Commands)
@common
def conflicts_command() -> None:
    """Conflicts: found by rule, one row a pair; open until a person decides."""


@conflicts_command.command("list")
@click.option("--state", type=click.Choice(STATES), default="open", show_default=True, help="Only these.")
@click.option("--all", "everything", is_flag=True, help="All of them, as --state all.")
@paged
@pass_run
def list_command(run: Run, state: str, everything: bool, limit: int, offset: int) -> None:
    """The conflicts in the order in which they were found."""
    wanted = "" if everything or state == "all" else state
    with run.opened() as workspace:
        found, total, denied = Conflicts(workspace).list(
            run.reader(workspace), state=wanted, limit=limit, offset=offset
        )
        told = {"conflicts": [one.as_json() for one in found], "total": total, "denied": denied or None}
        rows = [
            (one.id, f"{one.older}\n{one.newer}", f"{one.found}: {one.rule}", state_text(one.state, one.winner))
            for one in found
        ]
        columns = ("id", "facts", "found", "state")
        show(run, told, lambda: table("Conflicts", columns, rows, cut=cut_note(len(found), total, offset)))
        note(run, "" if run.json else denied)


@conflicts_command.command("show")
@conflict_argument
@common
@pass_run
def show_command(run: Run, conflict_id: str) -> None:
    """A conflict with both facts side by side."""
    with run.opened() as workspace:
        conflict = Conflicts(workspace).get(conflict_id, run.reader(workspace))
        show(run, conflict, lambda: _page(conflict))


@conflicts_command.command("resolve")
@conflict_argument
@click.option("--keep", type=FACT, default=None, metavar="FACT", help="This one stays, the other is superseded.")
@click.option("--both", is_flag=True, help="Both hold: it was no conflict.")
@click.option("--merge", default=None, metavar="TEXT", help="A new fact says what both meant.")
@click.option("--reopen", is_flag=True, help="Take an earlier decision back.")
@mutating
@pass_run
def resolve(
    run: Run,
    conflict_id: str,
    keep: str | None,
    both: bool,
    merge: str | None,
    reopen: bool,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Decide a conflict: keep one, both, or merge. Only people do."""
    if sum((keep is not None, both, merge is not None, reopen)) != 1:
        raise InvalidInput("say what to do with it", "one of --keep FACT, --both, --merge TEXT, --reopen")
    with run.opened() as workspace:
        by, conflicts = run.by(workspace, reason, key, dry_run), Conflicts(workspace, reviewer_token(""))
        kept = keep
        if keep is not None:
            done, text = conflicts.keep(conflict_id, keep, by), f"{keep} stays"
        elif merge is not None:
            kept, done = conflicts.merge(conflict_id, accept_text(merge, "--merge", required=True), by)
            text = f"both are merged into {kept}"
        elif both:
            done, text = conflicts.keep_both(conflict_id, by), "both stay"
        else:
            done, text = conflicts.reopen(conflict_id, by), f"{conflict_id} is open again"
        show_committed(run, done, text, dry_run=dry_run, conflict_id=conflict_id, kept=kept)


def state_text(state: str, winner: str) -> str:
    """How a conflict stands, with the fact that stays where one does."""
    words = {"decided": "decided by rule:", "kept": "kept", "merged": "merged into"}
    return f"{words.get(state, state)} {winner}".strip()


def _page(conflict: Mapping[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    state = state_text(conflict["state"], conflict["winner"] or "")
    parts: list[RenderableType] = [Text(conflict["id"], style="bold")]
    parts.append(Text(printable(f"{state}; {conflict['found']}: {conflict['rule']}")))
    if conflict["resolved_by"]:
        why = f": {conflict['resolved_reason']}" if conflict["resolved_reason"] else ""
        parts.append(Text(printable(f"by {conflict['resolved_by']} at {time_text(conflict['resolved_at'])}{why}")))
    for fact in conflict["facts"]:
        standing = f"{fact['status']}, {fact['veracity']}, confidence {fact['confidence']:.2f}, by {fact['author']}"
        parts += [Text(f"\n{fact['id']}  {standing}", style="bold"), verbatim(fact["content"])]
    return Group(*parts)
