"""Kills a process at its N-th step of writing: SQLite statements, the vector engine, files. The product has no hooks.

A step is the moment before a write, and for what reaches the disk by itself (a commit, a file, the engine) also the
moment after it. Children are forked from a warm server, so that each costs milliseconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, cast

Acknowledge = Callable[[object], None]
Script = Callable[[Path, Acknowledge], None]  # what a child does to a home, telling what it was promised

_PRELOAD = [
    "pytest",
    "qdrant_edge",
    "adapters.indexing",
    "adapters.curation",
    "adapters.review",
    "adapters.qdrant_edge",
]
_PATIENCE = 120  # seconds; a child takes a fraction of one
_HARMLESS = ("SELECT", "PRAGMA", "BEGIN", "SAVEPOINT", "RELEASE", "ROLLBACK", "ATTACH", "DETACH")
_SPAWN = multiprocessing.get_context("forkserver")


class _Fuse:
    """Counts the steps of this process; the process is gone at step `fatal` (0: never)."""

    fatal = 0
    reached = 0


def _step() -> None:
    _Fuse.reached += 1
    if _Fuse.reached == _Fuse.fatal:
        os.kill(os.getpid(), signal.SIGKILL)


def _around(write: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    _step()
    result = write(*arguments, **named)
    _step()
    return result


def _statement(write: Callable[..., Any], sql: str, *arguments: Any) -> Any:
    if sql.startswith("COMMIT") or "journal_mode" in sql:
        return _around(write, sql, *arguments)
    if not sql.lstrip().upper().startswith(_HARMLESS):
        _step()
    return write(sql, *arguments)


class _Cursor(sqlite3.Cursor):
    def execute(self, sql: str, *arguments: Any) -> Any:
        return _statement(super().execute, sql, *arguments)

    def executemany(self, sql: str, *arguments: Any) -> Any:
        return _statement(super().executemany, sql, *arguments)


class _Connection(sqlite3.Connection):
    def cursor(self, factory: Any = _Cursor) -> Any:
        return super().cursor(factory)

    def execute(self, sql: str, *arguments: Any) -> Any:
        return self.cursor().execute(sql, *arguments)

    def executemany(self, sql: str, *arguments: Any) -> Any:
        return self.cursor().executemany(sql, *arguments)

    def commit(self) -> None:
        _around(super().commit)

    def __exit__(self, *error: Any) -> Any:
        return _around(super().__exit__, *error)


class _Shard:
    """The engine's shard, with a step around everything that it writes."""

    def __init__(self, shard: Any) -> None:
        self._shard = shard

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._shard, name)
        return partial(_around, found) if name in {"update", "flush", "close"} else found


def _remove_tree_in_halves(path: Path, *arguments: Any, **named: Any) -> None:
    _step()
    files = sorted(one for one in Path(path).rglob("*") if one.is_file())
    for file in files[: len(files) // 2]:
        os.unlink(file)
    _step()
    _REMOVE_TREE(path, *arguments, **named)
    _step()


_REMOVE_TREE = shutil.rmtree


def arm(fatal: int) -> None:
    """Make this process count its steps, and die at one of them."""
    from adapters import qdrant_edge

    opened = qdrant_edge.EdgeIndex.__init__

    def open_watched(self: Any, shard: Any, path: Path, lock: Any) -> None:
        opened(self, _Shard(shard), path, lock)  # type: ignore[arg-type]  # the engine's own cannot be subclassed

    _Fuse.fatal, _Fuse.reached = fatal, 0
    patched: Any = sqlite3
    patched.connect = partial(sqlite3.connect, factory=_Connection)
    engine: Any = qdrant_edge
    engine.EdgeIndex.__init__ = open_watched
    engine._create = partial(_around, engine._create)
    module: Any = os
    for name in ("replace", "fsync", "mkdir"):
        setattr(module, name, partial(_around, getattr(os, name)))
    unlink, paths = Path.unlink, cast(Any, Path)
    paths.unlink = lambda self, *given, **named: _around(unlink, self, *given, **named)
    trees: Any = shutil
    trees.rmtree = _remove_tree_in_halves


def _child(script: Script, home: Path, fatal: int, acks: Path) -> None:
    line = os.open(acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def acknowledge(promise: object) -> None:
        os.write(line, json.dumps(promise).encode() + b"\n")

    arm(fatal)
    script(home, acknowledge)
    os._exit(0)  # what a normal end would still clean up is not part of the script


def start_child(script: Script, home: Path, *, fatal: int = 0, acks: Path) -> BaseProcess:
    """A script in a process of its own, which its caller ends and joins."""
    _SPAWN.set_forkserver_preload(_PRELOAD)
    child = _SPAWN.Process(target=_child, args=(script, home, fatal, acks))
    child.start()
    return child


def run_child(script: Script, home: Path, *, fatal: int = 0, acks: Path) -> int:
    """Run a script in a process of its own; its exit code, -9 when it was killed at step `fatal`."""
    child = start_child(script, home, fatal=fatal, acks=acks)
    child.join(_PATIENCE)
    if child.is_alive():
        child.kill()
        child.join()
        raise AssertionError(f"{script.__name__}, to be killed at step {fatal}, hangs")
    assert child.exitcode is not None
    return child.exitcode


def killed_everywhere(
    script: Script, prepare: Callable[[], Path], scratch: Path, *, at_least: int, every: int = 1
) -> Iterator[tuple[Path, list[Any]]]:
    """Runs `script` again and again, killed `every` steps later each time, until it ends by itself. The long form,
    `make test-long`, kills at every single step.

    Yields the home and what was acknowledged before, after every run, the whole one included. `at_least`: steps that
    there must have been, so that a script that writes nothing cannot pass.
    """
    every = 1 if os.environ.get("CRASH_EVERY_STEP") else every
    for number in count():
        fatal = 1 + number * every
        acks = scratch / f"acks-{fatal}"
        home = prepare()
        code = run_child(script, home, fatal=fatal, acks=acks)
        assert code in (0, -signal.SIGKILL), f"{script.__name__} failed before step {fatal} with {code}"
        yield home, [json.loads(line) for line in acks.read_text().splitlines()]
        if code == 0:
            assert fatal > at_least, f"{script.__name__} has only {fatal - 1} steps"
            return
