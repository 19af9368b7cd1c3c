"""Stored text inside a prompt: data on one line, whose end and whose hidden signs can be seen."""

from __future__ import annotations

import json
import unicodedata

from domain.text import UNSEEN

_JOINERS = "\u200c\u200d"  # join or part letters and emoji: part of the text in several scripts
_AS_TEXT, _AS_EMOJI, _KEYCAP = "\ufe0e", "\ufe0f", "\u20e3"
_ALSO_EMOJI = "‼⁉〰ℹ"  # beside the symbols
_SHOWN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """The text in quotation marks on one line: no sign in it ends the quotation, ends the line or stays unseen."""
    return one_line(json.dumps(text, ensure_ascii=False))


def one_line(text: str) -> str:
    """The text on one line: line ends, control, direction and tag characters, and letters that are shown as nothing or
    as a blank, are written out (`\\n`, `\\u202e`, `\\u3164`). Emoji and joined letters stay as they are."""
    if text.isprintable() and not UNSEEN.search(text):
        return text
    around = zip(" " + text, text, text[1:] + " ", strict=False)
    return "".join(
        one if _is_plain(before, one, after) else _SHOWN.get(one) or _written_out(one) for before, one, after in around
    )


def _is_plain(before: str, character: str, after: str) -> bool:
    """Joiners and selectors hide nothing where each belongs to a sign that is seen: sentences can hide in rows of
    them."""
    if character in _JOINERS:
        return before in (_AS_TEXT, _AS_EMOJI) or (_is_seen(before) and not before.isspace())
    if character in (_AS_TEXT, _AS_EMOJI):
        return _may_be_emoji(before) or (before in "#*0123456789" and after == _KEYCAP)
    return _is_seen(character)


def _is_seen(character: str) -> bool:
    if UNSEEN.match(character):
        return False
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _may_be_emoji(character: str) -> bool:
    if character.isascii() or not _is_seen(character):
        return False
    return character in _ALSO_EMOJI or unicodedata.category(character) in ("So", "Sm")


def _written_out(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
