"""A restore that is killed at any step leaves the old or the new ledger, and again ends what was begun."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from adapters import restore
from adapters.backup import write_backup
from adapters.restore import restore_backup
from adapters.workspace import Workspace, create_workspace
from domain.errors import (
    NoHome,
)
from tests.adapters.backup.conftest import state

STEPS = [
    (existing, step, call, moment)
    for existing, step, call in (
        (False, "_save", 1),
        (False, "_link_in", 1),
        (False, "_save", 2),
        (True, "_save", 1),
        (True, "_append", 1),
        (True, "_save", 2),
    )
    for moment in ("before", "after")
]


@pytest.mark.posix
@pytest.mark.parametrize(("existing", "step", "call", "moment"), STEPS)
def test_a_kill_leaves_the_old_or_the_new_ledger(
    one: Workspace, home: Path, tmp_path: Path, step: str, moment: str, call: int, existing: bool
) -> None:
    """Whichever it left, the home opens with it, and restoring again ends what was begun."""
    manifest = write_backup(one, tmp_path / "b.zip")
    one.close()
    target = home / "two"
    if existing:
        create_workspace(home, "two").close()
    old = state(home, "two") if existing else None
    child = os.fork()
    if not child:
        _die_at(step, moment, call)
        try:
            restore_backup(tmp_path / "b.zip", target)
        finally:
            os._exit(0)
    _, how = os.waitpid(child, 0)
    assert os.WTERMSIG(how) == signal.SIGKILL
    new = state(home, "one")
    try:
        assert state(home, "two") in (old, new)
    except NoHome:
        assert not existing
    assert restore_backup(tmp_path / "b.zip", target).manifest == manifest
    assert state(home, "two") == new


def _die_at(step: str, moment: str, call: int) -> None:
    real = getattr(restore, step)
    calls = 0

    def fatal(*arguments: object) -> None:
        nonlocal calls
        calls += 1
        if calls == call and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        real(*arguments)
        if calls == call:
            os.kill(os.getpid(), signal.SIGKILL)

    setattr(restore, step, fatal)
