"""The Model Context Protocol at /mcp, for whom the guard has let in with a token."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request
from starlette.routing import BaseRoute, Route

from adapters.mcp.http import McpApp, http_app
from adapters.serving.identity import Identity
from adapters.serving.pool import Busy
from adapters.serving.services import Services, identity_of
from adapters.workspace import Workspace
from domain.errors import ServingUnavailable

T = TypeVar("T")


@dataclass(frozen=True)
class McpMount:
    """Where MCP is reached, and what must run meanwhile."""

    app: McpApp

    @property
    def route(self) -> BaseRoute:
        return Route("/mcp", self.app)

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        return self.app.running()


def mount(services: Services) -> McpMount:
    async def lend(work: Callable[[Workspace], T]) -> T:
        try:
            return await services.write(work)
        except Busy as error:  # told to the model, which can wait
            raise ServingUnavailable("more is asked than can be answered in time", "try again") from error

    return McpMount(http_app(lend, _by_token, services.body_limit))


def _by_token(request: Request) -> Identity | None:
    """A browser's session speaks for a person, and over MCP a model speaks: only a token in the header counts."""
    identity = identity_of(request)
    return identity if identity is not None and identity.token is not None and not identity.session else None
