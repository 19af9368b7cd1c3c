"""Envelopes to stored events and back: canonical JSON, the declared event name as topic, validation on the way in.

The library's own mapper fills objects without validating them: tuples come back as lists and equality breaks.
"""

from __future__ import annotations

import json
import os
from datetime import datetime
from typing import Any
from uuid import UUID

from eventsourcing.persistence import JSONTranscoder, Mapper, Notification, StoredEvent

from adapters.sealing import Chance, ErasingEvent, Seal, SealedEvent, open_text, place, place_of, seal_of, seal_text
from domain.erasure import TextErased
from domain.errors import LedgerDamaged
from domain.event import Envelope, decode_event, erased_fields, iso_utc
from domain.text import canonical_json


class EnvelopeMapper(Mapper[UUID]):
    """Compression and encryption of whole events are left out on purpose: the stored bytes never depend on the
    environment. Only the fields that an event declares are sealed, with keys from `chance`."""

    def __init__(self, chance: Chance = os.urandom) -> None:
        super().__init__(JSONTranscoder())
        self.chance = chance

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        envelope: Envelope = domain_event
        event, where = envelope.event, envelope.originator_id
        data = event.model_dump(mode="json")
        state = {
            "actor": envelope.actor,
            "at": iso_utc(envelope.at),
            "corr": envelope.correlation_id,
            "data": data,
            "key": envelope.idempotency_key,
            "reason": envelope.reason,
            "role": envelope.role,
            "stream": envelope.stream,
            "v": event.version,
        }
        if not event.sealed:
            common = (where, envelope.version, event.name, canonical_json(state).encode("utf-8"))
            return ErasingEvent(*common, event.record) if isinstance(event, TextErased) else StoredEvent(*common)
        personal = {name: data.pop(name) for name in event.sealed}
        state["sealed"], key = seal_text(personal, place(where, envelope.version), self.chance)
        stored = canonical_json(state).encode("utf-8")
        return SealedEvent(where, envelope.version, event.name, stored, seal_for(envelope, key))

    def to_domain_event(self, stored_event: StoredEvent) -> Envelope:
        """The envelope; its position is the notification's, 0 for a bare stored event. Raises LedgerDamaged."""
        position = stored_event.id if isinstance(stored_event, Notification) else 0
        try:
            state = json.loads(stored_event.state.decode("utf-8"))
            data, erased = state["data"], False
            if "sealed" in state:
                personal, erased = _personal(stored_event, state["sealed"])
                data = {**data, **personal}
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
                event=decode_event(stored_event.topic, state["v"], data),
                erased=erased,
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LedgerDamaged(f"the event at position {position or '?'} does not decode: {error}") from error
        except LedgerDamaged as error:
            raise LedgerDamaged(f"the event at position {position or '?'}: {error.message}", error.hint) from error


def _personal(stored: StoredEvent, sealed: str) -> tuple[dict[str, Any], bool]:
    """What the sealed fields say, and whether that was erased."""
    seal = seal_of(stored)
    if seal is None:
        return erased_fields(stored.topic), True
    return open_text(sealed, seal.key, place_of(stored)), False


def is_sealed(stored: StoredEvent) -> bool:
    """Whether its text is sealed in the stored state, readable or not. What was recorded before sealing is not."""
    return "sealed" in json.loads(stored.state)


def seal_for(envelope: Envelope, key: bytes) -> Seal:
    """The seal that belongs beside an event."""
    event = envelope.event
    return Seal(key, event.record_in(envelope.stream), event.subject_of_text)


def payload(stored: StoredEvent) -> dict[str, Any]:
    """The event's data as they were stored, with the sealed ones opened, or erased. ValueError, LedgerDamaged."""
    state = json.loads(stored.state)
    data = state.get("data") if isinstance(state, dict) else None
    if not isinstance(data, dict):
        return {}
    return {**data, **_personal(stored, state["sealed"])[0]} if "sealed" in state else data
