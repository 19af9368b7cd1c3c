"""The whole ledger as JSON Lines, without loss: a header, then one canonical line an event, chained as it is stored.

Sealed text goes out sealed, with its key on the same line, outside of what is chained; what was erased has no key.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

from eventsourcing.persistence import Notification
from pydantic import BaseModel, ConfigDict, Field

from adapters.chain import GENESIS, Link, next_link
from adapters.files import refuse_homes, written_in_one_step
from adapters.ledger import Ledger
from adapters.ledger_batches import require_end
from adapters.mapper import EnvelopeMapper, seal_for
from adapters.sealing import Seal, SealedNotification, seal_of
from domain.erasure import TextErased
from domain.errors import InvalidInput, LedgerDamaged
from domain.event import Envelope
from domain.text import canonical_json
from projections.loop import Head

FORMAT, VERSION = "tht-ledger", 1
BATCH = 500  # events to a transaction of an import, and the rest of the command that the last belongs to

Progress = Callable[[int, int], None]


class HeaderForm(BaseModel):
    """The first line: how many events follow and the chain at the last, so that a file cut between lines is noticed."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    format: Literal["tht-ledger"]
    version: int
    position: int = Field(ge=0)
    chain: str


class EventForm(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    position: int
    stream: str = Field(pattern=r"^[0-9a-f]{32}$")
    version: int = Field(ge=1, lt=2**63)
    name: str
    state: dict[str, Any]
    chain: str = Field(pattern=r"^[0-9a-f]{64}$")
    key: str | None = Field(default=None, pattern=r"^[0-9A-Za-z+/]{43}=$")

    def opened(self, mapper: EnvelopeMapper) -> tuple[Link, Envelope]:
        """The event as it is to be stored, with its seal, and what it says. ValueError, LedgerDamaged."""
        state = canonical_json(self.state).encode("utf-8")
        stored = (UUID(self.stream), self.version, self.name, state, self.position)
        if self.key is None:
            envelope = mapper.to_domain_event(Notification(*stored))
            erases = envelope.event.record if isinstance(envelope.event, TextErased) else ""
            return Link(Notification(*stored), bytes.fromhex(self.chain), erases), envelope
        if "sealed" not in self.state:
            raise ValueError("it has a key, and no sealed text")
        key = base64.b64decode(self.key)
        envelope = mapper.to_domain_event(SealedNotification(*stored, Seal(key, "", "")))
        sealed = SealedNotification(*stored, seal_for(envelope, key))
        return Link(sealed, bytes.fromhex(self.chain)), envelope


def export_lines(ledger: Ledger, until: int | None = None) -> Iterator[str]:
    """The export, line by line, up to the head as it is now or up to a position.

    InvalidInput when `until` is beyond the head or inside a command; LedgerDamaged where the chain is broken.
    """
    head = _end_of_export(ledger, until)
    yield _line({"format": FORMAT, "version": VERSION, "position": head.position, "chain": head.chain})
    position, chain = 0, GENESIS
    for link in ledger.links():
        event = link.notification
        if event.id > head.position:
            break
        if next_link(chain, event) != link.chain:
            raise LedgerDamaged(f"the chain is broken at position {event.id}: it is not what was recorded")
        position, chain = event.id, link.chain
        yield _event_line(link)
    require_end(position, chain, head.position, bytes.fromhex(head.chain))


def export_ledger(
    ledger: Ledger, path: Path, until: int | None = None, progress: Progress = lambda done, total: None
) -> Head:
    """Write the export to a file in one step, readable by its owner only. Returns where it ends."""
    head = _end_of_export(ledger, until)
    with written_in_one_step(refuse_homes(path)) as file:
        for number, line in enumerate(export_lines(ledger, head.position)):
            file.write(line.encode("utf-8"))
            if number % BATCH == 0:
                progress(number, head.position)
    progress(head.position, head.position)
    return head


def _end_of_export(ledger: Ledger, until: int | None) -> Head:
    head = ledger.head()
    if until is None or until == head.position:
        return head
    if not 0 <= until < head.position:
        raise InvalidInput(f"the ledger has positions 0 to {head.position}, not {until}")
    around = ledger.page(until - 1, 2) if until else []
    if len(around) == 2 and same_command(around[0], around[1]):
        raise InvalidInput(f"position {until} is inside a command", "choose a position where a command ends")
    return Head(until, ledger.chain_at(until) or "")


def _event_line(link: Link) -> str:
    event = link.notification
    state = json.loads(event.state)
    if canonical_json(state).encode("utf-8") != event.state:
        raise LedgerDamaged(f"the event at position {event.id} is not canonical JSON and cannot be exported")
    stream = event.originator_id.hex if isinstance(event.originator_id, UUID) else event.originator_id
    seal = seal_of(event)
    return _line(
        {
            "position": event.id,
            "stream": stream,
            "version": event.originator_version,
            "name": event.topic,
            "state": state,
            "chain": link.chain.hex(),
        }
        | ({} if seal is None else {"key": base64.b64encode(seal.key).decode("ascii")})
    )


def _line(value: dict[str, object]) -> str:
    return canonical_json(value) + "\n"


def same_command(one: Envelope, other: Envelope) -> bool:
    """Whether two neighbours in the ledger were recorded together, so that one must not stand without the other."""
    if one.idempotency_key and one.idempotency_key == other.idempotency_key:
        return True
    return one.correlation_id == other.correlation_id
