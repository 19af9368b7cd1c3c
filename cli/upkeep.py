"""`tht consolidate`, `harmonize`, `harvest`, `maintain`: upkeep, called and never hidden; every run can be undone."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adapters.consolidate import Consolidate
from adapters.harmonize import Harmonize
from adapters.harvest import Harvest, read_decisions
from adapters.maintain import Maintain, parse_every
from adapters.named import words_of
from adapters.undo import Undo
from adapters.upkeep import Ran
from adapters.workspace import system_clock
from cli.arguments import Id, require, reviewer_token
from cli.options import Run, common, mutating, pass_run
from cli.output import console, first_words, note, print_json, printable, say, show, table
from domain.errors import InvalidInput, NothingChanged

if TYPE_CHECKING:
    from adapters.ledger import By
    from adapters.workspace import Workspace
    from domain.upkeep import What
    from projections.beliefs import BeliefRow

RUN = Id("run id")
WORDS = {
    "expired": "expired",
    "raised": "raised to a fact",
    "merged": "merged",
    "pruned": "pruned",
    "proposed": "proposed",
    "retired": "retired",
    "deactivated": "deactivated",
    "formed": "belief formed",
    "revised": "belief revised",
    "withdrawn": "belief withdrawn",
    "conflicts": "conflict found",
}
SHOWN = 20  # of one kind

undo_option = click.option("--undo", type=RUN, default=None, metavar="RUN", help="Undo a run instead.")


@click.command("consolidate")
@undo_option
@mutating
@pass_run
def consolidate_command(run: Run, undo: str | None, reason: str, dry_run: bool, key: str) -> None:
    """Expire and raise what agents keep in mind, merge what says the same, prune what nobody needs any more.

    Nothing is deleted: each run is recorded with all that it did, and --undo RUN takes it back.
    """
    with run.opened() as workspace:
        by = run.by(workspace, reason, key, dry_run)
        if undo:
            show_undone(run, workspace, undo, "consolidate", by)
        else:
            ran = carried_out("consolidate", lambda: Consolidate(workspace).run(by))
            show_ran(run, workspace, ran, dry_run=dry_run)


@click.command("harmonize")
@undo_option
@click.option("--embed", is_flag=True, help="Make the vectors that are missing first; this loads the model.")
@click.option("--list", "only_list", is_flag=True, help="Only list the beliefs, record nothing.")
@mutating
@pass_run
def harmonize_command(
    run: Run, undo: str | None, embed: bool, only_list: bool, reason: str, dry_run: bool, key: str
) -> None:
    """What two or more independent authors agree on becomes a belief; what they contradict, one open conflict."""
    if only_list and (undo or embed):
        raise InvalidInput("--list records nothing", "leave --undo and --embed out")
    with run.opened() as workspace:
        by = run.by(workspace, reason, key, dry_run)
        if only_list:
            show_beliefs(run, workspace, beliefs_of(run, workspace))
        elif undo:
            show_undone(run, workspace, undo, "harmonize", by)
        else:
            ran = carried_out("harmonize", lambda: Harmonize(workspace).run(by, embed=embed))
            beliefs = beliefs_of(run, workspace)
            show_ran(run, workspace, ran, dry_run=dry_run, beliefs=[one.as_json() for one in beliefs])


@click.command("harvest")
@click.argument("decisions", metavar="[DECISION]...", nargs=-1)
@click.option("--title", default="", metavar="TITLE", help="The meeting's title.")
@click.option("--meeting", default="", metavar="ID", help="The meeting's id.")
@click.option("--file", "file", default="", metavar="FILE", help='One decision a line, as text or {"content": …}.')
@undo_option
@mutating
@pass_run
def harvest_command(
    run: Run,
    decisions: tuple[str, ...],
    title: str,
    meeting: str,
    file: str,
    undo: str | None,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """A meeting's decisions as facts of the domain decisions; those that are no longer listed are retired."""
    if undo and (decisions or file or title or meeting):
        raise InvalidInput("--undo takes a run alone", "leave the others out")
    if file and decisions:
        raise InvalidInput("decisions are given twice", "on the line or as --file")
    if not undo:
        require(title, "--title TITLE")
        require(meeting, "--meeting ID")
    with run.opened(create=not undo, dry_run=dry_run) as workspace:
        by = run.by(workspace, reason, key, dry_run)
        if undo:
            show_undone(run, workspace, undo, "harvest", by)
            return
        listed = read_decisions(Path(file)) if file else decisions
        ran = carried_out("harvest", lambda: Harvest(workspace).run(title, meeting, listed, by))
        show_ran(run, workspace, ran, dry_run=dry_run)


@click.command("maintain")
@click.option("--every", default="6h", show_default=True, metavar="INTERVAL", help="30m, 6h, 2d.")
@click.option("--once", is_flag=True, help="One turn, then end.")
@click.option("--reason", default="", help="Why; kept with every event.")
@common
@pass_run
def maintain_command(run: Run, every: str, once: bool, reason: str) -> None:
    """Consolidate and harmonize on a schedule, in the foreground, one line a run, until it is interrupted."""
    interval = parse_every(every)
    failed = False
    with interrupted() as stop:
        maintain = Maintain(run.opened, lambda workspace: run.by(workspace, reason, "", False), system_clock, stop.wait)
        for turn in maintain.turns(interval, once=once):
            failed = failed or turn.failed
            if run.json:
                print_json(turn.as_json())
            else:
                say(run, printable(turn.text))
            sys.stdout.flush()
    if once and failed:
        raise click.exceptions.Exit(1)


@contextmanager
def interrupted() -> Iterator[threading.Event]:
    """Set by an interrupt or a request to end, which then end nothing by themselves."""
    stop = threading.Event()
    before = {name: signal.signal(name, lambda *_: stop.set()) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def carried_out(what: What, work: Callable[[], Ran]) -> Ran:
    """What a run did. Nothing to do is no refusal of a run: a script that calls it every night has not failed."""
    try:
        return work()
    except NothingChanged:
        return Ran("", what, {})


# -- what is shown -----------------------------------------------------------------------------------------------------


def show_undone(run: Run, workspace: Workspace, run_id: str, what: What, by: By) -> None:
    """Undo a run and tell what was left as it is."""
    ran = Undo(workspace, reviewer_token("")).run(run_id, by, what)
    if run.json:
        told = {"run_id": ran.run_id, "undone": True, "left": list(ran.left), "position": ran.position}
        print_json(told | {"already": ran.already} | ({"dry_run": True} if by.dry_run else {}))
        return
    if by.dry_run:
        say(run, f"would undo {run_id}")
    else:
        say(run, f"{run_id} is undone (position {ran.position:,})" + (", recorded before" if ran.already else ""))
    if ran.left:
        note(run, f"changed by somebody since and left as it is: {', '.join(ran.left)}")


def show_ran(run: Run, workspace: Workspace, ran: Ran, *, dry_run: bool, **more: Any) -> None:
    """Print what a run did, or would do: counts, and the ids with the first words of what they stand for."""
    if run.json:
        print_json(ran.as_json() | more | ({"dry_run": True} if dry_run else {}))
        return
    if not ran.run_id:
        say(run, f"there is nothing to {ran.what}")
        return
    listed = [(name, one if isinstance(one, tuple) else (one,)) for name, did in ran.did.items() for one in did[:SHOWN]]
    words = words_of(workspace, run.reader(workspace), [one for _, ids in listed for one in ids])
    rows = [
        (WORDS[name], " →\n".join(ids), "\n".join(first_words(words.get(one, "")) for one in ids).rstrip("\n"))
        for name, ids in listed
    ]
    counts = ", ".join(f"{len(did):,} {WORDS[name]}" for name, did in ran.did.items())
    how = (
        "would do"
        if dry_run
        else f"{ran.run_id} (position {ran.position:,})" + (", recorded before" if ran.already else "")
    )
    say(run, f"{how}: {counts}")
    cut = (
        f"of each kind, the first {SHOWN} are shown; --json lists all"
        if len(rows) < sum(map(len, ran.did.values()))
        else ""
    )
    console(run).print(table("", ("what", "which", "says"), rows, cut=cut))


def beliefs_of(run: Run, workspace: Workspace) -> list[BeliefRow]:
    """The beliefs that the reader may see, as they stand."""
    from adapters.knowledge import scope_for
    from projections.beliefs import list_beliefs

    scope = scope_for(workspace, run.reader(workspace))
    return list_beliefs(workspace.file.db, scope)


def show_beliefs(run: Run, workspace: Workspace, beliefs: Sequence[BeliefRow]) -> None:
    """The beliefs with the words of the facts that they rest on."""
    words = words_of(workspace, run.reader(workspace), [fact for one in beliefs for fact in one.facts])
    rows = [
        (
            f"{one.id}\n{one.domain}",
            f"{one.confidence:.2f}",
            "\n".join(f"{fact}  {first_words(words.get(fact, ''))}" for fact in one.facts),
            "\n".join(one.authors),
        )
        for one in beliefs
    ]
    columns = ("id, domain", "sure", "facts", "authors")
    show(run, {"beliefs": [one.as_json() for one in beliefs]}, lambda: table("Beliefs", columns, rows))
