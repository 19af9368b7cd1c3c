"""After an erasure: what the files of a home still hold of texts that nobody can read in the ledger any more.

Views, index and cache follow from the ledger, so everything here can be done again, and is, whenever an erase is
repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import islice

from adapters.indexing import Indexing
from adapters.locks import alone
from adapters.scratch import sweep
from adapters.workspace import Workspace
from domain.errors import HomeNotWritable, IndexUnavailable, ModelUnavailable, ThtError
from projections.index.follow import empty_index
from projections.index.records import readable_texts
from projections.loop import remove_database

BATCH = 500  # texts whose vectors are looked up at once
NONE = "none"  # what a store says of a generation that is not there


@dataclass(frozen=True)
class Purging:
    workspace: Workspace

    def run(self) -> str:
        """Clean ledger, views, index and cache; returns what became of the index: none, rebuilt, emptied.

        HomeNotWritable names every part that could not be cleaned, after the others have been.
        """
        troubles: list[str] = []
        index = NONE

        def clean_index() -> None:
            nonlocal index
            with self.workspace.open_index.paused():
                index = self._clean_index()

        for step in (self._clean_views, clean_index, self.workspace.ledger.recorder.purge, self._clean_scratch):
            _attempt(step, troubles)
        if troubles:
            raise HomeNotWritable(
                f"erased, and nobody can read it in the ledger; but traces may be left: {'; '.join(troubles)}",
                "run the same tht erase again when that is mended: it cleans again",
            )
        return index

    def _clean_scratch(self) -> None:
        folder = self.workspace.paths.folder
        if staying := [*sweep(folder), *sweep(folder.parent)]:
            raise HomeNotWritable(f"{staying[0]} may hold a copy: of a backup that is being made, or one left behind")

    def _clean_views(self) -> None:
        """A view that has parked a stream did not see the erasure: then all of them are replayed at their next use."""
        paths = self.workspace.paths
        with alone(paths.lock, "the views are being rebuilt by another process"):
            remove_database(paths.scratch)
            self.workspace.caught_up()
            if self.workspace.file.parked():
                self.workspace.forget_views()
            else:
                self.workspace.file.purge()

    def _clean_index(self) -> str:
        """A new generation without the text, and the old one gone: the engine keeps the bytes of deleted points."""
        indexing = Indexing(self.workspace)
        found = indexing.store.describe()
        if found["current"].startswith("unknown"):
            raise IndexUnavailable(f"the index: {found['current']}")
        if found["current"] == NONE:
            self._forget_vectors(indexing, rebuilt=False)
            if found["leftovers"] != NONE:
                with indexing.writing() as still:
                    indexing.store.discard(indexing.store.begin(None, still))
            self._require_alone(indexing)
            return NONE
        rebuilt = self._rebuilt(indexing)
        self._forget_vectors(indexing, rebuilt=rebuilt)
        self._require_alone(indexing)
        return "rebuilt" if rebuilt else "emptied"

    def _rebuilt(self, indexing: Indexing) -> bool:
        """False when there is no model to do it with: the index is then empty, and filled when there is one again."""
        try:
            indexing.rebuild()
        except ModelUnavailable:
            self._empty(indexing)
            return False
        return True

    def _empty(self, indexing: Indexing) -> None:
        index = indexing.store.current()
        if index is None:
            return
        with index:
            before = index.checkpoint()
        if before:
            before = replace(before, token=indexing.token(), made_at=self.workspace.ledger.head().position)
        with indexing.writing() as still:
            empty_index(self.workspace.ledger, indexing.store, before, still=still)

    def _forget_vectors(self, indexing: Indexing, *, rebuilt: bool) -> None:
        """After a rebuild the cache keeps what that asked for, and the vectors of every other text that can still be
        read: questions about the past look at facts that have ended. Without a model nobody knows the pieces."""
        if not self.workspace.paths.vectors.exists():
            return
        cache = indexing.embedder
        if rebuilt:
            texts = readable_texts(self.workspace.caught_up())
            while batch := list(islice(texts, BATCH)):
                cache.known([*batch, *(chunk for text in batch for chunk in cache.chunks(text))])
            cache.forget_unused()
        else:
            cache.clear()
        if cache.notice:
            raise HomeNotWritable(cache.notice)

    @staticmethod
    def _require_alone(indexing: Indexing) -> None:
        left = indexing.store.describe()["leftovers"]
        if left != NONE:
            raise IndexUnavailable(f"the index keeps {left}, which another process has open")


def _attempt(step: Callable[[], object], troubles: list[str]) -> None:
    try:
        step()
    except ThtError as error:
        troubles.append(error.message)
