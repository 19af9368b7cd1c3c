"""Where the pages are put under their addresses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from adapters.serving.services import Services, identity_of


def routes(services: Services) -> Sequence[BaseRoute]:
    """Every page. Whoever is not logged in is sent to /login."""
    return [Route("/", logged_in(home))]


def logged_in(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The page for whoever has logged in; others are sent to the login."""

    async def checked(request: Request) -> Response:
        return RedirectResponse("/login", 303) if identity_of(request) is None else await handler(request)

    return checked


async def home(request: Request) -> Response:
    identity = identity_of(request)
    assert identity is not None
    body = (
        f"<p>You are {escape(identity.actor)}.</p>"
        f'<form method="post" action="/logout"><input type="hidden" name="csrf" value="{escape(identity.csrf)}">'
        "<button>Log out</button></form>"
    )
    head = '<head><meta charset="utf-8"><title>tht</title></head>'
    return HTMLResponse(f'<!doctype html><html lang="en">{head}<body>{body}</body></html>')
