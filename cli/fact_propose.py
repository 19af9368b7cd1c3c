"""`tht fact propose`: one fact, or a file of them; what became of each is told."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adapters.fact_files import read_proposals
from adapters.facts import Facts
from adapters.outcomes import outcome_json
from cli.arguments import moment, require
from cli.fact_view import line_table, outcome_text
from cli.options import Run, mutating, pass_run
from cli.output import print_json, progress, say
from domain.decay import GIVEN_VERACITIES, MEMORY_TYPES, usual_veracity
from domain.errors import InvalidInput
from domain.propose import ON_CONFLICT, NewFact, OnConflict


@click.command("propose")
@click.argument("content", default="")
@click.option("--domain", default="", metavar="DOMAIN", help="Where it belongs; made when it is not there.")
@click.option("--topic", default="", metavar="TOPIC", help="A short label; facts of one topic are compared.")
@click.option("--repo", default="", metavar="REPO", help="Of this repository: a slug or owner/name.")
@click.option("--confidence", type=float, default=None, help="0 to 1; default: the weight of the veracity.")
@click.option("--type", "memory_type", type=click.Choice(MEMORY_TYPES), default=None, help="How it ages.")
@click.option("--veracity", type=click.Choice(GIVEN_VERACITIES), default=None, help="How it is known.")
@click.option("--source", "sources", multiple=True, metavar="ID", help="An observation or fact that led to it.")
@click.option("--valid-from", default="", metavar="TIME", help="When it began to hold.")
@click.option("--valid-until", default="", metavar="TIME", help="When it ceases to hold.")
@click.option("--about", default="", metavar="WHO", help="Whom it is about: person:mario, for tht erase --about.")
@click.option("--on-conflict", type=click.Choice(ON_CONFLICT), default="decide", show_default=True, help="What then.")
@click.option(
    "--file", "file", default="", metavar="FACTS.jsonl", help="Many at once, a JSON object a line; - is stdin."
)
@mutating
@pass_run
def propose(
    run: Run,
    content: str,
    domain: str,
    topic: str,
    repo: str,
    confidence: float | None,
    memory_type: str | None,
    veracity: str | None,
    sources: tuple[str, ...],
    valid_from: str,
    valid_until: str,
    about: str,
    on_conflict: OnConflict,
    file: str,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Say that something holds. It is compared with the live facts of its topic, and the outcome is told.

    FACTS.jsonl (- for stdin) has one JSON object a line: content and topic; and where wanted domain, repo, confidence,
    memory_type, veracity, source_observation_ids (a list), valid_from, valid_until, about, on_conflict. --domain,
    --repo, --veracity and --on-conflict hold for the lines that do not say so themselves.
    """
    if file:
        if content or topic or confidence is not None or memory_type or sources or valid_from or valid_until or about:
            raise InvalidInput("--file brings what it says of each fact itself", "leave the others out")
        propose_file(run, file, domain, repo, veracity, on_conflict, reason, dry_run, key)
        return
    for name, value in (("CONTENT", content), ("--domain DOMAIN", domain), ("--topic TOPIC", topic)):
        require(value, name)
    with run.opened(create=True, dry_run=dry_run) as workspace:
        by = run.by(workspace, reason, key, dry_run)
        new = NewFact(
            content,
            topic,
            by.actor,
            by.role,
            confidence,
            memory_type or "",
            veracity or usual_veracity(by.actor),
            sources,
            moment(valid_from),
            moment(valid_until),
            about,
        )
        outcome, done = Facts(workspace).propose(domain, new, by, repo=repo, on_conflict=on_conflict)
        if run.json:
            print_json(outcome_json(outcome, done, dry_run=dry_run))
        else:
            say(run, outcome_text(outcome, dry_run=dry_run, already=done.already))


def propose_file(
    run: Run,
    file: str,
    domain: str,
    repo: str,
    veracity: str | None,
    on_conflict: OnConflict,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Propose every line of a file, or of stdin for `-`, and print what became of each. Exit code 1 when one was
    refused."""
    with run.opened(create=True, dry_run=dry_run) as workspace, progress(run, "propose") as tick:
        by = run.by(workspace, reason, key, dry_run)
        known = veracity or usual_veracity(by.actor)
        given = sys.stdin.buffer if file == "-" else Path(file)
        lines = read_proposals(given, by, domain=domain, repo=repo, veracity=known, on_conflict=on_conflict)
        outcomes = list(Facts(workspace).propose_many(lines, by, progress=lambda done: tick(done, 0)))
        line_table(run, outcomes, dry_run=dry_run)
    if any(one.error for one in outcomes):
        raise click.exceptions.Exit(1)
