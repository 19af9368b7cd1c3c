"""Envelopes to stored events and back: canonical JSON, the declared event name as topic, validation on the way in.

The library's own mapper fills objects without validating them: tuples come back as lists and equality breaks.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any
from uuid import UUID

from eventsourcing.persistence import JSONTranscoder, Mapper, Notification, StoredEvent

from domain import memory, recall, session
from domain.errors import LedgerDamaged
from domain.event import Envelope, decode_event, iso_utc
from domain.text import canonical_json

EVENT_MODULES = (memory, recall, session)  # imported here: an event whose module is not would be unknown


class EnvelopeMapper(Mapper[UUID]):
    """Compression and encryption are left out on purpose: the stored bytes never depend on the environment."""

    def __init__(self) -> None:
        super().__init__(JSONTranscoder())

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        envelope: Envelope = domain_event
        state = {
            "actor": envelope.actor,
            "at": iso_utc(envelope.at),
            "corr": envelope.correlation_id,
            "data": envelope.event.model_dump(mode="json"),
            "key": envelope.idempotency_key,
            "reason": envelope.reason,
            "role": envelope.role,
            "stream": envelope.stream,
            "v": envelope.event.version,
        }
        return StoredEvent(
            envelope.originator_id, envelope.version, envelope.event.name, canonical_json(state).encode("utf-8")
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Envelope:
        """The envelope; its position is the notification's, 0 for a bare stored event. Raises LedgerDamaged."""
        position = stored_event.id if isinstance(stored_event, Notification) else 0
        try:
            state = json.loads(stored_event.state)
            return Envelope(
                stream=state["stream"],
                version=stored_event.originator_version,
                position=position,
                at=datetime.fromisoformat(state["at"]),
                actor=state["actor"],
                role=state["role"],
                reason=state["reason"],
                correlation_id=state["corr"],
                idempotency_key=state["key"],
                event=decode_event(stored_event.topic, state["v"], state["data"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerDamaged(f"the event at position {position or '?'} does not decode: {error}") from error
        except LedgerDamaged as error:
            raise LedgerDamaged(f"the event at position {position or '?'}: {error.message}", error.hint) from error
