"""How the server says no over HTTP: one form, in the domain's words, never a traceback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from domain.errors import (
    AccessDenied,
    InvalidInput,
    KeyReused,
    LostRace,
    StaleCandidate,
    ThtError,
    Unavailable,
    Unknown,
)


class Json(Response):
    """JSON in ASCII: a text that is no valid Unicode is escaped and breaks no answer."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


def refusal(status: int, kind: str, message: str, hint: str = "", headers: Mapping[str, str] | None = None) -> Json:
    return Json({"error": {"type": kind, "message": message, "hint": hint}}, status, dict(headers or {}))


def status_of(error: ThtError) -> int:
    """The HTTP status that an error of the domain comes nearest to."""
    if isinstance(error, InvalidInput):
        return 422
    if isinstance(error, Unavailable):
        return 503
    if isinstance(error, AccessDenied):
        return 403
    if isinstance(error, Unknown):
        return 404
    if isinstance(error, LostRace | KeyReused | StaleCandidate):
        return 409
    return 400


def domain_refusal(error: ThtError) -> Json:
    return refusal(status_of(error), error.type, error.message, error.hint)
