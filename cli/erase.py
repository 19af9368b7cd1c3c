"""`tht erase`: the third way to end something. Superseded was true, retired was wrong, erased must not be readable."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from adapters.erasing import Erased, Erasing
from cli.arguments import reviewer_token
from cli.options import Run, mutating, pass_run
from cli.output import counted, print_json, printable, say
from domain.errors import Refused

if TYPE_CHECKING:
    from adapters.ledger import By


SHOWN = 20  # ids of one list


@click.command("erase")
@click.argument("records", metavar="[RECORD]...", nargs=-1)
@click.option("--about", default="", metavar="SUBJECT", help="Everything about one subject: person:mario.")
@click.option("--with-memories", is_flag=True, help="Of a session: the memories that came from it too.")
@click.option("--yes", is_flag=True, help="Do not ask: it cannot be undone.")
@mutating
@pass_run
def erase_command(
    run: Run,
    records: tuple[str, ...],
    about: str,
    with_memories: bool,
    yes: bool,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Make a text unreadable for good: in the ledger, the views, the index, the caches and every later export.

    RECORD is a memory (mem-0001, with the decisions that it came from), a decision (SESSION:SEQ), a session as a whole
    (session:ID), or the id of a fact, policy, note or item. What was merged into a fact and the item that it was
    raised from go along where they say the same; what may say something alike is named and left alone. Positions,
    counts and the chain of the ledger stay as they are. A person decides; nothing brings the text back but a backup or
    export that was made before.
    """
    with run.opened() as workspace:
        erasing = Erasing(workspace, reviewer_token(""))
        by = run.by(workspace, reason, key, dry_run)

        def erase(by: By) -> Erased:
            return erasing.erase(records, by, about=about, with_memories=with_memories)

        confirm_erasure(run, erase, by, yes=yes)


def confirm_erasure(run: Run, erase: Callable[[By], Erased], by: By, *, yes: bool) -> None:
    """Say what it would take, ask unless that was answered with --yes, then erase."""
    if not (by.dry_run or yes):
        _ask(run, erase(replace(by, dry_run=True)))
    _tell(run, erase(by), by.dry_run)


def _ask(run: Run, planned: Erased) -> None:
    """What it would take, and whether that is meant. Refused without an answer."""
    if run.json or not sys.stdin.isatty():
        raise Refused("an erasure cannot be undone, and nobody was there to be asked", "add --yes, or see --dry-run")
    _tell(run, planned, dry_run=True)
    click.confirm("It cannot be undone. Erase?", abort=True, err=True)


def _tell(run: Run, done: Erased, dry_run: bool) -> None:
    if run.json:
        print_json(done.as_json() | ({"dry_run": True} if dry_run else {}))
        return
    if done.records:
        word = "would become" if dry_run else "became"
        say(run, f"{_named(done.records)}: {counted(done.events, 'event')} {word} unreadable")
    if done.already:
        again = "" if dry_run else "; views, index and caches were cleaned again"
        say(run, f"{_named(done.already)}: erased already{again}")
    if done.near:
        say(run, f"left alone, though they may say something alike: {_named(done.near)}")
    if done.quoted:
        where = _listed([str(position) for position in done.quoted])
        say(run, f"quoted in the clear at position {where}, as in a reason: an append-only ledger keeps that")


def _named(records: Sequence[str]) -> str:
    """Which they are; how many first, where that cannot be seen."""
    named = _listed(records)
    return named if len(records) <= SHOWN else f"{counted(len(records), 'record')} ({named})"


def _listed(names: Sequence[str]) -> str:
    """As many names as can be looked through."""
    more = "" if len(names) <= SHOWN else f" and {len(names) - SHOWN:,} more; --json lists all"
    return printable(", ".join(names[:SHOWN])) + more
