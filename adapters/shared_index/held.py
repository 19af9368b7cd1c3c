"""One owner of the embedded index: a running `tht serve` holds it open, and the others ask it; see ADR 0019."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from adapters.shared_index.stand_in import StandIn
from domain.errors import IndexUnavailable
from projections.index.port import IndexStore, Still, VectorIndex, always

T = TypeVar("T")
_HELD: dict[Path, HeldStore] = {}  # what this process owns, by the index's folder


class HeldStore(IndexStore):
    """A store whose current generation stays open, for every thread of this process, one at a time.

    `opened`: how often it was let go of. A handle is of one opening, so that what it has begun to write into one
    generation does not go on in the next.
    """

    def __init__(self, folder: Path, store: IndexStore) -> None:
        self.folder, self.store = folder.resolve(), store
        self._lock = RLock()
        self._index: VectorIndex | None = None
        self.opened = 0
        _HELD[self.folder] = self

    def close(self) -> None:
        with self._lock:
            _HELD.pop(self.folder, None)
            self._let_go()

    def current(self) -> VectorIndex | None:
        with self._lock:
            return Handle(self, self.opened) if self._opened() is not None else None

    def is_current(self, index: VectorIndex) -> bool:
        """Whether a handle can still be asked."""
        return isinstance(index, Handle) and index.opened == self.opened

    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        with self._lock:
            return self.store.begin(dimension, still)

    def swap(self, fresh: VectorIndex) -> None:
        with self._lock:
            self._let_go()  # else the old generation could not be removed
            self.store.swap(fresh)

    def discard(self, fresh: VectorIndex) -> None:
        with self._lock:
            self.store.discard(fresh)

    def describe(self) -> Mapping[str, str]:
        with self._lock:
            return self.store.describe()

    def on_current(self, opened: int, work: Callable[[VectorIndex], T]) -> T:
        """`work` on the current generation, for a handle of this opening; IndexUnavailable when it is another's.

        After a failure it is opened anew next time.
        """
        with self._lock:
            if opened != self.opened:
                raise IndexUnavailable("the index was replaced meanwhile", "try again")
            index = self._opened()
            if index is None:
                raise IndexUnavailable("there is no index any more", "tht index rebuild")
            try:
                return work(index)
            except IndexUnavailable:
                self._let_go()
                raise

    def _opened(self) -> VectorIndex | None:
        if self._index is None:
            self._index = self.store.current()
        return self._index

    def _let_go(self) -> None:
        self.opened += 1
        index, self._index = self._index, None
        if index is not None:
            index.close()


class Handle(StandIn):
    """The index that a `HeldStore` holds, as one of its users has it, until it is replaced; closing it does nothing."""

    def __init__(self, store: HeldStore, opened: int) -> None:
        self.store, self.opened = store, opened

    def ask(self, method: str, *args: Any, **named: Any) -> Any:
        def work(index: VectorIndex) -> Any:
            answer = getattr(index, method)(*args, **named)
            return iter(list(answer)) if isinstance(answer, Iterator) else answer  # read while nobody else writes

        return self.store.on_current(self.opened, work)

    def close(self) -> None:
        pass


class SharedStore(IndexStore):
    """The embedded index of a home as whoever needs it finds it: held by this process, by a server that is asked, or
    by nobody, and then opened here. Found out anew each time, as servers come and go."""

    def __init__(self, folder: Path, ask: Callable[[], IndexStore | None], own: IndexStore) -> None:
        self.folder, self.ask, self.own = folder.resolve(), ask, own
        self._from: WeakKeyDictionary[VectorIndex, IndexStore] = WeakKeyDictionary()

    def current(self) -> VectorIndex | None:
        store = self._store()
        index = store.current()
        if index is not None:
            self._from[index] = store
        return index

    def is_current(self, index: VectorIndex) -> bool:
        """Whether an index that `current` gave is the current one still, and from whom it would be had now."""
        store = self._from.get(index)
        if store is None or type(store) is not type(self._store()):
            return False
        return store.is_current(index)

    def begin(self, dimension: int | None, still: Still = always) -> VectorIndex:
        store = self._store()
        fresh = store.begin(dimension, still)
        self._from[fresh] = store
        return fresh

    def swap(self, fresh: VectorIndex) -> None:
        self._from.pop(fresh, self.own).swap(fresh)

    def discard(self, fresh: VectorIndex) -> None:
        self._from.pop(fresh, self.own).discard(fresh)

    def describe(self) -> Mapping[str, str]:
        return self._store().describe()

    def _store(self) -> IndexStore:
        held = _HELD.get(self.folder)
        return held or self.ask() or self.own
