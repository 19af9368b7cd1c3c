"""Homes whose ledger is on a real PostgreSQL, in a database of the test's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.workspace import Workspace, create_workspace
from tests.contracts.engines import remove_collections, server_for_tests
from tests.postgres import new_database
from tests.server.shared_qdrant import Line, local


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The URL of an empty database, gone with the test."""
    with new_database(postgres) as url:
        yield url


@pytest.fixture
def node(tmp_path: Path, database: str) -> Iterator[Callable[[str], Workspace]]:
    """`node("a")`: the workspace `default` in a home of its own, whose ledger all nodes share."""
    opened: list[Workspace] = []

    def join(name: str) -> Workspace:
        made = create_workspace(tmp_path / name, "default", settings={"ledger.url": database})
        made.config.stored["embedder.model"] = "hash:64"
        made.config.save()
        opened.append(made)
        return made

    yield join
    for one in opened:
        one.close()


@pytest.fixture(params=["local mode", "server"])
def line(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """What every node reaches under `index.url`."""
    if request.param == "local mode":
        made = local(tmp_path / "qdrant")
    else:
        from qdrant_client import QdrantClient

        url, key, _ = server_for_tests()
        made = Line(QdrantClient(url=url, api_key=key, check_compatibility=False))
    monkeypatch.setattr("adapters.qdrant_connection.connect", lambda *_: made)
    before = set(made.collections())
    yield made
    if request.param == "server":
        for name in set(made.collections()) - before:
            remove_collections(url, key, name.rpartition("-")[0])
    made.client.close()


@pytest.fixture(params=["", "tht-test-shared"], ids=["a collection of its own", "a shared one"])
def shared(request: pytest.FixtureRequest, node: Callable[[str], Workspace], line: Line) -> Callable[[str], Workspace]:
    """`shared("one")`: a node whose index is on the Qdrant at the other end of `line`."""

    def join(name: str) -> Workspace:
        made = node(name)
        made.config.stored |= {
            "index.url": os.environ.get("QDRANT_URL", "http://127.0.0.1:6333"),
            "index.collection": request.param,
            "index.wait": 0.0,
        }
        made.config.save()
        return made

    return join
