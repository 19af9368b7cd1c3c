"""Words and stems as the full-text tables hold and look for them: folded as the conflict rules fold, every script
findable. Words tell names and codes apart, stems find another ending: both together rank better than either."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from domain.language import CJK, fold, language_of

WORDS_LIMIT = 200  # words of a question that are looked at
MATCHES = 1_000  # records that the words of a question may stand in together, before common ones are left out
NEWEST = 500  # records that are ranked when every word of a question is common

_CJK = re.compile(f"([{CJK}])")
_WORD = re.compile(r"\w+")
_HUMP = re.compile(r"(?<=[a-zà-ÿα-ω0-9])(?=[A-ZÀ-ÞΑ-Ω])")
_MARKS = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True, slots=True)
class Lexical:
    """What a full-text table holds of a record: the `words` of its text, and the `stems` of these and of its label, in
    the text's own language. Each CJK sign stands by itself."""

    words: str
    stems: str


def lexical(text: str, label: str = "") -> Lexical:
    """The words and stems of a text and its label (a topic), separated by blanks; `maxRetryCount` in parts as well.

    A label says less of a record than its text, so it counts once and the text's words twice.
    """
    parts = [_HUMP.sub(" ", name) for name in _humped(text)]
    folded = fold(" ".join((text, *parts)))
    found = _words(_without_accents(folded))
    labels = _words(_bare(" ".join((label, *(_HUMP.sub(" ", name) for name in _humped(label))))))
    return Lexical(" ".join(found), " ".join(stems((*labels, *found), language_of(folded))))


def lexical_terms(text: str) -> list[str]:
    """The words and stems to look for as FTS5 phrases, each once, without those that fill. Any text is a literal
    question: what is no word or number in it is left out."""
    from domain.lexicon import FILLERS  # only a question needs it, not a view

    folded = fold(text)
    found = _words(_without_accents(folded))[:WORDS_LIMIT]
    runs = [" ".join(run) for run in re.findall(f"[{CJK}]{{2,}}", folded)]
    names = [" ".join(_words(_bare(name))) for name in _identifiers(text)]
    parts = [word for name in _humped(text) for word in _words(_bare(_HUMP.sub(" ", name)))]
    found = list(dict.fromkeys((*found, *parts)))
    pairs = list(zip(found, stems(found, language_of(folded)), strict=True))
    telling = [pair for pair in pairs if pair[0] not in FILLERS] or pairs
    phrases = [f'words : "{one}"' for one in (*names, *runs)]
    phrases += [phrase for word, stem in telling for phrase in (f'words : "{word}"', f'stems : "{stem}"')]
    return list(dict.fromkeys(phrases))[: 2 * WORDS_LIMIT]


def plain_words(text: str) -> str:
    """The words of a question as `Lexical.words` holds them, those that fill as well."""
    return " ".join(_words(_bare(text))[:WORDS_LIMIT])


def stems(words: Iterable[str], language: str) -> list[str]:
    """Each folded word's stem by Snowball's rules for the language (`en`, `it`, `el`); as it is for any other."""
    stemmer = _stemmer(language)
    return list(words) if stemmer is None else stemmer.stemWords(list(words))


class _Stemmer(Protocol):
    def stemWords(self, words: list[str], /) -> list[str]: ...


@lru_cache(maxsize=8)
def _stemmer(language: str) -> _Stemmer | None:
    import Stemmer

    name = {"en": "english", "it": "italian", "el": "greek"}.get(language)
    found: _Stemmer | None = Stemmer.Stemmer(name) if name else None
    return found


def _words(folded: str) -> list[str]:
    return _WORD.findall(folded.replace("_", " "))


def _identifiers(text: str) -> list[str]:
    """The words of a text that are made of several, looked for as they stand: `orders_v2`, which is `orders v2`."""
    return [word for word in _WORD.findall(text) if "_" in word.strip("_")]


def _humped(text: str) -> list[str]:
    """The words of a text whose parts begin with a capital: `maxRetryCount`."""
    return [word for word in _WORD.findall(text) if _HUMP.search(word)]


def _bare(text: str) -> str:
    return _without_accents(fold(text))


def _without_accents(bare: str) -> str:
    """Without the accents that folding keeps: `perché` and `perche` are one word to a search."""
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


def query_of(db: sqlite3.Connection, table: str, terms: Sequence[str]) -> Query:
    """A query for any of the rarest terms (of `lexical_terms`), so that what is ranked stays few.

    Terms that stand in more than `MATCHES` records rank nothing and cost most: they count only where no rarer one is
    found, and then all together, the newest records first.
    """
    present = sorted(_counted(db, table, terms))
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
    rarest = [terms[number] for number in _rarest_two(db, table, terms, {number for _, number in present})]
    found = _newest(db, table, " AND ".join(rarest)) or _newest(db, table, rarest[0]) or Query("")
    return replace(found, whole=whole)


def _counted(db: sqlite3.Connection, table: str, terms: Sequence[str]) -> Iterator[tuple[int, int]]:
    """In how many records each term stands that is found, and its number. A stem, which comes right after its word, is
    no rarer: after a common word it is not counted."""
    count = 0
    for number, term in enumerate(terms):
        if count <= MATCHES or not _is_stem(term):
            count = _count(db, table, term)
        if count:
            yield count, number


def _rarest_two(db: sqlite3.Connection, table: str, terms: Sequence[str], present: set[int]) -> list[int]:
    """The numbers of those of the common terms that stand in the fewest of the newest records, at most two."""
    last = db.execute(f"SELECT rowid FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()[0]
    lately = f"SELECT count(*) FROM {table} WHERE {table} MATCH ? AND rowid > ?"

    def seen(number: int) -> tuple[int, int]:
        return int(db.execute(lately, (terms[number], last - MATCHES)).fetchone()[0]), number

    stems_of_words = {number for number in present if number - 1 in present and _is_stem(terms[number])}
    rarest = sorted(map(seen, present - stems_of_words))[:2]
    own_stem = rarest[0][1] + 1
    if own_stem in stems_of_words:
        rarest = sorted((*rarest, seen(own_stem)))[:2]
    return [number for _, number in rarest]


def _is_stem(term: str) -> bool:
    return term.startswith("stems ")


def _newest(db: sqlite3.Connection, table: str, text: str) -> Query | None:
    """The query for the newest records that match; None when none does."""
    places = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"
    if last := db.execute(places, (text, NEWEST - 1)).fetchone():
        return Query(text, int(last[0]))
    return Query(text) if db.execute(places, (text, 0)).fetchone() else None


def _count(db: sqlite3.Connection, table: str, query: str) -> int:
    """How many records match, counted no further than needed. (fts5vocab would read every place of a common word.)"""
    limited = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
    return int(db.execute(limited, (query, MATCHES + 1)).fetchone()[0])


def ranked(table: str) -> str:
    """A subquery with `number` (the rowid) and `score` (BM25, higher is better) of the best matches, ties by rowid.

    Its parameters: the FTS5 query, the least rowid, and how many.
    """
    return f"""SELECT rowid AS number, -rank AS score FROM {table} WHERE {table} MATCH ? AND rowid >= ?
    ORDER BY rank, rowid LIMIT ?"""


def filled(
    db: sqlite3.Connection,
    table: str,
    statement: str,
    query: Query,
    values: Sequence[object],
    enough: int,
    without: Collection[str] = (),
) -> list[sqlite3.Row]:
    """The best rows that pass the filters, `enough` of them as long as there are any: more are ranked at need.

    `statement` selects from `ranked(table)`, joined with rows that have an `id`; `values` are its further parameters.
    """
    wanted, floor = 2 * enough, query.floor
    while True:
        found: dict[str, sqlite3.Row] = {}
        for row in db.execute(statement, (query.text, floor, wanted, *values)):
            if row["id"] not in without and found.setdefault(row["id"], row) is row and len(found) == enough:
                break  # what comes after it need not be read
        if len(found) >= enough or (not floor and _matches(db, table, query.text, wanted) < wanted):
            return list(found.values())
        floor, wanted = 0, 8 * wanted


def _matches(db: sqlite3.Connection, table: str, query: str, most: int) -> int:
    """How many records match, counted up to a number."""
    limited = f"SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT ?)"
    return int(db.execute(limited, (query, most)).fetchone()[0])
