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
_ACTOR = re.compile(r"(human|agent|tool):[^\s:]+")
# Shown as nothing or as a blank, so that two names look like one (Unicode's Default_Ignorable, and empty Braille).
UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_MEMORY_ID = re.compile(r"mem-(\d{4,})")


def accept_text(value: object, field: str, *, limit: int = TEXT_LIMIT, required: bool = False) -> str:
    """`value` verbatim, if it can be stored and shown; else InvalidInput that names the field.

    Refused: other types, lone surrogates (no UTF-8), control characters other than tab and line ends, over `limit`.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text, not {type(value).__name__}")
    if len(value) > limit:
        raise InvalidInput(f"{field} has {len(value):,} characters, at most {limit:,} are taken", "shorten or split it")
    for character in "" if value.isprintable() else value:  # all of it printable: nothing of both is in it
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
    if any(character.isspace() or not character.isprintable() for character in text) or UNSEEN.search(text):
        raise InvalidInput(f"{field} {text!r} must be printable and without white space")
    return text


def has_unseen(text: str) -> bool:
    """Whether a sign is in it that is shown as nothing, so that two names look like one."""
    return bool(UNSEEN.search(text)) or any(ord(sign) in _JOINERS for sign in text)


def accept_actor(value: object, field: str = "actor") -> str:
    """`human:ada`, `agent:coder-1`, `tool:importer`; a bare name is a person's."""
    text = accept_id(value, field)
    if ":" not in text:
        text = f"human:{text}"
    if not _ACTOR.fullmatch(text):
        raise InvalidInput(f"{field} {text!r} is not human:NAME, agent:NAME or tool:NAME")
    scripts = {name for letter in text.partition(":")[2] if (name := _script(letter))}
    if len(scripts) > 1:
        raise InvalidInput(f"{field} {text!r} mixes {' and '.join(sorted(scripts))} letters: they look alike")
    return text


def _script(letter: str) -> str:
    """LATIN, CYRILLIC or GREEK, whose letters look alike; '' for all else."""
    name = unicodedata.name(letter, "").partition(" ")[0]
    return name if letter.isalpha() and name in ("LATIN", "CYRILLIC", "GREEK") else ""


def actor_key(actor: str) -> str:
    """One key for all spellings of an actor: what is theirs alone is named by it."""
    return _fold(actor)


def same_actor(one: str, other: str) -> bool:
    """Whether two actors are one: `human:Ada` and `human:ada` are."""
    return actor_key(one) == actor_key(other)


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


_DRESS = re.compile(r"[\"'`\[\]()*]|\b(?:the|table|view|tabella|vista|la)\b")  # what a table's name may come in


def looks_like_a_table(subject: str) -> bool:
    """Subjects such as `fact_cardioversione`, `dbo.dim_time` or `table fact_x` name a table, not a concept."""
    bare = _DRESS.sub(" ", normal_form(subject)).split()
    return len(bare) == 1 and any(part.startswith(("fact_", "dim_")) for part in bare[0].split("."))


def _fold(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(UNSEEN.sub("", text.translate(_JOINERS)).split())


_JOINERS = dict.fromkeys((0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))  # zero-width: no content of their own
