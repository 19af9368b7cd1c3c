"""The points of a record: one a chunk of its text, each under an id of its own."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import NAMESPACE_URL, uuid5

from projections.index.port import Embedder, Point
from projections.index.records import Held

POINTS = uuid5(NAMESPACE_URL, "tht:point")


def point_id(ref: str, chunk: int) -> str:
    """The same chunk of the same record is always the same point, so writing twice is writing once."""
    return str(uuid5(POINTS, f"{ref}#{chunk}"))


def points_of(records: Sequence[Held], embedder: Embedder) -> list[Point]:
    """One point a chunk of each record's text."""
    pieces = [
        (record, number, chunk) for record in records for number, chunk in enumerate(embedder.chunks(record.text))
    ]
    vectors = embedder.embed_documents([chunk for _, _, chunk in pieces])
    return [
        Point(point_id(record.ref, number), vector, {**record.payload, "chunk": number})
        for (record, number, _), vector in zip(pieces, vectors, strict=True)
    ]
