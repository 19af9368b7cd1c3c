"""A home with something in it, and file systems that are full or read-only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail
from tests.crash.soundness import make_home, open_home, open_session, promote_all
from tests.environment.command import tht, worked


@pytest.fixture
def home() -> Path:
    """THT_HOME with two memories, a waiting candidate, and an index."""
    return furnish(Path(os.environ["THT_HOME"]))


def furnish(home: Path) -> Path:
    make_home(home)
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        open_session(workspace, "waiting", ["recurrence"])
    worked(tht("--home", str(home), "index", "rebuild"))
    return home


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """Mounts a small file system of its own in memory; whatever was mounted is unmounted."""
    mounts: list[Path] = []

    def mount(name: str, size: str, under: Path = tmp_path) -> Path:
        point = under / name
        point.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(point)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            skip_or_fail(f"mounting is not permitted here: {done.stderr.strip()}")
        mounts.append(point)
        return point

    try:
        yield mount
    finally:
        for point in reversed(mounts):
            subprocess.run(["umount", "-l", str(point)], check=True)
