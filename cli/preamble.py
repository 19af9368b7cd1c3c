"""`tht preamble`: what reaches an agent's prompt. Loads neither a model nor the vector index."""

from __future__ import annotations

import sys

import click

from adapters.preamble import preamble, record_shown
from cli.arguments import text_or_stdin
from cli.options import Run, common, pass_run
from cli.output import note, print_json, printable
from domain.errors import InvalidInput


@click.command("preamble")
@click.argument("task", metavar="TASK|-")
@click.option("--repo", default="", metavar="REPO", help="What is of this repository first: a slug or owner/name.")
@click.option("--text", "as_text", is_flag=True, help="As it goes into the prompt (the default).")
@common
@pass_run
def preamble_command(run: Run, task: str, repo: str, as_text: bool) -> None:
    """The active policies, your own notes, and at most five facts that share words with the task."""
    if run.json and as_text:
        raise InvalidInput("--json and --text are two forms of one answer", "leave one of them out")
    with run.opened() as workspace:
        by = run.by(workspace, "", "", dry_run=False)
        made = preamble(workspace, text_or_stdin(task), by, repo=repo)
        if run.json:
            print_json(made.as_json())
        else:
            click.echo(printable(made.text) if sys.stdout.isatty() else made.text, nl=False)
        note(run, made.load.warning)
        sys.stdout.flush()
        record_shown(workspace, by, made)
