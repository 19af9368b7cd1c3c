"""What both Qdrant adapters share: the shape of a point, where the checkpoint sits, and the order of hits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from math import isfinite
from typing import Any
from uuid import uuid5

from domain.errors import IndexUnavailable, InvalidInput
from projections.index.points import POINTS, point_id
from projections.index.port import Checkpoint, Found, Point, Within
from projections.refs import MEMORY

VECTOR = "text"  # a named vector, because only a named one may be left out, as the checkpoint does
INDEXED_FIELDS = ("ref", "kind", "domain", "repo")
CHECKPOINT_ID = str(uuid5(POINTS, "checkpoint"))  # no chunk number in it, so never the id of a record's point
TOKEN = "token"
BESIDE = (TOKEN, "made_at")  # of a checkpoint
BATCH = 256  # points a request: 0.4 MB at 384 dimensions, below every limit of engine and server
PAGE = 500  # payloads a page of a scan
REBUILD = "tht index rebuild"
SCORE_DIGITS = 6  # engines differ after the seventh digit
EXACT_BELOW = 20_000  # points: the scan of fewer takes 3 ms, which nothing needs to shorten
OVERSAMPLING = 2.0  # a shortened scan scores so many times the hits asked for by their whole vectors
_HEADROOM = 16


@dataclass(frozen=True, slots=True)
class Conditions:
    """`Within` as both engines can say it: field and accepted values; `either`: one of these is enough."""

    must: tuple[tuple[str, tuple[str, ...]], ...]
    must_not: tuple[tuple[str, tuple[str, ...]], ...]
    either: tuple[tuple[str, tuple[str, ...]], ...]


def conditions(within: Within) -> Conditions:
    """What a point must be, must not be, and of which one is enough. No condition has an empty list of values."""
    wanted = (("kind", within.kinds), ("domain", (within.domain,)), ("repo", (within.repo,)), ("ref", within.only))
    refused = (("ref", within.without), ("domain", tuple(sorted(within.closed - {""}))))
    opened = () if within.opened is None else (("kind", (MEMORY,)), ("domain", tuple(sorted(within.opened - {""}))))
    return Conditions(_said(wanted), _said(refused), _said(opened))


def _said(fields: Sequence[tuple[str, tuple[str, ...]]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((name, values) for name, values in fields if any(values))


def checkpoint_payload(checkpoint: Checkpoint) -> dict[str, Any]:
    """The payload of the checkpoint's point. It has neither `ref` nor `kind`, so no filter of ours meets it.

    What came later stands beside it, where an older program, which shares the index, does not look.
    """
    told = asdict(checkpoint)
    beside = {name: told.pop(name) for name in BESIDE}
    return {"checkpoint": told, **beside}


def checkpoint_from(payload: Mapping[str, Any] | None) -> Checkpoint:
    """The reverse of `checkpoint_payload`; IndexUnavailable when it is not one."""
    try:
        found = payload or {}
        return Checkpoint(**found["checkpoint"], **{name: found[name] for name in BESIDE if name in found})
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
        if not isfinite(sum(point.vector)) and not all(map(isfinite, point.vector)):  # the sum alone is quick
            raise InvalidInput(f"the vector of {point.payload['ref']} has a number that is not finite")
    rest = iter(points)
    while batch := list(islice(rest, BATCH)):
        yield batch


def found_of(score: float, payload: Mapping[str, Any]) -> Found:
    """What an engine found, as the port gives it."""
    return Found(str(payload["ref"]), round(score, SCORE_DIGITS), payload)


def best_first(fetch: Callable[[int], Sequence[Found]], limit: int) -> list[Found]:
    """At most `limit` points, by score (rounded to SCORE_DIGITS), then ref, then chunk.

    `fetch(n)` gives the n nearest, nearest first. An engine orders equal scores as it likes, so hits are fetched
    until the last one is worse than the last that will be kept: which of many equals are kept must not vary.
    """
    if limit <= 0:
        return []
    wanted = limit + _HEADROOM
    found = fetch(wanted)
    while len(found) == wanted and found[-1].score >= found[limit - 1].score:
        wanted *= 4
        found = fetch(wanted)
    return sorted(found, key=lambda one: (-one.score, one.ref, one.payload.get("chunk", 0)))[:limit]


def ids_of(found: Sequence[Found]) -> dict[str, str]:
    """The id of each point, with its ref."""
    return {point_id(one.ref, one.payload["chunk"]): one.ref for one in found}
