"""The one server of a workspace: its lock, the index that it holds open, and the socket at which others ask for it."""

from __future__ import annotations

from contextlib import ExitStack

from adapters.config import Config
from adapters.locks import Held, alone
from adapters.qdrant_edge import EdgeStore
from adapters.shared_index.answering import IndexSocket
from adapters.shared_index.held import HeldStore
from adapters.workspace import Paths
from domain.errors import ServingUnavailable


class Owner:
    """Made: the lock is held. `open` begins to answer for the index; `close` gives everything back."""

    def __init__(self, paths: Paths, config: Config) -> None:
        self.paths, self.config = paths, config
        self._held = ExitStack()
        try:
            self._held.enter_context(alone(paths.serve_lock, wait=0.0))
        except Held as error:
            raise ServingUnavailable(
                f"another tht serve of {paths.folder.name} runs", "one server owns the index; stop it first"
            ) from error

    def open(self) -> None:
        """An index on a Qdrant server of its own needs no owner."""
        if self.config.value("index.url"):
            return
        store = HeldStore(self.paths.index, EdgeStore(self.paths.index, wait=float(self.config.value("index.wait"))))
        self._held.callback(store.close)
        self._held.callback(IndexSocket(self.paths.socket, store).close)

    def close(self) -> None:
        self._held.close()
