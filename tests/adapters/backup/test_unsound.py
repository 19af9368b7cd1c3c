"""What is no sound backup is refused before anything is touched, and none is made of a damaged ledger."""

from __future__ import annotations

import json
import sqlite3
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.backup import Manifest, write_backup
from adapters.restore import restore_backup
from adapters.workspace import Workspace
from domain.errors import (
    HomeNotWritable,
    InvalidInput,
    LedgerDamaged,
    Refused,
)
from domain.text import canonical_json
from tests.adapters.backup.conftest import state

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


def test_the_manifest_takes_nothing_else() -> None:
    with pytest.raises(ValueError):
        Manifest.model_validate({"format": "tht-backup"})
