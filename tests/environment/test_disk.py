"""A home that cannot be written: read-only or full. Nothing is half done, and all works again when there is space."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crash.soundness import assert_goes_on, assert_sound, open_home, standing
from tests.environment.command import tht, worked
from tests.environment.conftest import furnish

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="mounts are POSIX")

READING = (
    ["session", "list"],
    ["session", "show", "done"],
    ["session", "summary", "done"],
    ["registry", "list"],
    ["registry", "show", "mem-0001"],
    ["memory", "promote", "--session", "waiting", "--preview"],
    ["audit", "session", "done"],
    ["audit", "memory", "mem-0001"],
    ["ledger", "verify"],
    ["ledger", "head"],
    ["ledger", "log"],
    ["config", "list"],
    ["projection", "status"],
    ["projection", "verify"],
    ["status"],
    ["verify"],
    ["doctor"],
)
WRITING = (
    ["session", "open", "another", "--question", "is there space?", "--actor", "agent:coder-1"],
    ["memory", "decline", "--session", "waiting", "--seq", "1", "--reviewer", "human:ada"],
    ["registry", "retire", "mem-0001", "--actor", "human:ada", "--reason", "wrong"],
    ["config", "set", "review.page", "9"],
    ["projection", "rebuild"],
    ["index", "rebuild"],
)


def fill(folder: Path) -> Path:
    """Leave no byte free."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return ballast


def test_read_only_home(mounted: Callable[..., Path]) -> None:
    """What writes is refused with exit 3, what reads answers or is refused; after a remount nothing is missing."""
    disk = mounted("disk", "64m")
    home = furnish(disk / "home")
    with open_home(home) as workspace:
        workspace.caught_up()
        promise = standing(workspace)
    given = ("--home", str(home))
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    try:
        for command in WRITING:
            ran = tht(*given, *command)
            assert ran.code == 3, (command, ran)
        for command in READING:
            assert tht(*given, *command).code in ((0, 1) if command == ["doctor"] else (0, 3)), command
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    with open_home(home) as workspace:
        assert standing(workspace) == promise
        assert_sound(workspace)
        assert_goes_on(workspace)


def test_read_only_place_for_a_new_home(mounted: Callable[..., Path]) -> None:
    disk = mounted("disk", "8m")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    ran = tht("--home", str(disk / "home"), "init")
    assert ran.code == 3
    assert "cannot be" in ran.err


def test_home_of_somebody_else(home: Path) -> None:
    """Without the right to read it: exit 3, the path, and no traceback. Only root can try this as somebody else."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    given = ("--home", str(home))
    for command in READING:
        tht(*given, *command)  # loads the modules, which somebody else may not be allowed to read either
    os.seteuid(65534)
    try:
        for command in (*READING, *WRITING):
            ran = tht(*given, *command)
            assert ran.code == 3, (command, ran)
            assert str(home) in ran.err, (command, ran)
    finally:
        os.seteuid(0)


def test_full_disk(mounted: Callable[..., Path]) -> None:
    """Exit 3 and nothing written; what reads answers or is refused; with space again everything works."""
    disk = mounted("disk", "64m")
    home = furnish(disk / "home")
    with open_home(home) as workspace:
        workspace.caught_up()
        promise = standing(workspace)
    given = ("--home", str(home))
    ballast = fill(disk)
    for command in WRITING:
        ran = tht(*given, *command)
        assert ran.code == 3, (command, ran)
    for command in READING:
        assert tht(*given, *command).code in ((0, 1) if command == ["doctor"] else (0, 3)), command
    ballast.unlink()
    with open_home(home) as workspace:
        assert_sound(workspace, [promise])
        assert standing(workspace) == promise
        assert_goes_on(workspace)
    worked(tht(*given, "projection", "rebuild"))
    worked(tht(*given, "index", "rebuild"))
    worked(tht(*given, "verify"))


def test_disk_that_fills_up_while_writing(mounted: Callable[..., Path]) -> None:
    """Whatever was acknowledged before the last byte was used is there; the command that met the end wrote nothing."""
    disk = mounted("disk", "1m")
    given = ("--home", str(disk / "home"), "--actor", "agent:coder-1")
    acknowledged, refused = [], 0
    for number in range(200):
        ran = tht(*given, "session", "open", f"s-{number}", "--question", "why? " * 4000)
        if ran.code == 0:
            acknowledged.append(f"s-{number}")
        else:
            assert ran.code == 3, ran
            refused += 1
        if refused > 3:
            break
    assert refused > 3
    assert len(acknowledged) > 3
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    with open_home(disk / "home") as workspace:
        assert_sound(workspace)
    rows = worked(tht(*given, "session", "list", "--limit", "500", "--json")).json["sessions"]
    assert sorted(row["session_id"] for row in rows) == sorted(acknowledged)
