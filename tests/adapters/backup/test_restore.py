"""S-50: a backup is one moment of a ledger, and is never put over a longer history."""

from __future__ import annotations

import json
import shutil
import stat
import threading
import zipfile
from pathlib import Path

import pytest

from adapters.backup import write_backup
from adapters.curation import Curation
from adapters.ledger import By
from adapters.ledger_files import export_ledger
from adapters.ledger_import import import_ledger
from adapters.restore import restore_backup
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import (
    AlreadyThere,
    LedgerDamaged,
    LongerHistory,
    OtherHistory,
)
from tests.adapters.backup.conftest import AGENT, state, work


def test_into_a_workspace_that_is_not_there(one: Workspace, home: Path, tmp_path: Path) -> None:
    one.config.set("review.page", 7)
    manifest = write_backup(one, tmp_path / "b.zip")
    done = restore_backup(tmp_path / "b.zip", home / "two")
    assert (done.made, done.appended) == (True, manifest.position)
    assert state(home, "two") == state(home, "one")
    with open_workspace(home, "two") as two:
        assert two.config.value("review.page") == 7
        assert list(Curation(two).export_lines(everything=True)) == list(Curation(one).export_lines(everything=True))
        assert Sessions(two).open("s1", "What?", By(AGENT.actor, idempotency_key="open-s1")).already
        work(two, "s2")


def test_the_file_is_its_owners_and_holds_three_stored_members(one: Workspace, tmp_path: Path) -> None:
    write_backup(one, tmp_path / "b.zip")
    assert stat.S_IMODE((tmp_path / "b.zip").stat().st_mode) == 0o600
    with zipfile.ZipFile(tmp_path / "b.zip") as archive:
        assert archive.namelist() == ["manifest.json", "config.toml", "ledger.sqlite3"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
        manifest = json.loads(archive.read("manifest.json"))
    head = one.ledger.head()
    assert (manifest["position"], manifest["chain"]) == (head.position, head.chain)
    assert manifest["ledger_id"] == one.ledger.recorder.ledger_id()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.zip", "home"]


def test_one_moment_while_others_write(one: Workspace, home: Path, tmp_path: Path) -> None:
    stop = threading.Event()

    def write() -> None:
        with open_workspace(home, "one") as writer:
            number = 0
            while not stop.is_set():
                number += 1
                Sessions(writer).open(f"w{number}", "What?", AGENT)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        manifests = []
        for number in range(4):
            manifests.append(write_backup(one, tmp_path / f"{number}.zip"))
    finally:
        stop.set()
        thread.join()
    for number, manifest in enumerate(manifests):
        restore_backup(tmp_path / f"{number}.zip", home / f"r{number}")
        assert one.ledger.chain_at(manifest.position) == manifest.chain
        assert len(state(home, f"r{number}")[1]) == manifest.position + 1


def test_over_its_own_beginning(one: Workspace, home: Path, tmp_path: Path) -> None:
    """The local settings stay, the ledger's id comes with the ledger."""
    export_ledger(one.ledger, tmp_path / "part.jsonl")
    with create_workspace(home, "two") as two:
        import_ledger(two.ledger, tmp_path / "part.jsonl")
        two.config.set("review.page", 9)
        before = list(Curation(two).export_lines())
    work(one, "s2")
    one.config.set("review.page", 3)
    write_backup(one, tmp_path / "b.zip")
    done = restore_backup(tmp_path / "b.zip", home / "two", dry_run=True)
    assert len(state(home, "two")[1]) == 1 + done.manifest.position - done.appended
    done = restore_backup(tmp_path / "b.zip", home / "two")
    assert not done.made
    assert 0 < done.appended < done.manifest.position
    assert state(home, "two") == state(home, "one")
    with open_workspace(home, "two") as two:
        assert two.config.value("review.page") == 9
        assert list(Curation(two).export_lines())[: len(before)] == before
        assert list(Curation(two).export_lines()) == list(Curation(one).export_lines())
    assert restore_backup(tmp_path / "b.zip", home / "two").appended == 0


def test_a_longer_history_is_never_replaced(one: Workspace, home: Path, tmp_path: Path) -> None:
    """S-50"""
    write_backup(one, tmp_path / "b.zip")
    work(one, "s2")
    before = state(home, "one")
    with pytest.raises(LongerHistory, match="goes on to position"):
        restore_backup(tmp_path / "b.zip", home / "one")
    assert state(home, "one") == before


def test_a_backup_takes_the_place_of_an_older_one_and_of_nothing_else(
    one: Workspace, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-50, the other way round: what a file holds and the new backup does not is never lost."""
    nightly, later, novel = tmp_path / "nightly.zip", tmp_path / "later.zip", tmp_path / "novel.txt"
    write_backup(one, nightly)
    shutil.copytree(home / "one", home / "elder")
    work(one, "s2")
    assert write_backup(one, nightly).position == one.ledger.head().position
    write_backup(one, later)
    novel.write_text("Call me Ishmael.")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("chapter-1.txt", "Call me Ishmael.")
    with create_workspace(home, "two") as two, open_workspace(home, "elder") as elder:
        for workspace, path in ((two, nightly), (elder, later), (one, novel), (one, tmp_path / "other.zip")):
            before = path.read_bytes()
            with pytest.raises(AlreadyThere, match=path.name):
                write_backup(workspace, path)
            assert path.read_bytes() == before

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("zipfile.ZipFile", refused)
    with pytest.raises(AlreadyThere, match=r"nightly\.zip"):
        write_backup(one, nightly)


@pytest.mark.parametrize("sessions", [1, 3])
def test_another_history_is_never_replaced(one: Workspace, home: Path, tmp_path: Path, sessions: int) -> None:
    """S-50: neither a shorter one nor a longer one."""
    work(one, "s2")
    write_backup(one, tmp_path / "b.zip")
    with create_workspace(home, "two") as two:
        for number in range(sessions):
            work(two, f"mine{number}")
    before = state(home, "two")
    with pytest.raises(OtherHistory):
        restore_backup(tmp_path / "b.zip", home / "two")
    assert state(home, "two") == before


def test_a_home_whose_ledger_is_lost_gets_its_own_back_and_no_other(one: Workspace, home: Path, tmp_path: Path) -> None:
    write_backup(one, tmp_path / "b.zip")
    before = state(home, "one")
    one.config.set("review.page", 8)
    one.close()
    shutil.copytree(home / "one", home / "lost")
    for suffix in ("", "-wal", "-shm"):
        (home / "lost" / f"ledger.sqlite3{suffix}").unlink(missing_ok=True)
    (home / "lost" / "ledger.sqlite3-wal").write_bytes(b"what a lost ledger left behind")
    with create_workspace(home, "three") as three:
        write_backup(three, tmp_path / "other.zip")
    with pytest.raises(OtherHistory, match="which is missing"):
        restore_backup(tmp_path / "other.zip", home / "lost")
    with pytest.raises(LedgerDamaged):
        open_workspace(home, "lost")
    restore_backup(tmp_path / "b.zip", home / "lost")
    assert state(home, "lost") == before
    with open_workspace(home, "lost") as lost:
        assert lost.config.value("review.page") == 8


def test_a_dry_run_leaves_nothing_behind(one: Workspace, home: Path, tmp_path: Path) -> None:
    write_backup(one, tmp_path / "b.zip")
    assert restore_backup(tmp_path / "b.zip", home / "two", dry_run=True).made
    assert not (home / "two").exists()


def test_a_restored_copy_does_not_share_the_originals_index(one: Workspace, tmp_path: Path) -> None:
    """The collection is named after the ledger, which both have: each would move the other's alias."""
    one.config.set("index.url", "http://127.0.0.1:6333")
    write_backup(one, tmp_path / "b.zip")
    restore_backup(tmp_path / "b.zip", tmp_path / "copy" / "default")
    with open_workspace(tmp_path / "copy", "default") as two:
        assert two.config.value("index.url") == ""
