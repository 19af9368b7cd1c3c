"""The nearest texts by a scan over cached vectors: where no index can answer, as of the past or without the engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import islice
from typing import TYPE_CHECKING

from adapters.vector_cache import CachedEmbedder
from projections.index.port import Found, Vector

if TYPE_CHECKING:
    import numpy

BLOCK = 1_000  # texts whose vectors are in memory at once
SCORE_DIGITS = 6

Best = tuple[float, str, int]  # minus the score, ref, chunk: the smallest is the first


def nearest(
    embedder: CachedEmbedder, vector: Vector, texts: Iterable[tuple[str, str]], *, limit: int
) -> tuple[list[Found], int]:
    """The (ref, text) pairs most similar to a vector, each by its best chunk, ties by ref; and how many texts were left
    out because a chunk of them has no cached vector.

    Nothing is embedded. Exact; linear in the texts, memory bounded by `BLOCK`. `score` is the cosine, the payload has
    `ref` and `chunk`. Raises ModelUnavailable where the model's files, which say what a chunk is, are not there.
    """
    import numpy

    asked = numpy.asarray(vector, dtype=numpy.float32)
    asked = asked / (numpy.linalg.norm(asked) or 1.0)
    best: list[Best] = []
    unknown = 0
    waiting = iter(texts)
    while block := list(islice(waiting, BLOCK)):
        pieces = [(ref, embedder.chunks(text)) for ref, text in block]
        known = embedder.known([chunk for _, chunks in pieces for chunk in chunks])
        whole = [(ref, chunks) for ref, chunks in pieces if all(chunk in known for chunk in chunks)]
        unknown += len(pieces) - len(whole)
        if whole and limit > 0:
            best = nsmallest(limit, [*best, *_scored(asked, whole, known)])
    return [Found(ref, -score, {"ref": ref, "chunk": chunk}) for score, ref, chunk in best], unknown


def _scored(
    asked: numpy.ndarray, texts: Sequence[tuple[str, list[str]]], known: dict[str, list[float]]
) -> Iterator[Best]:
    """The best chunk of each text."""
    import numpy

    matrix = numpy.array([known[chunk] for _, chunks in texts for chunk in chunks], dtype=numpy.float32)
    lengths = numpy.linalg.norm(matrix, axis=1)
    scores = (matrix @ asked) / numpy.where(lengths == 0.0, 1.0, lengths)
    start = 0
    for ref, chunks in texts:
        rounded = [round(float(one), SCORE_DIGITS) for one in scores[start : start + len(chunks)]]
        start += len(chunks)
        top = max(rounded)
        yield -top, ref, rounded.index(top)
