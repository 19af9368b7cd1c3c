"""Changes as they happen: server-sent events from a position on, resumable, within what the caller may see."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from sse_starlette.event import ServerSentEvent

from adapters.knowledge import scope_for
from adapters.serving.feed import AREAS, Feed, Notice, notices
from adapters.serving.identity import Door, Identity
from adapters.serving.pool import Pool
from adapters.workspace import Workspace
from domain.errors import InvalidInput, ThtError
from domain.event import registered_events
from projections.scope import Scope

HEARTBEAT = 15.0  # seconds; it carries the position, so that a client resumes there though nothing was for it
GATHER = 0.05  # seconds that a stream waits for more before it tells of changes
EACH = 64  # streams of one caller at most


class TooMany(Exception):
    """No further stream is opened."""


@dataclass
class _Watching:
    identity: Identity
    kinds: frozenset[str]
    position: int
    scope: Scope | None = None
    scope_at: int = -1  # Feed.grants_at when the scope was read


class Watchers:
    """The open streams of one server, at most `limit`."""

    def __init__(self, pool: Pool, feed: Feed, door: Door, limit: int, heartbeat: float = HEARTBEAT) -> None:
        self.pool, self.feed, self.door, self.limit, self.heartbeat = pool, feed, door, limit, heartbeat
        self._open: dict[str, int] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._changed: asyncio.Event | None = None
        self._ended = False

    @property
    def count(self) -> int:
        return sum(self._open.values())

    def begin(self) -> None:
        """To be called in the event loop."""
        self._loop, self._changed = asyncio.get_running_loop(), asyncio.Event()

    def end(self) -> None:
        """Every open stream ends."""
        self._ended = True
        self._ring()

    def told(self) -> None:
        """Called from any thread when the feed has grown."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens any more
                self._loop.call_soon_threadsafe(self._ring)

    def _ring(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        if changed is not None:
            changed.set()

    def admit(self, identity: Identity) -> None:
        """TooMany when there is no room for another stream."""
        if self._ended or self.count >= self.limit or self._open.get(identity.key, 0) >= EACH:
            raise TooMany
        self._open[identity.key] = self._open.get(identity.key, 0) + 1

    def leave(self, identity: Identity) -> None:
        left = self._open.get(identity.key, 0) - 1
        if left > 0:
            self._open[identity.key] = left
        else:
            self._open.pop(identity.key, None)

    async def stream(self, identity: Identity, position: int, kinds: frozenset[str]) -> AsyncIterator[ServerSentEvent]:
        """The notices above `position`, for as long as the caller listens; `kinds`: areas or events, none for all."""
        watching = _Watching(identity, kinds, position)
        try:
            yield ServerSentEvent(json.dumps({"position": position}), event="position", id=str(position))
            while not self._ended and self.door.still_holds(identity):
                changed = self._changed
                found = await self._next(watching)
                for one in found:
                    yield ServerSentEvent(json.dumps(one.as_json()), event="change", id=str(one.position))
                if watching.position < self.feed.head or changed is None:
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), self.heartbeat)
                    await asyncio.sleep(GATHER)
                except TimeoutError:
                    watching.scope = None  # settings may have changed, which are no events
                    told = json.dumps({"position": watching.position})
                    yield ServerSentEvent(told, event="position", id=str(watching.position))
        except ThtError as error:
            yield ServerSentEvent(json.dumps({"type": error.type, "message": error.message}), event="error")

    async def _next(self, watching: _Watching) -> list[Notice]:
        """What is new for a stream, which moves on past everything it has looked at."""
        after = watching.position
        page = self.feed.after(after)
        if page is None or (watching.scope is None or watching.scope_at != self.feed.grants_at):
            page = await self.pool.run(lambda workspace: self._read(workspace, watching, page))
        if page:
            watching.position = page[-1].position
        scope = watching.scope
        assert scope is not None
        return [
            one
            for one in page
            if (not watching.kinds or one.area in watching.kinds or one.kind in watching.kinds) and one.visible(scope)
        ]

    def _read(self, workspace: Workspace, watching: _Watching, page: list[Notice] | None) -> list[Notice]:
        grants_at = self.feed.grants_at
        watching.scope = scope_for(workspace, watching.identity.reader)
        watching.scope_at = grants_at
        return notices(workspace, watching.position) if page is None else page


def start_position(given: str, last: str, head: int) -> int:
    """Where a stream begins: after the last event that the client had, else where it asks to, else at the head."""
    for text, name in ((last, "Last-Event-ID"), (given, "from")):
        if text:
            if not text.isascii() or not text.isdecimal() or len(text) > 18:
                raise InvalidInput(f"{name} must be a position", "0 begins at the first event")
            if int(text) > head:
                raise InvalidInput(f"the ledger has positions 0 to {head}, not {text}")
            return int(text)
    return head


def accept_kinds(given: Sequence[str]) -> frozenset[str]:
    """Areas and kinds of events, none for all. InvalidInput for what is neither, as it would never come."""
    areas = {*AREAS.values(), "memory_access_grant"}
    known = areas | {event.kind for event in registered_events().values()}
    for one in given:
        if one not in known:
            raise InvalidInput(f"nothing that changes is called {one!r}", f"one of {', '.join(sorted(areas))}")
    return frozenset(given)
