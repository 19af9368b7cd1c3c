"""An older ledger under newer views, a ledger of somebody else, a clock that goes back: named, and mended."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from platformdirs import user_data_path

from adapters.backup import write_backup
from adapters.doctor import Doctor
from adapters.health import Health
from adapters.indexing import Indexing
from adapters.ledger import Draft
from adapters.restore import restore_backup
from adapters.sessions import Sessions
from adapters.workspace import Workspace, open_workspace
from domain.errors import LongerHistory, OtherHistory
from domain.session_events import SessionOpened
from projections.scope import Reader
from tests.crash.soundness import (
    CODER,
    assert_goes_on,
    assert_index_follows,
    assert_sound,
    clarification,
    make_home,
    open_home,
    open_session,
    promote_all,
    standing,
)
from tests.environment.command import tht, worked

ROOT = Path(__file__).resolve().parents[2]


def furnished(home: Path) -> Path:
    make_home(home)
    with open_home(home) as workspace:
        open_session(workspace, "s1", ["ablation", "cardioversion"])
        promote_all(workspace, "s1")
        Indexing(workspace).rebuild()
    return home


def copy_of_ledger(home: Path, target: Path) -> None:
    with (
        closing(sqlite3.connect(home / "default" / "ledger.sqlite3")) as source,
        closing(sqlite3.connect(target)) as to,
    ):
        source.backup(to)


def put_back(kept: Path, home: Path) -> None:
    """As somebody does with a file from a backup of the disk: this file, and nothing of the write-ahead log."""
    folder = home / "default"
    for old in folder.glob("ledger.sqlite3*"):
        old.unlink()
    shutil.copy(kept, folder / "ledger.sqlite3")


@pytest.mark.parametrize("goes_on", [False, True], ids=["shorter", "another history of the same length"])
def test_an_older_ledger_under_newer_views_is_refused_and_a_rebuild_mends_it(tmp_path: Path, goes_on: bool) -> None:
    home = furnished(tmp_path / "home")
    copy_of_ledger(home, tmp_path / "kept")
    with open_home(home) as workspace:
        open_session(workspace, "s2", ["recurrence"])
        promote_all(workspace, "s2")
        workspace.caught_up()
        Indexing(workspace).catch_up()
        ahead = standing(workspace)
    put_back(tmp_path / "kept", home)
    if goes_on:
        with open_home(home) as workspace:
            for number in range(ahead[0] - standing(workspace)[0]):
                open_past_the_commands(workspace, f"x{number}")
            assert standing(workspace)[0] == ahead[0]
    given = ("--home", str(home))
    refused = tht(*given, "registry", "list")
    assert refused.code == 1
    assert "tht projection rebuild" in refused.err
    found = tht(*given, "verify")
    assert found.code == 1
    assert "tht projection rebuild" in found.out
    assert "tht index rebuild" in found.out
    worked(tht(*given, "ledger", "verify"))
    worked(tht(*given, "projection", "rebuild"))
    worked(tht(*given, "index", "rebuild"))
    worked(tht(*given, "verify"))
    kept = f"{ahead[0]}:{ahead[1]}"
    lost = tht(*given, "ledger", "verify", "--head", kept)
    assert lost.code == 1
    assert ("rewrite" if goes_on else "cut tail") in lost.out
    with open_home(home) as workspace:
        assert_sound(workspace)
        assert_goes_on(workspace)
        assert_index_follows(workspace)


def open_past_the_commands(workspace: Workspace, session_id: str) -> None:
    stream = f"session/{session_id}"

    def work(draft: Draft) -> None:
        draft.load(stream)
        draft.append(stream, (SessionOpened(session_id=session_id, question="another history"),))

    workspace.ledger.transact(work, CODER, ("forced", session_id))


def test_a_ledger_of_another_home_is_refused_in_every_command(tmp_path: Path) -> None:
    home, other = furnished(tmp_path / "home"), furnished(tmp_path / "other")
    copy_of_ledger(other, tmp_path / "kept")
    put_back(tmp_path / "kept", home)
    for command in (["registry", "list"], ["status"], ["session", "open", "s9", "--question", "why?"], ["verify"]):
        ran = tht("--home", str(home), *command)
        assert ran.code == 1, ran
        assert "belongs to ledger" in ran.err
    with pytest.raises(OtherHistory):
        open_home(home)


def test_a_restore_never_replaces_a_longer_history(tmp_path: Path) -> None:
    """S-50."""
    home = furnished(tmp_path / "home")
    with open_home(home) as workspace:
        write_backup(workspace, tmp_path / "b.zip")
        Sessions(workspace).open("later", "what came after?", CODER)
        promise = standing(workspace)
    with pytest.raises(LongerHistory):
        restore_backup(tmp_path / "b.zip", home / "default")
    with open_home(home) as workspace:
        assert_sound(workspace, [promise])


def test_a_home_is_by_default_where_the_system_keeps_user_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-50: neither in the package, which an upgrade replaces, nor in a temporary folder."""
    monkeypatch.delenv("THT_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "ada" / "share"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "ada" / "local"))
    expected = user_data_path("tht")
    worked(tht("init"))
    assert (expected / "default" / "config.toml").exists()
    assert not expected.is_relative_to(ROOT)
    monkeypatch.undo()
    default = user_data_path("tht")
    assert not default.is_relative_to(ROOT)
    assert not default.is_relative_to(tempfile.gettempdir())


def backwards() -> Callable[[], datetime]:
    """A clock that goes back every third time that it is read, over the end of a year."""
    readings = iter(range(10_000))
    start = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    return lambda: start + timedelta(minutes=10 * (n := next(readings)) - 90 * (n // 3))


def test_a_clock_that_goes_back_changes_no_order_and_no_chain(tmp_path: Path) -> None:
    home = make_home(tmp_path / "home")
    with open_workspace(home, "default", backwards()) as workspace:
        sessions = Sessions(workspace)
        for number in range(6):
            sessions.open(f"s{number}", "when?", CODER)
            sessions.record(f"s{number}", clarification(f"concept {number}"), CODER)
            sessions.enter(f"s{number}", "F8", CODER)
            promote_all(workspace, f"s{number}")
        times = [envelope.at for envelope in workspace.ledger.page(0)]
        assert times != sorted(times)
        assert_sound(workspace)
        Indexing(workspace).rebuild()
        assert Health(workspace).verify().ok
        assert_goes_on(workspace)
        checks = {one.name: one for one in Doctor(workspace, os.environ, Reader("human:ada")).checks()}
    assert checks["clock"].state in ("ok", "warn")
    with open_workspace(home, "default", lambda: datetime(1999, 1, 1, tzinfo=UTC)) as workspace:
        checks = {one.name: one for one in Doctor(workspace, os.environ, Reader("human:ada")).checks()}
        assert checks["clock"].state == "warn"
        assert "1999" in checks["clock"].what
        assert "set the clock" in checks["clock"].mend
        assert_goes_on(workspace)
        assert_sound(workspace)
