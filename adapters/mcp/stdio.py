"""MCP on stdin and stdout: one process, one agent, one workspace, until stdin ends or a signal says so."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.abc
from anyio import CapacityLimiter, to_thread
from mcp.server.stdio import stdio_server

from adapters.mcp.call import Identity
from adapters.mcp.garbled import answering_garbled
from adapters.mcp.server import make_server
from adapters.workspace import Workspace

PATIENCE = 10.0  # seconds that a call under way gets after a signal

T = TypeVar("T")


def serve_stdio(workspace: Workspace, speaker: Identity) -> None:
    """Answer until stdin is closed. Only the protocol is written to stdout; what there is to log goes to stderr.

    SIGINT and SIGTERM let the call under way finish and end the process, exit code 0.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="tht mcp: %(levelname)s: %(message)s")
    anyio.run(_serve, workspace, speaker)


async def _serve(workspace: Workspace, speaker: Identity) -> None:
    turn = CapacityLimiter(1)

    async def lend(work: Callable[[Workspace], T]) -> T:
        def act(lent: Workspace) -> T:
            done = work(lent)
            lent.clean_after_erasures()
            return done

        return await to_thread.run_sync(act, workspace, limiter=turn)

    server = make_server(lend, lambda _: speaker)
    async with anyio.create_task_group() as tasks:
        if sys.platform != "win32":
            await tasks.start(_end_on_signal, workspace, turn)
        async with stdio_server() as (read, write), answering_garbled(read, write.send) as messages:
            await server.run(messages, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _end_on_signal(
    workspace: Workspace, turn: CapacityLimiter, *, task_status: anyio.abc.TaskStatus[None]
) -> None:
    """Ends without unwinding: a thread waits in a read of stdin, which nothing but its end would wake."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        task_status.started()
        async for _ in signals:
            with anyio.move_on_after(PATIENCE):
                await turn.acquire()
            workspace.close()
            os._exit(0)
