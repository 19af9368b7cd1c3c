"""A Qdrant that several nodes share: a real server where QDRANT_URL names one, else qdrant-client's local mode; and the
way to it, which a test can cut; what the nodes write and ask."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException
from qdrant_client.models import Filter, FilterSelector, PointStruct, VectorStruct

from adapters.facts import Facts
from adapters.ledger import By
from adapters.recalling import Answer, Recalling
from adapters.workspace import Workspace
from domain.propose import NewFact
from projections.scope import Reader
from tests.crash.soundness import CODER

Point = PointStruct
ONLOOKER = By("agent:onlooker", dry_run=True)


class Line:
    """The client as all nodes have it: one call at a time, as local mode is for one thread; none while it is cut.

    `before` is run before the next call of that name, `at` before the call of that number, so that a test can do
    something at that very moment.
    """

    def __init__(self, client: QdrantClient) -> None:
        self.client, self.is_cut, self.calls = client, False, 0
        self.before: dict[str, Callable[[], object]] = {}
        self.at: dict[int, Callable[[], object]] = {}
        self._one = threading.RLock()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.client, name)
        if not callable(found):
            return found

        def call(*args: Any, **named: Any) -> Any:
            if meanwhile := self.before.pop(name, None) or self.at.pop(self.calls + 1, None):
                meanwhile()
            with self._one:
                self.calls += 1
                if self.is_cut:
                    raise ResponseHandlingException(ConnectionRefusedError(111, "Connection refused"))
                return found(*args, **named)

        return call

    def close(self) -> None:
        """What a node does with its connection: this one is the test's, and all nodes'."""

    @contextmanager
    def cut(self) -> Iterator[None]:
        self.is_cut = True
        try:
            yield
        finally:
            self.is_cut = False

    def collections(self) -> list[str]:
        return [one.name for one in self.client.get_collections().collections]

    def snapshot(self) -> dict[str, list[Point]]:
        """All that the collections hold now."""
        return {name: self._points(name) for name in self.collections()}

    def restore(self, snapshot: dict[str, list[Point]]) -> None:
        """The collections hold again what they held then, and nothing else."""
        for name, points in snapshot.items():
            self.client.delete(name, FilterSelector(filter=Filter()), wait=True)
            if points:
                self.client.upsert(name, points, wait=True)

    def _points(self, name: str) -> list[Point]:
        found, start = [], None
        while True:
            page, start = self.client.scroll(name, limit=500, offset=start, with_payload=True, with_vectors=True)
            for one in page:
                vector = cast(VectorStruct, one.vector or {})  # what is given out is among what is taken in
                found.append(PointStruct(id=one.id, vector=vector, payload=one.payload))
            if start is None:
                return found


def local(folder: Path) -> Line:
    return Line(QdrantClient(path=str(folder), force_disable_check_same_thread=True))


def fact(workspace: Workspace, number: int, text: str = "") -> str:
    content = text or f"Gate {number} opens to corridor {number}"
    return Facts(workspace).propose("people", NewFact(content, f"gate {number}", CODER.actor), CODER)[0].fact_id


def search(workspace: Workspace, number: int) -> Answer:
    question = f"Gate {number} opens to corridor {number}"
    return Recalling(workspace, Reader("human:ada")).search(question, ONLOOKER, mode="semantic")


def position(workspace: Workspace) -> int:
    return workspace.ledger.head().position
