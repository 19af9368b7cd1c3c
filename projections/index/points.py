"""Under which ids the index keeps its points."""

from __future__ import annotations

from uuid import NAMESPACE_URL, uuid5

POINTS = uuid5(NAMESPACE_URL, "tht:point")


def point_id(ref: str, chunk: int) -> str:
    """The same chunk of the same record is always the same point, so writing twice is writing once."""
    return str(uuid5(POINTS, f"{ref}#{chunk}"))
