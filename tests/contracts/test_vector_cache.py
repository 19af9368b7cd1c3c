"""The embedding cache: embeds nothing twice, and never stands between a question and its answer."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from array import array
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.hash_embedder import HashEmbedder
from adapters.vector_cache import CachedEmbedder
from domain.errors import ModelUnavailable
from projections.index.port import Fingerprint

ROOT = Path(__file__).parents[2]
TEXTS = ["owl", "moon", "Ωμέγα", "", "owl"]


class Counting(HashEmbedder):
    """Remembers which texts it was asked to embed; stands in for a model that is away when `away` is set."""

    def __init__(self, dimension: int = 16) -> None:
        super().__init__(dimension)
        self.asked: list[str] = []
        self.away = False

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        if self.away:
            raise ModelUnavailable("away")
        self.asked += texts
        return super().embed_documents(texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "vectors.sqlite3"


def expected(texts: Sequence[str], dimension: int = 16) -> list[list[float]]:
    return [array("f", vector).tolist() for vector in HashEmbedder(dimension).embed_documents(texts)]


def used(path: Path, texts: Sequence[str] = TEXTS) -> CachedEmbedder:
    cached = CachedEmbedder(Counting(), path)
    assert cached.embed_documents(texts) == expected(texts)
    return cached


def test_the_second_time_nothing_is_embedded_also_in_another_process(path: Path) -> None:
    first = used(path)
    assert (first.misses, first.hits) == (4, 1)  # the second owl is a hit
    assert first.embed_documents(TEXTS) == expected(TEXTS)
    assert (first.misses, first.hits) == (4, 6)
    first.close()
    inner = Counting()
    inner.away = True  # what is known is answered without the model
    second = CachedEmbedder(inner, path)
    assert second.embed_documents(TEXTS) == expected(TEXTS)
    assert (second.misses, second.hits, second.notice) == (0, 5, None)


def test_only_what_is_new_is_embedded_and_the_order_kept(path: Path) -> None:
    used(path, ["b", "d"]).close()
    inner = Counting()
    cached = CachedEmbedder(inner, path)
    assert cached.embed_documents(["a", "b", "c", "d", "a"]) == expected(["a", "b", "c", "d", "a"])
    assert inner.asked == ["a", "c"]


def test_another_fingerprint_is_another_vector(path: Path) -> None:
    used(path).close()
    other = CachedEmbedder(Counting(32), path)
    assert other.embed_documents(["owl"]) == expected(["owl"], 32)
    assert other.misses == 1


def test_queries_pieces_and_fingerprint_are_those_of_the_embedder(path: Path) -> None:
    cached = CachedEmbedder(Counting(), path)
    assert cached.embed_query("owl") == Counting().embed_query("owl")
    assert cached.chunks("owl " * 100) == Counting().chunks("owl " * 100)
    assert cached.fingerprint == Counting().fingerprint
    assert not path.exists()
    assert (cached.hits, cached.misses) == (0, 0)


def test_what_was_embedded_before_the_model_failed_is_kept(path: Path) -> None:
    class Failing(Counting):
        def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
            self.away = len(self.asked) >= 100
            return super().embed_documents(texts)

    texts = [f"text {n}" for n in range(200)]
    with pytest.raises(ModelUnavailable):
        CachedEmbedder(Failing(), path).embed_documents(texts)
    again = used(path, texts)
    assert again.hits == 128


def test_a_model_that_is_away_is_no_fault_of_the_cache(path: Path) -> None:
    inner = Counting()
    inner.away = True
    cached = CachedEmbedder(inner, path)
    with pytest.raises(ModelUnavailable):
        cached.embed_documents(["owl"])
    assert cached.notice is None


@pytest.mark.parametrize("damage", ["garbage", "truncated", "page", "other table"])
def test_a_damaged_file_is_started_anew_with_a_notice(path: Path, damage: str) -> None:
    texts = [f"text {n}" for n in range(300)]
    used(path, texts).close()
    if damage == "other table":
        path.unlink()
        with sqlite3.connect(path) as other:
            other.execute("CREATE TABLE vector (something)")
        other.close()
    else:
        size = path.stat().st_size
        with path.open("r+b") as file:
            file.truncate(700 if damage == "truncated" else size)
            file.seek(4096 if damage == "page" else 0)
            file.write(b"\xa5" * (size - 4096 if damage == "page" else 600))
    cached = used(path, texts)
    assert cached.notice is not None
    assert "started anew" in cached.notice
    cached.close()
    again = used(path, texts)
    assert (again.misses, again.notice) == (0, None)


def test_a_vector_that_rotted_is_embedded_again(path: Path) -> None:
    used(path).close()
    with sqlite3.connect(path) as other:
        other.execute("UPDATE vector SET vector = zeroblob(64)")
    other.close()
    assert used(path).misses == 4


def test_a_vector_that_stands_in_anothers_row_is_not_taken(path: Path) -> None:
    """Also when its own checksum came along."""
    used(path, ["owl", "moon"]).close()
    with sqlite3.connect(path) as other:
        (one, *first), (two, *second) = other.execute("SELECT text_sha256, vector, crc32 FROM vector").fetchall()
        assert first != second
        for key, content in ((one, second), (two, first)):
            other.execute("UPDATE vector SET (vector, crc32) = (?, ?) WHERE text_sha256 = ?", (*content, key))
    other.close()
    assert used(path, ["owl", "moon"]).misses == 2


def test_a_vector_of_another_model_is_not_taken_for_ones_own(path: Path) -> None:
    class Other(Counting):
        @property
        def fingerprint(self) -> Fingerprint:
            return replace(super().fingerprint, model="other")

    used(path, ["owl"]).close()
    with sqlite3.connect(path) as other:
        other.execute("UPDATE vector SET fingerprint = ?", (Other().fingerprint.key,))
    other.close()
    cached = CachedEmbedder(Other(), path)
    cached.embed_documents(["owl"])
    assert cached.misses == 1
    cached.close()


def test_a_cache_that_cannot_be_made_is_not_used_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cached = used(tmp_path / "file" / "vectors.sqlite3")
    assert cached.notice is not None
    assert "not used" in cached.notice


def test_a_cache_that_cannot_be_written_is_not_used_and_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used(path, ["owl"]).close()
    connect = sqlite3.connect

    def read_only(file: Path, *, timeout: float, isolation_level: None, check_same_thread: bool) -> sqlite3.Connection:
        return connect(
            f"{file.as_uri()}?mode=ro",
            timeout,
            isolation_level=isolation_level,
            check_same_thread=check_same_thread,
            uri=True,
        )

    monkeypatch.setattr("adapters.vector_cache.sqlite3.connect", read_only)
    cached = used(path)
    assert cached.notice is not None
    assert "not used" in cached.notice
    assert used(path).misses >= 3


@pytest.mark.posix
@pytest.mark.skipif(sys.platform == "win32", reason="file modes")
def test_only_the_owner_reads_it(path: Path) -> None:
    cached = used(path)
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
    cached.close()


def test_clear_forgets_and_leaves_no_trace_in_the_file(path: Path) -> None:
    cached = used(path, ["the secret"])
    blob = array("f", expected(["the secret"])[0]).tobytes()
    assert any(blob in file.read_bytes() for file in path.parent.iterdir())
    cached.clear()
    assert not any(blob in file.read_bytes() for file in path.parent.iterdir())
    cached.close()
    assert used(path, ["the secret"]).misses == 1


def test_a_new_cache_that_another_process_is_just_writing_is_waited_for(path: Path) -> None:
    """SQLite itself refuses to switch such a file to WAL at once, whatever its time-out."""
    path.parent.mkdir(parents=True)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE something (x)")
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(0.2, lambda: other.execute("COMMIT"))
    release.start()
    cached = used(path)
    release.join()
    other.close()
    assert cached.notice is None


def test_processes_that_open_a_new_cache_at_once_all_answer(path: Path) -> None:
    script = """
import sys
from pathlib import Path
from adapters.hash_embedder import HashEmbedder
from adapters.vector_cache import CachedEmbedder
cached = CachedEmbedder(HashEmbedder(16), Path(sys.argv[1]))
sys.stdin.read()
cached.embed_documents([f"text {n}" for n in range(100)])
print(cached.notice)
"""
    command = [sys.executable, "-c", script, str(path)]
    processes = [subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, stderr=-1, text=True) for _ in range(6)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    answers = [process.communicate(timeout=60) for process in processes]
    assert answers == [("None\n", "")] * 6
