"""One owner of the embedded index: a running `tht serve` holds it open, and the others ask it; see ADR 0019."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from domain.errors import IndexUnavailable
from projections.index.port import Checkpoint, Found, IndexStore, Point, Vector, VectorIndex

T = TypeVar("T")
_HELD: dict[Path, HeldStore] = {}  # what this process owns, by the index's folder


class HeldStore(IndexStore):
    """A store whose current generation stays open, for every thread of this process, one at a time."""

    def __init__(self, folder: Path, store: IndexStore) -> None:
        self.folder, self.store = folder.resolve(), store
        self._lock = RLock()
        self._index: VectorIndex | None = None
        _HELD[self.folder] = self

    def close(self) -> None:
        with self._lock:
            _HELD.pop(self.folder, None)
            self._let_go()

    def current(self) -> VectorIndex | None:
        with self._lock:
            return Handle(self) if self._opened() is not None else None

    def begin(self, dimension: int) -> VectorIndex:
        with self._lock:
            return self.store.begin(dimension)

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

    def on_current(self, work: Callable[[VectorIndex], T]) -> T:
        """`work` on the current generation. After a failure it is opened anew next time."""
        with self._lock:
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
        index, self._index = self._index, None
        if index is not None:
            index.close()


class Handle(VectorIndex):
    """The index that a `HeldStore` holds, as one of its users has it; closing it closes nothing."""

    def __init__(self, store: HeldStore) -> None:
        self._store = store

    def checkpoint(self) -> Checkpoint | None:
        return self._store.on_current(lambda index: index.checkpoint())

    def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        self._store.on_current(lambda index: index.save_checkpoint(checkpoint))

    def upsert(self, points: Sequence[Point]) -> None:
        self._store.on_current(lambda index: index.upsert(points))

    def delete_refs(self, refs: Sequence[str]) -> None:
        self._store.on_current(lambda index: index.delete_refs(refs))

    def search(self, vector: Vector, **asked: Any) -> list[Found]:
        return self._store.on_current(lambda index: index.search(vector, **asked))

    def scan(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._store.on_current(lambda index: list(index.scan())))

    def count(self) -> int:
        return self._store.on_current(lambda index: index.count())

    def close(self) -> None:
        pass


class SharedStore(IndexStore):
    """The embedded index of a home as whoever needs it finds it: held by this process, by a server that is asked, or
    by nobody, and then opened here. Found out anew each time, as servers come and go."""

    def __init__(self, folder: Path, ask: Callable[[], IndexStore | None], own: IndexStore) -> None:
        self.folder, self.ask, self.own = folder.resolve(), ask, own
        self._begun: dict[int, IndexStore] = {}

    def current(self) -> VectorIndex | None:
        return self._store().current()

    def begin(self, dimension: int) -> VectorIndex:
        store = self._store()
        fresh = store.begin(dimension)
        self._begun[id(fresh)] = store
        return fresh

    def swap(self, fresh: VectorIndex) -> None:
        self._begun.pop(id(fresh), self.own).swap(fresh)

    def discard(self, fresh: VectorIndex) -> None:
        self._begun.pop(id(fresh), self.own).discard(fresh)

    def describe(self) -> Mapping[str, str]:
        return self._store().describe()

    def _store(self) -> IndexStore:
        held = _HELD.get(self.folder)
        return held or self.ask() or self.own
