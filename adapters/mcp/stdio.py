"""MCP on stdin and stdout: one process, one agent, one workspace, until stdin ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from mcp.server.stdio import stdio_server

from adapters.mcp.call import Identity
from adapters.mcp.server import make_server
from adapters.workspace import Workspace

T = TypeVar("T")


def serve_stdio(workspace: Workspace, speaker: Identity) -> None:
    """Answer until stdin is closed. Only the protocol is written to stdout; what there is to log goes to stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tht mcp: %(levelname)s: %(message)s")

    async def serve() -> None:
        turn = CapacityLimiter(1)

        async def lend(work: Callable[[Workspace], T]) -> T:
            return await to_thread.run_sync(work, workspace, limiter=turn)

        server = make_server(lend, lambda _: speaker)
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)
