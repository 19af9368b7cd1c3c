"""What stands before every route: Host and Origin, the size of a body, who asks, how often; and headers on answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.serving.identity import Door
from adapters.serving.refusals import domain_refusal, refusal
from domain.errors import ServingUnavailable

SAFE = ("GET", "HEAD", "OPTIONS")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
BODY_SECONDS = 30.0
PEERS = 10_000  # counters of rates that are kept at most
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer a browser says Origin: null of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass
class Rate:
    """Token buckets: `rate` requests a second each, four times that at once. `clock` in seconds."""

    rate: float
    clock: Callable[[], float]
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict)  # key: what is left, and when that was

    @property
    def burst(self) -> float:
        return max(4 * self.rate, 1.0)

    def wait(self, key: str, count: int = 1) -> float:
        """Takes `count` out of a bucket; seconds to wait when there is not so much, and nothing is taken."""
        now = self.clock()
        left, at = self._buckets.pop(key, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.rate)
        missing = min(count, self.burst) - left
        self._buckets[key] = (left if missing > 0 else max(left - count, 0.0), now)
        while len(self._buckets) > PEERS:
            self._buckets.pop(next(iter(self._buckets)))
        return missing / self.rate if missing > 0 else 0.0


def too_often(seconds: float) -> Response:
    wait = max(1, math.ceil(seconds))
    return refusal(429, "TooOften", "too many requests", f"try again in {wait} s", {"retry-after": str(wait)})


@dataclass(frozen=True)
class Guard:
    """The outermost layer. `hosts`: names by which this server is called, lower case, without port."""

    app: ASGIApp
    hosts: frozenset[str]
    body_limit: int
    door: Door
    rate: Rate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headed = _with_headers(send)
        refused = self._refused(scope)
        if refused is not None:
            await refused(scope, receive, headed)
            return
        await self._within_size(scope, receive, headed)

    def _refused(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = host_name(headers.get("host", ""))
        if host not in self.hosts:
            return refusal(421, "ForeignHost", "this server is not called so", "tht serve --allow-host names more")
        origin = headers.get("origin")
        if origin is not None and not _same_origin(origin, headers.get("host", "")):
            return refusal(403, "ForeignOrigin", "a page of another site may not use this server")
        try:
            identity = self.door.identify(HTTPConnection(scope))
        except ServingUnavailable as error:
            if scope["path"] != "/healthz":  # which tells of it
                return domain_refusal(error)
            identity = None
        scope.setdefault("state", {})["identity"] = identity
        if scope["method"] not in SAFE and identity is not None and identity.session and not _same_site(headers):
            return refusal(403, "ForeignOrigin", "a browser's request must come from a page of this server")
        peer = scope["client"][0] if scope.get("client") else "unknown"
        wait = self.rate.wait(identity.key if identity else f"peer {peer}")
        return too_often(wait) if wait else None

    async def _within_size(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Takes in the whole body, bounded in bytes and in time, before anybody works on it."""
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdecimal() or int(length[:20]) > self.body_limit:
            await self._too_large()(scope, receive, send)
            return
        parts: list[bytes] = []
        size = 0  # added up once a part: a body may come a byte at a time
        try:
            with anyio.fail_after(BODY_SECONDS):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    if size > self.body_limit:
                        await self._too_large()(scope, receive, send)
                        return
                    more = message.get("more_body", False)
        except TimeoutError:
            await refusal(408, "TooSlow", "the request did not arrive in time")(scope, receive, send)
            return
        body: Message | None = {"type": "http.request", "body": b"".join(parts), "more_body": False}

        async def again() -> Message:
            nonlocal body
            if body is None:
                return await receive()
            taken, body = body, None
            return taken

        await self.app(scope, again, send)

    def _too_large(self) -> Response:
        hint = "send less at a time; serve.body raises it"
        return refusal(
            413, "TooLarge", f"a request has at most {self.body_limit:,} bytes", hint, {"connection": "close"}
        )


def host_name(host: str) -> str:
    """The name in a Host header, without port and brackets; empty for what is no host."""
    try:
        parts = urlsplit(f"//{host}")
        if parts.path or parts.query or parts.fragment or parts.username is not None:
            return ""
        _ = parts.port
        return (parts.hostname or "").rstrip(".")
    except ValueError:
        return ""


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() and not parts.path


def _same_site(headers: Headers) -> bool:
    """Whether a browser says that one of our own pages sent this: its Origin was compared already."""
    return "origin" in headers or headers.get("sec-fetch-site") == "same-origin"


def _with_headers(send: Send) -> Send:
    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return headed
