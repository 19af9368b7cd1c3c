"""A backup brought back into a ledger on a server; and what every restore compares and tells."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from eventsourcing.persistence import IntegrityError

from adapters.backup import Manifest, Unpacked
from adapters.config import Config
from adapters.ledger_batches import batches_of
from adapters.ledger_place import open_recorder
from adapters.purging import Purging
from adapters.recorder import Recorder
from adapters.sqlite import LedgerRecorder
from adapters.sqlite_errors import translated
from adapters.workspace import Paths, create_workspace, open_workspace
from domain.erasure import TextErased
from domain.errors import AlreadyThere, LongerHistory, LostRace, OtherHistory
from projections.loop import Head


@dataclass(frozen=True, slots=True)
class Restored:
    """What a restore did, or would do: `made` tells that there was no ledger here before."""

    manifest: Manifest
    appended: int
    made: bool

    def as_json(self) -> dict[str, object]:
        return {
            "position": self.manifest.position,
            "chain": self.manifest.chain,
            "ledger_id": self.manifest.ledger_id,
            "made_at": self.manifest.made_at,
            "appended": self.appended,
            "made": self.made,
        }


def restore_to_server(paths: Paths, parts: Unpacked, config: Config, dry_run: bool) -> Restored:
    """Into the workspace's schema, which has no events yet or is continued. AlreadyThere, where this home has never
    seen the ledger that is there; else as `restore_backup` says."""
    recorder = open_recorder(paths.folder.name, config, paths.ledger)
    backup = LedgerRecorder(parts.ledger)
    try:
        if "ledger.id" in config.stored:
            return _continue(paths, parts, recorder, backup, config, dry_run)
        if not dry_run:
            _fill(recorder, backup, parts.manifest.ledger_id)
            create_workspace(paths.folder.parent, paths.folder.name, environment=config.environment).close()
        return Restored(parts.manifest, parts.manifest.position, made=True)
    finally:
        recorder.close()
        backup.close()


def _fill(recorder: Recorder, backup: Recorder, ledger_id: str) -> None:
    try:
        recorder.fill(ledger_id, lambda: batches_of(backup))
    except AlreadyThere:
        if recorder.ledger_id() != ledger_id:
            raise
        hint = "tht init joins it; the same restore then adds what it has not"
        raise AlreadyThere(f"this ledger is there already: {recorder.place}", hint) from None


def _continue(
    paths: Paths, parts: Unpacked, recorder: Recorder, backup: Recorder, config: Config, dry_run: bool
) -> Restored:
    """In batches of whole pages: after a kill the same restore goes on where it stopped. LostRace when somebody records
    something between two."""
    manifest = parts.manifest
    for _ in batches_of(recorder):
        pass  # LedgerDamaged: the chain alone, as a restore that was killed may have left half of a command
    position, chain = recorder.head()
    at_end = recorder.chain_at(manifest.position)
    require_beginning(Head(position, chain.hex()), at_end.hex() if at_end else None, parts)
    if not dry_run:
        try:
            for links, keys in batches_of(backup, position):
                recorder.insert_chained(links, keys)
        except IntegrityError as error:
            raise LostRace("something was recorded during the restore; what came before is kept") from error
        if erasures_after(parts.ledger, position):
            with open_workspace(paths.folder.parent, paths.folder.name, environment=config.environment) as workspace:
                Purging(workspace).run()
    return Restored(manifest, manifest.position - position, made=False)


def require_beginning(head: Head, at_end: str | None, parts: Unpacked) -> None:
    """LongerHistory, OtherHistory unless the backup goes on where the ledger here ends. `at_end`: the chain here where
    the backup ends."""
    manifest = parts.manifest
    if at_end is not None and head.position > manifest.position and at_end == manifest.chain:
        raise LongerHistory(
            f"the local history goes on to position {head.position}, the backup ends at {manifest.position}",
            "restore into a workspace of its own: --workspace NAME",
        )
    if _chain_at(parts.ledger, head.position) != (bytes.fromhex(head.chain) if head.position else None):
        raise OtherHistory(
            f"the backup tells another history than the one here, which ends at position {head.position}",
            "restore into a workspace of its own: --workspace NAME",
        )


def erasures_after(ledger: Path, after: int) -> int:
    """How many texts were erased beyond a position."""
    with translated(ledger), closing(sqlite3.connect(ledger)) as db:
        found = db.execute("SELECT count(*) FROM events WHERE position > ? AND topic = ?", (after, TextErased.name))
        return int(found.fetchone()[0])


def _chain_at(ledger: Path, position: int) -> bytes | None:
    with translated(ledger), closing(sqlite3.connect(ledger)) as db:
        row = db.execute("SELECT chain FROM events WHERE position = ?", (position,)).fetchone()
    return bytes(row[0]) if row else None
