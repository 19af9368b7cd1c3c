"""Agents over the protocol: the SDK's own client, on stdin and stdout of a real process and over real HTTP."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from adapters.mcp.call import Speaker
from adapters.mcp.http import http_app
from adapters.serving.pool import Pool
from adapters.workspace import create_workspace
from tests.cli.conftest import Tht, hash_embedder, tht, tht_process  # noqa: F401  fixtures

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30.0  # that any answer may take


@dataclass(frozen=True)
class Agent:
    """What an agent does: `await agent("search_memory", query=…)` expects success and gives the structured answer."""

    client: Client

    async def __call__(self, tool: str, **arguments: Any) -> Any:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def text(self, tool: str, **arguments: Any) -> str:
        """What the model reads of the answer."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        (block,) = result.content
        assert isinstance(block, TextContent)
        return block.text

    async def refused(self, tool: str, **arguments: Any) -> dict[str, str]:
        """The error of a call that must fail."""
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error, result.structured_content
        error: dict[str, str] = result.structured_content["error"]
        assert set(error) == {"type", "message", "hint"}
        return error


Connect = Callable[..., AbstractAsyncContextManager[Agent]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def home(own_environment: None) -> Path:
    """A workspace that is there."""
    home = Path(os.environ["THT_HOME"])
    with create_workspace(home, "default"):
        return home


def stdio_parameters(*arguments: str) -> StdioServerParameters:
    """`tht mcp` with these arguments, as a client starts it."""
    command = ["-c", "from cli.main import main; main()", "mcp", *arguments]
    environment = {name: value for name, value in os.environ.items() if name.startswith(("THT_", "HF_", "PATH"))}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    return StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=str(ROOT))


@dataclass(frozen=True)
class Served:
    """The application on a loopback port. `tokens`: whose each is; taken out, it is refused."""

    url: str
    tokens: dict[str, Speaker]

    def token(self, actor: str, role: str) -> str:
        text = f"token-{len(self.tokens)}"
        self.tokens[text] = Speaker(actor, role)
        return text


@pytest.fixture
def served(home: Path) -> Iterator[Served]:
    """A real uvicorn, started and ended with the test."""
    tokens: dict[str, Speaker] = {}

    def identity(request: Request) -> Speaker | None:
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        return tokens.get(text) if kind == "Bearer" else None

    pool = Pool(home, "default")
    app = http_app(pool.run, identity, 2_000_000)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with app.running():
            yield

    asgi = Starlette(lifespan=lifespan, routes=[Route("/mcp", app)])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(asgi, log_level="warning", timeout_graceful_shutdown=5))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield Served(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", tokens)
        finally:
            server.should_exit = True
            thread.join(SECONDS)
            pool.close()
    assert not thread.is_alive()


@asynccontextmanager
async def over_stdio(actor: str, role: str = "", mode: str = "auto") -> AsyncIterator[Agent]:
    arguments = ("--actor", actor, *(("--role", role) if role else ()), "--quiet")
    async with Client(stdio_parameters(*arguments), read_timeout_seconds=SECONDS, mode=mode) as client:
        yield Agent(client)


@asynccontextmanager
async def over_http(url: str, token: str, mode: str = "auto") -> AsyncIterator[Agent]:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=SECONDS) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, read_timeout_seconds=SECONDS, mode=mode) as client:
            yield Agent(client)


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest, home: Path) -> Connect:
    """`connect(actor, role)`: an agent's connection, over each transport."""
    if request.param == "stdio":
        return over_stdio
    served: Served = request.getfixturevalue("served")

    def connected(actor: str, role: str = "", mode: str = "auto") -> AbstractAsyncContextManager[Agent]:
        return over_http(served.url, served.token(actor, role), mode)

    return connected


@pytest.fixture
def http_agent(served: Served) -> AbstractAsyncContextManager[Agent]:
    """The connection of agent:coder-1, over HTTP: for what is the same on both."""
    return over_http(served.url, served.token("agent:coder-1", "coder"))
