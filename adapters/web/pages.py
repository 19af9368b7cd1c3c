"""Where the pages are put under their addresses: who may come in, forms checked, errors shown on the page itself."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from adapters.serving.identity import Identity, csrf_matches
from adapters.serving.pool import Busy
from adapters.serving.refusals import Json, domain_refusal, status_of
from adapters.serving.services import Services, identity_of, services_of
from adapters.web import (
    audit_page,
    conflicts_page,
    domains_page,
    fact_page,
    facts_page,
    graph_page,
    health_page,
    home_page,
    policies_page,
    registry_page,
    review_page,
    sessions_page,
)
from adapters.web.addresses import TABS
from adapters.web.render import rendered
from adapters.web.visit import Notice, Page, PageRoute, Visit
from adapters.workspace import Workspace
from domain.errors import InvalidInput, ThtError, Unknown

log = logging.getLogger("tht.serve")
FIELDS = 500  # of a form, at most
KEPT = 1000  # browsers whose notices wait for the next page

PAGES: tuple[PageRoute, ...] = (
    *home_page.ROUTES,
    *facts_page.ROUTES,
    *fact_page.ROUTES,
    *policies_page.ROUTES,
    *graph_page.ROUTES,
    *domains_page.ROUTES,
    *conflicts_page.ROUTES,
    *sessions_page.ROUTES,
    *review_page.ROUTES,
    *registry_page.ROUTES,
    *health_page.ROUTES,
    *audit_page.ROUTES,
)


def routes(services: Services) -> Sequence[BaseRoute]:
    """Every page. Whoever is not logged in is sent to /login."""
    waiting = Waiting()
    made: list[BaseRoute] = [
        Route(one.path, logged_in(_endpoint(one, waiting)), methods=["GET", "POST"] if one.acts else ["GET"])
        for one in PAGES
    ]
    made += [Route(path, logged_in(_data(read))) for path, read in graph_page.DATA]
    made.append(Mount("/static", Static(directory=Path(__file__).parent / "static")))
    return made


class Static(StaticFiles):
    """The pages' own files; a browser asks whether one has changed, and is answered without its content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        answer.headers.setdefault("cache-control", "no-cache")
        return answer


class Waiting:
    """What an act came to, until the browser has loaded the page that says so."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[Notice, ...]] = OrderedDict()
        self._lock = Lock()

    def keep(self, identity: Identity, notices: tuple[Notice, ...]) -> None:
        if not identity.session:
            return
        with self._lock:
            self._kept[identity.session] = self._kept.pop(identity.session, ()) + notices
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    def take(self, identity: Identity) -> tuple[Notice, ...]:
        with self._lock:
            return self._kept.pop(identity.session, ())


def logged_in(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """The page for whoever has logged in; others are sent to the login."""

    async def checked(request: Request) -> Response:
        return RedirectResponse("/login", 303) if identity_of(request) is None else await handler(request)

    return checked


def _endpoint(page: PageRoute, waiting: Waiting) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        identity = identity_of(request)
        assert identity is not None
        if request.method == "POST":
            return await _act(request, page, identity, waiting)
        notices = waiting.take(identity)
        return await _shown(request, page, _visit(request, identity, {}), notices)

    return endpoint


async def _act(request: Request, page: PageRoute, identity: Identity, waiting: Waiting) -> Response:
    """Does what the form asks for and goes on; or shows the page again, with the reason and the form as filled in."""
    try:
        form = await _form(request)
    except HTTPException as error:
        return _refused(request, InvalidInput(f"the form cannot be read: {error.detail}"), 400)
    if identity.session and not csrf_matches(identity, form.get("csrf")):
        told = InvalidInput("this form was not made by this server for you", "load the page again, and send it anew")
        return _refused(request, told, 403)
    visit, act = _visit(request, identity, form), page.acts.get(form.get("act", ""))
    if act is None:
        return _refused(request, InvalidInput("the form does not say what is to be done", "load the page again"), 422)
    try:
        moved = await services_of(request).write(lambda workspace: act(visit(workspace, None)))
    except ThtError as error:
        return await _shown(request, page, visit, (), error, form)
    if isinstance(moved, Page):
        return await to_thread.run_sync(_answer, request, moved, (), None, form)
    waiting.keep(identity, moved.notices)
    return RedirectResponse(moved.url, 303)


async def _shown(
    request: Request,
    page: PageRoute,
    visit: Callable[[Workspace, ThtError | None], Visit],
    notices: tuple[Notice, ...],
    error: ThtError | None = None,
    form: Mapping[str, str] | None = None,
) -> Response:
    services = services_of(request)
    try:
        run = services.write if "q" in request.query_params else services.read  # a search records what it showed
        shown = await run(lambda workspace: page.show(visit(workspace, error)))
    except ThtError as other:
        return _refused(request, error or other, status_of(error or other))
    return await to_thread.run_sync(_answer, request, shown, notices, error, form)  # a long page takes its time


def _visit(
    request: Request, identity: Identity, form: Mapping[str, str]
) -> Callable[[Workspace, ThtError | None], Visit]:
    path = {name: str(value) for name, value in request.path_params.items()}
    query = {name: request.query_params[name] for name in request.query_params}
    limit = services_of(request).page_limit

    def visit(workspace: Workspace, error: ThtError | None) -> Visit:
        return Visit(workspace, identity, path, query, form, limit, error)

    return visit


async def _form(request: Request) -> dict[str, str]:
    """The fields of a form; a file is not taken. One that is there twice counts as it stands last."""
    given = await request.form(max_files=0, max_fields=FIELDS)
    return {name: value for name, value in given.multi_items() if isinstance(value, str)}


def _answer(
    request: Request,
    page: Page,
    notices: tuple[Notice, ...],
    error: ThtError | None = None,
    form: Mapping[str, str] | None = None,
) -> Response:
    status = page.status if error is None else status_of(error)
    shown = {"filled": form or {}} | page.shown
    return _html(request, page.template, shown, status, notices=notices, error=error)


def _refused(request: Request, error: ThtError, status: int) -> Response:
    headers = {"retry-after": "1"} if isinstance(error, Busy) else {}
    return _html(request, "refused.html", {"status": status}, 429 if headers else status, error=error, headers=headers)


def _html(
    request: Request,
    template: str,
    shown: Mapping[str, Any],
    status: int,
    *,
    notices: tuple[Notice, ...] = (),
    error: ThtError | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    identity = identity_of(request)
    assert identity is not None
    frame = {
        "workspace": services_of(request).settings.workspace,
        "identity": identity,
        "here": quote(request.scope["path"], errors="replace"),
        "notices": notices,
        "error": error,
        "filled": {},
        "tabs": TABS,
    }
    content = rendered(template, **(frame | dict(shown)))
    return Response(content, status, dict(headers or {}), media_type="text/html; charset=utf-8")


def missing(request: Request, status: int, said: str) -> Response:
    """A page for a person who is logged in and looks for what is not there."""
    return _refused(request, Unknown(said, "follow the links of the pages"), status)


def _data(read: Callable[[Visit], dict[str, Any]]) -> Callable[[Request], Awaitable[Response]]:
    """What a page's script asks for, as JSON."""

    async def endpoint(request: Request) -> Response:
        identity = identity_of(request)
        assert identity is not None
        visit = _visit(request, identity, {})
        try:
            return Json(await services_of(request).read(lambda workspace: read(visit(workspace, None))))
        except ThtError as error:
            return domain_refusal(error)

    return endpoint
