"""`tht memory search`."""

from __future__ import annotations

import click

from adapters.fact_reading import moment_of
from adapters.recalling import Recalling
from cli.answer import searching, show_answer
from cli.arguments import SESSION, two_times
from cli.options import Run, common, pass_run
from domain.text import accept_text


@click.command("search")
@click.argument("question")
@click.option("--session", "session_id", type=SESSION, default=None, help="Leave out what it has decided already.")
@searching
@two_times
@common
@pass_run
def search(
    run: Run,
    question: str,
    session_id: str | None,
    mode: str,
    limit: int,
    cursor: str,
    explain: bool,
    at: str,
    known_at: str,
) -> None:
    """The live memories that fit a question. Nothing is applied by itself."""
    accept_text(question, "question", required=True)
    with run.opened() as workspace:
        answer = Recalling(workspace, run.reader(workspace)).search(
            question,
            run.by(workspace, "", "", False),
            kind="memory",
            mode=mode,
            limit=limit,
            cursor=cursor,
            session_id=session_id or "",
            moment=moment_of(workspace, at=at, known_at=known_at),
            explain=explain,
        )
        show_answer(run, answer)
