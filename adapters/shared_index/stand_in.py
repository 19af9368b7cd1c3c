"""What stands in for an index that is elsewhere: each method of the port is asked of whoever has it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from projections.index.port import Checkpoint, Found, Point, Vector, VectorIndex, Within


class StandIn(VectorIndex):
    """`ask` has the method of the port by its name, with its arguments, and gives its answer."""

    @abstractmethod
    def ask(self, method: str, *args: Any, **named: Any) -> Any: ...

    def checkpoint(self) -> Checkpoint | None:
        found: Checkpoint | None = self.ask("checkpoint")
        return found

    def save_checkpoint(self, checkpoint: Checkpoint, *, after: Checkpoint | None = None) -> None:
        self.ask("save_checkpoint", checkpoint, after=after)

    def upsert(self, points: Sequence[Point]) -> None:
        self.ask("upsert", points)

    def delete_refs(self, refs: Sequence[str]) -> None:
        self.ask("delete_refs", refs)

    def replace(self, refs: Sequence[str], points: Sequence[Point], *, position: int) -> None:
        self.ask("replace", refs, points, position=position)

    def search(self, vector: Vector, within: Within, *, limit: int) -> list[Found]:
        found: list[Found] = self.ask("search", vector, within, limit=limit)
        return found

    def vectors(self, found: Sequence[Found]) -> dict[str, tuple[float, ...]]:
        there: dict[str, tuple[float, ...]] = self.ask("vectors", found)
        return there

    def settle(self) -> None:
        self.ask("settle")

    def scan(self, *fields: str) -> Iterator[Mapping[str, Any]]:
        found: Iterator[Mapping[str, Any]] = self.ask("scan", *fields)
        return found

    def count(self) -> int:
        return int(self.ask("count"))
