"""What the processes of the storm do, over and over, until they are killed or their time is up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from adapters.curation import Curation
from adapters.indexing import Indexing
from adapters.workspace import Workspace
from domain.errors import IndexBusy, IndexUnavailable
from projections import loop
from tests.crash.faults import Acknowledge
from tests.crash.soundness import open_home, open_session, promote_all, search, standing

SECONDS = 3.0  # that a worker goes on when nobody kills it


def _over_and_over(home: Path, work: Callable[[Workspace, int], object], acknowledge: Acknowledge) -> None:
    until, number = time.monotonic() + SECONDS, 0
    with open_home(home) as workspace:
        acknowledge(standing(workspace))  # it has begun
    while time.monotonic() < until:
        with open_home(home) as workspace:
            for _ in range(5):
                number += 1
                work(workspace, number)
                acknowledge(standing(workspace))


def write(home: Path, acknowledge: Acknowledge) -> None:
    """Whole sessions with their promotions; what each command was told is promised."""

    def work(workspace: Workspace, number: int) -> None:
        session_id = f"s-{os.getpid()}-{number}"
        open_session(workspace, session_id, [f"concept {session_id}", "what all agree on"])
        acknowledge(standing(workspace))
        promote_all(workspace, session_id)

    _over_and_over(home, work, acknowledge)


def project(home: Path, acknowledge: Acknowledge) -> None:
    """Small pages, so that there are many moments between a row and its position."""
    loop.PAGE = 7
    _over_and_over(home, lambda workspace, _: workspace.caught_up(), acknowledge)


def rebuild(home: Path, acknowledge: Acknowledge) -> None:
    _over_and_over(home, lambda workspace, _: workspace.rebuild_views(), acknowledge)


def index(home: Path, acknowledge: Acknowledge) -> None:
    """Catches the index up, and makes it anew every third time. Others may hold it."""

    def work(workspace: Workspace, number: int) -> None:
        indexing = Indexing(workspace)
        try:
            indexing.rebuild() if number % 3 == 0 else indexing.catch_up()
        except (IndexBusy, IndexUnavailable):
            time.sleep(0.02)

    _over_and_over(home, work, acknowledge)


def read(home: Path, acknowledge: Acknowledge) -> None:
    """What is shown never goes back, and every answer is one."""
    known = [0]

    def work(workspace: Workspace, number: int) -> None:
        total = Curation(workspace).list()[1]
        assert total >= known[0], "a memory was there and is not any more"
        known[0] = total
        search(workspace, "what all agree on")

    _over_and_over(home, work, acknowledge)


KINDS = (write, write, project, rebuild, index, read)
