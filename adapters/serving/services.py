"""What the routes of one server share: the pool, who may come in, what changed, and how it all is begun and ended."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from starlette.requests import Request

from adapters.serving.feed import Feed
from adapters.serving.follow import Following
from adapters.serving.guard import LOOPBACK, Rate, host_name
from adapters.serving.health import HealthCheck
from adapters.serving.identity import Door, Identity, Sessions
from adapters.serving.metrics import Metrics
from adapters.serving.owner import Owner
from adapters.serving.pool import Pool
from adapters.serving.watch import Watchers
from adapters.tokens import Tokens
from adapters.workspace import Workspace, open_workspace
from domain.errors import InvalidInput

T = TypeVar("T")
log = logging.getLogger("tht.serve")


@dataclass(frozen=True, slots=True)
class Settings:
    """How one server was asked for. `local`: who the person at this machine is, for the login link.

    `hosts`: more names by which the server may be called.
    """

    home: Path
    workspace: str
    local: Identity
    host: str = "127.0.0.1"
    port: int = 0
    hosts: tuple[str, ...] = ()
    mcp: bool = False

    @property
    def loopback(self) -> bool:
        return self.host.lower() in LOOPBACK

    @property
    def names(self) -> frozenset[str]:
        """What a Host header may say."""
        given = {
            host_name(one.lower()) for one in (*self.hosts, *(() if _any(self.host) else (_bracketed(self.host),)))
        }
        if "" in given:
            raise InvalidInput("--allow-host takes the name of a host, without http:// and without a path")
        return frozenset(given | (LOOPBACK if self.loopback or _any(self.host) else frozenset()))


class Services:
    """One server. `start` begins what runs in the background, `stop` ends it and gives everything back."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings, self.clock = settings, clock
        with open_workspace(settings.home, settings.workspace) as workspace:
            config = workspace.config
            self.paths = workspace.paths
            self.owner = Owner(workspace.paths, config)
            ledger_id = workspace.ledger.recorder.ledger_id()
            self.rate = Rate(float(config.value("serve.rate")), clock)
            self.body_limit = int(config.value("serve.body"))
            self.page_limit = int(config.value("serve.page"))
            watchers = int(config.value("serve.watchers"))
        self.door = Door(Tokens(self.paths.tokens), Sessions(clock), f"tht-{ledger_id[:8]}")
        self.metrics = Metrics()
        self.feed = Feed()
        self.pool = Pool(settings.home, settings.workspace)
        self.watchers = Watchers(self.pool, self.feed, self.door, watchers)
        self.following = Following(self.pool, self.feed, clock, self.watchers.told)
        self.health = HealthCheck(self.following, self.door, clock, version("thoth-memory"))

    # -- for routes

    async def read(self, work: Callable[[Workspace], T]) -> T:
        """A query or command in a thread, with a workspace that is its alone meanwhile."""
        return await self.pool.run(work)

    async def write(self, work: Callable[[Workspace], T]) -> T:
        """As `read`; whoever follows or watches is told at once."""
        try:
            return await self.pool.run(work)
        finally:
            self.following.wake()

    def login_link(self, base: str) -> str:
        """A link by which the person at this machine logs in, good once and for ten minutes."""
        return f"{base}/login?key={self.door.sessions.link_for(self.settings.local)}"

    # -- lifetime

    def start(self) -> None:
        self.owner.open()
        self.watchers.begin()
        self.following.start()

    def stop(self) -> None:
        self.watchers.end()
        self.following.stop()
        self.pool.close()
        self.owner.close()


def identity_of(request: Request) -> Identity | None:
    found: Identity | None = getattr(request.state, "identity", None)
    return found


def services_of(request: Request) -> Services:
    found: Services = request.app.state.services
    return found


def _any(host: str) -> bool:
    return host in ("0.0.0.0", "::", "")


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
