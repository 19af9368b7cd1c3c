"""One file that holds a workspace: the ledger as it was at one moment, the settings, and what to expect of them.

A zip whose members are stored, not packed: none can be longer than the file itself. Views and index are left out; they
follow by replay.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.config import Config
from adapters.files import refuse_homes, written_in_one_step
from adapters.json_lines import misfit
from adapters.ledger_batches import batches_of
from adapters.ledger_check import first_fault
from adapters.ledger_place import is_elsewhere
from adapters.scratch import scratch_folder
from adapters.sqlite import LedgerRecorder, copy_database
from adapters.sqlite_errors import translated
from adapters.workspace import Workspace
from domain.errors import AlreadyThere, HomeNotWritable, LedgerDamaged, Refused
from domain.event import iso_utc
from domain.text import canonical_json

FORMAT: Final = "tht-backup"
VERSION: Final = 1
MANIFEST, CONFIG, LEDGER = "manifest.json", "config.toml", "ledger.sqlite3"
MEMBERS = (MANIFEST, CONFIG, LEDGER)  # in this order
SMALL = 2**20  # bytes that manifest and settings may have each
CHUNK = 2**20

Progress = Callable[[int, int], None]


class Manifest(BaseModel):
    """What a backup says of itself. `bytes` and `sha256` are of its ledger's file."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal["tht-backup"]
    version: Literal[1]
    made_at: str
    ledger_id: str
    position: int = Field(ge=0)
    chain: str
    bytes: int = Field(gt=0)
    sha256: str


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A backup whose parts lie beside each other in a folder of their own."""

    manifest: Manifest
    ledger: Path
    config: Path


# -- backup ------------------------------------------------------------------------------------------------------------


def write_backup(workspace: Workspace, path: Path, progress: Progress = lambda done, total: None) -> Manifest:
    """Write the backup in one step, its owner's only, while others may go on writing to the ledger.

    LedgerDamaged when the ledger does not verify: a backup that could not be restored is not made. AlreadyThere when
    `path` holds anything but an older backup of this history.
    """
    _require_superseded(workspace, refuse_homes(path))
    with scratch_folder(path.absolute().parent) as folder:
        copy = folder / LEDGER
        copy_ledger(workspace, copy, progress)
        standing = sound_standing(copy)
        digest = hashlib.sha256()
        with copy.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
        manifest = Manifest(
            format=FORMAT,
            version=VERSION,
            made_at=iso_utc(workspace.clock()),
            ledger_id=standing.ledger_id,
            position=standing.position,
            chain=standing.chain,
            bytes=copy.stat().st_size,
            sha256=digest.hexdigest(),
        )
        config = _settings(workspace, folder / CONFIG)
        with written_in_one_step(path) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(_member(MANIFEST), canonical_json(manifest.model_dump()) + "\n")
            archive.writestr(_member(CONFIG), config)
            with copy.open("rb") as source, archive.open(_member(LEDGER), "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, CHUNK)
    return manifest


def _require_superseded(workspace: Workspace, path: Path) -> None:
    """A file is replaced by a backup only if the backup will hold all that the file does."""
    if not path.is_file():
        return
    other = "name another file for this backup, or remove that one"
    try:
        with zipfile.ZipFile(path) as archive:
            held = _manifest(archive.read(_members(archive)[MANIFEST]))
    except (Refused, zipfile.BadZipFile, NotImplementedError, EOFError, OSError) as error:
        raise AlreadyThere(f"{path} is there already, and is no backup that can be read", other) from error
    if (
        held.ledger_id != workspace.ledger.recorder.ledger_id()
        or workspace.ledger.chain_at(held.position) != held.chain
    ):
        raise AlreadyThere(f"{path} is the backup of another history, or of more than this ledger has", other)


def copy_ledger(workspace: Workspace, target: Path, progress: Progress) -> None:
    """One consistent state as a SQLite file, whatever is written meanwhile, and wherever the ledger is."""
    source = workspace.ledger.recorder
    if isinstance(source, LedgerRecorder):
        copy_database(source.path, target, progress)
    else:
        copy = LedgerRecorder(target)
        try:
            with source.snapshot() as frozen:
                copy.fill(frozen.ledger_id(), lambda: batches_of(frozen, progress=progress))
        finally:
            copy.close()
    single_file(target)


def _settings(workspace: Workspace, scratch: Path) -> bytes:
    """The settings, without the way to a server: a backup's ledger is a file."""
    stored = workspace.config.stored
    if not is_elsewhere(workspace.config):
        return workspace.paths.config.read_bytes() if workspace.paths.config.exists() else b""
    kept = {key: value for key, value in stored.items() if key != "ledger.url"}
    Config(scratch, kept, workspace.config.reviewers).save()
    return scratch.read_bytes()


def single_file(path: Path) -> None:
    """Leave write-ahead logging, so that the database is this one file and nothing beside it."""
    with translated(path), closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = DELETE")


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


# -- what a copy of a ledger is ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standing:
    ledger_id: str
    position: int
    chain: str


def sound_standing(path: Path) -> Standing:
    """Where a copy of a ledger stands, after checking all of it: its tables and triggers, every event, the chain, the
    keys. LedgerDamaged names the first thing that does not hold. Leaves no file beside it."""
    if (fault := first_fault(path)) is not None:
        raise LedgerDamaged(f"the copy of the ledger does not verify: {fault}")
    with translated(path), closing(sqlite3.connect(path)) as db:
        position, chain = db.execute("SELECT position, chain FROM head").fetchone()
        (ledger_id,) = db.execute("SELECT ledger_id FROM about").fetchone()
    return Standing(ledger_id, position, chain.hex())


# -- reading a backup --------------------------------------------------------------------------------------------------


@contextmanager
def unpacked(path: Path, beside: Path) -> Iterator[Unpacked]:
    """The backup's parts, verified, in a folder on the disk of `beside` that is gone afterwards.

    Refused for anything that is not exactly a backup as `write_backup` makes it; nothing is touched then.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive)
            manifest = _manifest(archive.read(members[MANIFEST]))
            if members[LEDGER].file_size != manifest.bytes:
                raise Refused(f"{path.name} is no sound backup: its ledger is not as long as it says")
            with scratch_folder(beside) as folder:
                parts = Unpacked(manifest, folder / LEDGER, folder / CONFIG)
                _require_room(folder, manifest.bytes)
                parts.config.write_bytes(archive.read(members[CONFIG]))
                with archive.open(members[LEDGER]) as source:
                    _write_checked(source, parts.ledger, manifest)
                _require_as_said(parts)
                yield parts
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        hint = "tht backup makes one; what tht export has written is taken in by tht import"
        raise Refused(f"{path.name} is no backup of tht, or is damaged: {error}", hint) from error


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """The three members. Anything else, packed, linked, encrypted or out of place, is refused unread."""
    infos = archive.infolist()
    names = tuple(info.filename for info in infos)
    if names != MEMBERS:
        odd = ", ".join(repr(name[:80]) for name in names[:10] if name not in MEMBERS) or "members missing or twice"
        raise Refused(f"this is no backup of tht: {odd}")
    for info in infos:
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 0x1:
            raise Refused(f"this is no backup of tht: {info.filename} is linked, packed or encrypted")
        if info.file_size != info.compress_size or (info.filename != LEDGER and info.file_size > SMALL):
            raise Refused(f"this is no backup of tht: {info.filename} is {info.file_size:,} bytes long")
    return dict(zip(names, infos, strict=True))


def _manifest(content: bytes) -> Manifest:
    try:
        return Manifest.model_validate_json(content)
    except ValidationError as error:
        raise Refused(f"the backup's manifest is not understood: {misfit(error)}", "a newer tht may have it") from error


def _require_room(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise HomeNotWritable(f"the backup's ledger needs {needed:,} bytes, {free:,} are free", "free some space")


def _write_checked(source: IO[bytes], target: Path, manifest: Manifest) -> None:
    digest = hashlib.sha256()
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    if digest.hexdigest() != manifest.sha256:
        raise Refused("the backup is damaged: its ledger is not what the manifest says", "use another backup")


def _require_as_said(parts: Unpacked) -> None:
    said = parts.manifest
    try:
        found = sound_standing(parts.ledger)
    except LedgerDamaged as error:
        raise Refused(f"the backup is damaged: {error.message}", "use another backup") from error
    if found != Standing(said.ledger_id, said.position, said.chain):
        raise Refused("the backup is damaged: its ledger is not the one that the manifest names", "use another backup")
