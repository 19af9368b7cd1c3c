"""`tht serve --mcp`: the same memory for the agents of a server, of a process, and for people at the terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from tests.cli.conftest import Tht
from tests.mcp.conftest import ROOT, SECONDS, over_http, over_stdio

pytestmark = [pytest.mark.anyio, pytest.mark.posix]
QUESTION = "Which port does the gateway of the shop use?"


@pytest.fixture
def address(home: Path) -> Iterator[str]:
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
            yield str(json.loads(line)["url"])
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                raise
    assert server.returncode == 0, log.read_text()
    assert "Traceback" not in log.read_text()


async def test_a_token_of_the_server_speaks_and_everybody_finds_the_same(address: str, tht: Tht) -> None:
    made = tht.json("token", "create", "--actor", "agent:coder-1", "--role", "coder")
    async with over_http(f"{address}/mcp", made["token"]) as agent:
        for number, words in enumerate(
            ("listens on port 8080", "logs to port 514", "is written in Go", "has two hosts")
        ):
            content = f"The gateway of the shop {words}"
            await agent("propose_fact", content=content, domain="architecture", topic=f"gateway {number}")
        over_network = [hit["id"] for hit in (await agent("search_memory", query=QUESTION))["hits"]]
    async with over_stdio("agent:coder-2", "coder") as agent:
        in_process = [hit["id"] for hit in (await agent("search_memory", query=QUESTION))["hits"]]
    at_terminal = [fact["id"] for fact in tht.json("fact", "search", QUESTION)["facts"]]
    assert len(over_network) == 4
    assert over_network == in_process == at_terminal
    (first, *_) = tht.json("fact", "list")["facts"]
    assert (first["author"], first["author_role"]) == ("agent:coder-1", "coder")


async def test_a_revoked_token_a_persons_and_a_foreign_page_are_refused(address: str, tht: Tht) -> None:
    made = tht.json("token", "create", "--actor", "agent:coder-1", "--role", "coder")
    person = tht.json("token", "create", "--actor", "human:ada", "--person")
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_my_notes", "arguments": {}}}
    headers = {"accept": "application/json, text/event-stream"}

    def post(token: str, **more: str) -> int:
        given = headers | {"authorization": f"Bearer {token}"} | more
        return httpx2.post(f"{address}/mcp", json=body, headers=given, timeout=SECONDS).status_code

    assert post(made["token"]) == 200
    assert post(person["token"]) == 403
    assert post(made["token"], host="evil.example") == 421
    assert post(made["token"], origin="http://evil.example") == 403
    tht.json("token", "revoke", made["id"])
    assert post(made["token"]) == 401
