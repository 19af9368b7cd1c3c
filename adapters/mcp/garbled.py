"""What is said on stdin and is no message of the protocol: answered with an error of JSON-RPC, and the next is read."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from adapters.mcp.failing import error_json
from domain.errors import InvalidInput

Read = SessionMessage | Exception
Send = Callable[[SessionMessage], Awaitable[None]]


@asynccontextmanager
async def answering_garbled(read: AsyncIterable[Read], send: Send) -> AsyncIterator[MemoryObjectReceiveStream[Read]]:
    """The messages of `read`. The SDK's reader puts an exception in place of a line that is none, and its server drops
    it: a client would wait for an answer for ever."""
    put, messages = anyio.create_memory_object_stream[Read](0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_sort, read, send, put)
        async with messages:
            yield messages
        tasks.cancel_scope.cancel()


async def _sort(read: AsyncIterable[Read], send: Send, put: MemoryObjectSendStream[Read]) -> None:
    async with put:
        async for item in read:
            if not isinstance(item, Exception):
                await put.send(item)
            elif (answer := _answer(item)) is not None:
                await send(SessionMessage(answer))


def _answer(error: Exception) -> types.JSONRPCError | None:
    """None for a blank line, which is nothing said. The id is null, as JSON-RPC wants for
    both errors; where an id could be read the SDK does not give the line."""
    first = error.errors(include_url=False)[0] if isinstance(error, ValidationError) else None
    if first is None or first["type"] == "json_invalid":
        if first is not None and str(first["input"]).isspace():
            return None
        return _refused(
            types.PARSE_ERROR, InvalidInput("the line is no JSON", "write one JSON object a line, in UTF-8")
        )
    hint = 'give jsonrpc "2.0", method, params as an object, and for an answer an id that is a string or an integer'
    return _refused(types.INVALID_REQUEST, InvalidInput("the line is no message of JSON-RPC", hint))


def _refused(code: int, error: InvalidInput) -> types.JSONRPCError:
    told = types.ErrorData(code=code, message=error.message, data=error_json(error))
    return types.JSONRPCError(jsonrpc="2.0", id=None, error=told)
