"""After an erasure: what the files of a home still hold of texts that nobody can read in the ledger any more.

Views, index and cache follow from the ledger, so everything here can be done again, and is, whenever an erase is
repeated. Each home of a ledger cleans its own files: the one in which it is erased at once, another when its views have
followed the erasure. The views' file says up to which erasure they did, and `purged.json` up to which the home is
clean, so that whoever is killed in between leaves it to the next command.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice

from adapters.indexing import Indexing
from adapters.ledger_place import is_elsewhere
from adapters.locks import WAIT, Held, alone
from adapters.purged import Purged
from adapters.scratch import sweep
from adapters.sqlite import LedgerRecorder, has_moved
from adapters.workspace import Workspace
from domain.errors import HomeNotWritable, IndexUnavailable, ModelUnavailable, ThtError
from domain.event import iso_utc
from projections.index.follow import empty_index
from projections.index.records import readable_texts
from projections.loop import remove_database

BATCH = 500  # texts whose vectors are looked up at once
NONE = "none"  # what a store says of a generation that is not there


@dataclass
class Purging:
    workspace: Workspace
    _is_held: bool = field(default=False, init=False)

    def run(self) -> str:
        """Clean ledger, views, index and cache; returns what became of the index: none, rebuilt, emptied.

        HomeNotWritable names every part that could not be cleaned, after the others have been.
        """
        with nullcontext() if self._is_held else self.held():
            return self._run(known=False)

    @contextmanager
    def held(self, wait: float = WAIT) -> Iterator[None]:
        """One process of a home at a time cleans it: whoever erases has it from before the erasure is recorded."""
        busy = "another process of this home is cleaning it after an erasure"
        with alone(self.workspace.paths.purge_lock, busy, wait=wait):
            self._is_held = True
            try:
                yield
            finally:
                self._is_held = False

    def follow(self) -> None:
        """The same, for erasures that this home has followed and was not cleaned after: given in another home of the
        ledger, or in this one by a process that was killed. Nothing when there are none, when another process does it,
        or when it failed a moment ago. Raises as `run` does."""
        paths = self.workspace.paths
        if self.due() and not Purged.load(paths.purged).rests(self.workspace.clock()):
            with suppress(Held), self.held(wait=0.0):
                if self.due():
                    self._run(known=True)

    def due(self) -> bool:
        """Whether the views have followed an erasure after which this home has not been cleaned."""
        return self.workspace.file.erased() > Purged.load(self.workspace.paths.purged).reached

    def _run(self, *, known: bool) -> str:
        """`known`: an index that was begun after the erasures is left as it is."""
        troubles: list[str] = []
        index, reached = NONE, 0

        def clean_views() -> None:
            nonlocal reached
            reached = self._clean_views()

        def clean_index() -> None:
            nonlocal index
            with self.workspace.open_index.paused():
                index = self._clean_index(reached if known else None)

        paths = self.workspace.paths
        purge = self.workspace.ledger.recorder.purge
        for step in (clean_views, clean_index, purge, self._clean_scratch, self._clean_moved):
            _attempt(step, troubles)
        if troubles:
            now, problem = iso_utc(self.workspace.clock()), "; ".join(troubles)
            replace(Purged.load(paths.purged), tried_at=now, problem=problem).save(paths.purged)
            raise HomeNotWritable(
                f"erased, and nobody can read it in the ledger; but traces may be left: {problem}",
                "when that is mended, the next command cleans again, and so does the same tht erase",
            )
        if (clean := Purged(reached)) != Purged.load(paths.purged):
            clean.save(paths.purged)
        return index

    def _clean_scratch(self) -> None:
        folder = self.workspace.paths.folder
        if staying := [*sweep(folder), *sweep(folder.parent)]:
            raise HomeNotWritable(f"{staying[0]} may hold a copy: of a backup that is being made, or one left behind")

    def _clean_moved(self) -> None:
        """A ledger that went to a server left its file here, closed, with the keys. It goes only where the server has
        all of it: one that came back at an older state may have no other copy of what it lost."""
        if not is_elsewhere(self.workspace.config):
            return
        for file in (self.workspace.paths.moved, self.workspace.paths.ledger):
            if file.exists() and has_moved(file):
                with closing(LedgerRecorder(file)) as left:
                    position, chain = left.head()
                if self.workspace.ledger.recorder.chain_at(position) != chain:
                    what = f"{file.name} has what the ledger on the server has not: see to that, then remove it"
                    raise HomeNotWritable(what)
                remove_database(file)

    def _clean_views(self) -> int:
        """A view that has parked a stream did not see the erasure: then all of them are replayed at their next use.
        Gives the position of the last erasure that is seen to."""
        paths = self.workspace.paths
        with alone(paths.lock, "the views are being rebuilt by another process"):
            remove_database(paths.scratch)
            self.workspace.caught_up()
            erased = self.workspace.file.erased()
            if self.workspace.file.parked():
                self.workspace.forget_views()
            else:
                self.workspace.file.purge()
            return erased

    def _clean_index(self, erased: int | None) -> str:
        """A new generation without the text, and the old one gone: the engine keeps the bytes of deleted points. One
        that was begun after the position `erased` never held it: nodes that share an index do not all make it anew."""
        indexing = Indexing(self.workspace)
        with closing(indexing):
            return self._cleaned(indexing, erased)

    def _cleaned(self, indexing: Indexing, erased: int | None) -> str:
        found = indexing.store.describe()
        if found["current"].startswith("unknown"):
            raise IndexUnavailable(f"the index: {found['current']}")
        if found["current"] == NONE:
            self._forget_vectors(indexing, rebuilt=False)
            self._sweep(indexing)
            return NONE
        if erased is not None and self._begun(indexing) >= max(erased, 1):
            self._forget_vectors(indexing, rebuilt=self._has_model(indexing))
            self._sweep(indexing)
            return "kept"
        rebuilt = self._rebuilt(indexing)
        self._forget_vectors(indexing, rebuilt=rebuilt)
        self._require_alone(indexing)
        return "rebuilt" if rebuilt else "emptied"

    @staticmethod
    def _begun(indexing: Indexing) -> int:
        """The position at which the current generation was begun; 0 when it does not say."""
        index = indexing.store.current()
        if index is None:
            return 0
        with index:
            checkpoint = index.checkpoint()
        return checkpoint.made_at if checkpoint else 0

    @staticmethod
    def _has_model(indexing: Indexing) -> bool:
        try:
            return bool(indexing.embedder.chunks(""))
        except ModelUnavailable:
            return False

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

    def _sweep(self, indexing: Indexing) -> None:
        """What one that was killed has left beside the current generation, which may have been the current one."""
        if indexing.store.describe()["leftovers"] != NONE:
            with indexing.writing() as still:
                indexing.store.discard(indexing.store.begin(None, still))
        self._require_alone(indexing)

    @staticmethod
    def _require_alone(indexing: Indexing) -> None:
        left = indexing.store.describe()["leftovers"]
        if left != NONE:
            raise IndexUnavailable(f"the index keeps {left}, which another process has open")


def clean_quietly(workspace: Workspace) -> None:
    """`Purging.follow` at the end of a command that was about something else, which is done, whatever comes of this."""
    try:
        Purging(workspace).follow()
    except ThtError as error:
        logging.getLogger("tht.purging").warning("%s; %s", error.message, error.hint)


def _attempt(step: Callable[[], object], troubles: list[str]) -> None:
    try:
        step()
    except ThtError as error:
        troubles.append(error.message)
