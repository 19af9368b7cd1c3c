"""`tht ledger copy`: a workspace moves between engines, whole, verified, and over nothing that is there."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters import ledger_batches, ledger_copy
from adapters.erasing import Erasing
from adapters.health import Health
from adapters.ledger_copy import copy_ledger_to
from adapters.ledger_doctor import check_lock
from adapters.ledger_files import export_lines
from adapters.restore import restore_backup
from adapters.workspace import Workspace, open_workspace
from domain.errors import AlreadyThere, InvalidInput, LedgerDamaged, OtherHistory, Refused
from tests.cli.conftest import Tht, hash_embedder, tht
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
from tests.postgres import connect

__all__ = ["hash_embedder", "tht"]  # fixtures


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A workspace in a file, with memories, an erased one and idempotency keys."""
    made = make_home(tmp_path / "home")
    with open_home(made) as workspace:
        open_session(workspace, "s1", ["ablation", "cardioversion", "recurrence"])
        promote_all(workspace, "s1")
        Erasing(workspace).erase(("mem-0002",), ADA)
    return made


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    with open_home(home) as opened:
        yield opened


def schemas(url: str) -> list[str]:
    with connect(url) as db:
        return [row[0] for row in db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tht%'").fetchall()]


def test_there_and_back_again(workspace: Workspace, database: str, tmp_path: Path) -> None:
    told = list(export_lines(workspace.ledger))
    seals = workspace.ledger.recorder.sealed_places()
    promise = standing(workspace)
    done = copy_ledger_to(workspace, database, move=True)
    assert (done.head.position, done.head.chain) == promise
    with open_workspace(workspace.paths.folder.parent, "default") as there:
        assert there.ledger.recorder.engine == "PostgreSQL"
        assert list(export_lines(there.ledger)) == told
        assert there.ledger.recorder.sealed_places() == seals
        assert Health(there).verify().ok
        assert_sound(there, [promise])
        assert_goes_on(there)
        later = standing(there)
        told = list(export_lines(there.ledger))
        assert not Health(there).status().moved_to
        copy_ledger_to(there, str(tmp_path / "back"), move=True)
    with open_workspace(tmp_path / "back", "default") as back:
        assert back.ledger.recorder.engine == "SQLite"
        assert list(export_lines(back.ledger)) == told
        assert Health(back).verify().ok
        assert_sound(back, [promise, later])
        assert_goes_on(back)


def test_a_home_that_was_left_behind_says_where_the_ledger_has_gone(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads on as if nothing had happened, and what is recorded elsewhere is not seen. The path is told whole."""
    monkeypatch.chdir(tmp_path)
    copy_ledger_to(workspace, database, move=True)
    with open_workspace(workspace.paths.folder.parent, "default") as left:
        copy_ledger_to(left, "it's 100% back", move=True)
        kept = str(tmp_path / "it's 100% back" / "default" / "ledger.sqlite3")
        status = Health(left).status()
        assert status.moved_to == kept
        assert status.as_json()["ledger"]["moved_to"] == kept
        check = list(check_lock(left.ledger.recorder))[-1]
        assert (check.state, kept in check.what) == ("broken", True)
    with open_workspace(tmp_path / "it's 100% back", "default") as there:
        assert Health(there).status().moved_to == ""
        check = list(check_lock(there.ledger.recorder))[-1]
        assert check.state == "ok"


def test_a_closed_file_says_where_its_ledger_has_gone(workspace: Workspace, database: str) -> None:
    with open_workspace(workspace.paths.folder.parent, "default") as other:
        copy_ledger_to(workspace, database, move=True)
        assert other.ledger.recorder.moved_to().startswith("postgresql://")


def test_a_ledger_does_not_go_back_to_where_it_was_closed(workspace: Workspace, database: str, tmp_path: Path) -> None:
    """It would be closed at both ends. And what has moved on is not moved from here again, as it would be two."""
    home = workspace.paths.folder.parent
    copy_ledger_to(workspace, database, move=True)
    with open_workspace(home, "default") as there:
        copy_ledger_to(there, str(tmp_path / "back"), move=True)
        assert there.ledger.recorder.moved_to() == str(tmp_path / "back" / "default" / "ledger.sqlite3")
        report = Health(there).verify()
        assert report.ok
        assert "this ledger has moved to" in report.notes[0]
        assert [check.state for check in check_lock(there.ledger.recorder)][-1] == "broken"
        with pytest.raises(Refused, match="has moved to"):
            copy_ledger_to(there, str(tmp_path / "another"), move=True)
    with open_workspace(tmp_path / "back", "default") as back:
        with pytest.raises(Refused, match="was closed when it moved"):
            copy_ledger_to(back, database, move=True)
        assert_goes_on(back)
        with connect(database) as db:
            db.execute("DROP SCHEMA tht_default CASCADE")
        copy_ledger_to(back, database, move=True)
    with open_workspace(tmp_path / "back", "default") as again:
        assert again.ledger.recorder.engine == "PostgreSQL"
        assert_goes_on(again)


def test_a_copy_leaves_the_workspace_where_it_is(workspace: Workspace, database: str, tmp_path: Path) -> None:
    copy_ledger_to(workspace, database)
    with open_workspace(workspace.paths.folder.parent, "default") as again:
        assert again.ledger.recorder.engine == "SQLite"
        assert_goes_on(again)


def test_nothing_is_written_over(workspace: Workspace, database: str, tmp_path: Path) -> None:
    copy_ledger_to(workspace, database)
    with pytest.raises(AlreadyThere):
        copy_ledger_to(workspace, database)
    with pytest.raises(InvalidInput, match="file to file"):
        copy_ledger_to(workspace, str(tmp_path / "other"))
    copy_ledger_to(workspace, database, move=True)
    with open_workspace(workspace.paths.folder.parent, "default") as there:
        with pytest.raises(InvalidInput, match="on a server already"):
            copy_ledger_to(there, database)
        with pytest.raises(InvalidInput, match="the home that the ledger is copied from"):
            copy_ledger_to(there, str(there.paths.folder.parent))
        make_home(tmp_path / "taken")
        with open_home(tmp_path / "taken") as taken:
            open_session(taken, "s9", ["something else"])
        for move in (False, True):
            with pytest.raises((AlreadyThere, OtherHistory)):
                copy_ledger_to(there, str(tmp_path / "taken"), move=move)
        assert_goes_on(there)


def test_another_ledger_on_the_server_is_not_continued(workspace: Workspace, database: str, tmp_path: Path) -> None:
    make_home(tmp_path / "other")
    with open_home(tmp_path / "other") as other:
        open_session(other, "s9", ["something else"])
        copy_ledger_to(other, database)
    for move in (False, True):
        with pytest.raises(AlreadyThere):
            copy_ledger_to(workspace, database, move=move)
    assert_goes_on(workspace)


def test_a_damaged_ledger_is_not_copied(home: Path, workspace: Workspace, database: str) -> None:
    with sqlite3.connect(workspace.paths.ledger) as db:
        db.execute("DROP TRIGGER events_stay")
        db.execute(
            "UPDATE events SET state = CAST(replace(CAST(state AS TEXT), 'coder', 'other') AS BLOB) WHERE position = 3"
        )
    with pytest.raises(LedgerDamaged):
        copy_ledger_to(workspace, database)
    assert schemas(database) == []


def test_a_copy_that_fails_in_the_middle_leaves_nothing(
    workspace: Workspace, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_batches, "PAGE", 5)

    def stopped(done: int, total: int) -> None:
        if done > total // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_ledger_to(workspace, database, move=True, progress=stopped)
    assert schemas(database) == []
    assert_goes_on(workspace)


def test_whoever_had_the_file_open_is_told_where_the_ledger_has_gone(workspace: Workspace, database: str) -> None:
    """A process that goes on with the moved file would write what nobody reads."""
    with open_workspace(workspace.paths.folder.parent, "default") as other:
        promise = standing(other)
        copy_ledger_to(workspace, database, move=True)
        with pytest.raises(Refused, match="has moved to postgresql://"):
            open_session(other, "s9", ["too late"])
        assert standing(other) == promise
    with open_workspace(workspace.paths.folder.parent, "default") as there:
        assert standing(there) == promise


def test_a_move_waits_for_writers_and_loses_none(
    workspace: Workspace, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One writes without a pause, before and meanwhile: what was acknowledged is in the copy, all else is refused."""
    monkeypatch.setattr(ledger_batches, "PAGE", 5)
    told: list[tuple[int, str]] = []
    refused: list[str] = []
    begun, reached = threading.Event(), list[tuple[int, float]]()

    def write() -> None:
        with open_workspace(workspace.paths.folder.parent, "default") as other:
            for number in range(10_000):
                try:
                    open_session(other, f"w{number}", ["written meanwhile"])
                except Refused as error:
                    refused.append(error.message)
                    return
                told.append(standing(other))
                begun.set()

    writer = threading.Thread(target=write)

    def meanwhile(done: int, total: int) -> None:
        time.sleep(0.02)  # the writer is at it, and would get in between
        reached.append((len(told), time.monotonic()))

    writer.start()
    assert begun.wait(30)
    copy_ledger_to(workspace, database, move=True, progress=meanwhile)
    writer.join(60)
    assert not writer.is_alive()
    assert len(refused) == 1
    assert "has moved to postgresql://" in refused[0]
    assert len(reached) > 3
    assert len({count for count, _ in reached}) == 1, "nobody was acknowledged while it was copied"
    with open_workspace(workspace.paths.folder.parent, "default") as there:
        assert there.ledger.recorder.engine == "PostgreSQL"
        assert_sound(there, told)
        assert there.ledger.chain_at(told[-1][0]) == told[-1][1]


@pytest.mark.parametrize("moved", [False, True])
def test_a_home_on_the_server_gets_no_file(
    node: Callable[[str], Workspace], tmp_path: Path, database: str, moved: bool
) -> None:
    """Nothing would be made there, as that home finds the ledger on the server, which would then be closed."""
    one, other = node("one"), node("other")
    open_session(one, "s1", ["ablation"])
    with pytest.raises(Refused, match="other/default has its ledger on a server: postgresql://") as refused:
        copy_ledger_to(one, str(tmp_path / "other"), move=moved)
    assert "--to PATH" in refused.value.hint
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with pytest.raises(InvalidInput, match="the home that the ledger is copied from"):
        copy_ledger_to(one, str(tmp_path / "link"), move=moved)
    assert one.ledger.recorder.moved_to() == ""
    assert not other.paths.ledger.exists()
    assert_goes_on(one)
    assert_sound(other, [standing(one)])


def test_a_ledger_is_closed_only_when_its_copy_is_there(
    node: Callable[[str], Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = node("one")
    open_session(one, "s1", ["ablation"])
    monkeypatch.setattr(ledger_copy, "restore_backup", lambda *_, **__: None)
    for moved in (False, True):
        with pytest.raises(LedgerDamaged, match="the copy is not there"):
            copy_ledger_to(one, str(tmp_path / "third"), move=moved)

    def spoilt(path: Path, folder: Path, **given: Any) -> None:
        restore_backup(path, folder, **given)
        with sqlite3.connect(folder / "ledger.sqlite3") as db:
            db.execute("DROP TRIGGER events_last")

    monkeypatch.setattr(ledger_copy, "restore_backup", spoilt)
    with pytest.raises(LedgerDamaged, match="the trigger events_last is missing"):
        copy_ledger_to(one, str(tmp_path / "third"), move=True)
    assert one.ledger.recorder.moved_to() == ""
    assert_goes_on(one)


def test_one_of_two_homes_moves_the_ledger_into_a_third(node: Callable[[str], Workspace], tmp_path: Path) -> None:
    """The other one, which has it open, says where it has gone. What is there is not made anew once it is put away."""
    one, other = node("one"), node("other")
    open_session(one, "s1", ["ablation"])
    promise = standing(other)
    gone = str(tmp_path / "third" / "default" / "ledger.sqlite3")
    done = copy_ledger_to(one, str(tmp_path / "third"), move=True)
    assert (done.to, done.moved) == (gone, True)
    with pytest.raises(Refused, match="has moved to") as refused:
        open_session(other, "s2", ["too late"])
    assert gone in refused.value.message
    assert Health(other).status().moved_to == gone
    assert standing(other) == promise
    again = copy_ledger_to(other, str(tmp_path / "one" / ".." / "third"), move=True)
    assert (again.to, again.head) == (gone, done.head), "given by the other one, it is done"
    with open_workspace(tmp_path / "third", "default") as third:
        assert_sound(third, [promise])
        assert_goes_on(third)
    (tmp_path / "third").rename(tmp_path / "put away")
    with pytest.raises(Refused, match="which is not there any more"):
        copy_ledger_to(other, str(tmp_path / "third"), move=True)


def test_a_home_that_takes_the_ledger_over_keeps_the_shared_index(
    node: Callable[[str], Workspace], tmp_path: Path
) -> None:
    """It is the same ledger, and the only one that is written to. A copy that is one more gets an index of its own."""
    one = node("one")
    open_session(one, "s1", ["ablation"])
    one.config.stored |= {"index.url": "http://127.0.0.1:1", "index.collection": "ours"}
    one.config.save()
    copy_ledger_to(one, str(tmp_path / "copy"))
    with open_workspace(tmp_path / "copy", "default") as copy:
        assert "index.url" not in copy.config.stored
    copy_ledger_to(one, str(tmp_path / "moved"), move=True)
    with open_workspace(tmp_path / "moved", "default") as moved:
        assert moved.config.stored["index.url"] == "http://127.0.0.1:1"
        assert moved.config.stored["index.collection"] == "ours"
        assert "ledger.url" not in moved.config.stored


def test_the_command(tht: Tht, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("ablation", "counted once"))
    tht.promote("s1", 1)
    head = tht.json("ledger", "head")
    assert tht.refused("ledger", "copy", "--to", "http://localhost", code=2) == "InvalidInput"
    copied = tht.json("ledger", "copy", "--to", database)
    assert (copied["position"], copied["chain"], copied["moved"]) == (head["position"], head["head"], False)
    assert tht.refused("ledger", "copy", "--to", database) == "AlreadyThere"
    said = tht("ledger", "copy", "--to", database, "--move")
    assert said.code == 0, said
    assert "kept there from now on" in said.out
    assert tht.json("ledger", "copy", "--to", database, "--move")["moved"], (
        "given again, as after a kill at its very end"
    )
    assert tht.json("status")["ledger"]["place"].startswith("postgresql://")
    assert tht.json("ledger", "head") == head
    assert tht("verify").code == 0
    monkeypatch.setenv("THT_LEDGER_URL", database)  # as it is where a ledger on a server is worked with
    tht.json("ledger", "copy", "--to", tmp_path / "back")
    monkeypatch.delenv("THT_LEDGER_URL")
    monkeypatch.setenv("THT_HOME", str(tmp_path / "back"))
    assert tht.json("ledger", "head") == head


def test_only_who_may_keep_a_copy_makes_one(tht: Tht, database: str) -> None:
    tht.session("s1", ("ablation", "counted once"))
    assert tht.refused("ledger", "copy", "--to", database, "--actor", "agent:coder-1") == "AccessDenied"
    assert schemas(database) == []
