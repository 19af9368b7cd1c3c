"""Who comes in: tokens, the one-time link, cookies, other sites, other names, too much and too often."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import anyio
import pytest
from starlette.testclient import TestClient

from adapters.serving.app import create_app
from adapters.serving.guard import Rate, host_name
from adapters.serving.identity import LINK_SECONDS, Identity, Sessions
from adapters.serving.services import Services
from domain.errors import InvalidInput, ServingUnavailable
from tests.serving.conftest import BASE, Caller, Server, make_token, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import Message

CALL = {"jsonrpc": "2.0", "id": 1, "method": "memory_fact.getByWorkspace"}


@pytest.mark.parametrize("path", ["/metrics", "/watch", "/openrpc.json"])
def test_nobody_in_particular_reads_nothing(server: Server, path: str) -> None:
    answer = server.client.get(path)
    assert (answer.status_code, answer.json()["error"]["type"]) == (401, "UnknownCaller")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_health_is_told_to_everybody_and_names_no_path(server: Server) -> None:
    answer = server.client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    assert str(server.home) not in answer.text


@pytest.mark.parametrize(
    "wrong",
    ["", "x", "tht_000000000000_" + "A" * 43, "Bearer", "é" * 40, "tht_" + "0" * 3000],
)
def test_a_wrong_token_is_nobody_whatever_it_looks_like(server: Server, coder: Caller, wrong: str) -> None:
    answer = server.client.post("/rpc", json=CALL, headers={b"authorization": f"Bearer {wrong}".encode()})
    assert answer.status_code == 401


def test_a_wrong_token_is_not_mended_by_a_cookie(server: Server) -> None:
    server.login()
    assert server.client.get("/openrpc.json").status_code == 200
    assert server.client.get("/openrpc.json", headers={"authorization": "Bearer no"}).status_code == 401


def test_only_hashes_of_tokens_are_kept_and_only_for_their_owner(home: Path) -> None:
    text = make_token(home, "agent:coder-1", "coder")
    path = home / "default" / "tokens.toml"
    (kept,) = tomllib.loads(path.read_text()).values()
    assert text.split("_", 2)[2] not in path.read_text()
    assert (kept["actor"], kept["role"]) == ("agent:coder-1", "coder")
    assert path.stat().st_mode & 0o077 == 0


def test_a_revoked_token_is_refused_at_once(server: Server, coder: Caller) -> None:
    coder("memory_fact.getByWorkspace")
    (token,) = server.services.door.tokens.listed()
    server.services.door.tokens.revoke(token.id)
    assert coder.post(CALL).status_code == 401


def test_a_login_link_is_good_once(server: Server) -> None:
    key = server.services.door.sessions.link_for(Identity("human:ada"))
    first = server.client.get(f"/login?key={key}", follow_redirects=False)
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    server.client.cookies.clear()
    assert server.client.get(f"/login?key={key}").status_code == 403
    assert server.client.get("/login?key=made-up").status_code == 403


def test_links_and_sessions_grow_old() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    key, other = sessions.link_for(Identity("human:ada")), sessions.link_for(Identity("human:ada"))
    assert sessions.redeem(key) is not None
    now[0] = LINK_SECONDS
    assert sessions.redeem(other) is None
    secret = sessions.begin(Identity("human:ada"))
    assert sessions.find(secret) is not None
    now[0] += 13 * 3600
    assert sessions.find(secret) is None


def test_a_person_logs_in_with_a_token_and_out_again(server: Server) -> None:
    token = make_token(server.home, "human:bob", person=True)
    assert server.client.post("/login", data={"token": "no"}).status_code == 403
    assert server.client.post("/login", data={"token": token}, follow_redirects=False).status_code == 303
    assert "human:bob" in server.client.get("/").text
    refused = server.client.post("/logout", data={"csrf": "guessed"}, headers={"origin": BASE})
    assert refused.status_code == 403
    identity = server.services.door.sessions.find(server.client.cookies[server.services.door.cookie])
    assert identity is not None
    server.client.post("/logout", data={"csrf": identity.csrf}, headers={"origin": BASE})
    assert "human:bob" not in server.client.get("/").text


def test_a_browser_that_was_let_in_by_a_token_is_out_when_the_token_is_revoked(server: Server) -> None:
    token = make_token(server.home, "human:bob", person=True)
    server.client.post("/login", data={"token": token})
    assert server.client.get("/openrpc.json").status_code == 200
    server.services.door.tokens.revoke(token.split("_")[1])
    assert server.client.get("/openrpc.json").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "127.0.0.1/..", "a@b"]
)
def test_a_foreign_host_is_refused_so_that_no_name_is_rebound_to_this_server(server: Server, host: str) -> None:
    answer = server.client.get("/healthz", headers={"host": host})
    assert (answer.status_code, answer.json()["error"]["type"]) == (421, "ForeignHost")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:9999", "http://localhost", "file://"]
)
def test_a_page_of_another_site_is_refused_even_with_a_token(server: Server, coder: Caller, origin: str) -> None:
    assert coder.post(CALL, origin=origin).status_code == 403
    assert coder.post(CALL, origin=BASE).status_code == 200


def test_a_cookie_alone_changes_nothing_without_a_sign_that_the_page_is_ours(server: Server) -> None:
    server.login()
    call = {"jsonrpc": "2.0", "id": 1, "method": "memory_domain.upsert", "params": {"domain": "ops"}}
    bare = server.client.post("/rpc", json=call)
    assert (bare.status_code, bare.json()["error"]["type"]) == (403, "ForeignOrigin")
    assert server.client.post("/rpc", json=call, headers={"sec-fetch-site": "cross-site"}).status_code == 403
    assert server.client.post("/rpc", json=call, headers={"origin": BASE}).json()["result"]["domain"] == "ops"


def test_a_form_of_another_site_cannot_speak_json_rpc(server: Server) -> None:
    server.login()
    body = '{"jsonrpc": "2.0", "id": 1, "method": "memory_domain.upsert", "params": {"domain": "x"}}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = server.client.post("/rpc", content=body, headers={"content-type": kind, "origin": BASE})
        assert answer.status_code == 415


@pytest.mark.parametrize(
    "path", ["/../etc/passwd", "/static/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/rpc/../x"]
)
def test_path_tricks_lead_nowhere(server: Server, coder: Caller, path: str) -> None:
    answer = server.client.get(path, headers=coder.headers)
    assert answer.status_code in (404, 405)
    assert "root:" not in answer.text


def test_every_answer_carries_what_keeps_a_browser_safe(server: Server, coder: Caller) -> None:
    for answer in (
        server.client.get("/healthz"),
        server.client.get("/login"),
        server.client.get("/nowhere"),
        server.client.get("/healthz", headers={"host": "evil.example"}),
        coder.post(b"{"),
    ):
        policy = answer.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_a_body_beyond_the_limit_is_refused_whether_it_says_so_or_not(server: Server, coder: Caller) -> None:
    limit = server.services.body_limit
    assert coder.post(b" " * (limit + 1)).status_code == 413

    def endless() -> Iterator[bytes]:
        for _ in range(limit // 1000 + 2):
            yield b" " * 1000

    headers = {"content-type": "application/json", **coder.headers}
    assert server.client.post("/rpc", content=endless(), headers=headers).status_code == 413
    assert server.client.post("/rpc", content=b"{}", headers=headers | {"content-length": "-1"}).status_code == 413


class Part(bytes):
    """A part of a body that counts how often its length is asked for."""

    asked = 0

    def __len__(self) -> int:
        Part.asked += 1
        return super().__len__()


def test_a_body_that_comes_a_byte_at_a_time_is_added_up_once(server: Server) -> None:
    """Adding up anew what is there already, at every part, would let anybody keep the server busy."""
    parts = [{"type": "http.request", "body": Part(b" "), "more_body": True} for _ in range(500)]
    said: list[Message] = []

    async def receive() -> Message:
        return parts.pop() if parts else {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        said.append(message)

    headers = [(b"host", b"127.0.0.1:8765"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/nowhere", "query_string": b"", "headers": headers}
    anyio.run(server.client.app, scope, receive, send)
    assert said[0]["status"] == 404
    assert Part.asked < 5_000


def test_who_asks_too_often_is_told_when_to_come_back(home: Path) -> None:
    now = [0.0]
    services = Services(settings(home), lambda: now[0])
    with TestClient(create_app(services), base_url=BASE, client=("127.0.0.1", 50000)) as client:
        server = Server(home, services, client)
        coder, other = server.caller("agent:coder-1"), server.caller("agent:coder-2")
        answers = [coder.post(CALL).status_code for _ in range(201)]
        assert answers == [200] * 200 + [429]
        refused = coder.post(CALL)
        assert refused.json()["error"]["type"] == "TooOften"
        assert int(refused.headers["retry-after"]) >= 1
        assert other.post(CALL).status_code == 200  # nobody pays for another
        now[0] = 1.0
        assert coder.post(CALL).status_code == 200


def test_a_batch_counts_as_many_calls(home: Path) -> None:
    services = Services(settings(home), lambda: 0.0)
    with TestClient(create_app(services), base_url=BASE, client=("127.0.0.1", 50000)) as client:
        coder = Server(home, services, client).caller("agent:coder-1")
        assert [coder.post([CALL] * 50).status_code for _ in range(5)] == [200] * 4 + [429]


def test_a_bucket_refills_and_remembers_no_more_peers_than_it_may() -> None:
    now = [0.0]
    rate = Rate(10.0, lambda: now[0])
    assert [rate.wait("a") for _ in range(40)] == [0.0] * 40
    assert rate.wait("a") == pytest.approx(0.1)
    now[0] = 0.1
    assert rate.wait("a") == 0.0
    for number in range(20_000):
        rate.wait(f"peer {number}")
    assert len(rate._buckets) <= 10_000


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8765", "::1"),
        ("Tht.Example.", "tht.example"),
        ("a b", "a b"),
        ("x:y", ""),
    ],
)
def test_the_name_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


def test_more_names_can_be_allowed_but_no_addresses(home: Path) -> None:
    assert "memory.example" in settings(home, hosts=("Memory.Example",)).names
    with pytest.raises(InvalidInput):
        _ = settings(home, hosts=("http://memory.example/x",)).names


def test_a_second_server_of_the_workspace_is_refused(server: Server) -> None:
    with pytest.raises(ServingUnavailable, match="runs"):
        Services(settings(server.home))


@pytest.mark.parametrize("broken", [b"= broken", b"\xff\xfe", b"[a]\nb = 1\n", b"a = 1"])
def test_tokens_that_cannot_be_read_are_a_refusal_in_words(server: Server, coder: Caller, broken: bytes) -> None:
    path = server.home / "default" / "tokens.toml"
    good = path.read_bytes()
    path.write_bytes(broken)
    for answer in (coder.post(CALL), server.client.post("/login", data={"token": coder.headers["authorization"][7:]})):
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "ServingUnavailable")
        assert "tokens" in answer.json()["error"]["message"]
        assert str(server.home) not in answer.text
        assert answer.headers["content-security-policy"]
    for headers in ({}, coder.headers):
        health = server.client.get("/healthz", headers=headers)
        assert (health.status_code, health.json()["status"]) == (503, "broken")
        assert "cannot be read" in health.json()["tokens"]["problem"]
    path.write_bytes(good)
    assert coder.post(CALL).status_code == 200
    assert server.client.get("/healthz").json()["status"] == "ok"


def test_over_mcp_a_body_may_be_as_large_as_elsewhere(home: Path) -> None:
    services = Services(settings(home, mcp=True))
    with TestClient(create_app(services), base_url=BASE, client=("127.0.0.1", 50000)) as client:
        coder = Server(home, services, client).caller("agent:coder-1")
        headers = {**coder.headers, "accept": "application/json, text/event-stream"}
        for size, status in ((1_500_000, 200), (services.body_limit, 413)):
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": {"x": "a" * size}}}
            assert client.post("/mcp", json=ping, headers=headers).status_code == status
