"""Files that appear complete or not at all, readable by their owner only."""

from __future__ import annotations

import os
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
    temporary = target.with_name(f"{target.name}.{os.getpid()}.tmp")  # its own: two processes may write at once
    try:
        with open(os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        raise HomeNotWritable(f"{path} cannot be written: {error.strerror}", "choose another file or disk") from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file's whole content in one step."""
    with written_in_one_step(path) as file:
        file.write(content)
