"""`tht review`: the queue of one session or of all, as a checklist on a terminal and as plain questions elsewhere."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

import click

from adapters.ballot import Ballot, Result, submit
from adapters.ledger import By
from adapters.review import Preview, Review
from adapters.reviewers import issue_token, require_reviewer
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from cli.arguments import SESSION, reviewer_by, reviewer_token, reviewing
from cli.options import Commands, Run, common, mutating, pass_run
from cli.output import note, print_json, printable, say, show_committed
from cli.prompts import ask_all
from domain.errors import NothingChanged
from domain.promotion import Reviewer, require_person
from domain.text import accept_actor
from projections.decisions import sessions_with_candidates

QUEUE = "queue"


class QueueOrCommand(Commands):
    """`tht review SESSION` and `tht review token`: what is no command of the group is the queue's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            _, rest, given = self.make_parser(ctx).parse_args(list(args))
        except click.UsageError:
            return super().parse_args(ctx, [QUEUE, *args])  # an option of the queue stands first
        if any("--help" in one.opts for one in given) or (rest and rest[0] in self.commands):
            return super().parse_args(ctx, args)
        return super().parse_args(ctx, [QUEUE, *args])

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return ["[SESSION]", "[OPTIONS]", "|", "COMMAND"]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.commands[QUEUE].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)


@click.group("review", cls=QueueOrCommand)
@common
def review_command() -> None:
    """The review queue of a SESSION, or of all: one checklist, preselected.

    A session that is named like a command (token, close, queue) is meant by --session.
    """


@review_command.command(QUEUE)
@click.argument("session_id", metavar="[SESSION]", required=False, type=SESSION)
@click.option("--session", "named", type=SESSION, default=None, metavar="ID", help="The session, whatever its name.")
@reviewing
@click.option("--reason", default="", help="Why; for every item without a note of its own.")
@click.option("--dry-run", is_flag=True, help="Say what would be recorded; record nothing.")
@common
@pass_run
def queue(
    run: Run,
    session_id: str | None,
    named: str | None,
    reviewer: str,
    token_file: str,
    reason: str,
    dry_run: bool,
) -> int:
    """The queue itself; the same as tht review without a command."""
    if session_id and named:
        raise click.UsageError("name one session")
    with run.opened() as workspace:
        chosen = named or session_id or ""
        if run.json:
            _print_queue(workspace, chosen)
            return 0
        by = reviewer_by(run, workspace, reviewer, reason, dry_run)
        return _Reviewing(run, workspace, by, reviewer_token(token_file)).go_through(chosen)


def _print_queue(workspace: Workspace, session_id: str) -> None:
    review = Review(workspace)
    previews = [review.preview(session_id, limit=-1, with_deferred=True)] if session_id else review.queue()
    print_json(
        {
            "queue": [preview.as_json() | {"question": preview.question} for preview in previews],
            "candidates": sum(len(preview.candidates) for preview in previews),
        }
    )


class _Reviewing:
    """One reviewer's way through the queue, page by page."""

    def __init__(self, run: Run, workspace: Workspace, by: By, token: str) -> None:
        self.run, self.workspace, self.by, self.token = run, workspace, by, token
        self.reviewer = require_reviewer(workspace, by, token)  # said before the work is done, not after it
        self.results: list[Result] = []
        self.answers = _answers()
        require_person(self.reviewer)

    def go_through(self, session_id: str) -> int:
        """Every page until the reviewer leaves; the exit code. NothingChanged when all stayed as it was."""
        pages = 0
        for ballot in self._pages(session_id):
            pages += 1
            if not self._review_page(ballot):
                break
        if not pages:
            say(self.run, "nothing waits for review")
            return 0
        if not self.results:
            raise NothingChanged("nothing was written")
        failed = sum(1 for result in self.results if result.failed)
        say(self.run, f"{len(self.results) - failed} done, {failed} failed")
        return 1 if failed else 0

    def _pages(self, session_id: str) -> Iterator[Ballot]:
        """The pages of one session, or of every session with candidates, the deferred ones among them."""
        review = Review(self.workspace)
        if session_id:
            Sessions(self.workspace).get(session_id)
        ids = [session_id] if session_id else sessions_with_candidates(self.workspace.caught_up())
        for number, one in enumerate(ids, 1):
            place = f" (session {number:,} of {len(ids):,})" if len(ids) > 1 else ""
            after, more = 0, True
            while more:
                preview = review.preview(one, after=after, with_deferred=True)
                self._say_refused(preview, after)
                if preview.candidates:
                    yield Ballot.of(preview, self.reviewer, place)
                    after = preview.candidates[-1].candidate.seq
                more = preview.remaining > 0

    def _say_refused(self, preview: Preview, after: int) -> None:
        for refused in preview.refused if after == 0 else ():
            note(self.run, f"{preview.session_id} seq {refused.seq} cannot become a memory: {refused.refusal}")

    def _review_page(self, ballot: Ballot) -> bool:
        """Let the reviewer decide about a page; False when they want to stop."""
        if not _on_a_terminal():
            return ask_all(self.run, ballot, self.answers, self._write)
        from cli.checklist import Checklist

        outcome = Checklist(ballot, self._why_not, no_color=_no_color(self.run)).run()
        if outcome == "submit":
            self._write(ballot)
        return outcome != "leave"

    def _write(self, ballot: Ballot) -> None:
        def tell(result: Result) -> None:
            line = printable(result.line)
            note(self.run, line) if result.failed else say(self.run, line)

        self.results += submit(self.workspace, ballot, self.by, self.token, tell)

    def _why_not(self, memory_id: str) -> str:
        """Why a candidate cannot be merged into this memory, nor replace it; empty when it can."""
        from projections.registry import find_entry

        entry = find_entry(self.workspace.caught_up(), memory_id)
        if entry is None:
            return f"there is no memory {memory_id!r}"
        return "" if entry.live else f"{memory_id} is {entry.status}"


def _answers() -> TextIO:
    """Standard input, in which bytes that are no text come as surrogates: they are refused, not stumbled over."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    return sys.stdin


def _on_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def _no_color(run: Run) -> bool:
    return run.no_color or bool(os.environ.get("NO_COLOR"))


@review_command.command("token")
@click.option("--for", "reviewer", required=True, metavar="WHO", help="The reviewer: human:ada.")
@common
@pass_run
def token(run: Run, reviewer: str) -> None:
    """Make a reviewer's token. It is printed once. To replace one, give it in THT_REVIEWER_TOKEN."""
    with run.opened() as workspace:
        require_person(Reviewer(run.actor_in(workspace)))
        named = accept_actor(reviewer, "--for")
        made = issue_token(workspace, named, reviewer_token(""))
        if run.json:
            print_json({"reviewer": named, "token": made})
        else:
            note(run, f"the token of {named}; it is not shown again, only its hash is kept:")
            click.echo(made)


@review_command.command("close")
@click.argument("session_id", metavar="SESSION", type=SESSION)
@mutating
@pass_run
def close(run: Run, session_id: str, reason: str, dry_run: bool, key: str) -> None:
    """End a session's review (F8); refused while a candidate is undecided."""
    with run.opened() as workspace:
        done = Review(workspace).close(session_id, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"the review of {session_id} is closed", dry_run=dry_run, session_id=session_id)
