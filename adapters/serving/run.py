"""Binds, says where, and serves until it is asked to stop; then lets what is under way end, and gives all back."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import FrameType

import uvicorn

from adapters.serving.app import create_app
from adapters.serving.services import Services, Settings
from adapters.tokens import Tokens
from adapters.workspace import Paths
from domain.errors import InvalidInput, ServingUnavailable

GRACE = 10  # seconds that requests have to end
BACKLOG = 512


def parse_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:8765`, `[::1]:0`; port 0 takes a free one."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise InvalidInput(f"{text!r} is no address", "write HOST:PORT, as 127.0.0.1:8765")
    return host, int(port)


def serve(settings: Settings, told: Callable[[str, Services], None]) -> None:
    """Serve until SIGINT or SIGTERM. `told` is given the server's address once it listens.

    ServingUnavailable when it cannot bind, or another server of the workspace runs; and beyond loopback without tokens.
    """
    tokens = Tokens(Paths(settings.home / settings.workspace).tokens)
    if not settings.loopback and not tokens.listed():
        raise ServingUnavailable(
            f"{settings.host} can be reached from other machines, and there is no token yet",
            "tht token create makes one; or bind to 127.0.0.1",
        )
    listener = _bound(settings.host, settings.port)
    with contextlib.closing(listener):
        settings = replace(settings, port=listener.getsockname()[1])
        services = Services(settings)
        try:
            config = uvicorn.Config(
                create_app(services),
                log_level="warning",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                backlog=BACKLOG,
                timeout_graceful_shutdown=GRACE,
                timeout_keep_alive=30,
                lifespan="on",
                ws="none",
            )
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            server = _Server(config, services, lambda: told(f"http://{host}:{settings.port}", services))
            server.run(sockets=[listener])
        finally:
            services.stop()
    if not server.began:
        raise ServingUnavailable("the server did not start", "its log says why")


class _Server(uvicorn.Server):
    """Ends streams as soon as it is asked to stop, and hands the signal to nobody else: a stop is no failure."""

    def __init__(self, config: uvicorn.Config, services: Services, told: Callable[[], None]) -> None:
        super().__init__(config)
        self.services, self.told, self.began = services, told, False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.began = True
            self._loop = asyncio.get_running_loop()
            self.told()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self.began:
            self._loop.call_soon_threadsafe(self.services.watchers.end)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def _bound(host: str, port: int) -> socket.socket:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(found[0], socket.SOCK_STREAM)
    except OSError as error:
        raise ServingUnavailable(f"{host} is no address here: {error.strerror}", "name another --http") from error
    try:
        if os.name != "nt":  # there it would let two servers share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(found[4])
    except OSError as error:
        listener.close()
        raise ServingUnavailable(f"{host}:{port} cannot be bound: {error.strerror}", "name another --http") from error
    return listener
