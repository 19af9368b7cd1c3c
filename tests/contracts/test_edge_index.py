"""What only the embedded index has to stand: other processes, kills, damaged files, an engine that is not there."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import portalocker
import pytest

from adapters.qdrant_edge import EdgeIndex, EdgeStore
from domain.errors import IndexBusy, IndexUnavailable
from projections.index.points import point_id
from projections.index.port import Checkpoint, IndexStore, Point, VectorIndex, Within

if TYPE_CHECKING:
    from qdrant_edge import EdgeShard

ROOT = Path(__file__).parents[2]
EAST = [1.0, 0.0, 0.0, 0.0]
PRELUDE = """
import os, sys
from pathlib import Path
from adapters.qdrant_edge import EdgeStore
from projections.index.points import point_id
from projections.index.port import Checkpoint, Point, Within
def point(ref):
    return Point(point_id(ref, 0), [1.0, 0.0, 0.0, 0.0], {"ref": ref, "kind": "fact", "chunk": 0})
def kill():
    os.kill(os.getpid(), 9)
store = EdgeStore(Path(sys.argv[1]), wait=0.0)
"""


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(folder)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


@contextmanager
def another_process(folder: Path, script: str) -> Iterator[subprocess.Popen[str]]:
    """Runs the script up to where it prints a line, and on when its standard input is closed."""
    command = [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate(timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "default" / "index"


def fill(folder: Path, ref: str = "old") -> IndexStore:
    store = EdgeStore(folder, wait=0.0)
    fresh = store.begin(4)
    fresh.upsert([Point(point_id(ref, 0), EAST, {"ref": ref, "kind": "fact", "chunk": 0})])
    fresh.save_checkpoint(Checkpoint(1, "aa", "f", "m", 1))
    store.swap(fresh)
    return store


def refs(store: IndexStore) -> list[str]:
    current = store.current()
    assert current is not None
    with current:
        return sorted(payload["ref"] for payload in current.scan())


class TestKilled:
    def test_what_was_written_is_there_after_a_kill(self, folder: Path) -> None:
        fill(folder)
        script = """
            index = store.current()
            index.upsert([point(f"r{n}") for n in range(300)])
            index.delete_refs(["old", "r7"])
            index.save_checkpoint(Checkpoint(300, "bb", "f", "m", 1))
            kill()
        """
        assert run(folder, script).returncode == -9
        current = EdgeStore(folder, wait=0.0).current()
        assert current is not None
        with current:
            assert current.count() == 299
            assert current.checkpoint() == Checkpoint(300, "bb", "f", "m", 1)
            assert len(current.search(EAST, Within(("fact",)), limit=1000)) == 299

    @pytest.mark.parametrize(
        ("cut", "survivor"),
        [
            ("adapters.generations._make_private", "old"),
            ("adapters.qdrant_edge._create", "old"),
            ("adapters.qdrant_edge.EdgeIndex.settle", "old"),
            ("adapters.generations.sync_folder", "old"),
            ("os.fsync", "old"),
            ("os.replace", "old"),
            ("adapters.qdrant_edge._remove_unless_open", "new"),
            ("shutil.rmtree", "new"),
        ],
    )
    def test_a_rebuild_killed_at_any_step_leaves_a_whole_index(self, folder: Path, cut: str, survivor: str) -> None:
        fill(folder)
        script = f"""
            import adapters.generations, adapters.qdrant_edge, shutil
            from unittest.mock import patch
            with patch("{cut}", side_effect=lambda *_, **__: kill()):
                fresh = store.begin(4)
                fresh.upsert([point("new")])
                fresh.settle()
                store.swap(fresh)
        """
        assert run(folder, script).returncode == -9
        store = EdgeStore(folder, wait=0.0)
        assert refs(store) == [survivor]
        store.discard(store.begin(4))
        assert store.describe()["leftovers"] == "none"
        assert refs(store) == [survivor]

    def test_a_checkpoint_is_flushed_after_its_points_and_never_before(self, folder: Path) -> None:
        """The engine does not sync its log, so a power cut would take what was not flushed; no test can cut power."""
        calls: list[str] = []

        class Recorder:
            def __getattr__(self, name: str) -> Callable[..., None]:
                return lambda *_: calls.append(name)

        index = EdgeIndex(cast("EdgeShard", Recorder()), folder, portalocker.Lock(folder / "lock"))
        a_point = Point(point_id("a", 0), EAST, {"ref": "a"})
        index.upsert([a_point] * 600)
        index.delete_refs(["a"])
        assert set(calls) == {"update"}
        index.save_checkpoint(Checkpoint(1, "aa", "f", "m", 1))
        assert calls[-3:] == ["flush", "update", "flush"]

    def test_a_generation_half_removed_goes_with_the_next_rebuild(self, folder: Path) -> None:
        store = fill(folder)
        (folder / "gen-0007" / "segments").mkdir(parents=True)
        (folder / "gen-0009" / "wal").mkdir(parents=True)
        (folder / "gen-0009" / "wal" / "open-1").write_bytes(b"no log")
        fresh = store.begin(4)
        store.swap(fresh)
        assert store.describe()["leftovers"] == "none"
        assert sorted(path.name for path in folder.iterdir()) == ["CURRENT", "gen-0002"]


class TestTwoProcesses:
    HOLD = """
        index = store.current()
        print("ready", flush=True)
        sys.stdin.read()
        index.close()
    """

    def test_the_second_is_refused_after_a_bounded_wait(self, folder: Path) -> None:
        fill(folder)
        slept: list[float] = []
        now = iter(range(1000))
        store = EdgeStore(folder, wait=5.0, clock=lambda: float(next(now)), sleep=slept.append)
        with another_process(folder, self.HOLD), pytest.raises(IndexBusy) as busy:
            store.current()
        assert 3 <= len(slept) <= 6
        assert "wait for it" in busy.value.hint
        assert refs(store) == ["old"]

    def test_the_second_gets_in_when_the_first_leaves_in_time(self, folder: Path) -> None:
        fill(folder)
        with another_process(folder, self.HOLD) as first:
            store = EdgeStore(folder, wait=60.0, sleep=lambda _: first.communicate() and None)
            assert refs(store) == ["old"]

    def test_describe_and_begin_work_beside_it_and_what_is_open_is_not_removed(self, folder: Path) -> None:
        store = fill(folder)
        script = """
            fresh = store.begin(4)
            fresh.upsert([point("theirs")])
            print("ready", flush=True)
            sys.stdin.read()
            store.swap(fresh)
        """
        with another_process(folder, script):
            assert store.describe()["leftovers"] == "gen-0002"
            store.discard(store.begin(4))
            assert store.describe()["leftovers"] == "gen-0002"
        assert refs(store) == ["theirs"]

    def test_the_old_generation_stays_for_who_reads_it_and_goes_with_the_next_rebuild(self, folder: Path) -> None:
        store = fill(folder)
        script = """
            index = store.current()
            print("ready", flush=True)
            sys.stdin.read()
            print([found.ref for found in index.search([1.0, 0, 0, 0], Within(("fact",)), limit=5)])
        """
        with another_process(folder, script):
            fill(folder, "new")
            assert store.describe()["leftovers"] == "gen-0001"
            assert refs(store) == ["new"]
        store.discard(store.begin(4))
        assert store.describe()["leftovers"] == "none"

    def test_the_lock_of_a_killed_process_is_gone(self, folder: Path) -> None:
        fill(folder)
        assert run(folder, "store.current(); kill()").returncode == -9
        assert refs(EdgeStore(folder, wait=0.0)) == ["old"]


class TestDamaged:
    @pytest.mark.parametrize(
        "pattern",
        ["wal/open-1", "segments/*/segment.json", "segments/*/payload_storage/config.json", "edge_config.json"],
    )
    def test_a_damaged_generation_is_unavailable_and_a_rebuild_mends_it(self, folder: Path, pattern: str) -> None:
        store = fill(folder)
        (damaged,) = (folder / "gen-0001").glob(pattern)
        with damaged.open("r+b") as file:
            file.write(b"\xa5" * 64)
        with pytest.raises(IndexUnavailable) as broken:
            store.current()
        assert not isinstance(broken.value, IndexBusy)
        assert broken.value.hint == "tht index rebuild"
        assert "\n" not in broken.value.message
        fill(folder, "new")
        assert refs(store) == ["new"]

    def test_a_panic_of_the_engine_is_an_error_like_any_other(self, folder: Path) -> None:
        store = fill(folder)
        (damaged,) = (folder / "gen-0001").glob("segments/*/vector_storage-text/deleted/status.dat")
        damaged.write_bytes(b"")
        with pytest.raises(IndexUnavailable):
            store.current()

    @pytest.mark.parametrize("said", ["gen-0404\n", "../../elsewhere", "\x00\xff", "gen-0001/segments"])
    def test_a_pointer_to_nowhere_is_unavailable_and_a_rebuild_mends_it(self, folder: Path, said: str) -> None:
        store = fill(folder)
        (folder / "CURRENT").write_text(said, encoding="latin-1")
        with pytest.raises(IndexUnavailable) as broken:
            store.current()
        assert broken.value.hint == "tht index rebuild"
        fill(folder, "new")
        assert refs(store) == ["new"]

    def test_an_empty_pointer_is_none(self, folder: Path) -> None:
        store = fill(folder)
        (folder / "CURRENT").write_bytes(b"")
        assert store.current() is None

    def test_no_engine_is_unavailable_and_removes_nothing(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        store = fill(folder)
        (folder / "gen-0009").mkdir()
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "qdrant_edge", None)
            for use in (store.current, lambda: store.begin(4)):
                with pytest.raises(IndexUnavailable, match="not installed"):
                    use()
            assert (folder / "gen-0009").exists()
        assert refs(store) == ["old"]

    def test_a_folder_that_cannot_be_made_is_unavailable(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("in the way")
        with pytest.raises(IndexUnavailable):
            EdgeStore(tmp_path / "file" / "index").begin(4)


class TestFolder:
    @pytest.mark.posix
    @pytest.mark.skipif(sys.platform == "win32", reason="file modes")
    def test_only_the_owner_gets_in(self, folder: Path) -> None:
        store = fill(folder)
        assert store.describe()["current"] == "gen-0001"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert (folder / "gen-0001").stat().st_mode & 0o777 == 0o700
        assert (folder / "CURRENT").stat().st_mode & 0o777 == 0o600

    def test_an_index_of_another_store_is_refused(self, folder: Path, tmp_path: Path) -> None:
        store = fill(folder)
        other: VectorIndex = EdgeStore(tmp_path / "other").begin(4)
        with other, pytest.raises(Exception, match="not from this store"):
            store.swap(other)

    def test_looking_does_not_import_the_engine(self, folder: Path) -> None:
        fill(folder)
        looked = run(folder, "store.describe(); print('qdrant_edge' in sys.modules, 'numpy' in sys.modules)")
        assert looked.stdout == "False False\n", looked.stderr
