"""Cuts a text into overlapping pieces that an embedding model can see whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Span = tuple[int, int]
_SUSPECT = 16  # characters: a shorter word fits every window there is


def pieces(text: str, fits: Callable[[str], bool], *, words: int, overlap: int) -> list[str]:
    """The text itself when it `fits`, else pieces of at most `words` words that all fit.

    Each piece is a verbatim part of the text, in order, starting `overlap` words before the end of the one before it
    (less where little fits). Together they hold every word. A word that fits no window, as a line of Chinese may be,
    is cut between characters. Blank text is one piece.
    """
    if not text.strip() or fits(text):
        return [text]
    units = [unit for word in re.finditer(r"\S+", text) for unit in _cut(text, word.span(), fits)]
    found: list[str] = []
    start = end = 0
    while end < len(units):
        end = min(start + words, len(units))
        while end - start > 1 and not fits(_between(text, units, start, end)):
            end -= max(1, (end - start) // 8)
        found.append(_between(text, units, start, end))
        start = max(start + 1, end - min(overlap, (end - start) // 4))
    return found


def _between(text: str, units: list[Span], start: int, end: int) -> str:
    return text[units[start][0] : units[end - 1][1]]


def _cut(text: str, span: Span, fits: Callable[[str], bool]) -> Iterator[Span]:
    start, end = span
    if end - start <= _SUSPECT or fits(text[start:end]):
        yield span
        return
    middle = (start + end) // 2
    yield from _cut(text, (start, middle), fits)
    yield from _cut(text, (middle, end), fits)
