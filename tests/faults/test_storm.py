"""Writers, projectors, rebuilders, readers and the database's own processes killed at random: a bounded storm.

Seeded: the same rounds every time, as far as the machine's timing allows. How many: tests/faults/rounds.py.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from adapters.health import Health
from adapters.indexing import Indexing
from adapters.ledger_copy import copy_ledger_to
from adapters.workspace import Workspace
from tests.crash.faults import start_child
from tests.crash.soundness import (
    assert_goes_on,
    assert_index_follows,
    assert_sound,
    make_home,
    open_home,
    open_session,
    promote_all,
)
from tests.faults import workers
from tests.faults.rounds import OF_PROCESSES
from tests.postgres import cut_connections, kill_a_backend, new_database

pytestmark = pytest.mark.posix

A_HOME = 25  # rounds to a home: each check replays all of it


def prepared(folder: Path) -> Path:
    home = make_home(folder / "home")
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        Indexing(workspace).rebuild()
    return home


def storm(home: Path, folder: Path, chance: random.Random, disturb: Callable[[], object]) -> list[tuple[int, str]]:
    """One round: some workers at once, each killed at a moment of its own. What they were promised, whoever died."""
    kinds = [workers.write, *chance.sample(workers.KINDS[1:], 3)]
    acks = [folder / f"acks-{number}" for number in range(len(kinds))]
    for ack in acks:
        ack.unlink(missing_ok=True)
    running = [start_child(kind, home, acks=ack) for kind, ack in zip(kinds, acks, strict=True)]
    patience = time.monotonic() + 60
    while not all(ack.exists() and whole_lines(ack) for ack in acks) and time.monotonic() < patience:
        time.sleep(0.01)  # until all have begun, however busy the machine is
    begun = time.monotonic()
    moments = sorted((chance.uniform(0.0, 1.2), number) for number in range(len(kinds)))
    try:
        for moment, number in moments:
            time.sleep(max(0.0, begun + moment - time.monotonic()))
            if chance.random() < 0.3:
                disturb()
            running[number].kill()
    finally:
        for child in running:
            child.kill()
            child.join(30)
    codes = {child.exitcode for child in running}
    assert codes <= {0, -signal.SIGKILL}, f"a worker failed by itself: {codes}"
    return [tuple(json.loads(line)) for ack in acks if ack.exists() for line in whole_lines(ack)]


def whole_lines(ack: Path) -> list[str]:
    return [line for line in ack.read_text().splitlines(keepends=True) if line.endswith("\n")]


def assert_verify_is_clean(workspace: Workspace) -> None:
    """Or it names the index alone, which lives outside of the ledger's transactions, and a rebuild mends it."""
    report = Health(workspace).verify()
    if not report.ok:
        assert {finding.level for finding in report.findings} == {"index"}, report.findings
        assert all("tht index rebuild" in finding.mend for finding in report.findings)
        Indexing(workspace).rebuild()
        report = Health(workspace).verify()
    assert report.ok, report.findings


def weathered(make: Callable[[int], Path], folder: Path, disturb: Callable[[random.Random], object]) -> int:
    """All rounds; how many promises were kept."""
    kept = 0
    home = folder
    for turn in range(OF_PROCESSES):
        chance = random.Random(turn)
        if turn % A_HOME == 0:
            home = make(turn)
        promises = storm(home, folder, chance, partial(disturb, chance))
        with open_home(home) as workspace:
            assert_sound(workspace, promises)
            if turn % 5 == 4:
                assert_verify_is_clean(workspace)
            kept += len(promises)
    with open_home(home) as workspace:
        assert_verify_is_clean(workspace)
        assert_goes_on(workspace)
        assert_index_follows(workspace)
    return kept


def test_on_a_file(tmp_path: Path) -> None:
    def make(turn: int) -> Path:
        folder = tmp_path / f"from-{turn}"
        folder.mkdir()
        return prepared(folder)

    assert weathered(make, tmp_path, lambda chance: None) > OF_PROCESSES


def test_on_a_server_whose_connections_and_processes_are_killed_too(tmp_path: Path, postgres: str) -> None:
    """Connections are ended by the server, and now and then one of its processes gets a SIGKILL: it then starts anew
    with all that it had committed."""
    with ExitStack() as databases:
        urls: list[str] = []

        def make(turn: int) -> Path:
            folder = tmp_path / f"from-{turn}"
            folder.mkdir()
            home = prepared(folder)
            urls.append(databases.enter_context(new_database(postgres)))
            with open_home(home) as workspace:
                copy_ledger_to(workspace, urls[-1], move=True)
            return home

        killed, cut = [], []

        def disturb(chance: random.Random) -> None:
            if chance.random() < 0.3:
                killed.append(kill_a_backend(urls[-1]))
            else:
                cut.append(cut_connections(urls[-1]))

        assert weathered(make, tmp_path, disturb) > OF_PROCESSES
        assert OF_PROCESSES < 6 or (any(killed) and any(cut))
