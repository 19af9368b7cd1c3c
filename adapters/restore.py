"""A backup brought back: into a workspace that is not there, or to continue one whose history it begins with.

A local history is never replaced. What is there is continued inside SQLite, in one transaction; what is not there
appears by linking in the finished file. Between the steps the home never names a ledger that it does not have.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from adapters.backup import Unpacked, unpacked
from adapters.config import Config
from adapters.ledger import Ledger
from adapters.ledger_check import require_sound
from adapters.ledger_place import is_elsewhere
from adapters.ledger_schema import SEALS
from adapters.locks import alone
from adapters.purging import Purging
from adapters.restore_server import Restored, erasures_after, require_beginning, restore_to_server
from adapters.sqlite import LOCK_TIMEOUT
from adapters.sqlite_errors import translated
from adapters.workspace import Paths, open_workspace, system_clock
from domain.errors import HomeNotWritable, LostRace, OtherHistory
from projections.loop import remove_database


def restore_backup(
    path: Path, folder: Path, *, dry_run: bool = False, environment: Mapping[str, str] | None = None
) -> Restored:
    """Bring the backup back into the workspace of this folder. Everything is verified before anything is touched.

    LongerHistory when the local history goes on beyond the backup, OtherHistory when it is another one, Refused when
    the file is no sound backup. A dry run verifies and compares, and stops there. `environment`: as of a workspace.
    """
    paths = Paths(folder)
    missing = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise HomeNotWritable(f"{folder} cannot be made: {error.strerror}", "choose another --home") from error
    try:
        with unpacked(path, folder) as parts:
            if is_elsewhere(config := Config.load(paths.config, environment)):
                return restore_to_server(paths, parts, config, dry_run)
            if paths.ledger.exists():
                return _continue(paths, parts, dry_run, environment)
            return _make(paths, parts, dry_run)
    finally:
        if missing and not any(folder.iterdir()):
            folder.rmdir()


def _make(paths: Paths, parts: Unpacked, dry_run: bool) -> Restored:
    manifest = parts.manifest
    config = Config.load(paths.config if paths.config.exists() else parts.config)
    before = config.stored.pop("ledger.id", manifest.ledger_id) if paths.config.exists() else manifest.ledger_id
    if before != manifest.ledger_id:
        raise OtherHistory(
            f"the home {paths.folder} belongs to ledger {before}, which is missing; the backup is of another",
            "restore into a workspace of its own: --workspace NAME",
        )
    if dry_run:
        return Restored(manifest, manifest.position, made=True)
    if not paths.config.exists():
        config.stored.pop("index.url", None)  # the original may go on with that index; two homes would fight over it
    config.path = paths.config
    with alone(paths.lock):
        if paths.ledger.exists():
            raise LostRace(f"{paths.ledger} was made meanwhile; nothing was replaced", "look at it, then try again")
        _save(config, None)
        remove_database(paths.ledger)  # a write-ahead log that a lost ledger left behind would be played into this one
        _link_in(parts.ledger, paths.ledger)
        _save(config, manifest.ledger_id)
    return Restored(manifest, manifest.position, made=True)


def _continue(paths: Paths, parts: Unpacked, dry_run: bool, environment: Mapping[str, str] | None) -> Restored:
    manifest = parts.manifest
    local = Ledger(paths.ledger, system_clock)
    try:
        require_sound(local.recorder)
        head, own_id = local.head(), local.recorder.ledger_id()
        at_end = local.chain_at(manifest.position)
    finally:
        local.close()
    require_beginning(head, at_end, parts)
    missing = manifest.position - head.position
    erasures = erasures_after(parts.ledger, head.position)
    if not dry_run and (missing or own_id != manifest.ledger_id):
        config = Config.load(paths.config)
        _save(config, None)
        _append(paths.ledger, parts.ledger, head.position, manifest.ledger_id)
        _save(config, manifest.ledger_id)
    if not dry_run and erasures:
        with open_workspace(paths.folder.parent, paths.folder.name, environment=environment) as workspace:
            Purging(workspace).run()
    return Restored(manifest, missing, made=False)


def _append(ledger: Path, backup: Path, position: int, ledger_id: str) -> None:
    """The backup's events beyond `position`, its keys, head and id, in one transaction. LostRace when it has moved."""
    with translated(ledger), closing(sqlite3.connect(ledger, timeout=LOCK_TIMEOUT, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA secure_delete = ON")
        db.execute("ATTACH DATABASE ? AS backup", (str(backup),))
        db.execute("BEGIN IMMEDIATE")
        if db.execute("SELECT position FROM main.head").fetchone()[0] != position:
            raise LostRace("something was recorded during the restore; nothing was changed", "run it again")
        db.execute(
            "INSERT INTO main.events SELECT * FROM backup.events WHERE position > ? ORDER BY position", (position,)
        )
        db.execute("INSERT INTO main.idempotency SELECT * FROM backup.idempotency WHERE first > ?", (position,))
        _take_seals(db, position)
        db.execute("UPDATE main.head SET (position, chain) = (SELECT position, chain FROM backup.head)")
        db.execute("UPDATE main.about SET ledger_id = ?", (ledger_id,))
        db.execute("COMMIT")


def _take_seals(db: sqlite3.Connection, position: int) -> None:
    """The keys of the new events; and of the others none that was destroyed there meanwhile. None comes back."""
    there = "SELECT 1 FROM {}.sqlite_schema WHERE type = 'table' AND name = 'seals'"
    if not db.execute(there.format("backup")).fetchone():
        return
    if not db.execute(there.format("main")).fetchone():
        for statement in SEALS:
            db.execute(statement)
    db.execute("DELETE FROM main.seals WHERE position NOT IN (SELECT position FROM backup.seals)")
    db.execute("INSERT INTO main.seals SELECT * FROM backup.seals WHERE position > ?", (position,))


def _save(config: Config, ledger_id: str | None) -> None:
    """Without an id the home takes that of whichever ledger it has: so it is sound between any two steps."""
    config.stored.pop("ledger.id", None)
    if ledger_id is not None:
        config.stored["ledger.id"] = ledger_id
    config.save()


def _link_in(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileExistsError:
        raise LostRace(f"{target} was made meanwhile; nothing was replaced", "look at it, then try again") from None
    except OSError:  # a disk without links: the same step, without its guard against a second process
        shutil.move(source, target)
    if os.name == "posix":  # elsewhere a folder cannot be opened
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
