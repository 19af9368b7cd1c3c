"""MCP over streamable HTTP, as an application to be mounted: every request says by its token who speaks."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adapters.mcp.call import Identity, OpenWorkspace, accept_speaker
from adapters.mcp.failing import error_json
from adapters.mcp.server import Context, make_server
from domain.errors import ThtError

IdentityOfRequest = Callable[[Request], Identity | None]
"""Whose token a request carries; None without a valid one."""


class McpApp:
    """An ASGI application. Its `running()` surrounds the time in which it answers: enter it in the server's lifespan.

    It keeps no session: each request stands for itself, so a token that is taken away ends at once.
    """

    def __init__(self, open_workspace: OpenWorkspace, identity_of_request: IdentityOfRequest, body_limit: int) -> None:
        self._identity_of_request = identity_of_request
        self._server: Server[Any] = make_server(open_workspace, _speaker_of)
        self._manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=body_limit
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Once in the life of the application."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """401 without a valid token, 403 for a person's: over MCP a model speaks. 405 for all but POST."""
        if scope["type"] != "http":
            return
        request = Request(scope)
        if request.method != "POST":
            await _refused(405, "InvalidInput", "only POST is answered here", headers={"allow": "POST"})(
                scope, receive, send
            )
            return
        identity = self._identity_of_request(request)
        if identity is None:
            challenge = {"www-authenticate": 'Bearer realm="tht"'}
            hint = "send Authorization: Bearer TOKEN, with an agent's token"
            await _refused(401, "AccessDenied", "denied: no valid token", hint, challenge)(scope, receive, send)
            return
        try:
            speaker = accept_speaker(identity.actor, identity.role)
        except ThtError as error:
            await _answer(403, error_json(error), {})(scope, receive, send)
            return
        scope.setdefault("state", {})["speaker"] = speaker
        await self._manager.handle_request(scope, receive, send)


def http_app(open_workspace: OpenWorkspace, identity_of_request: IdentityOfRequest, body_limit: int) -> McpApp:
    """The application to mount at /mcp. Host, Origin and rate are checked by who mounts it.

    `body_limit`: bytes of the largest request.
    """
    return McpApp(open_workspace, identity_of_request, body_limit)


def _speaker_of(context: Context) -> Identity:
    """Whom the request was let in as: decided before the protocol saw it."""
    request = context.request
    assert isinstance(request, Request)
    speaker: Identity = request.state.speaker
    return speaker


def _refused(
    status: int, kind: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None
) -> Response:
    return _answer(status, {"error": {"type": kind, "message": message, "hint": hint}}, headers or {})


def _answer(status: int, told: Mapping[str, Any], headers: Mapping[str, str]) -> Response:
    return Response(json.dumps(told), status, dict(headers), "application/json")
