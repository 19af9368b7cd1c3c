"""The decoded events of the streams that were loaded last: a command reads again what the one before it has read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from adapters.recorder import Recorder
from domain.erasure import TextErased
from domain.event import Envelope

LIMIT = 8_000_000  # bytes of stored events that are kept decoded; a stream that is longer by itself is not


@dataclass(frozen=True, slots=True)
class _Kept:
    envelopes: tuple[Envelope, ...]
    last: StoredEvent  # as it was stored
    size: int  # bytes


class KeptStreams:
    """A stream only grows, so what was read of it stays true, with two exceptions that are looked for every time.

    Another history may have taken the ledger's place: the last known event is read again with what came after it, and
    must be the same to the byte (it has its position, its time and, sealed, a random number). And an erasure, which is
    an event of the stream itself, changes what earlier events say. In both cases all is read anew.
    """

    def __init__(self, recorder: Recorder, decode: Callable[[StoredEvent], Envelope], limit: int = LIMIT) -> None:
        self._recorder, self._decode, self._limit = recorder, decode, limit
        self._kept: OrderedDict[UUID, _Kept] = OrderedDict()  # the last used last
        self._size = 0
        self._lock = threading.Lock()

    def load(self, stream: UUID) -> list[Envelope]:
        """Every event of a stream, as it stands in the ledger now."""
        kept = self._kept.get(stream)
        if kept is not None:
            found = self._recorder.select_events(stream, gt=kept.last.originator_version - 1)
            if found and found[0] == kept.last and not any(event.topic == TextErased.name for event in found[1:]):
                return self._keep(stream, kept, found[1:])
        return self._keep(stream, None, self._recorder.select_events(stream))

    def forget(self, streams: Collection[UUID]) -> None:
        """Nothing of these stays in memory: a text that was erased is not kept until somebody asks again."""
        with self._lock:
            for stream in streams:
                if before := self._kept.pop(stream, None):
                    self._size -= before.size

    def _keep(self, stream: UUID, kept: _Kept | None, new: Sequence[StoredEvent]) -> list[Envelope]:
        known, last, size = (kept.envelopes, kept.last, kept.size) if kept else ((), None, 0)
        envelopes = [*known, *map(self._decode, new)]
        last = new[-1] if new else last
        with self._lock:
            if before := self._kept.pop(stream, None):
                self._size -= before.size
            if last is not None:
                now = _Kept(tuple(envelopes), last, size + sum(len(event.state) for event in new))
                self._kept[stream] = now
                self._size += now.size
            while self._size > self._limit:
                self._size -= self._kept.popitem(last=False)[1].size
        return envelopes
