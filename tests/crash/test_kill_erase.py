"""S-13 under `kill -9` at every step: a text is readable as before, or nowhere in the ledger; erasing again ends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.erasing import Erasing
from adapters.indexing import Indexing
from adapters.purging import Purging
from adapters.workspace import Workspace
from tests.crash import scripts
from tests.crash.faults import killed_everywhere
from tests.crash.soundness import (
    ADA,
    assert_goes_on,
    assert_index_follows,
    assert_sound,
    make_home,
    open_home,
    open_session,
    promote_all,
)

pytestmark = pytest.mark.posix
WORD = "quokkaspiegel"


def readable(workspace: Workspace) -> int:
    """How many events say the word."""
    return sum(WORD in envelope.event.model_dump_json() for envelope in workspace.ledger.everything())


def holds(home: Path) -> list[str]:
    files = (path for path in home.rglob("*") if path.is_file() and path.stat().st_size)
    return [path.name for path in files if WORD.encode() in path.read_bytes()]


@pytest.mark.parametrize(("with_index", "every"), [(False, 5), (True, 13)])
def test_erase(tmp_path: Path, with_index: bool, every: int) -> None:
    """The index is large on the disk, so that with it fewer steps are tried."""
    prepared = make_home(tmp_path / "prepared", model="hash:16")
    with open_home(prepared) as workspace:
        open_session(workspace, "done", [WORD, "cardioversion"])
        assert promote_all(workspace, "done") == ["mem-0001", "mem-0002"]
        workspace.caught_up()
        if with_index:
            Indexing(workspace).catch_up()
        head = workspace.ledger.head()
        assert readable(workspace) == 2

    def prepare() -> Path:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return Path(shutil.copytree(prepared, tmp_path / "copy"))

    assert holds(prepared)
    states = set()
    for home, promises in killed_everywhere(scripts.erase, prepare, tmp_path, at_least=40, every=every):
        with open_home(home) as workspace:
            left, now = readable(workspace), workspace.ledger.head().position
            assert (left, now) in ((2, head.position), (0, head.position + 2))
            assert not promises or (left == 0 and not holds(home))
            states.add(left)
            done = Erasing(workspace).erase(("mem-0001",), ADA)
            assert (done.records, done.already)[left == 0] == ("mem-0001", "done:1")
            assert not holds(home)
            assert_sound(workspace, [*promises, (head.position, head.chain)])
            if with_index:
                assert_index_follows(workspace)
        assert not holds(home)
    assert states == {0, 2}
    with open_home(home) as workspace:
        assert_goes_on(workspace)


@pytest.mark.parametrize(("with_index", "every"), [(False, 7), (True, 17)])
def test_another_home_that_follows_the_erasure(tmp_path: Path, with_index: bool, every: int) -> None:
    """Its ledger has moved on, erased elsewhere; its views, index and cache are as they were. Killed anywhere while it
    follows and cleans, the next command of whatever kind leaves nothing."""
    prepared = make_home(tmp_path / "prepared", model="hash:16")
    with open_home(prepared) as workspace:
        open_session(workspace, "done", [WORD, "cardioversion"])
        assert promote_all(workspace, "done") == ["mem-0001", "mem-0002"]
        workspace.caught_up()
        if with_index:
            Indexing(workspace).catch_up()
        ledger = workspace.paths.ledger.relative_to(prepared)
    elsewhere = Path(shutil.copytree(prepared, tmp_path / "elsewhere"))
    with open_home(elsewhere) as workspace:
        Erasing(workspace).erase(("mem-0001",), ADA)
    for name in (ledger.name, f"{ledger.name}-wal", f"{ledger.name}-shm"):
        (prepared / ledger).with_name(name).unlink(missing_ok=True)
    shutil.copy(elsewhere / ledger, prepared / ledger)

    def prepare() -> Path:
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return Path(shutil.copytree(prepared, tmp_path / "copy"))

    assert holds(prepared)
    held = set()
    for home, promises in killed_everywhere(scripts.follow, prepare, tmp_path, at_least=20, every=every):
        held.add(bool(holds(home)))
        assert not (promises and holds(home))
        with open_home(home) as workspace:
            workspace.caught_up()
        assert not holds(home)
        with open_home(home) as workspace:
            assert not Purging(workspace).due()
            assert_sound(workspace, [])
            if with_index:
                assert_index_follows(workspace)
    assert held == {True, False}
    with open_home(home) as workspace:
        assert_goes_on(workspace)
