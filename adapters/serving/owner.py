"""The one server of a workspace: its lock, the index that it holds open, and the socket at which others ask for it."""

from __future__ import annotations

from contextlib import ExitStack

import portalocker

from adapters.config import Config
from adapters.qdrant_edge import EdgeStore
from adapters.shared_index.answering import IndexSocket
from adapters.shared_index.held import HeldStore
from adapters.workspace import Paths
from domain.errors import HomeNotWritable, ServingUnavailable


class Owner:
    """Made: the lock is held. `open` begins to answer for the index; `close` gives everything back."""

    def __init__(self, paths: Paths, config: Config) -> None:
        self.paths, self.config = paths, config
        self._held = ExitStack()
        lock = portalocker.Lock(paths.serve_lock, mode="ab", timeout=0, fail_when_locked=True)
        try:
            lock.acquire()
        except portalocker.exceptions.LockException as error:
            raise ServingUnavailable(
                f"another tht serve of {paths.folder.name} runs", "one server owns the index; stop it first"
            ) from error
        except OSError as error:
            raise HomeNotWritable(f"{paths.serve_lock} cannot be made: {error.strerror}") from error
        self._held.callback(lock.release)

    def open(self) -> None:
        """An index on a Qdrant server of its own needs no owner."""
        if self.config.value("index.url"):
            return
        store = HeldStore(self.paths.index, EdgeStore(self.paths.index, wait=float(self.config.value("index.wait"))))
        self._held.callback(store.close)
        self._held.callback(IndexSocket(self.paths.socket, store).close)

    def close(self) -> None:
        self._held.close()
