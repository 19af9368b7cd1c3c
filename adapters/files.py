"""Files that appear complete or not at all, readable by their owner only."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from domain.errors import HomeNotWritable, InvalidInput


@contextmanager
def written_in_one_step(path: Path) -> Iterator[IO[bytes]]:
    """A file that has its name when it is complete and on the disk; until then the old one stays.

    A link is followed. InvalidInput for a device, a pipe or a folder: replacing one would take it away.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        raise InvalidInput(f"{path} is no regular file", "name a file, or - to print")
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f"{target.name}.", suffix=".tmp")
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(target.parent)
    except OSError as error:
        raise HomeNotWritable(f"{path} cannot be written: {error.strerror}", "choose another file or disk") from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)


def sync_folder(folder: Path) -> None:
    """Make a name in a folder durable, beside what it names."""
    if os.name == "nt":  # Windows cannot open a folder for this
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_homes(path: Path) -> Path:
    """The path, unless it lies in a workspace's folder: nothing that is written out may replace what is kept there."""
    target = path.resolve()
    for folder in target.parents:
        if (folder / "ledger.sqlite3").exists():
            raise InvalidInput(f"{path} lies in the workspace {folder.name}, and would replace what it keeps there")
    return path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file's whole content in one step."""
    with written_in_one_step(path) as file:
        file.write(content)
