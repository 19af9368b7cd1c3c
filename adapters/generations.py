"""A folder of generations, of which a small file names the current one. Knows nothing of what is inside them.

    index/CURRENT       gen-0002
    index/gen-0002/     what the engine keeps

A generation that is not current is a leftover of a killed rebuild, or somebody is filling or still reading it.
Methods raise OSError as it comes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from adapters.files import sync_folder

GENERATION = re.compile(r"gen-(\d{4,})")
_POINTER = "CURRENT"


class Generations:
    """The generations under `path`; folders are readable by their owner only."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self) -> None:
        """Make the folder, with those above it."""
        _make_private(self.path)

    def current_name(self) -> str:
        """What CURRENT says, empty when there is none. Not checked: the file may be damaged."""
        try:
            return (self.path / _POINTER).read_bytes().decode(errors="replace").strip()
        except FileNotFoundError:
            return ""

    def leftovers(self) -> list[Path]:
        """Every generation that is not current, oldest first."""
        current = self.current_name()
        return [path for path in self._all() if path.name != current]

    def add(self) -> Path:
        """A new, empty folder with a number above all that are there."""
        names = [path.name for path in self._all()] + [self.current_name()]
        taken = [int(match[1]) for name in names if (match := GENERATION.fullmatch(name))]
        path = self.path / f"gen-{max(taken, default=0) + 1:04d}"
        path.mkdir(mode=0o700)  # fails for the second of two rebuilds that begin at once
        return path

    def point_to(self, name: str) -> None:
        """Make a generation current in one step that a power cut cannot halve."""
        sync_folder(self.path)  # the generation's own name must be on disk before anything points to it
        temporary = self.path / f"{_POINTER}.tmp"
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(name + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / _POINTER)
        sync_folder(self.path)

    def _all(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return sorted(path for path in self.path.iterdir() if GENERATION.fullmatch(path.name))


def _make_private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
