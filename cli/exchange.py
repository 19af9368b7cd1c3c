"""`tht import`, `tht export`, `tht backup`, `tht restore`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adapters.backup import write_backup
from adapters.imports import import_found, look_at
from adapters.ledger_files import export_ledger, export_lines
from adapters.ledger_import import Taken
from adapters.restore import restore_backup
from adapters.reviewers import require_reviewer
from adapters.workspace import Paths
from cli.arguments import reviewer_token
from cli.options import Run, common, mutating, pass_run
from cli.output import counted, note, print_json, printable, progress, say
from domain.promotion import Reviewer, require_person
from domain.text import accept_actor, is_person

if TYPE_CHECKING:
    from adapters.session_files import Report
    from adapters.workspace import Workspace

until_option = click.option("--until", type=click.IntRange(0), default=None, help="A ledger up to this position.")


@click.command("import")
@click.argument("path", metavar="FILE|DIR", type=click.Path(exists=True, path_type=Path))
@until_option
@mutating
@pass_run
def import_command(run: Run, path: Path, until: int | None, reason: str, dry_run: bool, key: str) -> int:
    """Take in sessions, an old registry with its sessions, or an exported ledger. Which it is shows in the file.

    What is here already is passed over, so importing again changes nothing, with or without --idempotency-key. Bad
    lines are reported and the others are taken in; of a ledger, all or nothing. Exit code 1 when a line was refused.
    What brings approved memories with it, an old registry or a ledger, is taken in for a person only.
    """
    found = look_at(path)
    with run.opened(create=True, dry_run=dry_run) as workspace, progress(run, "importing") as move:
        if found.brings_approvals:
            _require_reviewer(run, workspace)
        by = run.by(workspace, reason, "", dry_run, default="tool:importer")
        done = import_found(workspace, found, by, until=until, progress=move)
    if isinstance(done, Taken):
        _show_taken(run, done, dry_run)
        return 0
    _show_report(run, done, dry_run, by.actor)
    return 0 if done.clean else 1


@click.command("export")
@click.argument("file", metavar="[FILE|-]", default="-")
@until_option
@common
@pass_run
def export_command(run: Run, file: str, until: int | None) -> None:
    """Write the whole ledger as JSON Lines, losslessly: `tht import` gives back exactly this ledger."""
    with run.opened() as workspace:
        run.require_keeper(workspace, "an export")
        if file == "-":
            out = sys.stdout.buffer
            for line in export_lines(workspace.ledger, until):
                out.write(line.encode("utf-8"))
            out.flush()
            return
        with progress(run, "exporting") as move:
            head = export_ledger(workspace.ledger, Path(file), until, move)
    if run.json:
        print_json({"file": file, "position": head.position, "chain": head.chain})
    say(run, f"{counted(head.position, 'event')} written to {file}; chain {head.chain}")


@click.command("backup")
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@common
@pass_run
def backup_command(run: Run, file: Path) -> None:
    """Copy ledger and settings into one file, readable by its owner only. Others may go on writing meanwhile.

    A file that is there is replaced only when it is an older backup of the same ledger.
    """
    with run.opened() as workspace, progress(run, "copying") as move:
        run.require_keeper(workspace, "a backup")
        manifest = write_backup(workspace, file, move)
    if run.json:
        print_json(manifest.model_dump() | {"file": str(file)})
    say(run, f"{counted(manifest.position, 'event')} backed up to {file}; chain {manifest.chain}")


@click.command("restore")
@click.argument("file", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Verify and compare; change nothing.")
@common
@pass_run
def restore_command(run: Run, file: Path, dry_run: bool) -> None:
    """Bring a backup back: into a workspace that is not there yet, or to continue one whose history it begins with.

    A longer or another local history is never replaced. Views and index follow by replay.
    """
    if run.given_actor:
        require_person(Reviewer(accept_actor(run.given_actor)))
    done = restore_backup(file, Paths(run.home_path / run.workspace_name).folder, dry_run=dry_run)
    if run.json:
        print_json(done.as_json() | ({"dry_run": True} if dry_run else {}))
    would = "would be " if dry_run else ""
    if done.made:
        say(run, f"workspace {run.workspace_name} {would}restored at position {done.manifest.position:,}")
    elif done.appended:
        say(run, f"{counted(done.appended, 'event')} {would}added up to position {done.manifest.position:,}")
    else:
        say(run, "nothing to restore: the ledger is here already, at the same position")


def _require_reviewer(run: Run, workspace: Workspace) -> None:
    """Approvals from elsewhere are let in by whoever could give them here."""
    require_person(require_reviewer(workspace, run.by(workspace, "", "", False), reviewer_token("")))


def _show_taken(run: Run, done: Taken, dry_run: bool) -> None:
    if run.json:
        print_json(done.as_json() | ({"dry_run": True} if dry_run else {}))
    if done.appended:
        say(run, f"{counted(done.appended, 'event')} {'would be ' if dry_run else ''}taken in")
    elif done.local_is_longer:
        say(run, f"nothing new: the ledger here goes on from {done.file_position:,} to {done.position:,}")
    else:
        say(run, "nothing new: the ledger here is the same")


def _show_report(run: Run, done: Report, dry_run: bool, author: str) -> None:
    if run.json:
        print_json(done.as_json() | ({"dry_run": True} if dry_run else {}))
        return
    for text in done.notes:
        note(run, printable(text))
    for problem in done.problems:
        note(run, printable(f"{problem.file} line {problem.line}: {problem.error}"))
    if done.problems_left_out:
        note(run, f"… and {done.problems_left_out:,} more")
    counts = {"new": done.new, "extended": done.extended, "known": done.known, "lines refused": done.refused}
    told = [f"{count:,} {what}" for what, count in counts.items() if count or what in ("new", "known")]
    say(run, f"{'would take in ' if dry_run else ''}sessions: {', '.join(told)}")
    say(run, f"{counted(done.decisions, 'decision')}, {done.clarifications:,} of them clarifications")
    if done.clarifications and is_person(author):
        say(run, f"they are {author}'s words now: somebody else has to approve them")
    if done.memories or done.memories_known:
        say(run, f"memories: {done.memories:,} new, {done.memories_known:,} known")
