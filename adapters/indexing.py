"""The vector index of a workspace: its store and embedder, catching up, rebuilding, status, and search."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from adapters.ledger import By, Draft
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from domain.errors import IndexUnavailable, InvalidInput, ModelUnavailable, OtherHistory, ThtError, Unavailable
from domain.recall import MemoriesShown, reads_stream
from projections import search
from projections.index.follow import (
    VERSION,
    IndexDrift,
    catch_up_index,
    compare,
    memory_ref,
    rebuild_index,
    require_own_history,
)
from projections.index.port import Checkpoint, Embedder, IndexStore, VectorIndex
from projections.loop import Progress
from projections.registry import changed_since
from projections.search import Hit

if TYPE_CHECKING:
    from adapters.vector_cache import CachedEmbedder


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
            "coverage": None if self.drift is None else {"covered": self.drift.covered, "live": self.drift.live},
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


@dataclass(frozen=True, slots=True)
class Answer:
    """What a search found. `voices` says of each voice that it ran, or why not; positions are -1 when unknown."""

    hits: tuple[Hit, ...]
    index_position: int
    ledger_position: int
    voices: dict[str, str]
    notice: str

    def as_json(self) -> dict[str, Any]:
        return {
            "hits": [hit.as_json() for hit in self.hits],
            "index": {"position": self.index_position, "ledger": self.ledger_position},
            "voices": self.voices,
            "notice": self.notice,
        }


class Indexing:
    """Opens the index only while it is used, so that other processes get their turn."""

    def __init__(self, workspace: Workspace, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.workspace = workspace
        self.monotonic = monotonic
        self._embedders: dict[str, CachedEmbedder] = {} if workspace.embedders is None else workspace.embedders

    @cached_property
    def store(self) -> IndexStore:
        config = self.workspace.config
        if url := config.value("index.url"):
            from adapters.qdrant_server import ServerStore

            key = os.environ.get("THT_QDRANT_API_KEY") or None
            ledger_id = self.workspace.ledger.recorder.ledger_id()
            return ServerStore(f"tht-{ledger_id}", url=url, api_key=key)
        from adapters.qdrant_edge import EdgeStore
        from adapters.serving.index_owner import SharedStore
        from adapters.serving.socket import connect

        paths, wait = self.workspace.paths, float(config.value("index.wait"))
        return SharedStore(paths.index, lambda: connect(paths.socket, wait), EdgeStore(paths.index, wait=wait))

    @cached_property
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

    # -- commands

    def rebuild(self, progress: Progress | None = None) -> Rebuilt:
        """A new index beside the old one from the registry, then swapped in."""
        embedder = self.embedder
        cached, embedded = embedder.hits, embedder.misses
        with self.workspace.snapshot() as (db, position):
            points = rebuild_index(
                self.workspace.ledger, db, self.store, embedder, position=position, progress=progress
            )
        return Rebuilt(points, embedder.misses - embedded, embedder.hits - cached, embedder.notice or "")

    def catch_up(self, may_go_on: Callable[[], bool] = lambda: True, progress: Progress | None = None) -> Checkpoint:
        """Bring the index to the head, as far as `may_go_on` lets it; an index of another model is made anew."""
        with self._open() as index:
            checkpoint = _completed(index)
            if (checkpoint.fingerprint, checkpoint.version) == (self.embedder.fingerprint.key, VERSION):
                return self._follow(index, checkpoint, may_go_on, progress)
        self.rebuild(progress)
        with self._open() as index:
            return _completed(index)

    # -- queries

    def status(self) -> IndexStatus:
        engine = dict(self.store.describe())
        model = str(self.workspace.config.value("embedder.model"))
        try:
            with self._open(make=False) as index:
                checkpoint = index.checkpoint()
                drift = compare(self.workspace.caught_up(), index)
                return IndexStatus(engine, checkpoint, drift, model, self._problem(checkpoint))
        except Unavailable as error:
            return IndexStatus(engine, None, None, model, f"{error.message}; {error.hint}".rstrip("; "))

    def search(
        self,
        question: str,
        by: By,
        *,
        session_id: str = "",
        limit: int = 5,
    ) -> Answer:
        """The live memories for a question, without those decided in the session; by words alone if it must."""
        if limit < 1:
            raise InvalidInput("--limit must be at least 1")
        without: Collection[str] = frozenset()
        if session_id:
            without = Sessions(self.workspace).get(session_id).decided_memories
        answer = self._answer(question, limit, without)
        answer = replace(answer, hits=tuple(search.flagged(self.workspace.file.db, answer.hits)))
        if answer.hits and self.workspace.config.value("recall.log") and not by.dry_run:
            self._log(answer, by, session_id)
        return answer

    # -- parts

    def _answer(self, question: str, limit: int, without: Collection[str]) -> Answer:
        db = self.workspace.caught_up()
        ledger_position = self.workspace.ledger.head().position
        lexical = search.by_words(db, question, limit=limit, without=without)
        try:
            nearest, reached = self._by_vector(question, limit, without)
        except (Unavailable, OtherHistory) as error:
            voices = {"lexical": "ran", "vector": f"unavailable: {error.message}"}
            notice = f"answered without vectors: {error.message}" + (f" ({error.hint})" if error.hint else "")
            return Answer(tuple(lexical), -1, ledger_position, voices, notice)
        found = {hit.record.id for hit in nearest}
        late = {memory_id for memory_id, _ in changed_since(db, reached)}
        missed = [hit for hit in lexical if hit.record.id not in found and hit.record.id in late]
        notice = "" if reached >= ledger_position else f"index at {reached:,} of {ledger_position:,}"
        if late:
            notice += f"; {len(late):,} changed memories wait for it, found by words (tht index rebuild)"
        voices = {"lexical": "ran", "vector": "ran"}
        return Answer(tuple(_by_turns(nearest, missed, limit)), reached, ledger_position, voices, notice)

    def _by_vector(self, question: str, limit: int, without: Collection[str]) -> tuple[list[Hit], int]:
        db = self.workspace.file.db
        with self._open() as index:
            asked = _completed(index)
        embedder = self._embedder_for(asked)
        vector = embedder.embed_query(question)  # the model loads for seconds: not while the index is held
        with self._open() as index:
            checkpoint = _completed(index)
            require_own_history(checkpoint, self.workspace.ledger)
            if checkpoint.fingerprint != asked.fingerprint:  # rebuilt meanwhile
                vector = self._embedder_for(checkpoint).embed_query(question)
            deadline = self.monotonic() + float(self.workspace.config.value("index.budget"))  # loading does not count
            checkpoint = self._follow(index, checkpoint, lambda: self.monotonic() < deadline, None)
            return search.by_vector(db, index, vector, limit=limit, without=without), checkpoint.position

    def _follow(
        self, index: VectorIndex, checkpoint: Checkpoint, may_go_on: Callable[[], bool], progress: Progress | None
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
            )

    def _embedder_for(self, checkpoint: Checkpoint) -> Embedder:
        """The embedder that the index was made with: the old index answers until one of the new model is complete."""
        embedder = self._configured_as(checkpoint.model) or self.embedder_of(checkpoint.model)
        if embedder.fingerprint.key != checkpoint.fingerprint or checkpoint.version != VERSION:
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
            if checkpoint.version != VERSION:
                return f"the index is of version {checkpoint.version}, this is {VERSION}: tht index rebuild"
            if checkpoint.fingerprint != self.embedder.fingerprint.key:
                return f"the index is of another model ({checkpoint.fingerprint}): tht index rebuild makes it anew"
        except ThtError as error:
            return f"{error.message}; {error.hint}"
        return ""

    @contextmanager
    def _open(self, *, make: bool = True) -> Iterator[VectorIndex]:
        """The current index; an empty one is made when there is none, at position 0, to be caught up."""
        index = self.store.current()
        if index is None and make:
            self._begin()
            index = self.store.current()
        if index is None:
            raise IndexUnavailable("there is no index yet", "tht index rebuild")
        try:
            yield index
        finally:
            index.close()

    def _begin(self) -> None:
        fingerprint = self.embedder.fingerprint
        genesis = self.workspace.ledger.chain_at(0) or ""
        fresh = self.store.begin(fingerprint.dimension)
        try:
            fresh.save_checkpoint(Checkpoint(0, genesis, fingerprint.key, fingerprint.model, VERSION))
        except BaseException:
            self.store.discard(fresh)
            raise
        self.store.swap(fresh)

    def _log(self, answer: Answer, by: By, session_id: str) -> None:
        shown = MemoriesShown(
            refs=tuple(memory_ref(hit.record.id) for hit in answer.hits), session_id=session_id, mode="memory"
        )

        def work(draft: Draft) -> None:
            stream = reads_stream(by.actor)
            draft.last(stream)
            draft.append(stream, (shown,))

        self.workspace.ledger.transact(work, By(by.actor, by.role), ("recall", session_id))


def _by_turns(nearest: Sequence[Hit], missed: Sequence[Hit], limit: int) -> list[Hit]:
    """Both voices' hits in turn, `limit` in all: their scores do not compare, and neither pushes out the other."""
    turns = zip_longest(nearest, missed)
    return [hit for pair in turns for hit in pair if hit is not None][:limit]


def _completed(index: VectorIndex) -> Checkpoint:
    checkpoint = index.checkpoint()
    if checkpoint is None:
        raise IndexUnavailable("the index was never completed", "tht index rebuild")
    return checkpoint
