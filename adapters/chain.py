"""A stored event as a row, with its place and its link in the chain: the same on every engine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent

from adapters.sealing import ErasingEvent, Seal, SealedNotification
from domain.errors import LedgerDamaged

GENESIS = hashlib.sha256(b"tht ledger").digest()
PAGE = 500  # events


@dataclass(frozen=True, slots=True)
class Link:
    """A stored event with its place and the chain hash up to and including it.

    `erases`, of an event from elsewhere: the record whose seals on its stream it destroys.
    """

    notification: Notification
    chain: bytes
    erases: str = ""


class Sealed(NamedTuple):
    """Whose text stands sealed at a position, and whom it is about."""

    record: str
    about: str
    position: int


def next_link(chain: bytes, event: StoredEvent) -> bytes:
    """SHA-256 over the previous hash and the event's stored bytes, each part framed by its length."""
    digest = hashlib.sha256(chain)
    for part in (
        hex_of(event.originator_id).encode(),
        str(event.originator_version).encode(),
        event.topic.encode(),
        event.state,
    ):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def link_of(row: Any) -> Link:
    """A row of position, stream, version, topic, state, chain and the seal's key, record, subject (None: no seal).

    LedgerDamaged where a column holds what was never put there.
    """
    position, stream, version, topic, state, chain, key, *whose = row
    try:
        stored = (_stream(stream), version, topic, state, position)
    except (ValueError, TypeError, AttributeError):
        raise LedgerDamaged(f"the event at position {position} has no stream id") from None
    if not (type(version) is int and type(topic) is str and type(state) is type(chain) is bytes):
        raise LedgerDamaged(f"the event at position {position} is no event any more")
    if key is None:
        return Link(Notification(*stored), chain)
    if not (type(key) is bytes and all(type(one) is str for one in whose)):
        raise LedgerDamaged(f"the key of the event at position {position} is no key any more")
    return Link(SealedNotification(*stored, Seal(key, *whose)), chain)


@lru_cache(maxsize=4096)
def _stream(stored: str) -> UUID:
    """As many rows are of one stream."""
    return UUID(stored)


Row = tuple[int, str, int, str, bytes, bytes]  # position, stream, version, topic, state, chain


def row_of(link: Link) -> Row:
    event = link.notification
    return (event.id, hex_of(event.originator_id), event.originator_version, event.topic, event.state, link.chain)


def chained_rows(chain: bytes, first: int, events: Sequence[StoredEvent]) -> list[Row]:
    """The rows of events from position `first` on, each with its hash; `chain` is the hash before them."""
    rows: list[Row] = []
    for position, event in enumerate(events, first):
        chain = next_link(chain, event)
        stream = hex_of(event.originator_id)
        rows.append((position, stream, event.originator_version, event.topic, event.state, chain))
    return rows


def hex_of(stream: UUID | str) -> str:
    return stream.hex if isinstance(stream, UUID) else stream


def erased_by(event: StoredEvent) -> str:
    """The record whose seals on its stream a new event destroys; empty for most."""
    return event.erases if isinstance(event, ErasingEvent) else ""
