"""Level 1 of verify: whether a database is a ledger of tht, nothing but that, and as it was recorded."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from eventsourcing.persistence import Notification

from adapters.chain import GENESIS, Link, next_link
from adapters.mapper import EnvelopeMapper, is_sealed, seal_for
from adapters.recorder import Recorder
from adapters.sealing import seal_of
from adapters.sqlite import LedgerRecorder
from adapters.sqlite_errors import translated
from domain.erasure import TextErased
from domain.errors import LedgerDamaged
from domain.event import Envelope, stream_id
from projections.shape import Difference
from projections.verify import Finding

RESTORE = "tht --workspace NAME restore FILE brings a backup back, beside the damaged one"
UPGRADE = f"upgrade tht if a newer one wrote this event; else {RESTORE}"
REWRITE = "tht export FILE, then tht --workspace NAME import FILE; or tht --workspace NAME restore FILE"
SHOWN_KEYS = 3


def find_damage(recorder: Recorder, mapper: EnvelopeMapper) -> Iterator[Finding]:
    """Tables and triggers as declared, positions and stream versions without gaps, an unbroken chain, every event
    decodes, the idempotency keys are those of the events, and so are the keys of sealed text, but for what was erased.
    Each finding with what mends it.

    Raises LedgerDamaged where it is so damaged that the engine reads nothing of it.
    """
    odd = recorder.odd_shape()
    yield from _odd_shape(recorder.name, odd)
    for complaint in recorder.integrity():
        yield Finding("ledger", recorder.name, complaint, RESTORE)
    if any(one.kind == "table" and not one.foreign for one in odd):
        return  # nothing can be read with certainty
    lost = [table for table in ("head", "about") if recorder.rows(table) != 1]
    for table in lost:
        yield Finding("ledger", recorder.name, f"its table {table} is not one row", RESTORE)
    if not lost:
        walk = _Walk(recorder, mapper)
        yield from walk.findings()
        yield from walk.odd_keys()
        yield from walk.odd_seals()


def first_fault(path: Path) -> str | None:
    """What is wrong first with a file from elsewhere; None when it is sound. Leaves no file beside it."""
    try:
        with translated(path), closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA schema_version")  # before anything is switched over: is it a database at all?
        with translated(path):
            recorder = LedgerRecorder(path)
        try:
            found = next(find_damage(recorder, EnvelopeMapper()), None)
        finally:
            recorder.close()
            with translated(path), closing(sqlite3.connect(path)) as db:
                db.execute("PRAGMA journal_mode = DELETE")
    except LedgerDamaged as error:
        return error.message
    return f"{found.where}: {found.what}" if found else None


def require_sound(recorder: Recorder) -> None:
    """LedgerDamaged names the first thing that does not hold."""
    found = next(find_damage(recorder, EnvelopeMapper()), None)
    if found:
        raise LedgerDamaged(f"the ledger {recorder.place} does not verify: {found.where}: {found.what}", found.mend)


def keys_of(envelopes: Iterable[Envelope]) -> list[tuple[str, int, int]]:
    """Each idempotency key with the first and last position recorded under it."""
    found: dict[str, tuple[int, int]] = {}
    for envelope in envelopes:
        _take_key(found, envelope)
    return _named(found)


def _take_key(found: dict[str, tuple[int, int]], envelope: Envelope) -> None:
    if key := envelope.idempotency_key:
        first, _ = found.get(key, (envelope.position, envelope.position))
        found[key] = (first, envelope.position)


def _named(found: dict[str, tuple[int, int]]) -> list[tuple[str, int, int]]:
    """Events carry the key and a digest of the command; the table has the key alone."""
    return [(key.rpartition("#")[0], first, last) for key, (first, last) in found.items()]


def _odd_shape(name: str, odd: Iterable[Difference]) -> Iterator[Finding]:
    """Without its triggers it is not append-only, and one of somebody else's would act on it."""
    for one in odd:
        damaged = one.kind == "table" and not one.foreign
        yield Finding("ledger", name, one.what, RESTORE if damaged else REWRITE)


class _Walk:
    """One way through all events: what of them does not hold, and the keys that they carry."""

    def __init__(self, recorder: Recorder, mapper: EnvelopeMapper) -> None:
        self.recorder, self.mapper = recorder, mapper
        self.position = 0
        self.versions: dict[object, int] = {}
        self.keys: dict[str, tuple[int, int]] = {}
        self.all_decoded = True
        self.unexplained: dict[tuple[str, str], list[int]] = {}  # positions that do not open, by stream and record
        self.erased: dict[tuple[str, str], int] = {}  # where the last erasure of a record on a stream stands

    def findings(self) -> Iterator[Finding]:
        head, at_head = self.recorder.head()
        seen_there = GENESIS
        chain: bytes | None = GENESIS
        for link in self._readable(head):
            if isinstance(link, Finding):
                yield link
                chain, self.position, self.all_decoded = None, self.position + 1, False
                continue
            event = link.notification
            where = f"position {event.id}"
            if event.id != self.position + 1:
                what = f"positions {self.position + 1} to {event.id - 1} are missing"
                yield Finding("ledger", where, what, RESTORE)
            if chain is not None and next_link(chain, event) != link.chain:
                yield Finding("ledger", where, "the chain is broken: it is not what was recorded", RESTORE)
            self.position, chain = event.id, link.chain
            seen_there = chain if event.id == head else seen_there
            yield from self._odd_version(event, where)
            yield from self._undecodable(link, where)
        if self.position < head:
            what = f"the recorded head is {head}, and the last event is {self.position}: a cut tail"
            yield Finding("ledger", f"position {self.position}", what, RESTORE)
        elif seen_there != at_head:
            what = f"the recorded head, {head}, has another chain than the event there; the last is {self.position}"
            yield Finding("ledger", f"position {self.position}", what, RESTORE)
        elif self.position > (now := self.recorder.head()[0]):
            yield Finding("ledger", f"position {self.position}", f"stands beyond the head, {now}", RESTORE)

    def odd_keys(self) -> Iterator[Finding]:
        """A command that is tried again is known by its key: one that is gone lets it be done twice."""
        if not self.all_decoded:
            return  # an event that does not decode keeps its key to itself
        try:
            kept = set(self.recorder.keys(self.position))
        except LedgerDamaged as error:
            yield Finding("ledger", self.recorder.name, f"its idempotency keys: {error.message}", REWRITE)
            return
        odd = sorted({str(key)[:40] for key, _, _ in kept ^ set(_named(self.keys))})
        if odd:
            more = f" and {len(odd) - SHOWN_KEYS:,} more" if len(odd) > SHOWN_KEYS else ""
            named = ", ".join(repr(key) for key in odd[:SHOWN_KEYS]) + more
            what = f"its idempotency keys are not those of its events: {named}"
            yield Finding("ledger", self.recorder.name, what, REWRITE)

    def odd_seals(self) -> Iterator[Finding]:
        """A text that does not open was erased, and one that was erased does not open."""
        for (_, record), positions in self.unexplained.items():
            for position in positions:
                what = f"the text of {record} is sealed, its key is gone, and no erasure says why"
                mend = f"{RESTORE}; tht erase {record} records that it is gone"
                yield Finding("ledger", f"position {position}", what, mend)
        for (stream, record), last in self.erased.items():
            for _, _, position in self.recorder.sealed_places(record, stream=stream_id(stream)):
                if position < last:
                    what = f"the text of {record} was erased at position {last}, and its key is still there"
                    yield Finding("ledger", f"position {position}", what, f"tht erase {record}")
        for position in self.recorder.stray_seals():
            yield Finding("ledger", f"position {position}", "there is a key to a sealed text and no event", REWRITE)

    def _look_at_seal(self, envelope: Envelope, event: Notification) -> Iterator[Finding]:
        text, seal = envelope.event, seal_of(event)
        if isinstance(text, TextErased):
            self.erased[envelope.stream, text.record] = envelope.position
            self.unexplained.pop((envelope.stream, text.record), None)
        elif envelope.erased:
            self.unexplained.setdefault((envelope.stream, text.record_in(envelope.stream)), []).append(event.id)
        elif seal is not None and (not is_sealed(event) or seal != seal_for(envelope, seal.key)):
            what = "its key is not kept as that of its record: an erasure would not find it"
            yield Finding("ledger", f"position {event.id}", what, REWRITE)

    def _readable(self, last: int) -> Iterator[Link | Finding]:
        """Every stored event, and for one that cannot even be read a finding, so that the others are still checked."""
        position = 0
        try:
            for link in self.recorder.links():
                yield link
                position = link.notification.id
        except LedgerDamaged:
            for one in range(position + 1, last + 1):
                try:
                    yield from self.recorder.select_links(one, 1, one)
                except LedgerDamaged as error:
                    yield Finding("ledger", f"position {one}", error.message, RESTORE)

    def _odd_version(self, event: Notification, where: str) -> Iterator[Finding]:
        expected = self.versions.get(event.originator_id, 0) + 1
        if event.originator_version != expected:
            what = f"stream version {event.originator_version} where {expected} was expected"
            yield Finding("ledger", where, what, RESTORE)
        self.versions[event.originator_id] = event.originator_version

    def _undecodable(self, link: Link, where: str) -> Iterator[Finding]:
        try:
            envelope = self.mapper.to_domain_event(link.notification)
        except LedgerDamaged as error:
            self.all_decoded = False
            yield Finding("ledger", where, error.message, UPGRADE)
            return
        _take_key(self.keys, envelope)
        if stream_id(envelope.stream) != link.notification.originator_id:
            yield Finding("ledger", where, f"stands in a stream that is not its own ({envelope.stream})", RESTORE)
        yield from self._look_at_seal(envelope, link.notification)
