"""The server put together: routes behind the guard, pages, MCP and JSON-RPC; and who must have logged in for what."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import anyio
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.serving import login, openrpc, rpc
from adapters.serving.guard import Guard
from adapters.serving.identity import Identity
from adapters.serving.metrics import CONTENT_TYPE
from adapters.serving.pool import Busy
from adapters.serving.refusals import Json, domain_refusal, refusal
from adapters.serving.services import Services, identity_of, services_of
from adapters.serving.watch import TooMany, Watchers, accept_kinds, start_position
from adapters.web import pages
from domain.errors import ThtError

if TYPE_CHECKING:
    from adapters.serving.mcp_mount import McpMount

log = logging.getLogger("tht.serve")
Handler = Callable[[Request], Awaitable[Response]]


def create_app(services: Services) -> ASGIApp:
    """The whole application, guarded. Its lifespan begins and ends what runs in the background."""
    routes: list[BaseRoute] = [
        Route("/healthz", healthz),
        Route("/metrics", known(metrics)),
        Route("/watch", known(watch)),
        Route("/rpc", known(rpc.endpoint), methods=["POST"]),
        Route("/openrpc.json", known(openrpc.endpoint)),
        *login.ROUTES,
        *pages.routes(services),
    ]
    if (mounted := _mcp(services)) is not None:
        routes.append(mounted.route)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            services.start()
            stack.callback(services.stop)
            if mounted is not None:
                await stack.enter_async_context(mounted.lifespan())
            yield

    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Measured, services=services)],
        exception_handlers={
            ThtError: _told,
            Busy: _busy,
            HTTPException: _http,
            Exception: _fault,
        },
    )
    app.state.services = services
    return Guard(app, services.settings.names, services.body_limit, services.door, services.rate)


def known(handler: Handler) -> Handler:
    """The handler for whoever has shown who they are; 401 for others."""

    async def checked(request: Request) -> Response:
        if identity_of(request) is None:
            hint = "send Authorization: Bearer TOKEN; tht token create makes one"
            return refusal(401, "UnknownCaller", "nobody has logged in", hint, {"www-authenticate": "Bearer"})
        return await handler(request)

    return checked


def caller(request: Request) -> Identity:
    """Who asks, behind `known`."""
    identity = identity_of(request)
    assert identity is not None
    return identity


async def healthz(request: Request) -> Response:
    services = services_of(request)
    try:
        state, found = await services.read(services.health.of)
    except Busy:
        raise
    except Exception as error:
        log.warning("healthz: %s", error)
        return Json(services.health.broken(error), 503)
    return Json(found, 503 if state == "broken" else 200)


async def metrics(request: Request) -> Response:
    services = services_of(request)
    found = services.metrics
    found.head.set(await services.read(lambda workspace: workspace.ledger.head().position))
    for name in ("views", "index"):
        standing = getattr(services.following, name).standing
        found.reached.labels(name).set(standing.reached)
        found.failures.labels(name).set(standing.failures)
    found.watchers.set(services.watchers.count)
    found.waiting.set(services.pool.waiting)
    return Response(found.text(), headers={"content-type": CONTENT_TYPE})


async def watch(request: Request) -> Response:
    """Server-sent events: `?from=POSITION` (default: the head), `&kind=` areas or kinds of events, repeatable."""
    services, identity = services_of(request), caller(request)
    head = await services.read(lambda workspace: workspace.ledger.head().position)
    start = start_position(request.query_params.get("from", ""), request.headers.get("last-event-id", ""), head)
    if request.method == "HEAD":
        return Response(headers={"content-type": "text/event-stream"})
    kinds = accept_kinds(request.query_params.getlist("kind"))
    try:
        services.watchers.admit(identity)
    except TooMany:
        return refusal(429, "TooManyWatchers", "too many streams are open", "try again later", {"retry-after": "5"})
    return _Streaming(services.watchers, identity, services.watchers.stream(identity, start, kinds))


class _Streaming(EventSourceResponse):
    """Gives its place back however it ends, even before it began. Heartbeat and end are the stream's own."""

    def __init__(self, watchers: Watchers, identity: Identity, stream: AsyncIterator[ServerSentEvent]) -> None:
        super().__init__(stream, ping=3600, send_timeout=30, shutdown_event=anyio.Event(), shutdown_grace_period=5)
        self._leave = partial(watchers.leave, identity)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


class Measured:
    """Counts every request by the route that took it."""

    def __init__(self, app: ASGIApp, services: Services) -> None:
        self.app, self.metrics = app, services.metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                route = getattr(scope.get("route"), "path", None) or "none"
                self.metrics.requests.labels(route, str(message["status"])).inc()
                self.metrics.seconds.labels(route).observe(time.perf_counter() - started)
            await send(message)

        await self.app(scope, receive, noted)


async def _told(request: Request, error: Exception) -> Response:
    assert isinstance(error, ThtError)
    return domain_refusal(error)


async def _busy(request: Request, error: Exception) -> Response:
    assert isinstance(error, Busy)
    return refusal(429, error.type, error.message, error.hint, {"retry-after": "1"})


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    words = {404: "there is no such page", 405: "this page does not take that method"}
    said = words.get(error.status_code, error.detail)
    if "text/html" in request.headers.get("accept", "") and identity_of(request) is not None:
        return pages.missing(request, error.status_code, said)
    return refusal(error.status_code, "HttpError", said, "", error.headers)


async def _fault(request: Request, error: Exception) -> Response:
    """What nobody foresaw: the server's log has it, the answer none of its details."""
    return refusal(500, "InternalError", "this is a fault of tht", "the server's log says more")


def _mcp(services: Services) -> McpMount | None:
    """Imported only when it is asked for: the SDK loads slowly."""
    if not services.settings.mcp:
        return None
    from adapters.serving.mcp_mount import mount

    return mount(services)
