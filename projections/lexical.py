"""Words and stems as the full-text tables hold and look for them: folded as the conflict rules fold, every script
findable. Words tell names and codes apart, stems find another ending: both together rank better than either."""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from domain.language import CJK, fold, language_of

WORDS_LIMIT = 200  # words of a question that are looked at
MATCHES = 1_000  # records that the words of a question may stand in together, before common ones are left out
REMEMBERED = 4_096  # common terms
NEWEST = 250  # records that are ranked when every word of a question is common

_COMMON: set[tuple[str, str]] = set()  # tables and terms: see `_standing`
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
    found = _standings(db, table, terms)
    present = sorted((one.count, number) for number, one in found.items())
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
    rarest = [terms[number] for number in _rarest_two(db, table, terms, found)]
    newest = _newest(db, table, " AND ".join(rarest)) or _newest(db, table, rarest[0]) or Query("")
    return replace(newest, whole=whole)


@dataclass(frozen=True, slots=True)
class _Standing:
    """In how many records a term stands, counted up to one more than `MATCHES`; of so common a term, at which rowid
    that many of the newest ones begin: the lower, the rarer."""

    count: int
    since: int


def _standings(db: sqlite3.Connection, table: str, terms: Sequence[str]) -> dict[int, _Standing]:
    """How common each term is that is found, by its number. A stem, which comes right after its word, is no rarer: that
    of a common word is not looked up."""
    found: dict[int, _Standing] = {}
    last = _Standing(0, 0)
    for number, term in enumerate(terms):
        if last.count <= MATCHES or not _is_stem(term):
            last = _standing(db, table, term)
        if last.count:
            found[number] = last
    return found


def _standing(db: sqlite3.Connection, table: str, term: str) -> _Standing:
    """Read no further than needed. (fts5vocab would read every place of a common word.)

    What was common the last time is asked first whether it still is, everything else how often it stands: mostly that
    is the only question. Only the order of the two depends on it, never what is found.
    """
    if (table, term) not in _COMMON and (count := _matches(db, table, term, MATCHES + 1)) <= MATCHES:
        return _Standing(count, 0)
    if since := db.execute(_newest_of(table), (term, MATCHES)).fetchone():
        if len(_COMMON) >= REMEMBERED:
            _COMMON.clear()
        _COMMON.add((table, term))
        return _Standing(MATCHES + 1, int(since[0]))
    _COMMON.discard((table, term))
    return _Standing(_matches(db, table, term, MATCHES), 0)


def _rarest_two(db: sqlite3.Connection, table: str, terms: Sequence[str], found: Mapping[int, _Standing]) -> list[int]:
    """The numbers of the rarest of the common terms, at most two."""
    own_stems = {number for number in found if number - 1 in found and _is_stem(terms[number])}
    rarest = sorted((found[number].since, number) for number in found if number not in own_stems)[:2]
    stem = rarest[0][1] + 1
    if stem in own_stems:
        rarest = sorted((*rarest, (_standing(db, table, terms[stem]).since, stem)))[:2]
    return [number for _, number in rarest]


def _is_stem(term: str) -> bool:
    return term.startswith("stems ")


def common(db: sqlite3.Connection, table: str, query: Query) -> Query:
    """The query for every term of another one, the newest records first: for when the rarest terms find too few."""
    return _newest(db, table, query.whole) or Query("") if query.whole else Query("")


def _newest(db: sqlite3.Connection, table: str, text: str) -> Query | None:
    """The query for the newest records that match; None when none does."""
    if last := db.execute(_newest_of(table), (text, NEWEST - 1)).fetchone():
        return Query(text, int(last[0]))
    return Query(text) if _matches(db, table, text, 1) else None


def _newest_of(table: str) -> str:
    """The rowid of the newest record that matches but for so many. Its parameters: the FTS5 query, how many."""
    return f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?"


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
