"""Several real processes that begin each round at the same moment."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from domain.errors import ThtError

Round = Callable[[Path, int, int], object]  # home, which process, which round

_PRELOAD = [
    "pytest",
    "qdrant_edge",
    "adapters.indexing",
    "adapters.curation",
    "adapters.review",
    "adapters.qdrant_edge",
]
_PATIENCE = 300  # seconds, for everything that one test does
_SPAWN = multiprocessing.get_context("forkserver")


def _play(play: Round, home: Path, number: int, rounds: int, barrier: Barrier, answers: Any) -> None:
    """One process: every round begins together, and its answer is kept; a refusal answers with its type's name."""
    found: list[object] = []
    try:
        for turn in range(rounds):
            barrier.wait(_PATIENCE)
            try:
                found.append(play(home, number, turn))
            except ThtError as error:
                found.append(f"{error.type}: {error.message}")
        answers.put((number, found, ""))
    except BaseException:
        barrier.abort()
        answers.put((number, found, traceback.format_exc()))


def together(play: Round, home: Path, *, processes: int, rounds: int = 1) -> list[list[Any]]:
    """What each process answered, round by round. Anything but a refusal of the product's fails the test here."""
    _SPAWN.set_forkserver_preload(_PRELOAD)
    barrier, answers = _SPAWN.Barrier(processes), _SPAWN.Queue()
    children = [
        _SPAWN.Process(target=_play, args=(play, home, number, rounds, barrier, answers)) for number in range(processes)
    ]
    for child in children:
        child.start()
    try:
        answered = dict(_collected(answers, processes))
    finally:
        for child in children:
            child.join(10)
            if child.is_alive():
                child.kill()
                child.join()
    return [answered[number] for number in range(processes)]


def _collected(answers: Any, processes: int) -> Iterator[tuple[int, list[Any]]]:
    failures = []
    for _ in range(processes):
        number, found, failure = answers.get(timeout=_PATIENCE)
        if failure:
            failures.append(failure)
        yield number, found
    assert not failures, "\n".join(failures)
