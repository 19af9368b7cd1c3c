"""The vector index of a workspace: its store and embedder, catching up, rebuilding, status, and what a search asks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from adapters.index_turn import NAME, FileTurn, IndexTurn, Nobodys, PostgresTurn
from adapters.ledger_place import is_elsewhere
from adapters.workspace import Workspace
from domain.errors import IndexBusy, IndexNotWritable, IndexUnavailable, ModelUnavailable, ThtError, Unavailable
from projections.index.compare import IndexDrift, compare
from projections.index.follow import (
    VERSION,
    catch_up_index,
    empty_index,
    rebuild_index,
    require_own_history,
    require_version,
)
from projections.index.port import Checkpoint, Embedder, IndexStore, VectorIndex
from projections.loop import Progress

if TYPE_CHECKING:
    from adapters.vector_cache import CachedEmbedder

IDLE = 500  # events of no concern to the index that a search leaves unrecorded: see `catch_up_index`


@dataclass(frozen=True, slots=True)
class Asked:
    """A question put to the index: its vector by the embedder that the index was made with, and how far that is."""

    index: VectorIndex
    vector: list[float]
    checkpoint: Checkpoint
    embedder: Embedder


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """How the index stands. `problem`: why it cannot be said, or what is wrong with it."""

    engine: dict[str, str]
    checkpoint: Checkpoint | None
    drift: IndexDrift | None
    model: str
    problem: str

    def as_json(self, ledger_position: int) -> dict[str, Any]:
        reached = self.checkpoint.position if self.checkpoint else 0
        return {
            "position": reached,
            "lag": ledger_position - reached,
            "model": self.checkpoint.model if self.checkpoint else None,
            "configured_model": self.model,
            "coverage": None if self.drift is None else self.drift.coverage,
            "problem": self.problem,
            **self.engine,
        }


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A new index: its points, and how many texts were embedded for it or found in the cache."""

    points: int
    embedded: int
    cached: int
    notice: str

    def as_json(self) -> dict[str, Any]:
        return {"points": self.points, "embedded": self.embedded, "cached": self.cached, "notice": self.notice}


def new_token() -> str:
    """What no checkpoint has had before."""
    return token_hex(8)


class Indexing:
    """Opens the index only while it is used, so that other processes get their turn.

    `keep_open`: for a process that lives long and answers many; it has the index open until the workspace is closed.
    """

    def __init__(
        self,
        workspace: Workspace,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        keep_open: bool = False,
        token: Callable[[], str] = new_token,
    ) -> None:
        self.workspace = workspace
        self.monotonic, self.token = monotonic, token
        self._made_with: Checkpoint | None = None
        if keep_open:
            workspace.open_index.keep = True
        self._embedders: dict[str, CachedEmbedder] = {} if workspace.embedders is None else workspace.embedders
        self._coverage: dict[tuple[str, str], float] = {}

    @classmethod
    def of(cls, workspace: Workspace) -> Indexing:
        """Always the same of a workspace that stays open: what it found out about index and model is kept."""
        if workspace.indexing is None:
            workspace.indexing = cls(workspace)
        return workspace.indexing

    @cached_property
    def store(self) -> IndexStore:
        """Closed with the workspace at the latest."""
        store = self._store()
        self.workspace.closers.append(store.close)
        return store

    def close(self) -> None:
        """Give back the connection to the index, where somebody makes one that the workspace does not keep."""
        if "store" in self.__dict__:
            self.store.close()

    def _store(self) -> IndexStore:
        config = self.workspace.config
        if url := config.value("index.url"):
            from adapters.qdrant_server import ServerStore
            from adapters.qdrant_tenants import TenantStore

            key = os.environ.get("THT_QDRANT_API_KEY") or None
            ledger_id = self.workspace.ledger.recorder.ledger_id()
            if shared := config.value("index.collection"):
                return TenantStore(shared, ledger_id, url=url, api_key=key)
            return ServerStore(f"tht-{ledger_id}", url=url, api_key=key)
        from adapters.qdrant_edge import EdgeStore
        from adapters.shared_index.held import SharedStore
        from adapters.shared_index.remote import connect

        paths, wait = self.workspace.paths, float(config.value("index.wait"))
        return SharedStore(paths.index, lambda: connect(paths.socket, wait), EdgeStore(paths.index, wait=wait))

    @cached_property
    def turn(self) -> IndexTurn:
        """Who may write to the index: for one on a server, one process at a time of all that share the ledger."""
        config = self.workspace.config
        if not config.value("index.url"):
            return Nobodys()
        if not is_elsewhere(config):
            return FileTurn(self.workspace.paths.index_lock)
        from adapters.postgres_schema import schema_of

        lock = f"{NAME} {schema_of(self.workspace.name)}/{config.value('index.collection')}"
        return PostgresTurn(str(config.value("ledger.url")), lock)

    def writing(self, wait: float | None = None) -> AbstractContextManager[Callable[[], None]]:
        """The turn to write, after at most `wait` seconds, `index.wait` without; see `IndexTurn.taken`."""
        return self.turn.taken(float(self.workspace.config.value("index.wait")) if wait is None else wait)

    @property
    def embedder(self) -> CachedEmbedder:
        """The configured one, with its vectors cached."""
        return self.embedder_of(self.workspace.config.value("embedder.model"))

    def embedder_of(self, model: str) -> CachedEmbedder:
        from adapters.embedding import embedder_from
        from adapters.vector_cache import CachedEmbedder

        if model not in self._embedders:
            make = self.workspace.make_embedder or embedder_from
            self._embedders[model] = CachedEmbedder(make(model), self.workspace.paths.vectors)
            self.workspace.closers.append(self._embedders[model].close)
        return self._embedders[model]

    @property
    def has_engine(self) -> bool:
        """Whether vectors can be indexed here: by a server that is configured, or by Qdrant Edge."""
        return bool(self.workspace.config.value("index.url")) or find_spec("qdrant_edge") is not None

    def coverage(self, embedder: Embedder, language: str) -> float:
        """How well a model knows a language, 0 to 1; found out once. Raises ModelUnavailable."""
        from adapters.languages import coverage

        key = (embedder.fingerprint.key, language)
        if key not in self._coverage:
            self._coverage[key] = coverage(embedder, language)
        return self._coverage[key]

    # -- commands

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """A new index beside the old one from the views, then swapped in. IndexBusy after `index.wait` seconds."""
        with self.writing() as still:
            return self._rebuilt(still, progress)

    def _rebuilt(self, still: Callable[[], None], progress: Progress | None) -> Rebuilt:
        embedder = self.embedder
        cached, embedded = embedder.hits, embedder.misses
        with self.workspace.open_index.paused(), self.workspace.snapshot() as (db, position):
            points = rebuild_index(
                self.workspace.ledger,
                db,
                self.store,
                embedder,
                position=position,
                progress=progress,
                still=still,
                token=self.token,
            )
        return Rebuilt(points, embedder.misses - embedded, embedder.hits - cached, embedder.notice or "")

    def catch_up(self, may_go_on: Callable[[], bool] = lambda: True, progress: Progress | None = None) -> Checkpoint:
        """Bring the index to the head, as far as `may_go_on` lets it; one of another model or version is made anew.

        An index of an older version is not searched: it holds less than it should, and nobody could tell what. Until
        this or `tht index rebuild` has made the new one beside it, searches go by their other voices and say so.
        One that nodes share keeps its model until `tht index rebuild`. One that has lost its checkpoint, as on a server
        that came back with less than it had, is made anew as well.
        IndexBusy when another process has been writing to it for `index.wait` seconds, IndexNotWritable when the turn
        to write cannot be asked for.
        """
        with self._open() as index:
            checkpoint = index.checkpoint()
            if checkpoint is not None and self._stays(checkpoint):
                return self._follow(index, checkpoint, may_go_on, progress)
        with self.writing() as still:
            with self._open(make=False) as index:
                checkpoint = index.checkpoint()  # another may have made it anew while this one waited
            if checkpoint is None or not self._stays(checkpoint):
                self._rebuilt(still, progress)
        with self._open() as index:
            return _completed(index)

    def reached(self) -> int:
        """The position at which the index is, whoever brings it further."""
        with self._open(make=False) as index:
            return _completed(index).position

    # -- queries

    @contextmanager
    def asked(self, question: str) -> Iterator[Asked]:
        """The index, open and caught up within its time budget, with the question's vector.

        Raises Unavailable (IndexBusy, IndexUnavailable, ModelUnavailable) or OtherHistory.
        """
        before, self._made_with = self._made_with or self._look(), None  # after a failure it is looked at afresh
        embedder = self._embedder_for(before)
        vector = embedder.embed_query(question)  # the model loads for seconds: not while the index is held
        with self._open(wait=0.0) as index:
            checkpoint = _completed(index)
            require_own_history(checkpoint, self.workspace.ledger)
            if not before.is_made_as(checkpoint):
                embedder = self._embedder_for(checkpoint)
                vector = embedder.embed_query(question)
            deadline = self.monotonic() + float(self.workspace.config.value("index.budget"))  # loading does not count
            try:
                checkpoint = self._follow(index, checkpoint, lambda: self.monotonic() < deadline, None, IDLE, 0.0)
            except (IndexBusy, IndexNotWritable):  # it is searched as it is, and the answer says how far that is
                checkpoint = _completed(index)
            self._made_with = checkpoint
            yield Asked(index, vector, checkpoint, embedder)
            if self.workspace.config.value("index.collection") and index.checkpoint() is None:
                # a collection of its own says that it is gone; a part of one is cleared and merely finds nothing
                raise IndexUnavailable("another process has just rebuilt the index", "try again")

    def status(self) -> IndexStatus:
        engine = dict(self.store.describe())
        model = str(self.workspace.config.value("embedder.model"))
        try:
            with self._open(make=False) as index:
                checkpoint = index.checkpoint()
                with self.workspace.snapshot() as (db, position):
                    drift = compare(db, index)
                drift = drift.but_for(self.workspace.caught_up(), position)
                return IndexStatus(engine, checkpoint, drift, model, self._problem(checkpoint))
        except Unavailable as error:
            return IndexStatus(engine, None, None, model, f"{error.message}; {error.hint}".rstrip("; "))

    # -- parts

    def _look(self) -> Checkpoint:
        """What the index was made with. Opening a large one takes long, so it is asked once."""
        with self._open(wait=0.0) as index:
            return _completed(index)

    def _stays(self, checkpoint: Checkpoint) -> bool:
        """Whether an index is followed as it is. One that nodes share is not made anew because one of them is set to
        another model, or is older: they would do so by turns, for ever. `tht index rebuild` decides it for all."""
        if self.workspace.config.value("index.url") and checkpoint.version >= VERSION:
            return True
        return (checkpoint.fingerprint, checkpoint.version) == (self.embedder.fingerprint.key, VERSION)

    def _follow(
        self,
        index: VectorIndex,
        checkpoint: Checkpoint,
        may_go_on: Callable[[], bool],
        progress: Progress | None,
        idle: int = 0,
        wait: float | None = None,
    ) -> Checkpoint:
        with self.workspace.snapshot() as (db, position):
            return catch_up_index(
                self.workspace.ledger,
                db,
                index,
                self._embedder_for(checkpoint),
                position=position,
                may_go_on=may_go_on,
                progress=progress,
                idle=idle,
                turn=lambda: self.writing(wait),
                token=self.token,
            )

    def _embedder_for(self, checkpoint: Checkpoint) -> Embedder:
        """The embedder that the index was made with: the old index answers until one of the new model is complete."""
        embedder = self._configured_as(checkpoint.model) or self.embedder_of(checkpoint.model)
        require_version(checkpoint)
        if embedder.fingerprint.key != checkpoint.fingerprint:
            raise IndexUnavailable(f"the index was made with {checkpoint.fingerprint}", "tht index rebuild")
        return embedder

    def _configured_as(self, model: str) -> Embedder | None:
        """The configured embedder if it is of this model. Switched off is off; one that is missing stops no other."""
        try:
            return self.embedder if self.embedder.fingerprint.model == model else None
        except ModelUnavailable:
            if self.workspace.config.value("embedder.model") == "none":
                raise
            return None

    def _problem(self, checkpoint: Checkpoint | None) -> str:
        if checkpoint is None:
            return "the index was never completed: tht index rebuild"
        try:
            require_own_history(checkpoint, self.workspace.ledger)
            require_version(checkpoint)
            if checkpoint.fingerprint != self.embedder.fingerprint.key:
                return f"the index is of another model ({checkpoint.fingerprint}): tht index rebuild makes it anew"
        except ThtError as error:
            return f"{error.message}; {error.hint}"
        return ""

    @contextmanager
    def _open(self, *, make: bool = True, wait: float | None = None) -> Iterator[VectorIndex]:
        """The current index; an empty one is made when there is none, at position 0, to be caught up. `wait`: as of
        `writing`, for another that may be making it."""
        opened = self.workspace.open_index
        with opened.use(self.store) as index:
            if index is not None:
                yield index
                return
        if not make:
            raise IndexUnavailable("there is no index yet", "tht index rebuild")
        with self.writing(wait) as still:
            self._begin(still)
        with opened.use(self.store) as index:
            if index is None:
                raise IndexUnavailable("there is no index yet", "tht index rebuild")
            yield index

    def _begin(self, still: Callable[[], None]) -> None:
        if (made := self.store.current()) is not None:  # by another, meanwhile
            made.close()
            return
        made_with = self.embedder.fingerprint
        begun = self.workspace.ledger.head().position  # whoever fills it takes the views from there or later
        start = Checkpoint(0, "", made_with.key, made_with.model, VERSION, self.token(), begun)
        empty_index(self.workspace.ledger, self.store, start, still=still)


def _completed(index: VectorIndex) -> Checkpoint:
    checkpoint = index.checkpoint()
    if checkpoint is None:
        raise IndexUnavailable("the index was never completed", "tht index rebuild")
    return checkpoint
