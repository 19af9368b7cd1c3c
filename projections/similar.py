"""Near-duplicates of a candidate among the live memories, by words and letters alone: no model, same answer always."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from domain.text import normal_form
from projections import registry

NOMINATED = 30  # memories looked at closely
SHOWN = 3
THRESHOLD = 0.5

_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_CONTRACTED = re.compile(r"n['’]t\b")
_NEGATION = frozenset(
    (
        *("no", "not", "never", "none", "without", "except", "exclude", "excludes", "excluding", "excluded", "cannot"),
        *("non", "mai", "senza", "nessun", "nessuno", "escluso", "esclusi", "escluse", "esclude", "tranne"),
        *("δεν", "δε", "μη", "μην", "χωρισ", "εκτοσ", "ουτε", "ποτε"),  # as `_bare` leaves them
    )
)


@dataclass(frozen=True, slots=True)
class Similar:
    """A live memory that says nearly the same. `score` 0…1; `differs` names what makes it another statement."""

    id: str
    subject: str
    detail: str
    score: float
    differs: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "subject": self.subject,
            "detail": self.detail,
            "score": self.score,
            "differs": list(self.differs),
        }


def words_of(text: str) -> list[str]:
    """Words and numbers in normal form, those of an identifier one by one."""
    return _WORD.findall(normal_form(text).replace("_", " "))


def similar(db: sqlite3.Connection, subject: str, detail: str, *, without: Iterable[str] = ()) -> list[Similar]:
    """The live memories nearest to this text, best first, ties by id; at most three, never merged by themselves."""
    own = f"{subject} {detail}"
    skipped = frozenset(without)
    found: list[Similar] = []
    nominated = registry.sharing_words(db, own, NOMINATED)
    for memory_id, _ in nominated:
        entry = registry.live_record(db, memory_id)
        if memory_id in skipped or entry is None:
            continue
        other = entry[0]
        score = closeness(own, f"{other.subject} {other.detail}")
        if score >= THRESHOLD:
            theirs = f"{other.subject} {other.detail}"
            found.append(Similar(memory_id, other.subject, other.detail, score, differences(own, theirs)))
    return sorted(found, key=lambda one: (-one.score, one.id))[:SHOWN]


def closeness(one: str, other: str) -> float:
    """Mean of the Dice coefficients over words and over letter trigrams, 0…1, three decimals."""
    return round((_dice(words_of(one), words_of(other)) + _dice(_trigrams(one), _trigrams(other))) / 2, 3)


def differences(one: str, other: str) -> tuple[str, ...]:
    """Which of numbers, negation and names differ between two texts."""
    found = []
    if sorted(_NUMBER.findall(one)) != sorted(_NUMBER.findall(other)):
        found.append("numbers")
    if _negations(one) != _negations(other):
        found.append("negation")
    if _names(one) != _names(other):
        found.append("names")
    return tuple(found)


def _negations(text: str) -> int:
    words = sum(1 for word in words_of(text) if _bare(word) in _NEGATION)
    return words + len(_CONTRACTED.findall(normal_form(text)))


def _bare(word: str) -> str:
    """Without accents: they are often left out in capitals."""
    return "".join(one for one in unicodedata.normalize("NFD", word) if not unicodedata.combining(one))


def _names(text: str) -> set[str]:
    """Capitalised words inside a sentence, codes, and quoted or back-quoted text."""
    inside = re.findall(r"(?<=[\w,;:)] )([^\W\d_a-zà-ÿα-ώ]\w+)", text)
    codes = re.findall(r"\b\w*[A-Z]\w*\d\w*\b|\b\w+_\w+\b", text)
    quoted = re.findall(r"[`'\"«“]([^`'\"»”]+)[`'\"»”]", text)
    return {normal_form(name) for name in (*inside, *codes, *quoted)}


def _trigrams(text: str) -> list[str]:
    folded = normal_form(text)
    return [folded[start : start + 3] for start in range(max(1, len(folded) - 2))]


def _dice(one: list[str], other: list[str]) -> float:
    if not one or not other:
        return 0.0
    shared = sum((Counter(one) & Counter(other)).values())
    return 2 * shared / (len(one) + len(other))
