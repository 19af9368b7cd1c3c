"""The ledger as commands and projections use it: load, decide, append in one transaction, page, verify."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast
from uuid import UUID, uuid5

from eventsourcing.persistence import EventStore, IntegrityError, Notification, StoredEvent

from adapters.chain import PAGE, Link, next_link
from adapters.kept_streams import KeptStreams
from adapters.mapper import EnvelopeMapper, is_sealed
from adapters.recorder import Recorder
from adapters.sealing import Chance, SealedNotification, seal_of
from adapters.sqlite import LedgerRecorder
from domain.erasure import TextErased
from domain.errors import KeyReused, LedgerDamaged, LostRace
from domain.event import STREAMS, Envelope, Event, find_event, stream_id
from domain.text import digest
from projections.loop import Broken, Head

if TYPE_CHECKING:
    from projections.verify import Finding

ATTEMPTS = 10  # each failed one means that somebody else succeeded; after them the others wait for this command

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class By:
    """Who acts, why, and the circumstances of one command."""

    actor: str
    role: str = ""
    reason: str = ""
    idempotency_key: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Committed:
    """What one command recorded. `already`: an earlier run of the same command did, and this one wrote nothing."""

    envelopes: tuple[Envelope, ...]
    already: bool = False

    @property
    def position(self) -> int:
        """The last position written; 0 when nothing was."""
        return self.envelopes[-1].position if self.envelopes else 0

    def events(self, kind: type[E]) -> list[E]:
        return [envelope.event for envelope in self.envelopes if isinstance(envelope.event, kind)]


@dataclass
class Draft:
    """One command while it is being decided: the streams it has loaded, and what it wants appended to them."""

    ledger: Ledger
    by: By
    at: datetime  # the time that all its events get
    versions: dict[str, int] = field(default_factory=dict)
    added: list[tuple[str, Event]] = field(default_factory=list)
    own: dict[str, list[Event]] = field(default_factory=dict)  # the same by stream
    begins: set[int] = field(default_factory=set)  # where in `added` another command of a bulk begins

    def load(self, stream: str) -> list[Envelope]:
        """The recorded events of a stream. The command succeeds only if nobody else appends to it after this."""
        envelopes = self.ledger.load(stream)
        self._see(stream, envelopes[-1] if envelopes else None)
        return envelopes

    def so_far(self, stream: str) -> list[Envelope]:
        """The recorded events of a stream and those that this command appends: for a bulk, whose parts build on it."""
        recorded = self.load(stream)
        version = recorded[-1].version if recorded else 0
        own = enumerate(self.own.get(stream, ()), start=1)
        return recorded + [self.envelope(stream, event, version + n) for n, event in own]

    def envelope(self, stream: str, event: Event, version: int = 0) -> Envelope:
        """An event as it will be recorded, for folding; its place in the ledger is not known yet."""
        by = self.by
        return Envelope(stream, version, 0, self.at, by.actor, by.role, by.reason, "", by.idempotency_key, event)

    def last(self, stream: str) -> Envelope | None:
        """The last recorded event of a stream, without reading the others."""
        envelope = self.ledger.last(stream)
        self._see(stream, envelope)
        return envelope

    def _see(self, stream: str, last: Envelope | None) -> None:
        """Loaded twice, it counts as it was first: what was decided on that may no longer be so."""
        self.versions.setdefault(stream, last.version if last else 0)

    def append(self, stream: str, events: Sequence[Event]) -> None:
        if stream not in self.versions:
            raise LookupError(f"{stream} must be loaded before it is appended to")
        self.added.extend((stream, event) for event in events)
        self.own.setdefault(stream, []).extend(events)

    def begin(self) -> None:
        """What is appended from here on is a command of its own, though saved in the same transaction: imports."""
        self.begins.add(len(self.added))

    def loaded(self) -> dict[UUID, int]:
        """The version at which each stream was loaded."""
        return {stream_id(stream): version for stream, version in self.versions.items()}

    def envelopes(self, key: str) -> list[Envelope]:
        by, at = self.by, self.at
        versions = dict(self.versions)
        correlation = ""
        made: list[Envelope] = []
        alone = all(event.follows for _, event in self.added)
        for index, (stream, event) in enumerate(self.added):
            versions[stream] += 1
            if index in self.begins:
                correlation = ""
            correlation = correlation or str(uuid5(STREAMS, f"{stream}@{versions[stream]}"))
            reason = by.reason if alone or not event.follows else ""
            made.append(Envelope(stream, versions[stream], 0, at, by.actor, by.role, reason, correlation, key, event))
        return made


class Ledger:
    """One workspace's ordered, append-only record of events."""

    def __init__(self, where: Path | Recorder, clock: Callable[[], datetime], chance: Chance = os.urandom) -> None:
        """`where`: the tables, or the SQLite file that has them."""
        self.recorder: Recorder = LedgerRecorder(where) if isinstance(where, Path) else where
        self.mapper = EnvelopeMapper(chance)
        self.store = EventStore(self.mapper, self.recorder)
        self.streams = KeptStreams(self.recorder, self.mapper.to_domain_event)
        self.clock = clock

    def close(self) -> None:
        self.recorder.close()

    # -- write

    def transact(self, work: Callable[[Draft], None], by: By, command: Sequence[object]) -> Committed:
        """Decide and record, all streams in one transaction.

        `work` loads streams and appends events to the draft; it is run again when another command was quicker, and
        after some times while the others wait, so that nobody loses for ever.
        `command` is its name and arguments: an idempotency key that comes back with the same command returns what was
        recorded then, with another one it raises KeyReused. Raises LostRace when `work` never gets through.
        """
        key = f"{by.idempotency_key}#{digest(list(command))[:16]}" if by.idempotency_key else ""
        for _ in range(ATTEMPTS):
            with suppress(IntegrityError):
                return self._attempt(work, by, key)
        try:
            return self.recorder.undisturbed(lambda: self._attempt(work, by, key))
        except IntegrityError as error:
            raise LostRace("the command lost every race against other writers; nothing was written") from error

    def _attempt(self, work: Callable[[Draft], None], by: By, key: str) -> Committed:
        """IntegrityError when another command was quicker."""
        if key and (before := self._recorded_under(key)) is not None:
            return Committed(tuple(before), already=True)
        draft = Draft(self, by, self.clock())
        work(draft)
        envelopes = draft.envelopes(key)
        if by.dry_run or not envelopes:
            return Committed(tuple(envelopes))
        stored = [self.mapper.to_stored_event(envelope) for envelope in envelopes]
        positions = self.recorder.insert_events(stored, key=by.idempotency_key, loaded=draft.loaded()) or ()
        self.streams.forget({one.originator_id for one in envelopes if isinstance(one.event, TextErased)})
        return Committed(tuple(self._envelope(_placed(*one)) for one in zip(stored, positions, strict=True)))

    def _recorded_under(self, key: str) -> list[Envelope] | None:
        name = key.rpartition("#")[0]
        found = self.recorder.find_key(name)
        if found is None:
            return None
        first, last = found
        envelopes = self.page(first - 1, last - first + 1)
        if envelopes[0].idempotency_key != key:
            raise KeyReused(f"the idempotency key {name!r} belongs to another command, at position {first}")
        return envelopes

    # -- read

    def head(self) -> Head:
        position, chain = self.recorder.head()
        return Head(position, bytes(chain).hex())

    def chain_at(self, position: int) -> str | None:
        """The chain hash (hex) at a position; None beyond the head."""
        chain = self.recorder.chain_at(position)
        return None if chain is None else chain.hex()

    def load(self, stream: str) -> list[Envelope]:
        return self.streams.load(stream_id(stream))

    def last(self, stream: str) -> Envelope | None:
        found = self.recorder.select_events(stream_id(stream), desc=True, limit=1)
        return self._envelope(found[0]) if found else None

    def page(self, after: int, limit: int = PAGE, until: int | None = None) -> list[Envelope]:
        """At most `limit` events with a position above `after` and not above `until`, decoded, in order."""
        found = self.recorder.select_notifications(after, limit, until, inclusive_of_start=False)
        return [self._envelope(notification) for notification in found]

    def at(self, position: int) -> Envelope:
        (found,) = self.page(position - 1, 1, position)
        return found

    def everything(self) -> Iterator[Envelope]:
        """Every event, in order, page by page."""
        return (self.decode(link) for link in self.links())

    def erasures(self) -> list[tuple[Envelope, TextErased]]:
        """Every erasure, in order. Reads through the whole ledger."""
        found = [self._envelope(stored) for stored in self.recorder.of_topic(TextErased.name)]
        return [(one, one.event) for one in found if isinstance(one.event, TextErased)]

    def unsealed(self, stream: str) -> dict[str, list[int]]:
        """By record: positions on a stream that hold its text in the clear, recorded before texts were sealed."""
        found: dict[str, list[int]] = {}
        for stored in self.recorder.select_events(stream_id(stream)):
            kind = find_event(stored.topic)
            if (kind is None or kind.sealed) and not is_sealed(stored):
                envelope = self._envelope(stored)
                found.setdefault(envelope.event.record_in(stream), []).append(envelope.position)
        return found

    def end_of_command(self, position: int) -> int:
        """The last position that was written together with the event at `position`."""
        (first,) = self.page(position - 1, 1)
        last = position
        while self._correlation_at(last + 1) == first.correlation_id:
            last += 1
        return last

    def _correlation_at(self, position: int) -> str | None:
        """None beyond the head and for an event that does not decode."""
        try:
            found = self.page(position - 1, 1, position)
        except LedgerDamaged:
            return None
        return found[0].correlation_id if found else None

    def read(self, after: int, limit: int = PAGE, until: int | None = None) -> list[Envelope | Broken]:
        """As `page`, for projections: checks the chain, and hands on what does not decode instead of raising.

        LedgerDamaged where the stored bytes are not those that were chained.
        """
        links = self.recorder.select_links(after + 1, limit, until)
        chain = self.recorder.chain_at(after)
        found: list[Envelope | Broken] = []
        for link in links:
            position = link.notification.id
            if chain is None or next_link(chain, link.notification) != link.chain:
                raise LedgerDamaged(f"the chain is broken at position {position}: it is not what was recorded")
            chain = link.chain
            try:
                found.append(self._envelope(link.notification))
            except LedgerDamaged as error:
                found.append(Broken(self._stream_of(link), position, error.message))
        return found

    @staticmethod
    def _stream_of(link: Link) -> str:
        try:
            return str(json.loads(link.notification.state)["stream"])
        except (ValueError, KeyError, TypeError):
            return str(link.notification.originator_id)

    def links(self, after: int = 0) -> Iterator[Link]:
        """Every stored event above a position with its chain hash, undecoded, page by page."""
        return self.recorder.links(after)

    def decode(self, link: Link) -> Envelope:
        return self._envelope(link.notification)

    def _envelope(self, stored: object) -> Envelope:
        return self.mapper.to_domain_event(cast("Notification", stored))

    def find_damage(self) -> Iterator[Finding]:
        """Level 1 of verify: see `adapters.ledger_check`."""
        from adapters.ledger_check import find_damage

        return find_damage(self.recorder, self.mapper)


def _placed(stored: StoredEvent, position: int) -> Notification:
    common = (stored.originator_id, stored.originator_version, stored.topic, stored.state, position)
    seal = seal_of(stored)
    return Notification(*common) if seal is None else SealedNotification(*common, seal)
