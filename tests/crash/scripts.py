"""What the children of the crash suite do to a home before they are killed, promising a ledger position a command."""

from __future__ import annotations

from pathlib import Path

from adapters import ledger_files, ledger_import, session_files
from adapters.backup import write_backup
from adapters.curation import Curation
from adapters.erasing import Erasing
from adapters.imports import import_found, look_at
from adapters.indexing import Indexing
from adapters.restore import restore_backup
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from projections import loop
from tests.crash.faults import Acknowledge
from tests.crash.soundness import ADA, BEA, CODER, clarification, open_home, standing


def approve(workspace: Workspace, session_id: str, seq: int, *, into: str = "", replaces: str = "") -> None:
    review = Review(workspace)
    shown = review.preview(session_id, limit=-1).candidates
    revision = next(one.candidate.revision for one in shown if one.candidate.seq == seq)
    review.save_one(session_id, seq, revision, ADA, into=into, replaces=replaces)


def promote(home: Path, acknowledge: Acknowledge) -> None:
    """One new memory, one source for a known memory, one replacement."""
    with open_home(home) as workspace:
        approve(workspace, "waiting", 1)
        acknowledge(standing(workspace))
        approve(workspace, "waiting", 2, into="mem-0001")
        acknowledge(standing(workspace))
        approve(workspace, "waiting", 3, replaces="mem-0002")
        acknowledge(standing(workspace))


def work_a_session(home: Path, acknowledge: Acknowledge) -> None:
    """Every other command of a session and of the registry, and the two files that are written beside the ledger."""
    with open_home(home) as workspace:
        sessions, review, curation = Sessions(workspace), Review(workspace), Curation(workspace)
        steps = (
            lambda: sessions.open("fresh", "a new question", CODER),
            lambda: sessions.record("fresh", clarification("a new concept"), CODER),
            lambda: sessions.edit("fresh", 1, clarification("a new concept", "said better"), BEA),
            lambda: sessions.choose("fresh", ["mem-0001", "mem-0002"], ["mem-0001"], ADA),
            lambda: sessions.roll_back("fresh", "F1", CODER),
            lambda: review.decline("waiting", 1, ADA),
            lambda: review.defer("waiting", 2, ADA),
            lambda: curation.merge("mem-0002", "mem-0001", ADA),
            lambda: curation.restore("mem-0002", ADA),
            lambda: curation.retire("mem-0001", ADA),
            lambda: curation.export(home / "registry.jsonl"),
            lambda: workspace.config.set("review.page", 7),
        )
        for step in steps:
            step()
            acknowledge(standing(workspace))


def catch_up_views(home: Path, acknowledge: Acknowledge) -> None:
    """All views from the first event on, several pages, in a file that is not there yet."""
    loop.PAGE = 9
    with open_home(home) as workspace:
        workspace.caught_up()
        acknowledge(standing(workspace))


def rebuild_views(home: Path, acknowledge: Acknowledge) -> None:
    with open_home(home) as workspace:
        workspace.rebuild_views()
        acknowledge(standing(workspace))


def catch_up_index(home: Path, acknowledge: Acknowledge) -> None:
    with open_home(home) as workspace:
        Indexing(workspace).catch_up()
        acknowledge(standing(workspace))


def rebuild_index(home: Path, acknowledge: Acknowledge) -> None:
    with open_home(home) as workspace:
        Indexing(workspace).rebuild()
        acknowledge(standing(workspace))


def import_sessions(home: Path, acknowledge: Acknowledge) -> None:
    """The sessions of a file beside the home, two to a transaction."""
    session_files.BATCH = 2
    with open_home(home) as workspace:
        import_found(workspace, look_at(home.parent / "sessions.jsonl"), ADA)
        acknowledge(standing(workspace))


def import_ledger(home: Path, acknowledge: Acknowledge) -> None:
    """A whole ledger that was exported beside the home, a few events to a transaction."""
    ledger_files.BATCH = 6
    vars(ledger_import)["BATCH"] = 6
    with create_workspace(home, "default") as workspace:
        import_found(workspace, look_at(home.parent / "ledger.jsonl"), ADA)
        acknowledge(standing(workspace))


def erase(home: Path, acknowledge: Acknowledge) -> None:
    """A memory and the decision that it came from, in a home with an index."""
    with open_home(home) as workspace:
        Erasing(workspace).erase(("mem-0001",), ADA)
        acknowledge(standing(workspace))


def follow(home: Path, acknowledge: Acknowledge) -> None:
    """Any command that looks at the views."""
    with open_home(home) as workspace:
        workspace.caught_up()
    acknowledge("cleaned")


def back_up(home: Path, acknowledge: Acknowledge) -> None:
    with open_home(home) as workspace:
        write_backup(workspace, home.parent / "again.zip")
        acknowledge(standing(workspace))


def restore(home: Path, acknowledge: Acknowledge) -> None:
    """A backup beside the home, into a workspace that is not there."""
    restore_backup(home.parent / "backup.zip", home / "default")
    with open_home(home) as workspace:
        acknowledge(standing(workspace))


def begin_workspace(home: Path, acknowledge: Acknowledge) -> None:
    with create_workspace(home, "default") as workspace:
        acknowledge(standing(workspace))
        Sessions(workspace).open("first", "the first question", CODER)
        acknowledge(standing(workspace))
