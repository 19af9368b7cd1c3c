"""Folders for a moment, which may hold a whole ledger. One that a kill left behind goes with the next made there."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adapters.locks import alone
from domain.errors import HomeNotWritable

PREFIX = ".tht-scratch-"
_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")  # as `tempfile` completes it
_HELD = "held"  # locked as long as the folder's maker lives
_OWN: set[Path] = set()  # those that this process works in, and removes itself
_YOUNG = 60.0  # seconds in which a folder may not have its lock file yet


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder in `parent`, gone at the end. HomeNotWritable when it cannot be made."""
    sweep(parent)
    while True:
        with _made(parent) as name, alone(Path(name) / _HELD):
            if (Path(name) / _HELD).exists():  # else somebody's sweep had it a moment before it was locked
                _OWN.add(Path(name).absolute())
                try:
                    yield Path(name)
                finally:
                    _OWN.discard(Path(name).absolute())
                return


def _made(parent: Path) -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent)
    except OSError as error:
        raise HomeNotWritable(f"{parent} cannot be written: {error.strerror}", "choose another folder") from error


def sweep(parent: Path) -> list[Path]:
    """Remove what killed processes have left there: else it would keep what is erased meanwhile. Gives what stays, as
    another process works in it or it cannot be removed.

    `parent` may be any folder, such as the one that a person keeps backups in: nothing goes but what was made here, by
    its name and its lock file, or empty.
    """
    staying = []
    for left in sorted(parent.glob(f"{PREFIX}*")):
        if _NAME.fullmatch(left.name) and left.is_dir() and not left.is_symlink() and left.absolute() not in _OWN:
            with suppress(HomeNotWritable, OSError):  # somebody works in it, or has just removed it
                _remove_left(left)
            if (left / _HELD).exists():
                staying.append(left)
    return staying


def _remove_left(folder: Path) -> None:
    held = folder / _HELD
    if held.exists():
        with alone(held, wait=0.0):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(folder, ignore_errors=True)  # with the lock file, where one that is open cannot be removed
    elif time.time() - folder.stat().st_mtime > _YOUNG:
        folder.rmdir()  # OSError when it is not empty: then it is none of ours
