"""`tht memory`: the review gate for programs and scripts, search, reuse, and what became of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cli.arguments import MEMORY, SESSION, at_option, reviewer_by, reviewer_token, reviewing
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import console, cut_note, note, print_json, progress, say, show, show_committed, table, time_text
from cli.registry import curation, list_memories, show_memory
from domain.errors import NothingChanged
from domain.text import accept_id, accept_text

if TYPE_CHECKING:
    from adapters.ledger import By
    from adapters.review import Outcome, Preview, Review
    from adapters.workspace import Workspace
    from projections.timeline import Line

EVENT = ("position", "at", "actor", "kind", "stream", "session_id", "seq", "what", "reason", "correlation_id")

session_option = click.option("--session", "session_id", type=SESSION, required=True, help="Whose candidate.")
seq_option = click.option("--seq", type=int, required=True, help="Which one, as in the preview.")


@click.group("memory", cls=Commands, elsewhere={"search": "cli.memory_search"})
@common
def memory_command() -> None:
    """Memories: promote, decline, defer, search, reuse, history."""


# -- promotion


def review_of(workspace: Workspace) -> Review:
    """The gate, with its rules: nothing that only reads needs them."""
    from adapters.review import Review

    return Review(workspace)


@memory_command.command("promote")
@click.option("--session", "session_id", type=SESSION, default=None, help="The session whose candidates are meant.")
@click.option("--preview", is_flag=True, help="Show the candidates; write nothing.")
@click.option("--limit", type=click.IntRange(1, 10**9), default=None, help="How many at a time (review.page).")
@click.option("--after", type=int, default=0, metavar="SEQ", help="Only candidates beyond this seq.")
@click.option("--deferred", is_flag=True, help="The deferred ones too.")
@click.option("--all", "everything", is_flag=True, help="Promote every undecided candidate of the session.")
@click.option("--all-sessions", is_flag=True, help="Promote every undecided candidate there is.")
@reviewing
@click.option("--reason", default="", help="Why; kept with the event.")
@click.option("--dry-run", is_flag=True, help="Say what would be recorded; record nothing.")
@common
@pass_run
def promote(
    run: Run,
    session_id: str | None,
    preview: bool,
    limit: int | None,
    after: int,
    deferred: bool,
    everything: bool,
    all_sessions: bool,
    reviewer: str,
    token_file: str,
    reason: str,
    dry_run: bool,
) -> int:
    """Preview a session's candidates, or promote them all in one batch with an outcome for each."""
    if preview and not session_id:
        raise click.UsageError("a preview is of one session: --preview --session ID; the whole queue: tht review")
    if sum((preview, everything, all_sessions)) != 1:
        raise click.UsageError(
            "say --preview to see the candidates; then decide: tht review SESSION (a checklist), tht memory save-one"
            " (one), or --all --reviewer WHO (every one of the session), --all-sessions (every one there is)"
        )
    if not session_id and not all_sessions:
        raise click.UsageError("name the session: --session ID")
    if session_id and all_sessions:
        raise click.UsageError("--all-sessions takes every session: leave --session out, or use --all")
    with run.opened() as workspace:
        if preview and session_id:
            found = review_of(workspace).preview(session_id, limit=limit, after=after, with_deferred=deferred)
            _show_preview(run, found)
            return 0
        by = reviewer_by(run, workspace, reviewer, reason, dry_run)
        return _promote_all(run, workspace, [session_id] if session_id else [], by, reviewer_token(token_file))


def _show_preview(run: Run, preview: Preview) -> None:
    if run.json:
        print_json(preview.as_json())
        return
    from cli.candidates import candidate_page

    out = console(run)
    for shown in preview.candidates:
        out.print(candidate_page(shown, ["deferred earlier"] if shown.candidate.deferred else []))
        say(run, f"revision {shown.candidate.revision}\n")
    for refused in preview.refused:
        note(run, f"seq {refused.seq} cannot become a memory: {refused.refusal}")
    if not preview.candidates:
        say(run, f"session {preview.session_id} has no candidate to decide about")
    if preview.remaining:
        last = preview.candidates[-1].candidate.seq
        say(run, f"{preview.remaining} more: --after {last} shows them")
    if preview.deferred and not any(one.candidate.deferred for one in preview.candidates):
        say(run, f"{preview.deferred} deferred: --deferred shows them")


def _promote_all(run: Run, workspace: Workspace, session_ids: list[str], by: By, token: str) -> int:
    from adapters.review import Verdict
    from cli.candidates import show_batch
    from domain.promotion import Reviewer, require_person

    require_person(Reviewer(by.actor))
    review = review_of(workspace)
    waiting = review.pending(session_ids)
    if not waiting:
        raise NothingChanged("no candidate is undecided", "tht review shows the deferred ones")
    verdicts = [Verdict(one.session_id, one.seq, one.revision, "promote") for one in waiting]
    with progress(run, "promoting") as advance:
        settled: list[Outcome] = []

        def one_more(outcome: Outcome) -> None:
            settled.append(outcome)
            advance(len(settled), len(verdicts))

        outcomes = review.batch(verdicts, by, token=token, done=one_more)
    return show_batch(run, outcomes, by.dry_run)


@memory_command.command("save-one")
@session_option
@seq_option
@click.option("--revision", required=True, help="What the reviewer saw, as in the preview.")
@click.option("--into", type=MEMORY, default=None, metavar="MEM", help="Merge it into this memory.")
@click.option("--replace", "replaces", type=MEMORY, default=None, metavar="MEM", help="Supersede this memory by it.")
@reviewing
@mutating
@pass_run
def save_one(
    run: Run,
    session_id: str,
    seq: int,
    revision: str,
    into: str | None,
    replaces: str | None,
    reviewer: str,
    token_file: str,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Approve one candidate. Again is a no-op that names the first reviewer."""
    if into and replaces:
        raise click.UsageError("--into merges, --replace supersedes: one of them")
    with run.opened() as workspace:
        by = reviewer_by(run, workspace, reviewer, reason, dry_run, key)
        token = reviewer_token(token_file)
        accept_text(revision, "--revision", limit=100)
        saved = review_of(workspace).save_one(
            session_id, seq, revision, by, into=into or "", replaces=replaces or "", token=token
        )
        if run.json:
            print_json(saved.as_json() | ({"dry_run": True} if dry_run else {}))
        elif dry_run:
            say(run, f"would promote seq {seq} of {session_id} to {saved.memory_id}")
        elif saved.already:
            say(run, f"seq {seq} of {session_id} is {saved.memory_id} already, approved by {saved.reviewer}")
        else:
            say(run, f"seq {seq} of {session_id} is {saved.memory_id} (position {saved.position:,})")


@memory_command.command("decline")
@session_option
@seq_option
@reviewing
@mutating
@pass_run
def decline(
    run: Run, session_id: str, seq: int, reviewer: str, token_file: str, reason: str, dry_run: bool, key: str
) -> None:
    """Decide against a candidate; the session does not propose it again."""
    with run.opened() as workspace:
        by = reviewer_by(run, workspace, reviewer, reason, dry_run, key)
        done = review_of(workspace).decline(session_id, seq, by, token=reviewer_token(token_file))
        text = f"seq {seq} of {session_id} is declined"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, seq=seq)


@memory_command.command("defer")
@session_option
@seq_option
@reviewing
@mutating
@pass_run
def defer(
    run: Run, session_id: str, seq: int, reviewer: str, token_file: str, reason: str, dry_run: bool, key: str
) -> None:
    """Keep a candidate for a later review; the session may close meanwhile."""
    with run.opened() as workspace:
        by = reviewer_by(run, workspace, reviewer, reason, dry_run, key)
        done = review_of(workspace).defer(session_id, seq, by, token=reviewer_token(token_file))
        text = f"seq {seq} of {session_id} is deferred"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, seq=seq)


# -- reuse


@memory_command.command("decide")
@click.option("--session", "session_id", type=SESSION, required=True, help="The session that chooses.")
@click.option("--offered", required=True, metavar="MEM,…", help="The memories that the person was shown.")
@click.option("--select", "selected", default="", metavar="MEM,…", help="Those to apply; the others are set aside.")
@mutating
@pass_run
def decide(run: Run, session_id: str, offered: str, selected: str, reason: str, dry_run: bool, key: str) -> None:
    """Record the one choice of F2: selected memories become clarifications, the others wait."""
    offers, choices = _ids(offered), _ids(selected)
    if not offers:
        raise click.UsageError("--offered names no memory")
    from adapters.sessions import Sessions

    with run.opened() as workspace:
        done = Sessions(workspace).choose(session_id, offers, choices, run.by(workspace, reason, key, dry_run))
        text = f"session {session_id} applies {', '.join(choices) or 'none'}"
        show_committed(run, done, text, dry_run=dry_run, session_id=session_id, selected=choices)


def _ids(text: str) -> list[str]:
    return [accept_id(one.strip(), "memory id") for one in text.split(",") if one.strip()]


# -- what there is


@memory_command.command("list")
@at_option
@paged
@pass_run
def list_live(run: Run, at: str, limit: int, offset: int) -> None:
    """The live memories, as tht registry list."""
    with run.opened() as workspace:
        list_memories(run, workspace, "live", at, limit, offset)


@memory_command.command("show")
@click.argument("memory_id", metavar="MEM", type=MEMORY)
@at_option
@common
@pass_run
def show_one(run: Run, memory_id: str, at: str) -> None:
    """One memory, as tht registry show."""
    with run.opened() as workspace:
        show_memory(run, workspace, memory_id, at)


@memory_command.command("history")
@click.argument("memory_id", metavar="MEM", type=MEMORY)
@paged
@pass_run
def history(run: Run, memory_id: str, limit: int, offset: int) -> None:
    """Every event of a memory, and those that marked it in sessions, in order."""
    from projections import timeline

    with run.opened() as workspace:
        entry = curation(workspace).get(memory_id)
        wanted = timeline.Filter(memory_id=memory_id)
        found, total = timeline.lines(workspace.caught_up(), wanted, limit=limit, offset=offset)
        events = [{name: getattr(line, name) for name in EVENT} for line in found]
        sources = entry.as_json()["sources"]
        show(
            run,
            {"memory_id": memory_id, "events": events, "sources": sources, "total": total},
            lambda: table(
                f"History of {memory_id}",
                ("position", "time (UTC)", "event", "by, because"),
                [_event_row(line) for line in found],
                cut=cut_note(len(found), total, offset),
            ),
        )


def _event_row(line: Line) -> tuple[object, ...]:
    where = f"{line.session_id} seq {line.seq}" if line.session_id else line.what
    return (line.position, time_text(line.at), f"{line.kind}\n{where}".strip(), f"{line.actor}\n{line.reason}".strip())
