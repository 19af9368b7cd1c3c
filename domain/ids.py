"""Ids and slugs of workspace knowledge: made from what they name, so the same thing always has the same id."""

from __future__ import annotations

import base64
import re
import unicodedata
from uuid import uuid5

from domain.errors import InvalidInput
from domain.event import STREAMS
from domain.text import accept_text, has_unseen

SLUG_LIMIT = 120  # characters
_APART = re.compile(r"[^\w.\-]+")  # what separates words in a slug; letters of every script stay


def short_id(prefix: str, *parts: str) -> str:
    """`fact-k3m9x2p7qa4t`: the prefix and 60 bits over the parts, the same for the same parts."""
    raw = uuid5(STREAMS, "\x1f".join((prefix, *parts))).bytes[:8]
    return f"{prefix}-{base64.b32encode(raw).decode().lower()[:12]}"


def slug_of(label: str, field: str) -> str:
    """`Data Model` → `data-model`, `Καρδιολογία` → `καρδιολογία`. InvalidInput when no letter or digit is in it."""
    accept_text(label, field, limit=SLUG_LIMIT, required=True)
    if has_unseen(label):
        raise InvalidInput(f"{field} {label!r} has a sign in it that nobody sees", "write it without")
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    slug = _APART.sub("-", folded.replace("_", "-")).strip("-.")
    slug = re.sub(r"-{2,}", "-", slug)
    if not slug:
        raise InvalidInput(f"{field} {label!r} has no letter or digit in it")
    return slug
