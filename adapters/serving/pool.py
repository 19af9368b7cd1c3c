"""Opened workspaces for the server's threads: one is used by one thread at a time, a few exist, none is made twice."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread

from adapters.embedding import embedder_from
from adapters.workspace import Paths, Workspace, open_workspace
from domain.errors import ThtError, Unavailable
from projections.index.port import Embedder

T = TypeVar("T")
SIZE = 4  # the interpreter runs one thread at a time anyway; these overlap where one waits for the disk
WAITING = 1000  # requests that wait for a workspace at most
PATIENCE = 30.0  # seconds

log = logging.getLogger("tht.serve")
Stamp = tuple[tuple[int, int], ...]


class Busy(Unavailable):
    """More requests wait than can be answered in time."""

    def __init__(self) -> None:
        super().__init__("more is asked than can be answered in time", "try again")


class Models:
    """One embedder a model, for all workspaces of the pool: it loads once, and takes one thread at a time."""

    def __init__(self) -> None:
        self._made: dict[str, Embedder] = {}
        self._lock = Lock()

    def embedder(self, model: str) -> Embedder:
        with self._lock:
            if model not in self._made:
                self._made[model] = embedder_from(model)
            return self._made[model]


class Pool:
    """Opens workspaces as they are needed, `SIZE` at most; reopens one whose settings or files were replaced."""

    def __init__(self, home: Path, name: str, *, size: int = SIZE) -> None:
        self.home, self.name = home, name
        self._models = Models()
        self._free: deque[tuple[Workspace, Stamp]] = deque()
        self._lock = Lock()
        self._limiter: CapacityLimiter | None = None
        self._size = size
        self._closed = False
        self.waiting = 0

    async def run(self, work: Callable[[Workspace], T]) -> T:
        """`work` in a thread, with a workspace that is its alone. Busy when too many wait, or for too long."""
        if self.waiting >= WAITING:
            raise Busy
        if self._limiter is None:
            self._limiter = CapacityLimiter(self._size)
        self.waiting += 1
        try:
            with anyio.fail_after(PATIENCE):
                await self._limiter.acquire()
        except TimeoutError as error:
            raise Busy from error
        finally:
            self.waiting -= 1
        try:
            return await to_thread.run_sync(lambda: self._with(work))
        finally:
            self._limiter.release()

    def _with(self, work: Callable[[Workspace], T]) -> T:
        with self.borrowed() as workspace:
            return work(workspace)

    @contextmanager
    def borrowed(self) -> Iterator[Workspace]:
        """A workspace for the calling thread. After an error that is not the domain's it is not used again."""
        workspace, stamp = self._take()
        try:
            yield workspace
        except BaseException as error:
            if isinstance(error, ThtError) and not isinstance(error, Unavailable):
                self._give_back(workspace, stamp)
            else:
                workspace.close()
            raise
        self._give_back(workspace, stamp)

    def close(self) -> None:
        """Close what is free now; what is borrowed is closed when it comes back."""
        with self._lock:
            self._closed = True
            free, self._free = list(self._free), deque()
        for workspace, _ in free:
            workspace.close()

    def _take(self) -> tuple[Workspace, Stamp]:
        while True:
            with self._lock:
                found = self._free.pop() if self._free else None
            if found is None:
                return self._opened()
            if found[1] == _stamp(found[0].paths):
                return found
            log.info("settings or files have changed: the workspace is opened again")
            found[0].close()

    def _opened(self) -> tuple[Workspace, Stamp]:
        settings = _settings(Paths(self.home / self.name))  # before they are read: a change meanwhile is seen as one
        workspace = open_workspace(self.home, self.name)
        try:
            workspace.embedders, workspace.make_embedder = {}, self._models.embedder
            workspace.caught_up()
        except BaseException:
            workspace.close()
            raise
        return workspace, (settings, *_files(workspace.paths))

    def _give_back(self, workspace: Workspace, stamp: Stamp) -> None:
        with self._lock:
            if not self._closed and len(self._free) < self._size:
                self._free.append((workspace, stamp))
                return
        workspace.close()


def _stamp(paths: Paths) -> Stamp:
    """Which settings and files are there now."""
    return (_settings(paths), *_files(paths))


def _settings(paths: Paths) -> tuple[int, int]:
    return _of(paths.config, content=True)


def _files(paths: Paths) -> Stamp:
    """The databases, by which files they are."""
    return (_of(paths.views, content=False), _of(paths.ledger, content=False))


def _of(path: Path, *, content: bool) -> tuple[int, int]:
    try:
        stat = os.stat(path)
    except FileNotFoundError:
        return (0, 0)
    return (stat.st_ino, stat.st_mtime_ns if content else 0)
