"""A new version of a view is filled by another process while this one reads the old: whole at every look, or gone."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from adapters.ledger import Ledger
from projections.loop import catch_up
from tests.conftest import ROOT
from tests.projections.ledgers import Lines, Lines2, fill, new_ledger, open_views, positions, rows, tables_of
from tests.projections.rebuilding import EVENTS, PATIENCE

OLD, NEW = "lines_v1_rows", "lines_v2_rows"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Its old view is at the head."""
    with new_ledger(tmp_path / "ledger") as made:
        fill(made, EVENTS)
        old = open_views(made, tmp_path / "views.sqlite3", Lines())
        catch_up(made, old)
        old.close()
        yield made


@contextmanager
def halfway(folder: Path, how: str) -> Iterator[subprocess.Popen[bytes]]:
    """The other process, in the middle of its work."""
    command = [sys.executable, "-m", "tests.projections.rebuilding", str(folder), how]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE) as other:
        try:
            until = time.monotonic() + PATIENCE
            while not (folder / "half").exists():
                assert other.poll() is None, other.stderr.read().decode() if other.stderr else ""
                assert time.monotonic() < until
                time.sleep(0.01)
            yield other
        finally:
            with suppress(ProcessLookupError):
                other.kill()


def looks(reader: sqlite3.Connection) -> tuple[int | None, int | None]:
    """How many rows the old and the new version have in one moment; None for one that is not there."""
    reader.execute("BEGIN")
    try:
        there = {row[0] for row in reader.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        old, new = (
            reader.execute(f"SELECT count(*) FROM {one}").fetchone()[0] if one in there else None for one in (OLD, NEW)
        )
        return old, new
    finally:
        reader.execute("ROLLBACK")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with sqlite3.connect(tmp_path / "views.sqlite3", isolation_level=None) as db:
        yield db
    db.close()


def test_readers_see_the_old_view_whole_until_the_new_one_is(
    ledger: Ledger, tmp_path: Path, reader: sqlite3.Connection
) -> None:
    with halfway(tmp_path, "rebuild") as other:
        assert [looks(reader) for _ in range(50)] == [(EVENTS, 0)] * 50
        (tmp_path / "go").touch()
        seen = set()
        while other.poll() is None:
            seen.add(looks(reader))
        assert other.returncode == 0
    assert seen <= {(EVENTS, 0), (None, EVENTS)}
    assert looks(reader) == (None, EVENTS)


def test_a_reader_that_began_with_the_old_view_ends_with_it(
    ledger: Ledger, tmp_path: Path, reader: sqlite3.Connection
) -> None:
    with halfway(tmp_path, "rebuild") as other:
        reader.execute("BEGIN")
        assert reader.execute(f"SELECT count(*) FROM {OLD}").fetchone()[0] == EVENTS
        (tmp_path / "go").touch()
        assert other.wait(PATIENCE) == 0
        assert reader.execute(f"SELECT max(position) FROM {OLD}").fetchone()[0] == EVENTS
        reader.execute("ROLLBACK")
    assert looks(reader) == (None, EVENTS)


@pytest.mark.posix
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_cancelled_rebuild_leaves_the_old_view(
    ledger: Ledger, tmp_path: Path, reader: sqlite3.Connection, ending: signal.Signals
) -> None:
    """And what it left is in the way of nobody: the next one ends."""
    with halfway(tmp_path, "rebuild") as other:
        other.send_signal(ending)
        assert other.wait(PATIENCE) != 0
    assert looks(reader) == (EVENTS, 0)
    if ending == signal.SIGINT:
        assert list(tmp_path.glob("scratch*")) == []
    old = open_views(ledger, tmp_path / "views.sqlite3", Lines())
    assert (positions(old, old.views), rows(old)) == ([EVENTS], list(range(1, EVENTS + 1)))
    old.close()
    (tmp_path / "half").unlink()
    (tmp_path / "go").touch()
    with halfway(tmp_path, "rebuild") as other:
        assert other.wait(PATIENCE) == 0
    assert looks(reader) == (None, EVENTS)


def test_following_beside_the_old_view_says_how_far_it_is(
    ledger: Ledger, tmp_path: Path, reader: sqlite3.Connection
) -> None:
    """The first command of the new program catches up page by page: a page is there whole with its position, and the
    old program goes on as if it were alone."""
    with halfway(tmp_path, "follow") as other:
        beside = open_views(ledger, tmp_path / "views.sqlite3", Lines2())
        with beside.reading():
            (reached,) = positions(beside, beside.views)
            assert rows(beside, NEW) == list(range(1, reached + 1))
            assert 0 < reached < EVENTS
        old = open_views(ledger, tmp_path / "views.sqlite3", Lines())
        assert (catch_up(ledger, old), rows(old)) == (EVENTS, list(range(1, EVENTS + 1)))
        (tmp_path / "go").touch()
        assert other.wait(PATIENCE) == 0
        assert (positions(beside, beside.views), rows(beside, NEW)) == ([EVENTS], list(range(1, EVENTS + 1)))
        assert {OLD, NEW} <= tables_of(old)
        old.close()
        beside.close()
