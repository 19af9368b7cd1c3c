"""`tht serve --mcp`: the same memory for the agents of a server, of a process, and for people at the terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from tests.cli.conftest import Tht
from tests.mcp.conftest import ROOT, SECONDS, over_http, over_stdio

pytestmark = [pytest.mark.anyio, pytest.mark.posix]
QUESTION = "Which port does the gateway of the shop use?"
SUBJECTS = (
    "listens on port 8080", "logs to port 514", "is written in Go", "has two hosts", "restarts at night", "is old",
    "answers in 20 ms", "has no port for guests", "was in the old shop", "needs a certificate", "speaks HTTP/2",
    "is blue",
)  # fmt: skip


class Address(NamedTuple):
    """Where the server answers, and the link that logs its person in."""

    url: str
    login: str


@pytest.fixture
def address(home: Path) -> Iterator[Address]:
    """A real `tht serve --mcp` on a free port, asked to end with the test."""
    command = [sys.executable, "-c", "from cli.main import main; main()", "serve", "--http", "127.0.0.1:0", "--mcp"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    log = home / "serve.log"
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [*command, "--actor", "human:ada", "--json"], env=environment, stdout=subprocess.PIPE, stderr=errors
        ) as server,
    ):
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line, log.read_text()
            told = json.loads(line)
            yield Address(told["url"], told["login"])
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
    assert server.returncode == 0, log.read_text()
    assert "Traceback" not in log.read_text()


async def test_everybody_finds_the_same_in_the_same_order(address: Address, tht: Tht) -> None:
    tht.session("s1", ("Gateway", "The gateway of the shop, whose port is the one for customers."), ("Rooms", "Three."))
    tht.promote("s1", 1)
    made = tht.json("token", "create", "--actor", "agent:coder-1", "--role", "coder")
    with httpx2.Client(base_url=address.url, timeout=SECONDS, follow_redirects=True) as browser:
        assert browser.get(address.login).status_code == 200
        async with (
            over_http(f"{address.url}/mcp", made["token"]) as agent,
            over_stdio("agent:coder-2", "coder") as other,
        ):
            for number, words in enumerate(SUBJECTS):
                content = f"The gateway of the shop {words}"
                told = {"content": content, "domain": "architecture", "topic": f"gateway {number}"}
                await agent("propose_fact", **told, memory_type="event")  # which does not age while the test runs
            tht.json("index", "rebuild")
            for mode, kind in (("hybrid", "fact"), ("hybrid", "all"), ("semantic", "fact"), ("keyword", "all")):
                asked = {"kind": kind, "mode": mode, "limit": 10}
                first, by_process = [await one("search_memory", query=QUESTION, **asked) for one in (agent, other)]
                by_rpc = _rpc(address.url, made["token"], question=QUESTION, **asked)
                by_hand = tht.json("fact", "search", QUESTION, "--kind", kind, "--mode", mode, "--limit", 10)
                expected = [hit["id"] for hit in first["hits"]]
                assert (len(expected), set(first["voices"].values())) == (10, {"ran"})
                assert [[hit["id"] for hit in found["hits"]] for found in (by_process, by_rpc, by_hand)] == [
                    expected
                ] * 3
                path = "/workspaces/default/settings/memory"
                page = browser.get(path, params={"q": QUESTION, "kind": kind, "mode": mode}).text
                assert re.findall(r'<p class="subject"><a href="/(?:facts|registry)/([^"]+)"', page) == expected
                following = await agent("search_memory", query=QUESTION, **asked, cursor=first["next_cursor"])
                assert len(following["hits"]) == len(SUBJECTS) + (kind == "all") - 10
                assert (following["next_cursor"], following["truncated"]) == (None, False)
                assert not {hit["id"] for hit in following["hits"]} & set(expected)
    (fact, *_) = tht.json("fact", "list")["facts"]
    assert (fact["author"], fact["author_role"]) == ("agent:coder-1", "coder")


def _rpc(url: str, token: str, **asked: object) -> dict[str, list[dict[str, str]]]:
    """What `memory_fact.search` answers."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "memory_fact.search", "params": asked}
    answer = httpx2.post(f"{url}/rpc", json=body, headers={"authorization": f"Bearer {token}"}, timeout=SECONDS)
    found: dict[str, list[dict[str, str]]] = answer.json()["result"]
    return found


async def test_a_revoked_token_a_persons_and_a_foreign_page_are_refused(address: Address, tht: Tht) -> None:
    made = tht.json("token", "create", "--actor", "agent:coder-1", "--role", "coder")
    person = tht.json("token", "create", "--actor", "human:ada", "--person")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_my_notes", "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream"}

    def post(token: str, **more: str) -> int:
        given = headers | {"authorization": f"Bearer {token}"} | more
        return httpx2.post(f"{address.url}/mcp", json=body, headers=given, timeout=SECONDS).status_code

    assert post(made["token"]) == 200
    assert post(person["token"]) == 403
    assert post(made["token"], host="evil.example") == 421
    assert post(made["token"], origin="http://evil.example") == 403
    tht.json("token", "revoke", made["id"])
    assert post(made["token"]) == 401
