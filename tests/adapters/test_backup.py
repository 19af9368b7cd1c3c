"""S-50: a backup is one moment of a ledger, verified before anything is touched, never put over a longer history."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import stat
import threading
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters import restore
from adapters.backup import Manifest, write_backup
from adapters.curation import Curation
from adapters.ledger import By
from adapters.ledger_files import export_ledger, export_lines
from adapters.ledger_import import import_ledger
from adapters.restore import restore_backup
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import (
    AlreadyThere,
    HomeNotWritable,
    InvalidInput,
    LedgerDamaged,
    LongerHistory,
    NoHome,
    OtherHistory,
    Refused,
)
from domain.session import NewDecision
from domain.text import canonical_json

AGENT = By("agent:coder-1")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    with create_workspace(home, "one") as made:
        work(made, "s1")
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "home"))


@pytest.fixture
def one(home: Path) -> Iterator[Workspace]:
    with open_workspace(home, "one") as made:
        yield made


def work(workspace: Workspace, session_id: str) -> None:
    by = By(AGENT.actor, idempotency_key=f"open-{session_id}")
    Sessions(workspace).open(session_id, "What?", by)
    Sessions(workspace).record(session_id, NewDecision("concept_clarified", f"C {session_id}", "so"), AGENT)
    (candidate,) = Review(workspace).pending([session_id])
    Review(workspace).save_one(session_id, candidate.seq, candidate.revision, By("human:ada"))


def state(home: Path, name: str) -> tuple[str, list[str]]:
    """Ledger id and everything in the ledger; the ledger verifies and the home opens."""
    with open_workspace(home, name) as workspace:
        assert list(workspace.ledger.find_damage()) == []
        assert workspace.config.value("ledger.id") == workspace.ledger.recorder.ledger_id()
        return workspace.ledger.recorder.ledger_id(), list(export_lines(workspace.ledger))


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
    one: Workspace, home: Path, tmp_path: Path
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


# -- what is no sound backup -------------------------------------------------------------------------------------------

Members = list[tuple[zipfile.ZipInfo, bytes]]


def rewritten(source: Path, target: Path, change: Callable[[Members], Members]) -> Path:
    with zipfile.ZipFile(source) as archive:
        members = [(info, archive.read(info)) for info in archive.infolist()]
    with zipfile.ZipFile(target, "w") as archive:
        for info, content in change(members):
            archive.writestr(info, content, compress_type=info.compress_type)
    return target


def named(name: str, mode: int = stat.S_IFREG | 0o600) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def packed(members: Members) -> Members:
    info, content = members[2]
    info.compress_type = zipfile.ZIP_DEFLATED
    return [*members[:2], (info, content + b"\0" * 5_000_000)]


def with_ledger(members: Members, content: bytes, **said: object) -> Members:
    """The ledger replaced, and the manifest made to fit."""
    import hashlib

    manifest = json.loads(members[0][1]) | {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} | said
    return [(members[0][0], canonical_json(manifest).encode()), members[1], (members[2][0], content)]


def sql(statement: str) -> Callable[[Members], Members]:
    """A ledger changed by somebody who also mended size and hash."""

    def change(members: Members) -> Members:
        db = sqlite3.connect(":memory:")
        db.deserialize(members[2][1])
        db.executescript(statement)
        content = db.serialize()
        db.close()
        return with_ledger(members, content)

    return change


UNSOUND: dict[str, Callable[[Members], Members]] = {
    "a path upwards": lambda members: [*members, (named("../evil"), b"x")],
    "an absolute path": lambda members: [*members, (named("/etc/evil"), b"x")],
    "only paths upwards": lambda members: [(named(f"../{info.filename}"), content) for info, content in members],
    "a symbolic link": lambda members: [*members[:2], (named("ledger.sqlite3", stat.S_IFLNK | 0o777), b"/etc/passwd")],
    "a zip bomb": packed,
    "a member missing": lambda members: members[:2],
    "another order": lambda members: members[::-1],
    "a manifest beyond measure": lambda members: [(members[0][0], b" " * 2_000_000), *members[1:]],
    "a manifest of lists": lambda members: [(members[0][0], b"[]"), *members[1:]],
    "a newer version": lambda members: with_ledger(members, members[2][1], version=2),
    "another position": lambda members: with_ledger(members, members[2][1], position=2),
    "another chain": lambda members: with_ledger(members, members[2][1], chain="0" * 64),
    "another ledger": lambda members: with_ledger(members, members[2][1], ledger_id="x"),
    "a byte changed": lambda members: [*members[:2], (members[2][0], members[2][1][:-1] + b"\x07")],
    "no database": lambda members: with_ledger(members, b"hello" * 1000),
    "an event edited": sql("DROP TRIGGER events_stay;"
                           "UPDATE events SET topic = 'session.session-closed' WHERE position = 2;"
                           "CREATE TRIGGER events_stay BEFORE UPDATE ON events"
                           " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"),
    "a trigger added": sql("CREATE TRIGGER evil AFTER INSERT ON events BEGIN DELETE FROM idempotency; END"),
    "a trigger missing": sql("DROP TRIGGER events_stay"),
    "a view added": sql("CREATE VIEW evil AS SELECT * FROM events"),
    "a key added": sql("INSERT INTO idempotency VALUES ('mine', 1, 1)"),
    "a tail cut": sql("DROP TRIGGER events_last; DELETE FROM events WHERE position > 3;"
                      "CREATE TRIGGER events_last BEFORE DELETE ON events"
                      " BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"),
}  # fmt: skip


@pytest.mark.parametrize("kind", UNSOUND)
def test_what_is_no_sound_backup_is_refused_untouched(one: Workspace, home: Path, tmp_path: Path, kind: str) -> None:
    write_backup(one, tmp_path / "b.zip")
    bad = rewritten(tmp_path / "b.zip", tmp_path / "bad.zip", UNSOUND[kind])
    before = state(home, "one")
    for name in ("one", "two"):
        with pytest.raises(Refused):
            restore_backup(bad, home / name)
    assert state(home, "one") == before
    assert not (home / "two").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.zip", "bad.zip", "home"]


@pytest.mark.parametrize("cut", [0, 10, 4000, -30])
def test_a_cut_file_is_refused(one: Workspace, home: Path, tmp_path: Path, cut: int) -> None:
    write_backup(one, tmp_path / "b.zip")
    (tmp_path / "cut.zip").write_bytes((tmp_path / "b.zip").read_bytes()[:cut])
    with pytest.raises(Refused, match=r"cut\.zip is no backup"):
        restore_backup(tmp_path / "cut.zip", home / "two")


def test_no_backup_is_made_of_a_damaged_ledger(one: Workspace, tmp_path: Path) -> None:
    with sqlite3.connect(one.paths.ledger) as db:
        db.executescript("DROP TRIGGER events_stay; UPDATE events SET topic = 'x' WHERE position = 2")
    with pytest.raises(LedgerDamaged, match="does not verify"):
        write_backup(one, tmp_path / "b.zip")
    assert not (tmp_path / "b.zip").exists()


def test_where_no_backup_can_be_written(one: Workspace, tmp_path: Path) -> None:
    with pytest.raises(HomeNotWritable):
        write_backup(one, tmp_path / "missing" / "b.zip")
    with pytest.raises(InvalidInput):
        write_backup(one, tmp_path)


# -- killed ------------------------------------------------------------------------------------------------------------

STEPS = [
    (existing, step, call, moment)
    for existing, step, call in (
        (False, "_save", 1),
        (False, "_link_in", 1),
        (False, "_save", 2),
        (True, "_save", 1),
        (True, "_append", 1),
        (True, "_save", 2),
    )
    for moment in ("before", "after")
]


@pytest.mark.posix
@pytest.mark.parametrize(("existing", "step", "call", "moment"), STEPS)
def test_a_kill_leaves_the_old_or_the_new_ledger(
    one: Workspace, home: Path, tmp_path: Path, step: str, moment: str, call: int, existing: bool
) -> None:
    """Whichever it left, the home opens with it, and restoring again ends what was begun."""
    manifest = write_backup(one, tmp_path / "b.zip")
    one.close()
    target = home / "two"
    if existing:
        create_workspace(home, "two").close()
    old = state(home, "two") if existing else None
    child = os.fork()
    if not child:
        _die_at(step, moment, call)
        try:
            restore_backup(tmp_path / "b.zip", target)
        finally:
            os._exit(0)
    _, how = os.waitpid(child, 0)
    assert os.WTERMSIG(how) == signal.SIGKILL
    new = state(home, "one")
    try:
        assert state(home, "two") in (old, new)
    except NoHome:
        assert not existing
    assert restore_backup(tmp_path / "b.zip", target).manifest == manifest
    assert state(home, "two") == new


def _die_at(step: str, moment: str, call: int) -> None:
    real = getattr(restore, step)
    calls = 0

    def fatal(*arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == call and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(restore, step, fatal)


def test_the_manifest_takes_nothing_else() -> None:
    with pytest.raises(ValueError):
        Manifest.model_validate({"format": "tht-backup"})


def test_a_restored_copy_does_not_share_the_originals_index(one: Workspace, tmp_path: Path) -> None:
    """The collection is named after the ledger, which both have: each would move the other's alias."""
    one.config.set("index.url", "http://127.0.0.1:6333")
    write_backup(one, tmp_path / "b.zip")
    restore_backup(tmp_path / "b.zip", tmp_path / "copy" / "default")
    with open_workspace(tmp_path / "copy", "default") as two:
        assert two.config.value("index.url") == ""
