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
from adapters.qdrant_tenants import TenantStore
from projections.index.points import point_id
from projections.index.port import Checkpoint, IndexStore, Point

ENGINES = ("edge", "client", "tenant", "server", "tenant on the server")
SHARED = ENGINES[1:]  # which several processes write to
TENANTS = ("tenant", "tenant on the server")
Opener = Callable[[], IndexStore]
NEIGHBOURS = ("a", "b", "east", "r0", "r00", "fact:a", "memory:b")
NEIGHBOUR_AT = Checkpoint(
    position=9, chain="ef" * 32, fingerprint="hash:4@1/sum/normalised/4", model="hash:4", version=3
)


def point(ref: str, vector: list[float], *, kind: str = "fact", chunk: int = 0, **more: object) -> Point:
    payload = {"ref": ref, "kind": kind, "chunk": chunk, "content_hash": f"hash of {ref}", "position": 7, **more}
    return Point(point_id(ref, chunk), vector, payload)


def opened_again(engine: str, folder: Path) -> Iterator[Opener]:
    """Opens the same place again and again, as one process after another would."""
    if engine == "edge":
        yield lambda: EdgeStore(folder / "index", wait=0.0)
    elif engine in ("client", "tenant"):
        yield from _local_client(folder / "local", engine == "tenant")
    else:
        yield from _server(engine != "server")


def fill_neighbour(store: IndexStore) -> None:
    """Another workspace in the same collection, with refs and ids that the tests use too."""
    fresh = store.begin(4)
    fresh.upsert([point(ref, [1.0, 0.0, 0.0, 0.0], neighbour=True) for ref in NEIGHBOURS])
    fresh.save_checkpoint(NEIGHBOUR_AT)
    store.swap(fresh)


def assert_neighbour_untouched(store: IndexStore) -> None:
    current = store.current()
    assert current is not None
    assert sorted(payload["ref"] for payload in current.scan()) == sorted(NEIGHBOURS)
    assert all(payload["neighbour"] for payload in current.scan())
    assert current.checkpoint() == NEIGHBOUR_AT
    assert store.describe()["leftovers"] == "none"


def _local_client(path: Path, tenant: bool) -> Iterator[Opener]:
    from qdrant_client import QdrantClient

    clients: list[QdrantClient] = []

    def open_again() -> IndexStore:
        for client in clients:
            client.close()
        clients.append(QdrantClient(path=str(path)))
        if tenant:
            if len(clients) == 1:
                fill_neighbour(TenantStore("tht-shared", "neighbour", client=clients[0]))
            return TenantStore("tht-shared", "mine", client=clients[-1])
        return ServerStore("tht-test", client=clients[-1])

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # nothing of ours may make the client warn
        yield open_again
    if tenant and clients:
        assert_neighbour_untouched(TenantStore("tht-shared", "neighbour", client=clients[-1]))
    for client in clients:
        client.close()


def _server(tenant: bool) -> Iterator[Opener]:
    url, key, prefix = server_for_tests()
    stores: list[ServerStore | TenantStore] = []
    if tenant:
        stores.append(TenantStore(prefix, "neighbour", url=url, api_key=key))
        fill_neighbour(stores[0])

    def open_again() -> IndexStore:
        if tenant:
            stores.append(TenantStore(prefix, "mine", url=url, api_key=key))
        else:
            stores.append(ServerStore(prefix, url=url, api_key=key))
        return stores[-1]

    yield open_again
    if tenant:
        assert_neighbour_untouched(stores[0])
    for store in stores:
        store.close()
    remove_collections(url, key, prefix)


def tenants(engine: str, folder: Path) -> Iterator[Callable[[str], TenantStore]]:
    """`tenant("one")`: its store, beside those of others in the same collections."""
    from qdrant_client import QdrantClient

    if engine == "tenant":
        client = QdrantClient(path=str(folder / "local"))
        yield lambda name: TenantStore("tht-shared", name, client=client)
        client.close()
        return
    url, key, prefix = server_for_tests()
    yield lambda name: TenantStore(prefix, name, url=url, api_key=key)
    remove_collections(url, key, prefix)


def server_for_tests() -> tuple[str, str | None, str]:
    """URL, key, and a name of its own for the collections of one test. Skips without QDRANT_URL."""
    url = os.environ.get("QDRANT_URL")
    if not url:
        pytest.skip("QDRANT_URL names no Qdrant server")
    return url, os.environ.get("QDRANT_API_KEY"), f"tht-test-{uuid4().hex[:8]}"


def remove_collections(url: str, key: str | None, prefix: str) -> None:
    from qdrant_client import QdrantClient

    cleaner = QdrantClient(url=url, api_key=key, check_compatibility=False)
    for one in cleaner.get_collections().collections:
        if one.name.startswith(f"{prefix}-"):
            cleaner.delete_collection(one.name)
    cleaner.close()
