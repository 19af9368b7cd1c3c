"""Proposing a fact: it is compared with the live facts of its topic, and what it says decides what is recorded."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from domain.classify import memory_type as classified
from domain.conflict import Relation, relation
from domain.conflict_case import ConflictFound, conflict_id
from domain.decay import (
    GIVEN_VERACITIES,
    VERACITY_WEIGHTS,
    accept_confidence,
    curve_for,
    mentioned,
    standing,
    starting_confidence,
    veracity_weight,
)
from domain.errors import InvalidInput, NothingChanged
from domain.event import Event, UtcTime
from domain.language import CJK, fold
from domain.links import telling_words
from domain.text import accept_actor, accept_id, accept_text, has_unseen
from domain.topic import Fact, Topic
from domain.topic_events import FactLinked, FactMentioned, FactProposed, FactSuperseded, Link

Outcome = Literal["proposed", "mentioned", "superseded_by_conflict"]
OnConflict = Literal["decide", "supersede", "keep_both", "ask"]
ON_CONFLICT: tuple[OnConflict, ...] = ("decide", "supersede", "keep_both", "ask")
CONTENT_LIMIT = 100_000  # characters
SOURCES_LIMIT = 100
ASKED = 5  # facts close to a new one that are each put before a person
NEAREST = 100  # facts of a large topic that a new one is compared with word by word

_LONGER = re.compile(r"[^\W\d_]{4,}")
_UNSPACED = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class NewFact:
    """What somebody proposes. Empty type: classified from the text; no confidence: the weight of the veracity."""

    content: str
    topic: str
    author: str
    author_role: str = ""
    confidence: float | None = None
    memory_type: str = ""
    veracity: str = "stated"
    source_observation_ids: tuple[str, ...] = ()
    valid_from: UtcTime | None = None
    valid_until: UtcTime | None = None
    about: str = ""
    corrects: str = ""


@dataclass(frozen=True, slots=True)
class Related:
    """How the proposed text stands to one live fact of its topic, where that is not `distinct`."""

    fact: Fact
    relation: Relation

    @property
    def fact_id(self) -> str:
        return self.fact.fact_id


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a proposal comes to: `events` for the topic, one of `conflicts` a pair, each for a stream of its own."""

    outcome: Outcome
    fact_id: str
    events: tuple[Event, ...]
    conflicts: tuple[ConflictFound, ...] = ()
    related: tuple[Related, ...] = ()
    superseded: tuple[str, ...] = ()
    superseded_by: str = ""
    echoed: bool = False

    @property
    def survives(self) -> bool:
        return self.outcome == "proposed"


def checked(new: NewFact, *, imported: bool = False) -> NewFact:
    """The proposal as it can be recorded: trimmed, typed, its confidence set. InvalidInput says what is wrong.

    `imported`: old data may be of veracity unknown.
    """
    content = accept_text(new.content, "content", limit=CONTENT_LIMIT, required=True).strip()
    if all(has_unseen(sign) or sign.isspace() for sign in content):
        raise InvalidInput("content has no sign in it that anybody sees", "say what holds")
    if new.veracity not in GIVEN_VERACITIES and not (imported and new.veracity in VERACITY_WEIGHTS):
        raise InvalidInput(f"{new.veracity!r} is no veracity", f"one of {', '.join(GIVEN_VERACITIES)}")
    if new.confidence is not None:
        accept_confidence(new.confidence)
    memory_type = new.memory_type or classified(content)
    curve_for(memory_type)
    if len(new.source_observation_ids) > SOURCES_LIMIT:
        raise InvalidInput(f"a fact takes at most {SOURCES_LIMIT} sources")
    sources = tuple(dict.fromkeys(accept_id(one, "source") for one in new.source_observation_ids))
    if new.valid_from and new.valid_until and new.valid_until <= new.valid_from:
        raise InvalidInput("valid_until must be later than valid_from")
    return NewFact(
        content,
        " ".join(accept_text(new.topic, "topic", required=True).split()),
        accept_actor(new.author, "author"),
        new.author_role,
        starting_confidence(new.veracity, new.confidence),
        memory_type,
        new.veracity,
        sources,
        new.valid_from,
        new.valid_until,
        accept_id(new.about, "about") if new.about else "",
        new.corrects,
    )


def require_correction(changed: NewFact, old: Fact, *, given: NewFact) -> None:
    """NothingChanged when a correction, completed from the old fact, says just what that says, as surely and as long.

    `given`: what was said before it was completed.
    """
    unsaid = given.confidence is None and given.valid_from is None
    same = (changed.content, changed.veracity, changed.valid_until) == (old.content, old.veracity, old.valid_until)
    if unsaid and same:
        raise NothingChanged(f"{old.fact_id} says just that already")


def propose(
    topic: Topic,
    domain_id: str,
    new: NewFact,
    *,
    at: datetime,
    shown: Container[str] = (),
    on_conflict: OnConflict = "decide",
) -> Proposal:
    """What comes of a checked proposal at the time `at`.

    `shown`: ids of the facts that the author was shown lately; saying one of them again is an echo.
    """
    related = compared(topic, new, at)
    same = next((one for one in related if one.relation.outcome == "same"), None)
    if same is not None:
        return _mention(same, new, shown)
    fact_id = topic.next_id()
    proposed = FactProposed(
        fact_id=fact_id,
        domain=domain_id,
        topic=new.topic,
        content=new.content,
        confidence=_confidence(new),
        memory_type=new.memory_type,
        veracity=new.veracity,
        author=new.author,
        author_role=new.author_role,
        source_observation_ids=new.source_observation_ids,
        valid_from=new.valid_from,
        valid_until=new.valid_until,
        about=new.about,
        corrects=new.corrects,
    )
    finer = tuple(Link(to=one.fact_id, kind="refines") for one in related if one.relation.finer == "candidate")
    coarser = [
        FactLinked(fact_id=one.fact_id, links=(Link(to=fact_id, kind="refines"),))
        for one in related
        if one.relation.finer == "existing"
    ]
    links = [FactLinked(fact_id=fact_id, links=finer)] if finer else []
    return _settled(proposed, new, related, on_conflict, (*links, *coarser))


def compared(topic: Topic, new: NewFact, at: datetime) -> tuple[Related, ...]:
    """The live facts of the topic that the text is not distinct from, best known first, ties by id."""
    met = [
        fact
        for fact in topic.live
        if fact.fact_id != new.corrects and not _apart(fact, new, at) and may_meet(fact.content, new.content)
    ]
    if len(met) > NEAREST:
        met = _nearest(met, new.content)
    found = []
    for fact in met:
        how = relation(fact.content, new.content)
        if how.outcome != "distinct" and (how.outcome != "same" or _of_one(fact, new)):
            found.append(Related(fact, how))
    return tuple(sorted(found, key=lambda one: (-one.fact.standing, one.fact_id)))


def _nearest(facts: Sequence[Fact], content: str) -> list[Fact]:
    """Those that share most words with a text, ties by id: no rule fires between texts that share few of them."""
    own = telling_words(content)
    return sorted(facts, key=lambda fact: (-len(own & telling_words(fact.content)), fact.fact_id))[:NEAREST]


def may_meet(one: str, other: str) -> bool:
    """False only for texts without any longer word in common: no rule finds more than `distinct` between those."""
    left, right = _signs(one), _signs(other)
    return not left or not right or not left.isdisjoint(right)


@lru_cache(maxsize=4096)
def _signs(text: str) -> frozenset[str]:
    """The first four letters of the words that have as many: forms of one word share them. None where no spaces are."""
    folded = fold(text)
    return frozenset() if _UNSPACED.search(folded) else frozenset(word[:4] for word in _LONGER.findall(folded))


def _of_one(fact: Fact, new: NewFact) -> bool:
    """Whether the same words are a mention: about the same one, and for no other time than the fact holds for."""
    times = ((new.valid_from, fact.valid_from), (new.valid_until, fact.valid_until))
    return fact.about == new.about and all(given is None or given == held for given, held in times)


def _apart(fact: Fact, new: NewFact, at: datetime) -> bool:
    """Whether one had ended before the other began: then both may hold, each in its time."""
    begins = new.valid_from or at
    if fact.valid_until is not None and fact.valid_until <= begins:
        return True
    return new.valid_until is not None and new.valid_until <= (fact.valid_from or fact.at)


def _mention(same: Related, new: NewFact, shown: Container[str]) -> Proposal:
    fact = same.fact
    echoed = fact.fact_id in shown
    weight = veracity_weight(new.veracity)
    event = FactMentioned(
        fact_id=fact.fact_id,
        veracity=new.veracity,
        confidence=fact.confidence if echoed else mentioned(fact.confidence, weight),
        author=new.author,
        echoed=echoed,
        source_observation_ids=new.source_observation_ids,
    )
    return Proposal("mentioned", fact.fact_id, (event,), related=(same,), echoed=echoed)


def _settled(
    proposed: FactProposed,
    new: NewFact,
    related: tuple[Related, ...],
    on_conflict: OnConflict,
    links: Sequence[FactLinked],
) -> Proposal:
    fact_id = proposed.fact_id
    close = _closest([one for one in related if one.relation.outcome == "unsure"], new.content)
    unsure = [_conflict(fact_id, one, "unsure", "") for one in close]
    against = [one for one in related if one.relation.outcome == "contradicts"]
    if on_conflict in ("keep_both", "ask") and against:
        state: Literal["open", "both"] = "open" if on_conflict == "ask" else "both"
        kept = [_conflict(fact_id, one, "contradiction", "", state) for one in against]
        return Proposal("proposed", fact_id, (proposed, *links), (*kept, *unsure), related)
    own = standing(_confidence(new), new.veracity)
    stronger = [one for one in against if one.fact.standing > own] if on_conflict == "decide" else []
    if stronger:
        winner = stronger[0]
        lost = FactSuperseded(fact_id=fact_id, by=winner.fact_id, cause="conflict")
        decided = _conflict(fact_id, winner, "contradiction", winner.fact_id)
        return Proposal(
            "superseded_by_conflict", fact_id, (proposed, lost), (decided,), related, superseded_by=winner.fact_id
        )
    ended = [FactSuperseded(fact_id=one.fact_id, by=fact_id, cause="conflict") for one in against]
    rows = [_conflict(fact_id, one, "contradiction", fact_id) for one in against]
    losers = tuple(one.fact_id for one in against)
    return Proposal("proposed", fact_id, (proposed, *ended, *links), (*rows, *unsure), related, superseded=losers)


def _closest(related: Sequence[Related], content: str) -> list[Related]:
    """The few that a person is asked about: dozens of open questions about one fact would be answered by nobody."""
    if len(related) <= ASKED:
        return list(related)
    nearest = {fact.fact_id for fact in _nearest([one.fact for one in related], content)[:ASKED]}
    return [one for one in related if one.fact_id in nearest]


def _conflict(
    fact_id: str,
    one: Related,
    found: Literal["contradiction", "unsure"],
    winner: str,
    state: Literal["open", "decided", "both"] | None = None,
) -> ConflictFound:
    return ConflictFound(
        conflict_id=conflict_id(one.fact_id, fact_id),
        facts=(one.fact_id, fact_id),
        found=found,
        rule=one.relation.reason,
        winner=winner,
        state=state or ("decided" if winner else "open"),
    )


def _confidence(new: NewFact) -> float:
    return starting_confidence(new.veracity, new.confidence)
