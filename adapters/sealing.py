"""Sealed text: AES-256-GCM with a key of its own for every event. Whoever destroys the key has erased the text.

Associated data is the event's place, so that a sealed text opens nowhere else. `cryptography` is imported when a text
is sealed or opened, and not before: a ledger without sealed text never needs it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from eventsourcing.persistence import Notification, StoredEvent

from domain.errors import LedgerDamaged
from domain.text import canonical_json

if TYPE_CHECKING:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY, NONCE = 32, 12  # bytes

Chance = Callable[[int], bytes]  # so many random bytes


@dataclass(frozen=True, slots=True)
class Seal:
    """What opens a sealed event, kept beside it and never in it: whose text it is, whom it is about, the key."""

    key: bytes
    record: str
    about: str


@dataclass(frozen=True)
class SealedEvent(StoredEvent):
    """An event to be stored, with the seal that is stored beside it."""

    seal: Seal


@dataclass(frozen=True)
class ErasingEvent(StoredEvent):
    """An event to be stored that destroys the seals of a record on its stream."""

    erases: str


@dataclass(frozen=True)
class SealedNotification(Notification):
    """A stored event with its seal, which an erased event has no more."""

    seal: Seal


def seal_of(stored: StoredEvent) -> Seal | None:
    return stored.seal if isinstance(stored, (SealedEvent, SealedNotification)) else None


def seal_text(fields: dict[str, Any], place: bytes, chance: Chance) -> tuple[str, bytes]:
    """The fields as base64 of nonce and ciphertext, and the new key that opens them."""
    key, nonce = chance(KEY), chance(NONCE)
    text = canonical_json(fields).encode("utf-8")
    cipher, _ = _cryptography()
    return base64.b64encode(nonce + cipher(key).encrypt(nonce, text, place)).decode("ascii"), key


def open_text(sealed: str, key: bytes, place: bytes) -> dict[str, Any]:
    """The sealed fields. LedgerDamaged when the key is another one, or text or place are not those that were sealed."""
    cipher, wrong = _cryptography()
    try:
        content = binascii.a2b_base64(sealed, strict_mode=True)
        text = cipher(key).decrypt(content[:NONCE], content[NONCE:], place)
        fields: dict[str, Any] = json.loads(text.decode("utf-8"))
    except wrong:
        raise LedgerDamaged("its sealed text does not open: the key is another one, or it was changed") from None
    except (TypeError, ValueError) as error:
        raise LedgerDamaged(f"its sealed text is no sealed text: {error}") from error
    return fields


def place_of(stored: StoredEvent) -> bytes:
    """Stream and version: where a text was sealed, and the only place where it opens."""
    return place(stored.originator_id, stored.originator_version)


def place(stream: UUID | str, version: int) -> bytes:
    name = stream.hex if isinstance(stream, UUID) else stream
    return f"{name}:{version}".encode()


@cache
def _cryptography() -> tuple[type[AESGCM], type[InvalidTag]]:
    """The cipher, and what it raises when a text does not open."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM, InvalidTag
