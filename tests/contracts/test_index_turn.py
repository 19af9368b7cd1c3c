"""The turn to write into a shared index: one process at a time, and free again when its holder dies."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from adapters.index_turn import FileTurn, IndexTurn, PostgresTurn
from domain.errors import IndexBusy, IndexNotWritable
from tests.postgres import connect, cut_turns, new_database

ROOT = Path(__file__).parents[2]
HOLD = """
import sys
from pathlib import Path
from adapters.index_turn import FileTurn, PostgresTurn
kind, *where = sys.argv[1:]
turn = FileTurn(Path(where[0])) if kind == "file" else PostgresTurn(*where)
with turn.taken(5.0):
    print("ready", flush=True)
    sys.stdin.readline()
"""
Make = Callable[[str], tuple[IndexTurn, list[str]]]


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    with new_database(postgres) as url:
        yield url


@pytest.fixture(params=["file", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """`make("a")`: the turn of that name, and how another process gets it."""
    if request.param == "file":
        return lambda name: (FileTurn(tmp_path / name), ["file", str(tmp_path / name)])
    url = request.getfixturevalue("database")
    return lambda name: (PostgresTurn(url, name), ["postgres", url, name])


@contextmanager
def another_process(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Has the turn until it is sent a line, or its standard input is closed."""
    command = [sys.executable, "-c", HOLD, *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.communicate(timeout=60)


def test_the_second_is_refused_and_told_what_to_do(make: Make) -> None:
    turn, arguments = make("a")
    begun = time.monotonic()
    with another_process(arguments), pytest.raises(IndexBusy, match="another process") as busy, turn.taken(0.0):
        pass
    assert time.monotonic() - begun < 30
    assert "try again" in busy.value.hint
    with turn.taken(0.0) as still:
        still()


def test_the_second_gets_it_when_the_first_is_done_in_time(make: Make) -> None:
    turn, arguments = make("a")
    with another_process(arguments) as other:
        threading.Timer(0.5, lambda: print(file=other.stdin, flush=True)).start()
        with turn.taken(60.0) as still:
            still()
        other.wait(60)


@pytest.mark.posix
def test_a_killed_holder_has_it_no_more(make: Make) -> None:
    turn, arguments = make("a")
    with another_process(arguments) as other:
        other.kill()
        other.wait(60)
        with turn.taken(10.0) as still:  # the server sees the end of the session a moment later
            still()


def test_two_threads_of_one_process_are_two(make: Make) -> None:
    (turn, _), (same, _) = make("a"), make("a")
    with turn.taken(0.0), pytest.raises(IndexBusy), same.taken(0.0):
        pass


def test_the_turns_of_two_workspaces_are_two(make: Make) -> None:
    (one, _), (other, _) = make("a"), make("b")
    with one.taken(0.0), other.taken(0.0) as still:
        still()


def test_it_is_given_back_when_what_is_done_in_it_fails(make: Make) -> None:
    turn, _ = make("a")
    with pytest.raises(ZeroDivisionError), turn.taken(0.0):
        raise ZeroDivisionError
    with turn.taken(0.0):
        pass


# -- PostgreSQL --------------------------------------------------------------------------------------------------------


def test_who_is_refused_is_told_who_has_it(database: str) -> None:
    turn = PostgresTurn(database, "a")
    with turn.taken(0.0), pytest.raises(IndexBusy) as busy, PostgresTurn(database, "a").taken(0.0):
        pass
    assert f"process {os.getpid()} on {socket.gethostname()[:40]}" in busy.value.message


def test_whose_connection_is_cut_finds_out_before_it_writes_and_another_takes_over(database: str) -> None:
    with PostgresTurn(database, "a").taken(0.0) as still:
        still()
        assert cut_turns(database) == 1
        with PostgresTurn(database, "a").taken(10.0) as others:
            with pytest.raises(IndexNotWritable, match="is lost"):
                still()
            others()


def test_a_lock_that_its_session_has_not_is_no_turn(database: str) -> None:
    """As through a pooler that gives each transaction another session."""
    with PostgresTurn(database, "a").taken(0.0) as still:
        with connect(database) as db:
            assert db.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'").fetchone() == (1,)
        assert isinstance(still, partial)  # of the connection that has the lock
        (connection,) = still.args
        connection.execute("SELECT pg_advisory_unlock_all()")
        with pytest.raises(IndexNotWritable, match="session mode"):
            still()


def test_without_a_server_there_is_no_turn_and_nobody_is_said_to_have_it() -> None:
    with (
        pytest.raises(IndexNotWritable, match="no connection for the lock"),
        PostgresTurn("postgresql://tht@127.0.0.1:9/none", "a").taken(0.0),
    ):
        pass


def test_a_login_that_is_refused_is_no_other_process(database: str) -> None:
    from psycopg.conninfo import make_conninfo

    stranger = PostgresTurn(make_conninfo(database, user="nobody_here"), "a")
    with pytest.raises(IndexNotWritable, match="nobody_here"), stranger.taken(0.0):
        pass


# -- a lock file -------------------------------------------------------------------------------------------------------


def test_a_lock_file_that_cannot_be_made_is_no_other_process(tmp_path: Path) -> None:
    with pytest.raises(IndexNotWritable, match="cannot be made") as refused, FileTurn(tmp_path / "no" / "a").taken(0.0):
        pass
    assert "permissions" in refused.value.hint


@pytest.mark.posix
def test_a_file_system_without_locks_is_no_other_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("portalocker.portalocker.LOCKER", refuse)
    with pytest.raises(IndexNotWritable, match="cannot be locked") as refused, FileTurn(tmp_path / "a").taken(30.0):
        pass
    assert "a disk of this machine" in refused.value.hint
