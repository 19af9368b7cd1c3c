"""JSON-RPC 2.0 at POST /rpc: calls, batches, notifications; errors of the domain under one code, in its words."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from adapters.mcp.failing import DOMAIN
from adapters.serving.guard import too_often
from adapters.serving.identity import Identity
from adapters.serving.pool import Busy
from adapters.serving.refusals import Json, refusal
from adapters.serving.rpc_method import Call, Method, Params
from adapters.serving.rpc_methods import METHODS
from adapters.serving.services import Services, identity_of, services_of
from domain.errors import ThtError

PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
BATCH = 50  # calls
FAULT = "this is a fault of tht"

log = logging.getLogger("tht.serve")


class NotACall(Exception):
    """What came is no call: `code`, message and data as they are answered."""

    def __init__(self, code: int, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


async def endpoint(request: Request) -> Response:
    services, identity = services_of(request), identity_of(request)
    assert identity is not None
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refusal(415, "NotJson", "JSON-RPC takes content-type: application/json")
    try:
        given = parsed(await request.body())
    except ValueError as error:
        return Json(_error(PARSE_ERROR, f"the body is no JSON: {error}", None))
    if not isinstance(given, list):
        answer = await _answer(services, identity, given)
        return Json(answer) if answer is not None else Response(status_code=204)
    if not given or len(given) > BATCH:
        return Json(_error(INVALID_REQUEST, f"a batch has 1 to {BATCH} calls, not {len(given)}", None))
    if wait := services.rate.wait(identity.key, len(given) - 1):
        return too_often(wait)
    answers = [answer for one in given if (answer := await _in_batch(services, identity, one)) is not None]
    return Json(answers) if answers else Response(status_code=204)


def parsed(body: bytes) -> Any:
    """The JSON of a body. ValueError for what is none, or has numbers or a depth that JSON does not have."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


async def _in_batch(services: Services, identity: Identity, given: object) -> dict[str, Any] | None:
    """As `_answer`; what one call is too many for is told of this call alone."""
    try:
        return await _answer(services, identity, given)
    except Busy as error:
        return _domain_error(error, _id_of(given))


async def _answer(services: Services, identity: Identity, given: object) -> dict[str, Any] | None:
    """The answer to one call; None for a notification, whatever came of it. Raises Busy alone."""
    name, outcome, call_id = "unknown", "refused", _id_of(given)
    try:
        method, params = _call(given)
        name = method.name
        work = services.write if method.changes else services.read
        limit = services.page_limit
        result = await work(lambda workspace: method.run(Call(workspace, identity, limit), params))
        outcome = "done"
    except NotACall as error:
        if error.code == INVALID_REQUEST:  # what is no call at all is no notification either
            return _error(error.code, error.message, None if call_id in (_NONE, _WRONG) else call_id)
        return None if call_id is _NONE else _error(error.code, error.message, call_id, error.data)
    except Busy:
        raise
    except ThtError as error:
        return _domain_error(error, call_id)
    except Exception:
        outcome = "fault"
        log.exception("%s: a fault of tht", name)
        told = {"type": "InternalError", "message": FAULT, "hint": "the server's log says more"}
        return None if call_id is _NONE else _error(INTERNAL, FAULT, call_id, told)
    finally:
        services.metrics.calls.labels(name, outcome).inc()
    return None if call_id is _NONE else {"jsonrpc": "2.0", "result": result, "id": call_id}


_NONE, _WRONG = object(), object()  # the id of a notification, and one that is no id


def _id_of(given: object) -> object:
    call_id = given.get("id", _NONE) if isinstance(given, dict) else _WRONG
    usable = call_id is _NONE or call_id is None or (isinstance(call_id, str | int) and not isinstance(call_id, bool))
    return call_id if usable else _WRONG


def _call(given: object) -> tuple[Method[Any], Params]:
    if not isinstance(given, dict):
        raise NotACall(INVALID_REQUEST, "a call is an object")
    if _id_of(given) is _WRONG:
        raise NotACall(INVALID_REQUEST, "an id is a text or a whole number")
    name, params = given.get("method"), given.get("params", {})
    if given.get("jsonrpc") != "2.0" or not isinstance(name, str) or set(given) - {"jsonrpc", "id", "method", "params"}:
        raise NotACall(INVALID_REQUEST, 'a call has "jsonrpc": "2.0", a method, and may have params and an id')
    method = METHODS.get(name)
    if method is None:
        raise NotACall(NO_METHOD, "there is no such method: rpc.discover lists them")
    return method, _params(method, params)


def _params(method: Method[Any], given: object) -> Params:
    if isinstance(given, list):
        names = list(method.params.model_fields)
        if len(given) > len(names):
            raise NotACall(INVALID_PARAMS, f"{method.name} takes at most {len(names)} params")
        given = dict(zip(names, given, strict=False))
    if not isinstance(given, dict):
        raise NotACall(INVALID_PARAMS, "params are an object, or a list in the order of the description")
    try:
        params: Params = method.params.model_validate(given)
        return params
    except ValidationError as error:
        problems = [
            {"where": ".".join(str(part) for part in one["loc"]), "problem": one["msg"]}
            for one in error.errors(include_url=False, include_input=False, include_context=False)[:10]
        ]
        first = problems[0]
        told = {"type": "InvalidParams", "problems": problems}
        raise NotACall(INVALID_PARAMS, f"{first['where']}: {first['problem']}", told) from None


def _error(code: int, message: str, call_id: object, data: Mapping[str, Any] | None = None) -> dict[str, Any]:
    error = {"code": code, "message": message} | ({"data": dict(data)} if data else {})
    return {"jsonrpc": "2.0", "error": error, "id": call_id}


def _domain_error(error: ThtError, call_id: object) -> dict[str, Any] | None:
    told = {"type": error.type, "message": error.message, "hint": error.hint}
    return None if call_id is _NONE else _error(DOMAIN, error.message, call_id, told)


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")
