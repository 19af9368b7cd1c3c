"""The recall engine: one ranking for memories and facts, for people's pages and agents' tools.

Voices nominate, evidence is added up, then come decay, confidence and the caller's repository, and last diversity.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Protocol

from domain.access import repo_of
from domain.decay import Curve, hours_between, recall_factor
from projections.index.port import Found, Vector
from projections.lexical import plain_words
from projections.recall import graph, temporal
from projections.recall.dates import Window, window_of
from projections.recall.diversity import alike_by_vector, alike_by_words, diversified, looked_at
from projections.recall.evidence import Evidence, Heard, lexical_evidence, relevance, weigh
from projections.recall.intent import Intent, intent_of
from projections.recall.likeness import likeness
from projections.recall.question import Candidate, Question
from projections.recall.records import Source, by_words, may_answer, sources

BY_WORDS = 100  # records that words nominate, at least
BY_MEANING = 50  # records that meaning nominates, at least
OWN_REPO = 1.35  # what a record of the caller's repository counts for
FIRST = 25  # places that the first nominations fill
GROWTH = 4  # how many times as many places the next ones fill
RANK_CONSTANT = 60  # of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)


NO_RANKS: Mapping[str, int] = MappingProxyType({})


class Meaning(Protocol):
    """The vector voice of one question: it nominates, and knows what is alike."""

    def nearest(self, count: int) -> Sequence[Found]:
        """The `count` nearest points, best first, filtered by what the index knows; fewer when that is all."""

    def of(self, refs: Sequence[str]) -> Sequence[Found]:
        """The points of some records, with their cosine."""

    def vectors(self, found: Sequence[Found]) -> Mapping[str, Vector]:
        """The vectors of such points, of length 1, by ref, as far as there are any."""


@dataclass(frozen=True, slots=True)
class Why:
    """How a hit came to its rank. Ranks, from 1, are of the voices that speak for it, where an explanation was asked.

    `evidence`: in standard deviations, by voice; `relevance` 0 to 1; `score` = relevance × decay × confidence × boost;
    `diversity`: what it paid for being like what stands above it.
    """

    heard: Heard
    ranks: Mapping[str, int]
    evidence: Evidence | None
    relevance: float
    decay: float
    confidence: float
    boost: float
    diversity: float

    @property
    def via(self) -> str:
        """The ref over which links led to it; empty when none did."""
        return self.heard.via

    def as_json(self) -> dict[str, object]:
        scores = _scores(self.heard)
        return {
            "voices": {voice: {"rank": self.ranks[voice], "score": round(scores[voice], 6)} for voice in self.ranks},
            "evidence": None
            if self.evidence is None
            else {
                voice: round(getattr(self.evidence, voice), 4)
                for voice in ("lexical", "vector", "temporal", "graph", "total")
            },
            "relevance": round(self.relevance, 6),
            "decay": round(self.decay, 6),
            "confidence": round(self.confidence, 6),
            "boost": self.boost,
            "diversity": round(self.diversity, 6),
            "via": self.via or None,
        }


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that answers; `score` 0 to 1.35."""

    candidate: Candidate
    score: float
    why: Why


@dataclass(frozen=True, slots=True)
class Ranking:
    """The hits of one page, best first; `more`: whether others come after them."""

    hits: tuple[Hit, ...]
    more: bool
    window: Window | None


@dataclass(slots=True)
class Pool:
    """The candidates of a question and what was heard of each, by ref, in the order in which they were nominated."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    heard: dict[str, Heard] = field(default_factory=dict)
    nearest: dict[str, Found] = field(default_factory=dict)  # the best point of each, where meaning knows one

    def add(self, candidate: Candidate) -> Heard:
        self.candidates.setdefault(candidate.ref, candidate)
        return self.heard.setdefault(candidate.ref, Heard())


def rank(db: sqlite3.Connection, question: Question, meaning: Meaning | None = None) -> Ranking:
    """The best records for a question. Without `meaning` the vector voice is silent. Two runs give the same answer.

    Evidence depends on what is nominated, and who asks for more has more nominated. So that pages of any size are parts
    of one order, the first places are filled from the first nominations, the next ones from more of what is left.
    """
    kinds, weighed = sources(question), question.mode == "hybrid"  # only there does what is wanted weigh the voices
    intent = question.intent or (intent_of(question.text) if weighed else "general")
    window = window_of(question.text, question.now) if weighed else None
    until, reach = question.offset + max(0, question.limit), FIRST
    placed: dict[str, Hit] = {}
    more = question.limit > 0
    while more and len(placed) < until:
        pool = _nominated(db, kinds, question, meaning, reach, intent, window)
        left = [hit for hit in _scored(question, pool, intent) if hit.candidate.ref not in placed]
        wanted = min(reach, until) - len(placed)
        best = _diverse(left, pool, meaning, wanted) if weighed else left[:wanted]
        placed |= {hit.candidate.ref: hit for hit in best}
        more = len(left) > len(best)
        reach *= GROWTH
    return Ranking(tuple(placed.values())[question.offset : until], more, window)


# -- nominating --------------------------------------------------------------------------------------------------------


def _nominated(
    db: sqlite3.Connection,
    kinds: Sequence[Source],
    question: Question,
    meaning: Meaning | None,
    reach: int,
    intent: Intent,
    window: Window | None,
) -> Pool:
    """The candidates for the first `reach` places, and what every voice of the mode says of each."""
    pool = Pool()
    for source in kinds:
        for candidate, score in by_words(db, source, question, max(BY_WORDS, 2 * reach), reach):
            pool.add(candidate).words = score
    if meaning is not None and question.mode != "keyword":
        _listen(db, kinds, question, meaning, pool, max(BY_MEANING, 2 * reach))
    _compare_letters(question, pool)
    if question.mode == "hybrid":
        _add_by_time(db, kinds, question, pool, intent, window)
        _add_by_links(db, kinds, question, pool, intent)
    return pool


def _listen(
    db: sqlite3.Connection, kinds: Sequence[Source], question: Question, meaning: Meaning, pool: Pool, enough: int
) -> None:
    """Nominations by meaning, more of them until enough may answer; then the cosines of what words nominated."""
    wanted = enough
    while True:
        found = meaning.nearest(wanted)
        allowed = may_answer(db, kinds, question, {one.ref for one in found})
        if len(allowed) >= enough or len(found) < wanted:
            break
        wanted *= 4
    missing = sorted(ref for ref in pool.candidates if ref not in allowed)
    for one in (*found, *(meaning.of(missing) if missing else ())):
        candidate = allowed.get(one.ref) or pool.candidates.get(one.ref)
        if candidate is None:
            continue
        heard = pool.add(candidate)
        if heard.cosine is None or one.score > heard.cosine:
            heard.cosine = one.score
            pool.nearest[one.ref] = one


def _compare_letters(question: Question, pool: Pool) -> None:
    texts = [candidate.words for candidate in pool.candidates.values()]
    for heard, score in zip(pool.heard.values(), likeness(plain_words(question.text), texts), strict=True):
        heard.letters = score


def _add_by_time(
    db: sqlite3.Connection,
    kinds: Sequence[Source],
    question: Question,
    pool: Pool,
    intent: Intent,
    window: Window | None,
) -> None:
    """How recent each candidate is; and what is recent besides, where the question is about time."""
    if intent == "temporal" or window is not None:
        for candidate in temporal.nominated(db, kinds, question, window):
            pool.add(candidate)
    now = question.now
    for ref, candidate in pool.candidates.items():
        heard = pool.heard[ref]
        if window is None:
            heard.time = temporal.recency(candidate, now)
        elif temporal.within(candidate, window):
            heard.time, heard.in_window = 1.0, True


def _add_by_links(
    db: sqlite3.Connection, kinds: Sequence[Source], question: Question, pool: Pool, intent: Intent
) -> None:
    told = [ref for ref, heard in pool.heard.items() if heard.told]
    found = weigh([pool.heard[ref] for ref in told], question.weights.by_intent[intent], question.weights.coverage)
    strengths = relevance([one.total for one in found])
    best = sorted(zip(told, strengths, strict=True), key=lambda one: (-one[1], one[0]))[: graph.SEEDS]
    for reached in graph.linked(db, kinds, question, dict(best)).values():
        heard = pool.add(reached.candidate)
        heard.link, heard.via = reached.strength, reached.via


# -- ranking -----------------------------------------------------------------------------------------------------------


def _scored(question: Question, pool: Pool, intent: Intent) -> list[Hit]:
    """Every candidate with its score, best first."""
    if question.mode == "semantic":
        return _fused_by_rank(question, pool)
    refs = list(pool.candidates)
    heard = [pool.heard[ref] for ref in refs]
    if question.mode == "keyword":
        evidence = [Evidence(one, 0.0, 0.0, 0.0, one) for one in lexical_evidence(heard)]
    else:
        evidence = weigh(heard, question.weights.by_intent[intent], question.weights.coverage)
    ranks = _ranks(pool) if question.explain else dict.fromkeys(refs, NO_RANKS)
    now, hits = question.now, []
    for ref, found, share in zip(refs, evidence, relevance([one.total for one in evidence]), strict=True):
        candidate = pool.candidates[ref]
        decay = _decay(candidate, now, question.curves)
        sure = 0.8 + 0.2 * candidate.confidence
        boost = OWN_REPO if question.repo and repo_of(candidate.domain) == question.repo else 1.0
        why = Why(pool.heard[ref], ranks[ref], found, share, decay, sure, boost, 0.0)
        hits.append(Hit(candidate, share * decay * sure * boost, why))
    return sorted(hits, key=_order)


def _order(hit: Hit) -> tuple[float, str]:
    return (-round(hit.score, 9), hit.candidate.ref)


def _decay(candidate: Candidate, now: datetime, curves: Mapping[str, Curve]) -> float:
    """What age leaves of a fact. A memory was approved by a person and holds until one retires it."""
    if not candidate.memory_type:
        return 1.0
    age = math.floor(hours_between(datetime.fromisoformat(candidate.active_at), now))  # whole: no order from seconds
    return recall_factor(candidate.memory_type, age, curves)


def _diverse(hits: Sequence[Hit], pool: Pool, meaning: Meaning | None, count: int) -> list[Hit]:
    compared = [hit.candidate.ref for hit in hits[: looked_at(count)]]
    known = [pool.nearest[ref] for ref in compared if ref in pool.nearest]
    vectors = meaning.vectors(known) if meaning is not None and known else {}  # of these few: they are long

    def alike(one: int, other: int) -> float:
        first, second = hits[one].candidate, hits[other].candidate
        own, theirs = vectors.get(first.ref), vectors.get(second.ref)
        if own is not None and theirs is not None:
            return alike_by_vector(own, theirs)
        return alike_by_words(first.words, second.words)

    logarithms = [math.log(max(hit.score, 1e-12)) for hit in hits]
    return [
        replace(hits[place], why=replace(hits[place].why, diversity=paid))
        for place, paid in diversified(logarithms, alike, count)
    ]


def _fused_by_rank(question: Question, pool: Pool) -> list[Hit]:
    """Mode `semantic`: reciprocal ranks of the lexical and the vector voice, neither decayed nor diversified.

    Meaning counts as much as the model knows the question's language: an English model does not spoil Greek.
    """
    parts = {"lexical": 1.0, "vector": question.weights.coverage}
    refs = list(pool.candidates)
    lexical = lexical_evidence([pool.heard[ref] for ref in refs])
    words = {ref: one for ref, one in zip(refs, lexical, strict=True) if pool.heard[ref].words > 0}
    cosines = {ref: score for ref in refs if (score := pool.heard[ref].cosine) is not None}
    ranks: dict[str, dict[str, int]] = {ref: {} for ref in refs}
    for voice, scores in (("lexical", words), ("vector", cosines)):
        for number, ref in enumerate(sorted(scores, key=lambda one: (-round(scores[one], 9), one)), 1):
            ranks[ref][voice] = number
    hits = []
    for ref in refs:
        score = math.fsum(parts[voice] / (RANK_CONSTANT + number) for voice, number in ranks[ref].items())
        why = Why(pool.heard[ref], ranks[ref], None, score, 1.0, 1.0, 1.0, 0.0)
        hits.append(Hit(pool.candidates[ref], score, why))
    return sorted(hits, key=_order)


def _scores(heard: Heard) -> dict[str, float]:
    cosine = 0.0 if heard.cosine is None else heard.cosine
    return {"lexical": heard.words, "vector": cosine, "temporal": heard.time, "graph": heard.link}


def _ranks(pool: Pool) -> dict[str, dict[str, int]]:
    """The rank of each candidate in each voice that speaks for it."""
    ranks: dict[str, dict[str, int]] = {ref: {} for ref in pool.candidates}
    for voice in ("lexical", "vector", "temporal", "graph"):
        scored = {ref: _scores(heard)[voice] for ref, heard in pool.heard.items()}
        speaking = [ref for ref, score in scored.items() if score > 0]
        for number, ref in enumerate(_best_first(speaking, scored), 1):
            ranks[ref][voice] = number
    return ranks


def _best_first(refs: Iterable[str], scores: Mapping[str, float]) -> list[str]:
    return sorted(refs, key=lambda ref: (-round(scores[ref], 9), ref))
