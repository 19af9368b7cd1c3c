"""`tht fact search`."""

from __future__ import annotations

import click

from adapters.fact_reading import moment_of
from adapters.recalling import Recalling
from cli.answer import searching, show_answer
from cli.arguments import two_times
from cli.fact import domain_option, repo_option
from cli.options import Run, common, pass_run
from domain.text import accept_text


@click.command("search")
@click.argument("question")
@click.option(
    "--kind", default="fact", show_default=True, metavar="KIND", help="What to look for: fact, memory or all."
)
@searching
@domain_option
@repo_option
@click.option("--topic", default="", metavar="TOPIC", help="Only facts of this topic.")
@click.option("--author", default="", metavar="WHO", help="Only facts that this actor said.")
@two_times
@common
@pass_run
def search(
    run: Run,
    question: str,
    kind: str,
    mode: str,
    limit: int,
    cursor: str,
    explain: bool,
    domain: str,
    repo: str,
    topic: str,
    author: str,
    at: str,
    known_at: str,
) -> None:
    """The facts that a question is about, best first. What was shown is recorded, by ids."""
    accept_text(question, "the question", required=True)
    with run.opened() as workspace:
        by = run.by(workspace, "", "", dry_run=False)
        wanted = {"topic": " ".join(topic.split()), "author": author}
        answer = Recalling(workspace, run.reader(workspace)).search(
            question,
            by,
            kind=kind,
            mode=mode,
            limit=limit,
            cursor=cursor,
            domain=domain,
            repo=repo,
            moment=moment_of(workspace, at=at, known_at=known_at),
            explain=explain,
            **{name: value for name, value in wanted.items() if value},
        )
        show_answer(run, answer)
