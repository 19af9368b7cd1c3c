"""Text as it is accepted, compared and keyed."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from domain.errors import InvalidInput

ID_LIMIT = 200  # characters
SUBJECT_LIMIT = 2_000
TEXT_LIMIT = 100_000

_QUOTES = "\"'`«»“”„‟‘’‚‹›"
_TRAILING = ".,;:!?…·"
_ACTOR = re.compile(r"(human|agent|tool):[^\s:][^\s]*")
_MEMORY_ID = re.compile(r"mem-(\d{4,})")


def accept_text(value: object, field: str, *, limit: int = TEXT_LIMIT, required: bool = False) -> str:
    """`value` verbatim, if it can be stored and shown; else InvalidInput that names the field.

    Refused: other types, lone surrogates (no UTF-8), control characters other than tab and line ends, over `limit`.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}")
    if len(value) > limit:
        raise InvalidInput(f"{field} has {len(value):,} characters, at most {limit:,} are taken", "shorten or split it")
    for character in value:
        category = unicodedata.category(character)
        if category == "Cs":
            raise InvalidInput(f"{field} contains a lone surrogate (U+{ord(character):04X}): it is not valid Unicode")
        if category == "Cc" and character not in "\t\n\r":
            raise InvalidInput(f"{field} contains the control character U+{ord(character):04X}", "remove it")
    if required and not value.strip():
        raise InvalidInput(f"{field} must not be empty")
    return value


def accept_id(value: object, field: str) -> str:
    """An id: 1 to 200 printable characters without white space."""
    text = accept_text(value, field, limit=ID_LIMIT, required=True)
    if any(character.isspace() or not character.isprintable() for character in text):
        raise InvalidInput(f"{field} {text!r} must be printable and without white space")
    return text


def accept_actor(value: object, field: str = "actor") -> str:
    """`human:ada`, `agent:coder-1`, `tool:importer`; a bare name is a person's."""
    text = accept_id(value, field)
    if ":" not in text:
        text = f"human:{text}"
    if not _ACTOR.fullmatch(text):
        raise InvalidInput(f"{field} {text!r} is not human:NAME, agent:NAME or tool:NAME")
    return text


def same_actor(one: str, other: str) -> bool:
    """Whether two actors are one: `human:Ada` and `human:ada` are."""
    return _fold(one) == _fold(other)


def is_person(actor: str) -> bool:
    return actor.startswith("human:")


def memory_number(memory_id: str) -> int | None:
    """7 for `mem-0007`; None when it is no memory id."""
    found = _MEMORY_ID.fullmatch(memory_id)
    return int(found.group(1)) if found else None


def memory_id(number: int) -> str:
    return f"mem-{number:04d}"


def normal_form(text: str) -> str:
    """The text as equivalent content is compared: NFKC, casefold, spaces collapsed, outer quotes and trailing
    punctuation dropped (sessions.md, "Promotion", 5)."""
    text = _fold(text)
    while True:
        shorter = text.strip().rstrip(_TRAILING).strip()
        if len(shorter) > 1 and shorter[0] in _QUOTES and shorter[-1] in _QUOTES:
            shorter = shorter[1:-1]
        if shorter == text:
            return text
        text = shorter


def content_key(subject: str, detail: str) -> str:
    """One key for all equivalent content: 32 hex digits over the normal forms of subject and detail."""
    return digest([normal_form(subject), normal_form(detail)])[:32]


def canonical_json(value: Any) -> str:
    """The one way a value is written down: sorted keys, no spaces, Unicode as it is."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Mapping[str, Any] | Iterable[Any] | str) -> str:
    """SHA-256 over the canonical JSON, 64 hex digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def looks_like_a_table(subject: str) -> bool:
    """Subjects such as `fact_cardioversione` or `dim_time` name a table, not a concept."""
    return bool(re.fullmatch(r"[\"'`\[]?(?:\w+\.)?(?:fact|dim)_\w*[\"'`\]]?", normal_form(subject)))


def _fold(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).split())
