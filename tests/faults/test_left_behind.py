"""What a killed backup or copy leaves behind holds a whole ledger: the next one, and every erasure, removes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters import scratch
from adapters.backup import write_backup
from adapters.locks import alone
from adapters.purging import Purging
from adapters.scratch import scratch_folder, sweep
from adapters.workspace import open_workspace
from domain.errors import HomeNotWritable
from tests.crash.soundness import make_home

HOLDS = """
import sys, time
from pathlib import Path
from adapters.scratch import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "ledger.sqlite3").write_text("erased since")
    print(folder, flush=True)
    time.sleep(60)
"""


def holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    started = subprocess.Popen([sys.executable, "-c", HOLDS, str(folder)], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    return started, Path(started.stdout.readline().strip())


def killed(folder: Path) -> Path:
    started, left = holder(folder)
    started.kill()
    started.communicate()
    assert (left / "ledger.sqlite3").exists()
    return left


def test_the_next_one_made_there_removes_it(tmp_path: Path) -> None:
    left = killed(tmp_path)
    started, used = holder(tmp_path)
    try:
        assert not left.exists()
        with scratch_folder(tmp_path):
            assert used.exists(), "somebody works with it"
    finally:
        started.kill()
        started.communicate()


def test_one_that_was_killed_before_it_had_its_lock_is_waited_for(tmp_path: Path) -> None:
    young, old = tmp_path / ".tht-scratch-00000001", tmp_path / ".tht-scratch-00000002"
    young.mkdir()
    old.mkdir()
    make_old(old)
    sweep(tmp_path)
    assert (young.exists(), old.exists()) == (True, False)


@pytest.mark.parametrize("name", [".tht-home", ".tht-personal", ".tht-scratch-of-mine", ".tht-scratch-personal"])
def test_what_a_person_keeps_beside_a_backup_stays(tmp_path: Path, name: str) -> None:
    """A home in the folder of one's backups may be named alike."""
    own = tmp_path / name
    own.mkdir()
    (own / "ledger.sqlite3").write_text("years of work")
    make_old(own)
    with scratch_folder(tmp_path):
        assert (own / "ledger.sqlite3").read_text() == "years of work"


def make_old(folder: Path) -> None:
    os.utime(folder, (time.time() - 3600, time.time() - 3600))


def test_one_that_is_swept_just_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    swept: list[Path] = []

    @contextmanager
    def too_late(path: Path) -> Iterator[None]:
        with alone(path):
            if not swept:
                swept.append(path.parent)
                shutil.rmtree(path.parent)
            yield

    monkeypatch.setattr(scratch, "alone", too_late)
    with scratch_folder(tmp_path) as folder:
        assert folder not in swept
        (folder / "ledger.sqlite3").touch()
    assert not list(tmp_path.iterdir())


def test_a_backup_and_an_erasure_remove_it(tmp_path: Path) -> None:
    make_home(tmp_path / "home")
    with open_workspace(tmp_path / "home", "default") as workspace:
        left = killed(tmp_path)
        write_backup(workspace, tmp_path / "one.zip")
        assert not left.exists()
        there = [killed(workspace.paths.folder), killed(tmp_path / "home")]
        Purging(workspace).run()
        assert not [folder for folder in there if folder.exists()]


def test_an_erasure_names_a_copy_that_somebody_is_making(tmp_path: Path) -> None:
    make_home(tmp_path / "home")
    with open_workspace(tmp_path / "home", "default") as workspace:
        started, used = holder(tmp_path / "home")
        try:
            with pytest.raises(HomeNotWritable, match=used.name):
                Purging(workspace).run()
        finally:
            started.kill()
            started.communicate()
        Purging(workspace).run()
        assert not used.exists()
