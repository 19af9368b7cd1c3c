"""Stored text inside a prompt: data on one line, whose end and whose hidden signs can be seen."""

from __future__ import annotations

import json
import unicodedata

_JOINERS = "\u200c\u200d"  # join or part letters and emoji: part of the text in several scripts
_SHOWN = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """The text in quotation marks on one line: no sign in it ends the quotation, ends the line or stays unseen."""
    return one_line(json.dumps(text, ensure_ascii=False))


def one_line(text: str) -> str:
    """The text on one line: line ends, control, direction and tag characters are written out (`\\n`, `\\u202e`)."""
    if text.isprintable() and max(text, default="") < "\U000e0000":
        return text
    return "".join(one if _is_plain(one) else _SHOWN.get(one) or _written_out(one) for one in text)


def _is_plain(character: str) -> bool:
    if 0xE0000 <= ord(character) <= 0xE0FFF:  # tags and selectors: whole sentences can hide in them
        return False
    return character in _JOINERS or character.isprintable() or unicodedata.category(character) == "Zs"


def _written_out(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
