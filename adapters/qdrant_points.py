"""What both Qdrant adapters share: the shape of a point, where the checkpoint sits, and the order of hits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from math import isfinite
from typing import Any
from uuid import uuid5

from domain.errors import IndexUnavailable, InvalidInput
from projections.index.points import POINTS
from projections.index.port import Checkpoint, Found, Point

VECTOR = "text"  # a named vector, because only a named one may be left out, as the checkpoint does
INDEXED_FIELDS = ("ref", "kind")
CHECKPOINT_ID = str(uuid5(POINTS, "checkpoint"))  # no chunk number in it, so never the id of a record's point
BATCH = 256  # points a request: 0.4 MB at 384 dimensions, below every limit of engine and server
PAGE = 500  # payloads a page of a scan
REBUILD = "tht index rebuild"
SCORE_DIGITS = 6  # engines differ after the seventh digit
_HEADROOM = 16

Hit = tuple[float, Mapping[str, Any]]  # cosine, payload


def checkpoint_payload(checkpoint: Checkpoint) -> dict[str, Any]:
    """The payload of the checkpoint's point. It has neither `ref` nor `kind`, so no filter of ours meets it."""
    return {"checkpoint": asdict(checkpoint)}


def checkpoint_from(payload: Mapping[str, Any] | None) -> Checkpoint:
    """The reverse of `checkpoint_payload`; IndexUnavailable when it is not one."""
    try:
        return Checkpoint(**(payload or {})["checkpoint"])
    except (KeyError, TypeError) as problem:
        raise IndexUnavailable("the checkpoint in the vector index cannot be read", REBUILD) from problem


def batches(points: Sequence[Point]) -> Iterator[list[Point]]:
    """The points, `BATCH` at a time, after checking them all: InvalidInput, before anything is written.

    Qdrant Edge keeps the points that stand before a misfit in its batch, and accepts NaN, which no search finds again.
    """
    size = len(points[0].vector) if points else 0
    for point in points:
        if len(point.vector) != size:
            raise InvalidInput(f"vectors of {size} and of {len(point.vector)} numbers in one write")
        if not all(map(isfinite, point.vector)):
            raise InvalidInput(f"the vector of {point.payload['ref']} has a number that is not finite")
    rest = iter(points)
    while batch := list(islice(rest, BATCH)):
        yield batch


def best_first(fetch: Callable[[int], Sequence[Hit]], limit: int) -> list[Found]:
    """At most `limit` hits, by score (rounded to SCORE_DIGITS), then ref, then chunk.

    `fetch(n)` gives the n nearest, nearest first. An engine orders equal scores as it likes, so hits are fetched
    until the last one is worse than the last that will be kept: which of many equals are kept must not vary.
    """
    if limit <= 0:
        return []
    wanted = limit + _HEADROOM
    hits = fetch(wanted)
    while len(hits) == wanted and _rounded(hits[-1]) >= _rounded(hits[limit - 1]):
        wanted *= 4
        hits = fetch(wanted)
    found = [Found(str(hit[1]["ref"]), _rounded(hit), hit[1]) for hit in hits]
    return sorted(found, key=lambda one: (-one.score, one.ref, one.payload.get("chunk", 0)))[:limit]


def _rounded(hit: Hit) -> float:
    return round(hit[0], SCORE_DIGITS)
