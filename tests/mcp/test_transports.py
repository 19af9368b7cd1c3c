"""What carries the protocol: one process an agent on stdin and stdout, one token an agent over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from adapters.mcp.failing import failure_json
from tests.cli.conftest import Tht
from tests.mcp.conftest import SECONDS, Agent, Connect, Served, over_http, stdio_parameters

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def call(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.anyio
@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_clients_of_both_protocols_are_served(connect: Connect, mode: str, version: str) -> None:
    async with connect("agent:coder-1", "coder", mode) as agent:
        assert agent.client.protocol_version == version
        made = await agent("propose_fact", content="The gateway is in Go", domain="architecture", topic="gateway")
        (hit,) = (await agent("search_memory", query="gateway"))["hits"]
        assert (hit["id"], hit["author"], hit["author_role"]) == (made["fact_id"], "agent:coder-1", "coder")
        assert (await agent.refused("search_memory", query="x", mode="y"))["type"] == "InvalidInput"


@pytest.mark.anyio
async def test_calls_at_the_same_time_are_all_kept(connect: Connect) -> None:
    async with connect("agent:coder-1", "coder") as agent:
        async with anyio.create_task_group() as tasks:
            for number in range(12):
                tasks.start_soon(_propose, agent, number)
        found = await agent("search_memory", query="parallel server", limit=50)
        assert {hit["topic"] for hit in found["hits"]} == {f"server {number}" for number in range(12)}


async def _propose(agent: Agent, number: int) -> None:
    content = f"The parallel server {number} has port {9000 + number}"
    made = await agent("propose_fact", content=content, domain="architecture", topic=f"server {number}")
    assert made["outcome"] == "proposed"


# -- stdin and stdout --------------------------------------------------------------------------------------------------


@pytest.fixture
def process(home: Path) -> Iterator[subprocess.Popen[bytes]]:
    parameters = stdio_parameters("--actor", "agent:coder-1", "--role", "coder")
    command = [parameters.command, *parameters.args]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=parameters.env, cwd=parameters.cwd, stdin=pipe, stdout=pipe, stderr=pipe) as one:
        late = threading.Timer(2 * SECONDS, one.kill)  # a read of what never comes then ends
        late.start()
        yield one
        late.cancel()
        one.kill()


def spoken(*messages: Any) -> bytes:
    """Messages as they are written to stdin; a text goes as it is."""
    return b"".join(
        (one if isinstance(one, str) else json.dumps(one)).encode("utf-8", "surrogateescape") + b"\n"
        for one in messages
    )


def test_stdout_has_the_protocol_alone_and_closing_stdin_ends_the_process(process: subprocess.Popen[bytes]) -> None:
    said = spoken(
        INITIALIZE,
        INITIALIZED,
        "this is no JSON",
        '{"jsonrpc": "2.0", "id": 7}',
        "\udcff\udcfe",
        call(2, "propose_fact", content="It has port 80", domain="d", topic="t"),
        call(3, "no such tool"),
        call(4, "search_memory", query="port", kind="all"),
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(said)
    process.stdin.flush()
    answers: dict[int, Any] = {}
    while not {1, 2, 3, 4} <= answers.keys():
        message = json.loads(process.stdout.readline())  # every line is a message
        assert message["jsonrpc"] == "2.0"
        answers[message.get("id") or 0] = message
    out, err = process.communicate(timeout=SECONDS)  # closes stdin
    assert process.returncode == 0, err
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
    assert answers[2]["result"]["structuredContent"]["outcome"] == "proposed"
    assert answers[3]["result"]["isError"]
    assert b"Traceback" not in err


NO_JSON = ("this is no JSON", "{", '{"jsonrpc": "2.0", "id": 1, "method": "x"', "\udcff\udcfe", "[" * 10_000, "\x00")
NO_MESSAGE = (
    "[]",
    "null",
    "7",
    '"text"',
    "{}",
    '{"jsonrpc": "2.0", "id": 7}',
    '{"jsonrpc": "1.0", "id": 7, "method": "tools/list"}',
    '{"jsonrpc": "2.0", "id": 7, "method": 5}',
    '{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": [1]}',
)


@pytest.mark.parametrize("opened", [True, False])
def test_a_line_that_is_no_message_is_answered_with_an_error_and_the_next_is_served(
    process: subprocess.Popen[bytes], opened: bool
) -> None:
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(one: Any) -> Any:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(spoken(one))
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    if opened:
        assert ask(INITIALIZE)["id"] == 1
    for code, lines in ((-32700, NO_JSON), (-32600, NO_MESSAGE)):
        for line in lines:
            said = ask(line)
            assert (said["id"], said["error"]["code"]) == (None, code), line[:40]
            assert said["error"]["data"]["error"].keys() == {"type", "message", "hint"}
            assert len(json.dumps(said)) < 500
    process.stdin.write(spoken("", "  "))  # nothing is said by a blank line
    assert ask(INITIALIZE | {"id": 8})["id"] == 8
    assert ask(call(9, "list_policies"))["result"]["structuredContent"]["policies"] == []
    out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, b""), err
    assert b"Traceback" not in err


def test_a_garbled_line_before_the_end_is_answered_too(process: subprocess.Popen[bytes]) -> None:
    out, _ = process.communicate(spoken("{"), timeout=SECONDS)
    assert (process.returncode, json.loads(out)["error"]["code"]) == (0, -32700)


def test_stdin_that_is_closed_at_once_ends_it_too(process: subprocess.Popen[bytes]) -> None:
    out, _ = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (0, b"")


def test_what_was_begun_when_stdin_closes_is_whole_or_not_there(process: subprocess.Popen[bytes], tht: Tht) -> None:
    proposals = [call(n, "propose_fact", content=f"Node n{n} is up", domain="d", topic=f"n{n}") for n in range(2, 8)]
    process.communicate(spoken(INITIALIZE, INITIALIZED, *proposals), timeout=SECONDS)
    assert process.returncode == 0
    assert tht("ledger", "verify").code == 0
    for fact in tht.json("fact", "list")["facts"]:
        assert fact["author"] == "agent:coder-1"


@pytest.mark.posix
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_though_stdin_stays_open(process: subprocess.Popen[bytes], tht: Tht, name: str) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(spoken(INITIALIZE, INITIALIZED, call(2, "list_policies")))
    process.stdin.flush()
    assert [json.loads(process.stdout.readline())["id"] for _ in range(2)] == [1, 2]
    process.send_signal(signal.Signals[name])
    assert process.wait(SECONDS) == 0
    assert tht("ledger", "verify").code == 0


@pytest.mark.parametrize("actor", [(), ("--actor", "human:ada"), ("--actor", "ada"), ("--actor", "robot:x")])
def test_it_speaks_for_an_agent_or_not_at_all(home: Path, tht: Tht, actor: tuple[str, ...]) -> None:
    said = tht("mcp", *actor, "--json")
    assert (said.code, said.out, said.error["type"]) == (2, "", "InvalidInput")
    assert "agent:NAME" in f"{said.error['message']} {said.error['hint']}"


def test_a_workspace_that_is_not_there_is_refused_and_not_made(home: Path, tht: Tht, tmp_path: Path) -> None:
    for mistyped in (("--home", str(tmp_path / "mistyped")), ("--workspace", "mistyped")):
        said = tht("mcp", "--actor", "agent:a", *mistyped, "--json")
        assert (said.code, said.out, said.error["type"]) == (3, "", "NoHome")
        assert "init" in said.error["hint"]
    assert not (tmp_path / "mistyped").exists()
    assert not list(home.rglob("mistyped"))


def test_without_the_extra_it_says_what_to_install(home: Path) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None\n"
        "from cli.main import main; main(['mcp', '--actor', 'agent:a', '--json'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    error = json.loads(done.stderr)["error"]
    assert error["type"] == "ServingUnavailable"
    assert "pip install 'thoth-memory[serve]'" in error["hint"]


def test_help_does_not_import_the_sdk() -> None:
    program = (
        "import sys\nfrom cli.main import main\ntry: main(['--help'])\n"
        "except SystemExit: print([one for one in sys.modules if one.split('.')[0] in ('mcp', 'starlette', 'anyio')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.rstrip().endswith("[]")


def test_a_fault_is_written_to_the_log_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    told = failure_json(ValueError("the key is heliotrope"))
    assert told["error"]["type"] == "InternalError"
    assert "heliotrope" not in json.dumps(told)
    assert "heliotrope" in caplog.text
    assert failure_json(OSError("disk"))["error"]["type"] == "HomeNotWritable"


# -- HTTP --------------------------------------------------------------------------------------------------------------


def post(served: Served, token: str | None, content: bytes, **headers: str) -> httpx2.Response:
    given = HEADERS | headers | ({"authorization": f"Bearer {token}"} if token is not None else {})
    return httpx2.post(served.url, content=content, headers=given, timeout=SECONDS)


def test_without_a_valid_token_nobody_is_let_in(served: Served) -> None:
    served.token("agent:coder-1", "coder")
    for token in (None, "wrong", "token-00"):
        answer = post(served, token, json.dumps(INITIALIZE).encode())
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["error"]["type"] == "AccessDenied"


def test_a_persons_token_does_not_speak_here(served: Served) -> None:
    answer = post(served, served.token("human:ada", ""), json.dumps(INITIALIZE).encode())
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "InvalidInput")


def test_only_post_is_answered(served: Served) -> None:
    headers = {"authorization": f"Bearer {served.token('agent:coder-1', 'coder')}"}
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        answer = httpx2.request(method, served.url, headers=headers, timeout=SECONDS)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_malformed_bodies_are_refused_and_the_next_is_served(served: Served) -> None:
    token = served.token("agent:coder-1", "coder")
    whole = json.dumps(call(1, "x" * 900_000)).encode()
    for content in (b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "1.0"}', b'"text"', b"[" * 10_000, whole):
        refused = post(served, token, content)
        assert refused.status_code < 500, content[:20]
        assert len(refused.content) < 5_000
        assert "Traceback" not in refused.text
        if content is not whole:
            assert (refused.json()["id"], refused.json()["error"]["code"] < -32000) == (None, True)
    answer = post(served, token, json.dumps(call(5, "list_policies")).encode())
    assert answer.json()["result"]["structuredContent"]["policies"] == []


def test_a_body_over_the_limit_is_refused_before_it_is_read(served: Served) -> None:
    huge = json.dumps(call(1, "update_my_notes", text="x" * 2_000_000)).encode()
    assert post(served, served.token("agent:coder-1", "coder"), huge).status_code == 413


@pytest.mark.anyio
async def test_a_token_that_is_taken_away_ends_at_once_and_another_takes_over_nothing(served: Served) -> None:
    one, other = served.token("agent:coder-1", "coder"), served.token("agent:qa-1", "qa")
    async with over_http(served.url, one) as coder, over_http(served.url, other) as tester:
        await coder("update_my_notes", text="mine")
        assert (await tester("get_my_notes"))["text"] == ""
        made = await tester("propose_fact", content="The build is green", domain="ci", topic="build")
        (hit,) = (await coder("search_memory", query="build"))["hits"]
        assert (hit["id"], hit["author"], hit["author_role"]) == (made["fact_id"], "agent:qa-1", "qa")
        del served.tokens[one]
        assert (await tester("get_my_notes"))["agent"] == "agent:qa-1"
    assert post(served, one, json.dumps(call(1, "get_my_notes")).encode()).status_code == 401


def test_who_speaks_is_the_tokens_whatever_the_headers_say(served: Served) -> None:
    token = served.token("agent:qa-1", "qa")
    more = {"mcp-session-id": "0" * 32, "x-actor": "human:ada", "x-forwarded-user": "human:ada"}
    answer = post(served, token, json.dumps(call(1, "get_my_notes")).encode(), **more)
    assert answer.json()["result"]["structuredContent"]["agent"] == "agent:qa-1"


def test_the_environment_of_the_server_names_nobody(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "THT_ACTOR", "human:ada")
    token = served.token("agent:qa-1", "qa")
    answer = post(served, token, json.dumps(call(1, "get_my_notes")).encode())
    assert answer.json()["result"]["structuredContent"]["agent"] == "agent:qa-1"
