"""A move of the ledger that is stopped or killed anywhere, and what others do meanwhile: the same command ends it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters import ledger_batches, ledger_copy
from adapters.backup import write_backup
from adapters.facts import Facts
from adapters.health import Health
from adapters.ledger_copy import copy_ledger_to
from adapters.postgres import PostgresRecorder
from adapters.recorder import Recorder
from adapters.restore import restore_backup
from adapters.sqlite import has_moved
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import InvalidInput, LedgerDamaged, LedgerMoved, LedgerUnavailable, LostRace, Refused
from domain.propose import NewFact
from tests.crash.faults import Acknowledge, run_child
from tests.crash.soundness import CODER, assert_goes_on, assert_sound, open_home, open_session, standing
from tests.environment.command import tht, worked
from tests.postgres import connect
from tests.server.test_copy import home, workspace

__all__ = ["home", "workspace"]  # fixtures


@pytest.mark.parametrize("to", ["", " ", "postgres:/x", "postgresql//host/x", "~nobody-here/x", "a-file"])
def test_what_is_neither_a_database_nor_a_folder_is_told(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    copy_ledger_to(workspace, database, move=True)
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    before = sorted(tmp_path.iterdir())
    with open_workspace(workspace.paths.folder.parent, "default") as there, pytest.raises(InvalidInput):
        copy_ledger_to(there, to, move=True)
    assert sorted(tmp_path.iterdir()) == before


def test_a_home_that_was_left_behind_reads_on_and_each_command_says_where_the_ledger_is(
    workspace: Workspace, database: str, tmp_path: Path
) -> None:
    Facts(workspace).propose("ops", NewFact("The room is cold", "room", CODER.actor), CODER)
    copy_ledger_to(workspace, database, move=True)
    given = ("--home", str(workspace.paths.folder.parent))
    assert "has moved" not in worked(tht(*given, "registry", "list")).err
    with open_workspace(workspace.paths.folder.parent, "default") as there:
        copy_ledger_to(there, str(tmp_path / "back"), move=True)
    for command in (
        ["registry", "list"],
        ["ledger", "verify"],
        ["session", "list", "--json"],
        ["memory", "search", "ablation", "--mode", "keyword"],
        ["fact", "search", "cold", "--mode", "keyword", "--json"],
        ["preamble", "how cold is the room", "--actor", "agent:coder-1"],
    ):
        said = worked(tht(*given, *command))
        assert f"this ledger has moved to {tmp_path / 'back'}" in said.err
        assert "has moved" not in worked(tht(*given, *command, "--quiet")).err
    found = worked(tht(*given, "memory", "search", "ablation", "--mode", "keyword", "--json")).json
    assert found["hits"]
    assert "what was shown is not in the audit" in found["notice"]
    assert "has moved" not in worked(tht("--home", str(tmp_path / "back"), "registry", "list")).err
    joining = tht("--home", str(tmp_path / "late"), "init", "--ledger-url", database)
    assert f"this ledger has moved to {tmp_path / 'back'}" in worked(joining).err
    with open_workspace(tmp_path / "late", "default") as late, pytest.raises(LedgerMoved):
        copy_ledger_to(late, str(tmp_path / "another"))
    assert not (tmp_path / "another").exists()


def test_a_restore_into_a_damaged_ledger_does_not_say_that_all_is_there(
    workspace: Workspace, database: str, tmp_path: Path
) -> None:
    copy_ledger_to(workspace, database, move=True)
    folder = workspace.paths.folder
    with open_workspace(folder.parent, "default") as there:
        write_backup(there, tmp_path / "b.zip")
    assert restore_backup(tmp_path / "b.zip", folder).appended == 0
    with connect(database) as db:
        db.execute("ALTER TABLE tht_default.events DISABLE TRIGGER events_stay")
        db.execute("UPDATE tht_default.events SET state = state || ' '::bytea WHERE position = 2")
        db.execute("ALTER TABLE tht_default.events ENABLE ALWAYS TRIGGER events_stay")
    with pytest.raises(LedgerDamaged, match="position 2"):
        restore_backup(tmp_path / "b.zip", folder)


def stopped(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["_go_over", "sound"])
def test_a_move_to_a_server_that_was_stopped_goes_on_though_others_write_there(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Stopped before this home has gone over, when the file is closed already or not yet; and others have joined it."""
    home = workspace.paths.folder.parent
    with monkeypatch.context() as patched:
        checked: list[Recorder] = []

        def sound(recorder: Recorder) -> None:
            checked.append(recorder)
            if len(checked) == 2:
                raise KeyboardInterrupt

        patched.setattr(ledger_copy, *(("_go_over", stopped) if step == "_go_over" else ("require_sound", sound)))
        with pytest.raises(KeyboardInterrupt):
            copy_ledger_to(workspace, database, move=True)
    assert bool(workspace.ledger.recorder.moved_to()) == (step == "_go_over")
    with create_workspace(tmp_path / "joined", "default", settings={"ledger.url": database}) as joined:
        open_session(joined, "s9", ["written there"])
        promise = standing(joined)
    done = copy_ledger_to(workspace, database, move=True)
    assert done.moved
    with open_workspace(home, "default") as there:
        assert there.ledger.recorder.engine == "PostgreSQL"
        assert_sound(there, [promise])
        assert_goes_on(there)
    assert not (home / "default" / "ledger.sqlite3").exists()


def test_a_move_to_a_server_that_was_stopped_ends_though_the_ledger_has_gone_on_from_there(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ledger_copy, "_go_over", stopped)
        with pytest.raises(KeyboardInterrupt):
            copy_ledger_to(workspace, database, move=True)
    with create_workspace(tmp_path / "joined", "default", settings={"ledger.url": database}) as joined:
        copy_ledger_to(joined, str(tmp_path / "third"), move=True)
    copy_ledger_to(workspace, database, move=True)
    with open_workspace(workspace.paths.folder.parent, "default") as there:
        assert Health(there).status().moved_to == str(tmp_path / "third" / "default" / "ledger.sqlite3")


@pytest.mark.parametrize("step", ["Copied", "_require_arrived"])
def test_a_move_into_a_home_that_was_stopped_goes_on_though_others_write_there(
    node: Callable[[str], Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    one = node("one")
    open_session(one, "s1", ["ablation"])
    with monkeypatch.context() as patched:
        patched.setattr(ledger_copy, step, stopped)
        with pytest.raises(KeyboardInterrupt):
            copy_ledger_to(one, str(tmp_path / "third"), move=True)
    assert bool(one.ledger.recorder.moved_to()) == (step == "Copied")
    with open_workspace(tmp_path / "third", "default") as third:
        open_session(third, "s9", ["written there"])
        promise = standing(third)
    assert copy_ledger_to(one, str(tmp_path / "third"), move=True).moved
    assert one.ledger.recorder.moved_to() == str(tmp_path / "third" / "default" / "ledger.sqlite3")
    with open_workspace(tmp_path / "third", "default") as third:
        assert_sound(third, [promise])
        assert_goes_on(third)


def test_a_move_that_hangs_is_found_and_ended_as_the_manual_says(
    node: Callable[[str], Workspace], database: str, tmp_path: Path
) -> None:
    manual = (Path(__file__).resolve().parents[2] / "docs" / "postgres.md").read_text(encoding="utf-8")
    find, end = manual.split("```sql\n")[1].split("```")[0].strip().removesuffix(";").split(";\n")
    one = node("one")
    open_session(one, "s1", ["ablation"])
    ended: list[int] = []

    def meanwhile(done: int, total: int) -> None:
        with connect(database) as db:
            found = [row[0] for row in db.execute(find).fetchall()]
            if not ended:
                assert len(found) == 1
                assert db.execute(end.replace("PID", str(found[0]))).fetchone() == (True,)
                ended.extend(found)

    with pytest.raises(LedgerUnavailable):
        copy_ledger_to(one, str(tmp_path / "third"), move=True, progress=meanwhile)
    assert ended
    assert one.ledger.recorder.moved_to() == ""
    assert_goes_on(one)
    assert copy_ledger_to(one, str(tmp_path / "third"), move=True).moved


def test_who_writes_into_the_target_between_two_batches_is_no_traceback(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stopped move adds what was recorded since; another home that has joined there meanwhile writes into it."""
    monkeypatch.setattr(ledger_batches, "PAGE", 3)
    copy_ledger_to(workspace, database)
    open_session(workspace, "s9", ["recorded", "since", "then"])
    with create_workspace(tmp_path / "joined", "default", settings={"ledger.url": database}) as joined:

        def meanwhile(done: int, total: int) -> None:
            if done < total:
                open_session(joined, "s10", [])

        with pytest.raises(LostRace, match="meanwhile; the ledger here stays open"):
            copy_ledger_to(workspace, database, move=True, progress=meanwhile)
    assert workspace.ledger.recorder.moved_to() == ""
    assert_goes_on(workspace)


def test_who_writes_during_a_restore_on_the_server_is_no_traceback(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_batches, "PAGE", 3)
    copy_ledger_to(workspace, database)
    open_session(workspace, "s9", ["recorded", "since", "then"])
    write_backup(workspace, tmp_path / "backup.zip")
    with create_workspace(tmp_path / "joined", "default", settings={"ledger.url": database}) as joined:
        real: Callable[..., None] = PostgresRecorder.insert_chained

        def and_another(self: PostgresRecorder, *given: Any) -> None:
            real(self, *given)
            monkeypatch.undo()
            open_session(joined, "s10", [])

        monkeypatch.setattr(PostgresRecorder, "insert_chained", and_another)
        with pytest.raises(LostRace, match="something was recorded during the restore"):
            restore_backup(tmp_path / "backup.zip", joined.paths.folder)
        assert list(joined.ledger.find_damage()) == []
        assert_goes_on(joined)


def move(home: Path, acknowledge: Acknowledge) -> None:
    """What the children of the test below do."""
    with open_home(home) as workspace:
        if workspace.ledger.recorder.engine == "SQLite":
            copy_ledger_to(workspace, (home.parent / "target").read_text(), move=True)
    with open_home(home) as workspace:
        acknowledge(standing(workspace))


@pytest.mark.posix
def test_a_move_that_is_killed_anywhere_goes_on_when_it_is_given_again(
    home: Path, database: str, tmp_path: Path
) -> None:
    """Killed at each of its writes on this side, one after the other, on the same home, until it is done."""
    (tmp_path / "target").write_text(database)
    with open_home(home) as workspace:
        promise = standing(workspace)
    killed = 0
    for fatal in range(1, 200, 1 if os.environ.get("CRASH_EVERY_STEP") else 3):
        code = run_child(move, home, fatal=fatal, acks=tmp_path / f"acks-{fatal}")
        assert code in (0, -9)
        with open_home(home) as workspace:
            assert standing(workspace) == promise
            assert list(workspace.ledger.find_damage()) == []
        if code == 0:
            break
        killed += 1
    assert killed > 4
    with open_home(home) as workspace:
        assert workspace.ledger.recorder.engine == "PostgreSQL"
        assert_sound(workspace, [promise])
        assert_goes_on(workspace)
    file = home / "default" / "ledger.sqlite3"
    assert not file.exists() or has_moved(file)


def move_back(home: Path, acknowledge: Acknowledge) -> None:
    """What the children of the test below do."""
    with open_home(home) as workspace:
        copy_ledger_to(workspace, str(home.parent / "back"), move=True)
    with open_home(home.parent / "back") as workspace:
        acknowledge(standing(workspace))


@pytest.mark.posix
def test_a_move_into_a_home_that_is_killed_anywhere_goes_on_when_it_is_given_again(
    home: Path, database: str, tmp_path: Path
) -> None:
    """Killed later each time, and from where something is there at every step. At no moment is the ledger closed, and
    not sound and open in the other home."""
    with open_home(home) as workspace:
        promise = standing(workspace)
        copy_ledger_to(workspace, database, move=True)
    every = os.environ.get("CRASH_EVERY_STEP")
    back = tmp_path / "back" / "default" / "ledger.sqlite3"
    fatal, code = 1, -9
    seen: set[tuple[bool, bool]] = set()  # what was there after a kill: the copy; and whether the ledger was closed
    while code != 0:
        code = run_child(move_back, home, fatal=fatal, acks=tmp_path / f"acks-{fatal}")
        assert code in (0, -9)
        with open_home(home) as left:
            assert standing(left) == promise
            assert list(left.ledger.find_damage()) == []
            closed = bool(left.ledger.recorder.moved_to())
        seen.add((back.exists(), closed))
        if back.exists():
            assert_arrived_when_given_again(home, promise, was_closed=closed)
            start_over(database, tmp_path / "back")
        fatal += 1 if every else 2 if len(seen) > 1 else 25
        assert fatal < 400
    assert seen == {(False, False), (True, False), (True, True)}


def assert_arrived_when_given_again(home: Path, promise: tuple[int, str], *, was_closed: bool) -> None:
    if was_closed:  # whoever looks finds it there, and may write
        with open_home(home.parent / "back") as there:
            assert_sound(there, [promise])
    with open_home(home) as left:
        done = copy_ledger_to(left, str(home.parent / "back"), move=True)
        assert (done.head.position, done.head.chain) == promise
        with pytest.raises(Refused, match="has moved to"):
            open_session(left, "late", [])
    with open_home(home.parent / "back") as there:
        assert_sound(there, [promise])
        assert_goes_on(there)


def start_over(database: str, back: Path) -> None:
    """As if nothing had been moved."""
    with connect(database) as db:
        db.execute("DROP TRIGGER events_moved ON tht_default.events")
        db.execute("DROP FUNCTION tht_default.moved()")
    shutil.rmtree(back)
