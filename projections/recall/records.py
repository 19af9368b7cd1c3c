"""The records that recall ranks, facts and memories alike: which may answer, and what is read of them.

Liveness, validity, domain, repository, grants and exclusions are conditions of every statement here: no voice ranks,
counts or walks through a record that may not answer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from domain.event import iso_utc
from projections import registry
from projections.fact_merges import ANSWERED_BY
from projections.lexical import common, filled, lexical_terms, query_of, ranked
from projections.recall.dates import Window
from projections.recall.question import Candidate, Kind, Question
from projections.refs import id_of, kind_of, ref_of
from projections.tables.facts import FACTS, TEXT
from projections.tables.registry import MEMORIES
from projections.tables.registry import TEXT as MEMORY_TEXT

_ASKED = 400  # ids in one statement


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of record for one question: where it stands, what of it may answer, what is read of it."""

    kind: Kind
    rows: str
    text: str
    place: str  # the column that full-text tables number rows by
    answers: str  # the row that a match at `number` stands for
    columns: str
    conditions: str
    values: tuple[object, ...]
    times: tuple[str, ...]  # columns that say when something happened to it


def sources(question: Question) -> list[Source]:
    """The sources of the kinds that are asked for."""
    makers = {"fact": _facts, "memory": _memories}
    return [makers[kind](question) for kind in question.kinds]


def _facts(question: Question) -> Source:
    conditions, values = question.wanted.conditions()
    seen, domains = question.scope.where("domain")
    plain = question.wanted.status == "live" and not question.wanted.past
    return Source(
        "fact",
        FACTS,
        TEXT,
        "position",
        ANSWERED_BY if plain else "number",
        "position AS place, id, domain, memory_type, confidence, confirmed_at AS active_at, held_from, words",
        f"{conditions} AND {seen}",
        (*values, *domains),
        ("confirmed_at", "held_from"),
    )


def _memories(question: Question) -> Source:
    past, moment = question.wanted.past, question.wanted.at
    return Source(
        "memory",
        MEMORIES,
        MEMORY_TEXT,
        "number",
        "hit.number",
        f"{MEMORIES}.number AS place, id, '' AS domain, '' AS memory_type, 1.0 AS confidence,"
        " timestamp AS active_at, timestamp AS held_from, words",
        registry.HELD if past else registry.LIVE,
        (moment, moment) if past else (),
        ("timestamp",),
    )


def by_words(
    db: sqlite3.Connection, source: Source, question: Question, enough: int, least: int
) -> list[tuple[Candidate, float]]:
    """At most `enough` of the best records by the words and stems they share with the question, with their BM25.

    Filters come before the count: where the rare words of the question find fewer than `least` that may answer, those
    that share its common words come after them.
    """
    query = query_of(db, source.text, lexical_terms(question.text))
    if not query.text:
        return []
    statement = f"""SELECT score, {source.columns} FROM ({ranked(source.text)}) hit CROSS JOIN {source.rows}
        ON {source.rows}.{source.place} = {source.answers} WHERE {source.conditions}"""
    without = {id_of(ref) for ref in question.without if kind_of(ref) == source.kind}
    rows = filled(db, source.text, statement, query, source.values, enough, without)
    if len(rows) < least and query.whole != query.text:
        others = common(db, source.text, query)
        known = without | {row["id"] for row in rows}
        rows += (
            filled(db, source.text, statement, others, source.values, enough - len(rows), known) if others.text else []
        )
    return [(_candidate(source, row), float(row["score"])) for row in rows]


def of_ids(db: sqlite3.Connection, source: Source, question: Question, ids: Iterable[str]) -> list[Candidate]:
    """Those of some records that may answer, in the order of their ids."""
    wanted = sorted({one for one in ids if ref_of(source.kind, one) not in question.without})
    found: list[Candidate] = []
    for start in range(0, len(wanted), _ASKED):
        asked = wanted[start : start + _ASKED]
        marks = ", ".join("?" * len(asked))
        statement = f"SELECT {source.columns} FROM {source.rows} WHERE id IN ({marks}) AND {source.conditions}"
        found += [_candidate(source, row) for row in db.execute(statement, (*asked, *source.values))]
    return sorted(found, key=lambda one: one.id)


def latest(
    db: sqlite3.Connection, source: Source, question: Question, window: Window | None, enough: int
) -> list[Candidate]:
    """The records to which something happened last, within a window of time if there is one, the latest first."""
    if window is None:
        statement = f"SELECT {source.columns} FROM {source.rows} WHERE {source.conditions} ORDER BY {source.place} DESC"
        return _unexcluded(source, question, db.execute(statement, source.values), enough)
    span = (iso_utc(window.start), iso_utc(window.end))
    found: dict[str, Candidate] = {}
    for column in source.times:
        statement = f"""SELECT {source.columns} FROM {source.rows} WHERE {column} >= ? AND {column} < ?
            AND {source.conditions} ORDER BY {column} DESC, {source.place} DESC"""
        for one in _unexcluded(source, question, db.execute(statement, (*span, *source.values)), enough):
            found[one.id] = one
    return sorted(found.values(), key=lambda one: (one.active_at, one.id), reverse=True)[:enough]


def _unexcluded(source: Source, question: Question, rows: Iterable[sqlite3.Row], enough: int) -> list[Candidate]:
    found: list[Candidate] = []
    for row in rows:
        if len(found) == enough:
            break
        if ref_of(source.kind, row["id"]) not in question.without:
            found.append(_candidate(source, row))
    return found


def _candidate(source: Source, row: sqlite3.Row) -> Candidate:
    return Candidate(
        ref_of(source.kind, row["id"]),
        row["id"],
        source.kind,
        row["place"],
        row["words"],
        row["domain"],
        row["memory_type"],
        row["confidence"],
        row["active_at"],
        row["held_from"],
    )


def may_answer(
    db: sqlite3.Connection, found: Sequence[Source], question: Question, refs: Collection[str]
) -> dict[str, Candidate]:
    """Those of some refs that may answer, by ref."""
    allowed: dict[str, Candidate] = {}
    for source in found:
        ids = [id_of(ref) for ref in refs if kind_of(ref) == source.kind]
        if ids:
            allowed |= {one.ref: one for one in of_ids(db, source, question, ids)}
    return allowed


def texts(db: sqlite3.Connection, found: Sequence[Source], question: Question) -> Iterator[tuple[str, str]]:
    """Ref and embedded text of every record that may answer: for a scan without the index."""
    for source in found:
        if source.kind == "fact":
            statement = f"SELECT id, content FROM {source.rows} WHERE {source.conditions} ORDER BY {source.place}"
            pairs = ((row["id"], row["content"]) for row in db.execute(statement, source.values))
        else:
            statement = f"SELECT * FROM {source.rows} WHERE {source.conditions} ORDER BY {source.place}"
            rows = db.execute(statement, source.values)
            pairs = ((row["id"], registry.record_of(row).index_text) for row in rows)
        for record_id, text in pairs:
            if (ref := ref_of(source.kind, record_id)) not in question.without:
                yield ref, text
