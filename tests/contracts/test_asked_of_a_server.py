"""What a Qdrant server is asked by an index that is shared: payload indexes, conditions, the order of writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest
from qdrant_client import QdrantClient

from adapters.qdrant_server import ServerStore
from adapters.qdrant_tenants import TenantStore
from domain.errors import IndexOvertaken, IndexUnavailable
from projections.index.port import Checkpoint
from tests.contracts.engines import point

EAST, NORTH = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
FIRST = Checkpoint(10, "aa" * 32, "hash:4@1/sum/normalised/4", "hash:4", version=2, token="t1")
SECOND, THIRD = (
    replace(FIRST, position=20, chain="bb" * 32, token="t2"),
    replace(FIRST, position=30, chain="cc" * 32, token="t3"),
)


class Recorder(BaseHTTPRequestHandler):
    """Says yes to everything, and keeps what it was asked: `POST /collections/…?wait=true`, and the body."""

    version = "1.16.0"
    asked: ClassVar[list[tuple[str, Any]]] = []

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.asked.append((f"{self.command} {self.path}", json.loads(body or b"null")))
        done: object = {"operation_id": 1, "status": "completed"}
        if self.command == "GET":
            done = {"collections": [], "aliases": [], "exists": False}
        elif self.path.startswith("/collections/") and self.path.count("/") == 2:
            done = True
        elif self.path.partition("?")[0].endswith("/points") and self.command == "POST":
            done = []
        told = {"title": "q", "version": self.version} if self.path == "/" else {"result": done, "time": 0.1}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    do_POST = do_PUT = do_GET

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def recorded(version: str = "1.16.0") -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """The URL of a recorder, and what it was asked."""
    asked: list[tuple[str, Any]] = []
    handler = type("Here", (Recorder,), {"version": version, "asked": asked})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.mark.parametrize("shared", [False, True])
def test_every_field_that_a_filter_names_is_indexed_and_the_tenant_as_such(shared: bool) -> None:
    """Local mode has no payload indexes, and a server in strict mode refuses filters without."""
    with recorded() as (url, asked):
        store = TenantStore("tht-test", "one", url=url) if shared else ServerStore("tht-test", url=url)
        store.begin(4)
        store.close()
    indexes = {body["field_name"]: body["field_schema"] for path, body in asked if "/index?" in path}
    own = dict.fromkeys(("ref", "kind", "domain", "repo", "checkpoint.chain", "token"), "keyword") | {
        "state_at": "integer"
    }
    tenants = {"tenant": {"type": "keyword", "is_tenant": True}, "generation": "keyword", "current": "keyword"}
    assert indexes == (own | tenants if shared else own)


def test_writes_carry_their_condition_and_are_ordered_among_replicas() -> None:
    with recorded() as (url, asked):
        store = TenantStore("tht-test", "one", url=url)
        index = store.begin(4)
        index.replace(["a"], [point("a", EAST)], position=7)
        with pytest.raises(IndexOvertaken):
            index.save_checkpoint(SECOND, after=FIRST)
        store.close()
    (put, points), (clear, cleared), (move, moved), (read, _), (empty, emptied) = asked[-5:]
    assert put.endswith("/points?wait=true&ordering=strong")
    assert points["update_filter"] == {"must_not": [{"key": "state_at", "range": {"gt": 7.0}}]}
    assert clear.endswith("/points/delete?wait=true&ordering=strong")
    assert [one["key"] for one in cleared["filter"]["must"]] == ["tenant", "generation", "ref"]
    assert cleared["filter"]["must_not"] == [{"key": "state_at", "range": {"gte": 7.0}}]
    assert move.endswith("/points/payload?wait=true&ordering=strong")
    assert moved["filter"]["must"][1] == {"key": "checkpoint.chain", "match": {"any": [FIRST.chain]}}
    assert moved["filter"]["must"][2] == {"key": "token", "match": {"any": [FIRST.token]}}
    assert read.endswith("/points?consistency=majority")
    assert empty.endswith("/points/delete?wait=true&ordering=strong")
    assert [one["key"] for one in emptied["filter"]["must"]] == ["tenant", "generation"]


def test_a_server_that_cannot_write_under_a_condition_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would write without looking, and nobody would know. The client made for it is given back each time."""
    closed: list[QdrantClient] = []
    close = QdrantClient.close

    def noted(self: QdrantClient) -> None:
        closed.append(self)
        close(self)

    monkeypatch.setattr(QdrantClient, "close", noted)
    with recorded("1.15.5") as (url, asked):
        store = ServerStore("tht-test", url=url)
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match=r"1\.15\.5") as refused:
                store.begin(4)
        assert "1.16" in refused.value.hint
        assert len({id(one) for one in closed}) == 2
        store.close()
    assert {path for path, _ in asked} == {"GET /"}
