"""`kill -9` at every step of import, export, backup and restore: the same command again ends what was begun."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adapters.backup import write_backup
from adapters.imports import import_found, look_at
from adapters.ledger_files import export_ledger
from adapters.restore import restore_backup
from adapters.session_files import Report
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from tests.crash import scripts
from tests.crash.faults import killed_everywhere
from tests.crash.soundness import (
    ADA,
    assert_goes_on,
    assert_sound,
    make_home,
    open_home,
    open_session,
    promote_all,
    standing,
)

pytestmark = pytest.mark.posix
IDS = [f"s-{number}" for number in range(7)]


@pytest.fixture
def original(tmp_path: Path) -> Path:
    home = make_home(tmp_path / "original")
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        open_session(workspace, "waiting", ["recurrence"])
    return home


def fresh(tmp_path: Path) -> Path:
    shutil.rmtree(tmp_path / "home", ignore_errors=True)
    return tmp_path / "home"


def test_import_of_sessions(tmp_path: Path) -> None:
    """A session is in the ledger with all its decisions or not at all; importing again takes in the rest."""
    decision = {"type": "concept_clarified", "phase": "F3", "subject": "ablation", "detail": "is counted once"}
    lines = [
        json.dumps({"session_id": one, "question": "what?", "decisions": [decision, decision | {"subject": one}]})
        for one in IDS
    ]
    (tmp_path / "sessions.jsonl").write_text("\n".join(lines) + "\n")

    def prepare() -> Path:
        return make_home(fresh(tmp_path))

    for home, promises in killed_everywhere(scripts.import_sessions, prepare, tmp_path, at_least=20, every=5):
        with open_home(home) as workspace:
            assert_sound(workspace, promises)
            rows, _ = Sessions(workspace).list(limit=100)
            assert [row.session_id for row in rows] == IDS[: len(rows)]
            assert {row.decisions for row in rows} <= {2}
            report = import_found(workspace, look_at(tmp_path / "sessions.jsonl"), ADA)
            assert isinstance(report, Report)
            assert (report.known, report.new, report.refused) == (len(rows), 7 - len(rows), 0)
            assert_sound(workspace)


def test_import_of_a_ledger(original: Path, tmp_path: Path) -> None:
    """Whole commands only, at their own positions: importing again goes on, and ends at the same chain."""
    with open_home(original) as workspace:
        export_ledger(workspace.ledger, tmp_path / "ledger.jsonl")
        end = standing(workspace)
    for home, promises in killed_everywhere(
        scripts.import_ledger, lambda: fresh(tmp_path), tmp_path, at_least=25, every=5
    ):
        with make_and_open(home) as workspace:
            assert_sound(workspace, promises)
            import_found(workspace, look_at(tmp_path / "ledger.jsonl"), ADA)
            assert standing(workspace) == end
            assert_sound(workspace)


def make_and_open(home: Path) -> Workspace:
    make_home(home)
    return open_home(home)


def test_backup(original: Path, tmp_path: Path) -> None:
    """The file is there when it is whole; what a killed one leaves does not stop the next."""

    def prepare() -> Path:
        (tmp_path / "again.zip").unlink(missing_ok=True)
        return original

    for home, promises in killed_everywhere(scripts.back_up, prepare, tmp_path, at_least=3):
        with open_home(home) as workspace:
            assert_sound(workspace)
            end = standing(workspace)
        assert not promises or (tmp_path / "again.zip").exists()
        if (tmp_path / "again.zip").exists():
            restore_backup(tmp_path / "again.zip", fresh(tmp_path) / "default")
            with open_home(tmp_path / "home") as workspace:
                assert standing(workspace) == end


def test_restore(original: Path, tmp_path: Path) -> None:
    """Into a workspace that is not there: afterwards it is there and whole, or restoring again makes it."""
    with open_home(original) as workspace:
        write_backup(workspace, tmp_path / "backup.zip")
        end = standing(workspace)
    for home, promises in killed_everywhere(scripts.restore, lambda: fresh(tmp_path), tmp_path, at_least=5, every=3):
        if not promises:
            restore_backup(tmp_path / "backup.zip", home / "default")
        with open_home(home) as workspace:
            assert standing(workspace) == end
            assert_sound(workspace)
            assert_goes_on(workspace)
