"""Words as the full-text tables hold and look for them: folded as the conflict rules fold, every script findable."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from dataclasses import dataclass, replace

from domain.language import CJK, fold

WORDS_LIMIT = 200  # words of a question that are looked at
MATCHES = 1_000  # records that the words of a question may stand in together, before common ones are left out
NEWEST = 500  # records that are ranked when every word of a question is common

_CJK = re.compile(f"([{CJK}])")
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"(?<=[a-zà-ÿα-ω0-9])(?=[A-ZÀ-ÞΑ-Ω])")
_MARKS = re.compile("[\u0300-\u036f]")


def lexical_text(text: str) -> str:
    """What a full-text table holds of a text: folded, identifiers whole and in parts, each CJK sign by itself."""
    parts = [part for name in _identifiers(text) for part in (_whole(name), _HUMP.sub(" ", name))]
    return _bare(" ".join((text, *parts)))


def lexical_terms(text: str) -> list[str]:
    """The words to look for as FTS5 phrases, each once, without those that fill. Any text is a literal question."""
    from domain.lexicon import FILLERS  # only a question needs it, not a view

    found = []
    for word in _bare(text).split():
        found += [f'"{part}"' for part in _WORD.findall(word.replace("_", " "))]
    runs = [" ".join(run) for run in re.findall(f"[{CJK}]{{2,}}", fold(text))]
    names = [_bare(_whole(name)) for name in _identifiers(text)]
    telling = [term for term in found if term.strip('"') not in FILLERS] or found
    return list(dict.fromkeys([*(f'"{one}"' for one in (*names, *runs)), *telling]))[:WORDS_LIMIT]


def _identifiers(text: str) -> list[str]:
    """The words of a text that are made of several: `orders_v2`, `maxRetryCount`."""
    return [word for word in _WORD.findall(text) if "_" in word.strip("_") or _HUMP.search(word)]


def _whole(identifier: str) -> str:
    return identifier.replace("_", "")


def _bare(text: str) -> str:
    """Folded, and without the accents that folding keeps: `perché` and `perche` are one word to a search."""
    bare = fold(text)
    if not bare.isascii():
        bare = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", bare)))
        bare = _CJK.sub(r" \1 ", bare)
    return bare


@dataclass(frozen=True, slots=True)
class Query:
    """An FTS5 query, empty when no record matches; `floor`: the rowid from which on matches are few enough to rank.

    `whole`: the query for every term, which ranks as many records as there are.
    """

    text: str
    floor: int = 0
    whole: str = ""


def query_of(db: sqlite3.Connection, table: str, terms: list[str]) -> Query:
    """A query for any of the rarest terms, so that what is ranked stays few.

    Terms that stand in more than `MATCHES` records rank nothing and cost most: they count only where no rarer one is
    found, and then all together, the newest records first.
    """
    counted = [(_count(db, table, term), number) for number, term in enumerate(terms)]
    present = sorted(one for one in counted if one[0])
    taken: list[str] = []
    matches = 0
    for count, number in present:
        matches += count
        if matches > MATCHES:
            break
        taken.append(terms[number])
    whole = " OR ".join(terms[number] for _, number in present)
    if taken or not present:
        return Query(" OR ".join(taken), whole=whole)
    commonest_last = sorted((_seen_lately(db, table, terms[number]), number) for _, number in present)
    rarest = [terms[number] for _, number in commonest_last[:2]]
    found = _newest(db, table, " AND ".join(rarest)) or _newest(db, table, rarest[0]) or Query("")
    return replace(found, whole=whole)


def _seen_lately(db: sqlite3.Connection, table: str, term: str) -> int:
    """In how many of the newest records a common term stands: how common it is, without reading all of them."""
    last = f"(SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1)"
    lately = f"SELECT count(*) FROM {table} WHERE {table} MATCH ? AND rowid > {last} - ?"
    return int(db.execute(lately, (term, MATCHES)).fetchone()[0])


def _newest(db: sqlite3.Connection, table: str, text: str) -> Query | None:
    """The query for the newest records that match; None when none does."""
    places = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT ?"
    found = db.execute(places, (text, NEWEST)).fetchall()
    if not found:
        return None
    return Query(text, int(found[-1][0]) if len(found) == NEWEST else 0)


def _count(db: sqlite3.Connection, table: str, query: str) -> int:
    """How many records match, counted no further than needed. (fts5vocab would read every place of a common word.)"""
    limited = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
    return int(db.execute(limited, (query, MATCHES + 1)).fetchone()[0])
