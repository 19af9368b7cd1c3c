"""How a browser logs in: by the one-time link of whoever started the server, or with a token; and logs out."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from adapters.serving.identity import Identity, csrf_matches
from adapters.serving.refusals import refusal
from adapters.serving.services import Services, identity_of, services_of

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>tht: log in</title><link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/tht.css"></head>
<body><main class="door"><h1>Log in</h1><p role="status">{notice}</p>
<form method="post" action="/login"><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required>
<button>Log in</button></form>
<p>Who starts the server gets a link; tht token create makes tokens.</p>
</main></body></html>
"""


def page(notice: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(notice=escape(notice)), status)


async def login(request: Request) -> Response:
    services = services_of(request)
    if request.method == "GET":
        key = request.query_params.get("key", "")
        if not key:
            return page("Give your token, or open the link that tht serve printed.")
        identity = services.door.sessions.redeem(key)
        return _enter(services, identity) if identity else page("This link has been used, or is too old.", 403)
    form = await request.form(max_files=0, max_fields=5)
    given = form.get("token", "")
    identity = services.door.of_token(given.strip()) if isinstance(given, str) else None
    return _enter(services, identity) if identity else page("No such token.", 403)


async def logout(request: Request) -> Response:
    identity = identity_of(request)
    if identity is not None and identity.session:
        form = await request.form(max_files=0, max_fields=5)
        if not csrf_matches(identity, form.get("csrf")):
            return refusal(403, "ForeignForm", "this form was not made by this server for you", "load the page again")
        services_of(request).door.sessions.end(identity)
        services_of(request).watchers.told()  # the session's streams end now
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(services_of(request).door.cookie)
    return answer


def _enter(services: Services, identity: Identity) -> Response:
    answer = RedirectResponse("/", 303)
    secret = services.door.sessions.begin(identity)
    answer.set_cookie(services.door.cookie, secret, httponly=True, samesite="strict", path="/")
    return answer


ROUTES = [Route("/login", login, methods=["GET", "POST"]), Route("/logout", logout, methods=["POST"])]
