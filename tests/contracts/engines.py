"""The engines that the contract of the vector index is run on, each opened again and again in the same place."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from adapters.qdrant_edge import EdgeStore
from adapters.qdrant_server import ServerStore
from projections.index.points import point_id
from projections.index.port import IndexStore, Point

ENGINES = ("edge", "client", "server")
Opener = Callable[[], IndexStore]


def point(ref: str, vector: list[float], *, kind: str = "fact", chunk: int = 0, **more: object) -> Point:
    payload = {"ref": ref, "kind": kind, "chunk": chunk, "content_hash": f"hash of {ref}", "position": 7, **more}
    return Point(point_id(ref, chunk), vector, payload)


def opened_again(engine: str, folder: Path) -> Iterator[Opener]:
    """Opens the same place again and again, as one process after another would."""
    if engine == "edge":
        yield lambda: EdgeStore(folder / "index", wait=0.0)
    elif engine == "client":
        yield from _local_client(folder / "local")
    else:
        yield from _server()


def _local_client(path: Path) -> Iterator[Opener]:
    from qdrant_client import QdrantClient

    clients: list[QdrantClient] = []

    def open_again() -> IndexStore:
        for client in clients:
            client.close()
        clients.append(QdrantClient(path=str(path)))
        return ServerStore("tht-test", client=clients[-1])

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # nothing of ours may make the client warn
        yield open_again
    for client in clients:
        client.close()


def _server() -> Iterator[Opener]:
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("QDRANT_URL names no Qdrant server")
    prefix = f"tht-test-{uuid4().hex[:8]}"
    stores: list[ServerStore] = []

    def open_again() -> IndexStore:
        stores.append(ServerStore(prefix, url=url, api_key=os.environ.get("QDRANT_API_KEY")))
        return stores[-1]

    yield open_again
    last = ServerStore(prefix, url=url, api_key=os.environ.get("QDRANT_API_KEY"))
    last.swap(last.begin(4))  # leaves one collection and removes all others
    from qdrant_client import QdrantClient

    cleaner = QdrantClient(url=url, api_key=os.environ.get("QDRANT_API_KEY"), check_compatibility=False)
    cleaner.delete_collection(last.describe()["current"])
    cleaner.close()
    for store in (last, *stores):
        store.close()
