"""The rows of the speed table about vectors: rebuilding the index, and hybrid search of facts.

A model takes most of an hour for a hundred thousand texts, and what it says of them makes no search slower or faster.
So the embedding cache is filled with vectors made up for the texts: of length 1, clustered by a text's first word.
Questions are embedded by the real model.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from zlib import crc32

import numpy as np

from adapters.indexing import Indexing
from adapters.recalling import Recalling
from adapters.vector_cache import CachedEmbedder
from adapters.workspace import Workspace
from projections.index import records
from projections.index.points import points_of
from projections.index.port import Embedder, Fingerprint, Point
from tests.benchmarks.knowledge import ASKER, CODER_READS, question
from tests.benchmarks.rows import Row, peak_memory, side_by_side, timed

BATCH = 64  # points of one upsert
FILLED = 5_000  # texts whose vectors are made up at once
SPREAD = 0.9  # of a cluster, its centre being of length 1
QUESTIONS = 60
MODEL = "minilm"
_SEARCHING = """
import sys; from pathlib import Path
from adapters.indexing import Indexing; from adapters.ledger import By; from adapters.recalling import Recalling
from adapters.workspace import open_workspace; from projections.scope import Reader
with open_workspace(Path(sys.argv[1]), 'default') as workspace:
    indexing = Indexing(workspace, keep_open=True)
    for question in sys.argv[2:]:
        if not WHOLE:
            indexing.embedder.embed_query(question)
            continue
        by = By('agent:coder-1', dry_run=True)
        answer = Recalling(workspace, Reader(by.actor, 'coder'), indexing).search(question, by)
        if answer.voices['vector'] != 'ran': sys.exit(answer.notice)
"""


class MadeUp(Embedder):
    """Pseudo-random vectors under the fingerprint of a model, the same for the same text; its chunks, its questions."""

    def __init__(self, model: Embedder) -> None:
        self.model = model

    @property
    def fingerprint(self) -> Fingerprint:
        return self.model.fingerprint

    def chunks(self, text: str) -> list[str]:
        return self.model.chunks(text)

    def embed_query(self, text: str) -> list[float]:
        return self.model.embed_query(text)

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        centre = self._direction(text.partition(" ")[0])
        vector = centre + SPREAD * self._direction(text)
        found: list[float] = (vector / np.linalg.norm(vector)).tolist()
        return found

    def _direction(self, seed: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        drawn = np.random.default_rng(crc32(seed.encode())).standard_normal(self.fingerprint.dimension)
        return drawn / np.linalg.norm(drawn)


def fact_rows(workspace: Workspace, facts: int) -> Iterator[Row]:
    """The index of facts and hybrid search in it, warm, in this process, and what memory that takes."""
    workspace.config.set("embedder.model", MODEL)
    indexing = Indexing(workspace, keep_open=True)
    fill_cache(workspace, indexing)
    yield index_row("rebuild the index of facts, vectors made up and cached", workspace, indexing, facts, "facts/s")
    yield from search_rows(workspace, indexing, facts)
    what, against = "peak memory of a process that searches, hybrid", f"embedding the same questions with {MODEL}"
    home = workspace.paths.folder.parent
    workspace.open_index.let_go()  # so that another process can have it
    if MODEL not in _ALONE:
        _ALONE[MODEL] = _peak(home, whole=False)
    peak = _peak(home, whole=True)
    yield Row(what, facts, peak / 1024, "MiB", against, peak / _ALONE[MODEL], "—")


_ALONE: dict[str, int] = {}  # KiB that a model takes by itself, measured once a run


def _peak(home: Path, *, whole: bool) -> int:
    asked = [question(number) for number in range(5)]
    return peak_memory(f"WHOLE = {whole}{_SEARCHING}", home, *asked)


def fill_cache(workspace: Workspace, indexing: Indexing) -> None:
    """Put a made-up vector of every record into the workspace's cache, as if the model had been asked."""
    made_up = CachedEmbedder(MadeUp(indexing.embedder), workspace.paths.vectors)
    held = records.live(workspace.caught_up())
    while batch := list(islice(held, FILLED)):
        made_up.embed_documents([chunk for record in batch for chunk in made_up.chunks(record.text)])
    made_up.close()


def index_row(what: str, workspace: Workspace, indexing: Indexing, size: int, unit: str) -> Row:
    """Rebuilding the index with every vector cached, against plain Qdrant Edge upserts of the same points."""
    begun = timed(lambda: _require_cached(indexing))
    plain = _plain_upserts(workspace, indexing)
    return Row(what, size, size / begun, unit, "plain Qdrant Edge upserts of the same points", plain / begun, "≥ 0.5")


def _require_cached(indexing: Indexing) -> None:
    if embedded := indexing.rebuild().embedded:
        raise SystemExit(f"{embedded} texts had no vector in the cache: what was measured is the model")


def _plain_upserts(workspace: Workspace, indexing: Indexing) -> float:
    """Seconds for the upserts alone, and a flush; their points are made beforehand, batch by batch."""
    from qdrant_edge import Distance, EdgeConfig, EdgeShard, EdgeVectorParams, UpdateOperation
    from qdrant_edge import Point as EdgePoint

    size = indexing.embedder.fingerprint.dimension
    config = EdgeConfig(vectors={"text": EdgeVectorParams(size=size, distance=Distance.Cosine)})
    with tempfile.TemporaryDirectory() as folder:
        shard = EdgeShard.create(folder, config)

        def upsert(points: Sequence[Point]) -> None:
            made = [EdgePoint(point.id, {"text": list(point.vector)}, dict(point.payload)) for point in points]
            shard.update(UpdateOperation.upsert_points(made))

        held, taken = records.live(workspace.caught_up()), 0.0
        while batch := list(islice(held, BATCH)):
            points = points_of(batch, indexing.embedder)
            taken += timed(partial(upsert, points))
        taken += timed(shard.flush)
        shard.close()
    return taken


def search_rows(workspace: Workspace, indexing: Indexing, facts: int) -> Iterator[Row]:
    recalling, embedder = Recalling(workspace, CODER_READS, indexing), indexing.embedder

    def search(number: int) -> None:
        answer = recalling.search(question(number), ASKER)
        if not answer.hits or answer.voices["vector"] != "ran":
            raise SystemExit(f"a search without its vector voice was measured: {answer.voices} {answer.notice}")

    search(0)  # loads the model, opens the index
    whole, asking = side_by_side((search, lambda number: embedder.embed_query(question(number))), QUESTIONS)
    against = f"embedding the question with {MODEL}, p50 {asking[0]:.1f} ms"
    for name, value, goal in (("p50", whole[0], "≤ 2"), ("p95", whole[1], "—")):
        what = f"hybrid search of facts, warm, vectors made up, {name}"
        yield Row(what, facts, value, "ms", against, value / asking[0], goal)
