"""The current index as this process has it open: for the time of a use, or from one use to the next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from projections.index.port import IndexStore, VectorIndex


class OpenIndex:
    """One a workspace and process; one thread at a time uses it, and a use within a use shares it.

    With `keep`, a large index need not be opened for each search. The embedded engine lets one process in, so that
    others then get IndexBusy and search by words: only a process that serves many sets it. What another process has
    swapped in meanwhile is noticed at the next use.
    """

    def __init__(self) -> None:
        self.keep = False
        self._held: VectorIndex | None = None
        self._uses = 0
        self._lock = RLock()

    @contextmanager
    def use(self, store: IndexStore) -> Iterator[VectorIndex | None]:
        """The current generation, None when there is none yet. After any error it is opened anew the next time."""
        with self._lock:
            if self._uses == 0:
                self._renew(store)
            self._uses += 1
            try:
                yield self._held
            except BaseException:
                if self._uses == 1:
                    self.let_go()
                raise
            finally:
                self._uses -= 1
                if self._uses == 0 and not self.keep:
                    self.let_go()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let go of it, and keep nothing meanwhile, so that a rebuild can remove the old one."""
        kept, self.keep = self.keep, False
        self.let_go()
        try:
            yield
        finally:
            self.keep = kept

    def let_go(self) -> None:
        """Close it, once nobody uses it. Safe to call twice."""
        with self._lock:
            held, self._held = self._held, None
            if held is not None:
                held.close()

    def _renew(self, store: IndexStore) -> None:
        if self._held is not None and not store.is_current(self._held):
            self.let_go()
        if self._held is None:
            self._held = store.current()
