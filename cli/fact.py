"""`tht fact`: what holds. Propose, search, correct, supersede; nothing is ever edited in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from adapters.fact_reading import FactReading, Found, moment_of
from cli.arguments import FACT, moment, two_times
from cli.fact_view import fact_page, fact_table, history_table
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import cut_note, note, show, show_committed
from domain.decay import GIVEN_VERACITIES, usual_veracity
from domain.topic import STATUSES
from domain.topic_events import LINK_KINDS, LinkKind

if TYPE_CHECKING:
    from adapters.facts import Facts
    from adapters.workspace import Workspace

ALL_STATUSES = (*STATUSES, "all")

fact_argument = click.argument("fact_id", metavar="FACT", type=FACT)
domain_option = click.option("--domain", default="", metavar="DOMAIN", help="Only this domain.")
repo_option = click.option("--repo", default="", metavar="REPO", help="Of this repository: a slug or owner/name.")


@click.group("fact", cls=Commands, elsewhere={"propose": "cli.fact_propose", "search": "cli.fact_search"})
@common
def fact_command() -> None:
    """Facts: what holds, how sure that is, who said so, and what it replaced."""


# -- reading


@fact_command.command("list")
@domain_option
@repo_option
@click.option("--topic", default="", metavar="TOPIC", help="Only this topic.")
@click.option("--author", default="", metavar="WHO", help="Only what this actor said.")
@click.option("--status", type=click.Choice(ALL_STATUSES), default="live", show_default=True, help="Only these.")
@two_times
@paged
@pass_run
def list_command(
    run: Run,
    domain: str,
    repo: str,
    topic: str,
    author: str,
    status: str,
    at: str,
    known_at: str,
    limit: int,
    offset: int,
) -> None:
    """The facts in the order in which they were proposed."""
    with run.opened() as workspace:
        reading = FactReading(workspace, run.reader(workspace))
        found = reading.list(
            moment_of(workspace, at=at, known_at=known_at),
            repo=repo,
            limit=limit,
            offset=offset,
            domain=domain,
            topic=" ".join(topic.split()),
            author=author,
            status="" if status == "all" else status,
        )
        show_found(run, found, "Facts", limit=limit, offset=offset)


def show_found(run: Run, found: Found, title: str, *, limit: int, offset: int = 0) -> None:
    """Print facts, and that something is closed to the reader, if it is."""
    cut = cut_note(len(found.facts), found.total, offset) if limit else ""
    show(run, found.as_json(), lambda: fact_table(title, found.facts, cut))
    note(run, "" if run.json else found.denied)


@fact_command.command("show")
@fact_argument
@two_times
@common
@pass_run
def show_command(run: Run, fact_id: str, at: str, known_at: str) -> None:
    """A fact: how sure it is, who said so, what it replaced, what it is linked with."""
    with run.opened() as workspace:
        when = moment_of(workspace, at=at, known_at=known_at)
        fact = FactReading(workspace, run.reader(workspace)).get(fact_id, when)
        show(run, fact, lambda: fact_page(fact))


@fact_command.command("history")
@fact_argument
@common
@pass_run
def history(run: Run, fact_id: str) -> None:
    """What happened to a fact: who did what, when and why."""
    with run.opened() as workspace:
        found = FactReading(workspace, run.reader(workspace)).history(fact_id)
        history_table(run, fact_id, found)


# -- changing


def facts_of(workspace: Workspace) -> Facts:
    """The commands of facts, with the rules by which they are compared: nothing that only reads needs them."""
    from adapters.facts import Facts

    return Facts(workspace)


@fact_command.command("supersede")
@fact_argument
@click.option("--by", "successor", required=True, type=FACT, metavar="FACT", help="The one that holds now.")
@mutating
@pass_run
def supersede(run: Run, fact_id: str, successor: str, reason: str, dry_run: bool, key: str) -> None:
    """Let another fact take its place: it was true."""
    with run.opened() as workspace:
        done = facts_of(workspace).supersede(fact_id, successor, run.by(workspace, reason, key, dry_run))
        text = f"{fact_id} is superseded by {successor}"
        rests = what_rests(run, workspace, fact_id)
        show_committed(run, done, text, dry_run=dry_run, fact_id=fact_id, by=successor, look_again=rests)


@fact_command.command("correct")
@fact_argument
@click.argument("content")
@click.option("--confidence", type=float, default=None, help="0 to 1; default: the weight of the veracity.")
@click.option("--veracity", type=click.Choice(GIVEN_VERACITIES), default=None, help="How it is known.")
@click.option("--valid-from", default="", metavar="TIME", help="When it began to hold; default: as the old one.")
@click.option("--valid-until", default="", metavar="TIME", help="When it ceases to hold.")
@mutating
@pass_run
def correct(
    run: Run,
    fact_id: str,
    content: str,
    confidence: float | None,
    veracity: str | None,
    valid_from: str,
    valid_until: str,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Say it as it should have been said: the old wording never held."""
    with run.opened() as workspace:
        by = run.by(workspace, reason, key, dry_run)
        from domain.propose import NewFact

        known = veracity or usual_veracity(by.actor)
        times = (moment(valid_from), moment(valid_until))
        new = NewFact(content, "", by.actor, by.role, confidence, "", known, (), *times)
        outcome, done = facts_of(workspace).correct(fact_id, new, by)
        text = f"{fact_id} is corrected by {outcome.fact_id}"
        show_committed(run, done, text, dry_run=dry_run, fact_id=outcome.fact_id, corrects=fact_id)


@fact_command.command("retire")
@fact_argument
@mutating
@pass_run
def retire(run: Run, fact_id: str, reason: str, dry_run: bool, key: str) -> None:
    """Take a fact out because it is wrong."""
    with run.opened() as workspace:
        done = facts_of(workspace).retire(fact_id, run.by(workspace, reason, key, dry_run))
        rests = what_rests(run, workspace, fact_id)
        show_committed(run, done, f"{fact_id} is retired", dry_run=dry_run, fact_id=fact_id, look_again=rests)


def what_rests(run: Run, workspace: Workspace, fact_id: str) -> list[str]:
    """Name what rests on a fact that no longer counts."""
    from adapters.audit_facts import look_again

    found = list(look_again(workspace, run.reader(workspace), fact_id))
    if found and not run.json:
        note(run, f"look again at what rests on it: {', '.join(found)}")
    return found


@fact_command.command("restore")
@fact_argument
@mutating
@pass_run
def restore(run: Run, fact_id: str, reason: str, dry_run: bool, key: str) -> None:
    """Undo a supersession or retirement."""
    with run.opened() as workspace:
        done = facts_of(workspace).restore(fact_id, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"{fact_id} is live again", dry_run=dry_run, fact_id=fact_id)


@fact_command.command("link")
@fact_argument
@click.argument("other", metavar="OTHER", type=FACT)
@click.option(
    "--kind", type=click.Choice(LINK_KINDS), default="related_to", show_default=True, help="What the link says."
)
@click.option("--weight", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="How strong, 0 to 1.")
@click.option("--remove", is_flag=True, help="Take the link away.")
@mutating
@pass_run
def link(
    run: Run,
    fact_id: str,
    other: str,
    kind: LinkKind,
    weight: float,
    remove: bool,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Link two facts by hand, or take a link away."""
    with run.opened() as workspace:
        by, facts = run.by(workspace, reason, key, dry_run), facts_of(workspace)
        done = facts.unlink(fact_id, other, kind, by) if remove else facts.link(fact_id, other, kind, weight, by)
        text = f"{fact_id} is {'no longer ' if remove else ''}linked to {other}"
        show_committed(run, done, text, dry_run=dry_run, fact_id=fact_id, to=other, kind=kind)
