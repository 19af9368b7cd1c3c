"""Idempotency keys of those who share a server: each has their own, whatever others call theirs."""

from __future__ import annotations

from domain.errors import InvalidInput
from domain.text import accept_text, actor_key

KEY_LIMIT = 200  # characters of an idempotency key


def accept_key(key: str, name: str = "idempotency_key") -> str:
    """A key as it may be given. InvalidInput for what cannot be kept; `name`: what the caller knows it as."""
    key = accept_text(key, name, limit=KEY_LIMIT, required=True)
    if "#" in key:  # the ledger parts the key from the command with it
        raise InvalidInput(f"{name} must not contain #")
    return key


def own_key(interface: str, actor: str, key: str) -> str:
    """The key as it is kept: the same one of another actor, or over another interface, is another. '' for none."""
    return f"{interface}:{actor_key(actor)}:{accept_key(key)}" if key else ""
