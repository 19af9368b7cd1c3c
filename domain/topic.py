"""The facts of one (domain, topic), folded from one stream, so that two racing proposals cannot miss each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, get_args

from domain.decay import standing
from domain.erasure import TextErased
from domain.errors import FactNotLive, InvalidInput, NothingChanged, Refused, SupersessionLoop, UnknownFact
from domain.event import ERASED, Envelope, Event
from domain.ids import short_id, slug_of
from domain.text import same_actor
from domain.topic_events import (
    FactLinked,
    FactMentioned,
    FactMentionWithdrawn,
    FactProposed,
    FactRestored,
    FactRetired,
    FactSuperseded,
    FactUnlinked,
    Link,
    LinkKind,
    RetiredFor,
    SupersededFor,
)

Status = Literal["live", "superseded", "retired", "erased"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class Fact:
    """`confirmed_at`: when it was last said by somebody who had not just read it. `origins`: who said so."""

    fact_id: str
    domain: str
    topic: str
    content: str
    confidence: float
    memory_type: str
    veracity: str
    author: str
    at: datetime
    confirmed_at: datetime
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    about: str = ""
    status: Status = "live"
    superseded_by: str = ""
    ended_for: str = ""  # the cause of its supersession or retirement
    origins: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def live(self) -> bool:
        return self.status == "live"

    @property
    def standing(self) -> float:
        """What decides a contradiction: confidence × veracity weight."""
        return standing(self.confidence, self.veracity)


@dataclass(frozen=True, slots=True)
class Topic:
    """`facts` by id, in the order in which they were proposed."""

    stream: str
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def live(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self.facts.values() if fact.live)

    def next_id(self) -> str:
        return short_id("fact", self.stream, str(len(self.facts) + 1))

    def get(self, fact_id: str) -> Fact:
        fact = self.facts.get(fact_id)
        if fact is None:
            raise UnknownFact(f"there is no fact {fact_id!r}")
        return fact


def topic_stream(domain_id: str, topic: str) -> str:
    """InvalidInput when the topic has no letter or digit."""
    return f"topic/{domain_id}/{slug_of(topic, 'topic')}"


def fold(stream: str, envelopes: Iterable[Envelope]) -> Topic:
    facts: dict[str, Fact] = {}
    for envelope in envelopes:
        _apply(facts, envelope)
    return Topic(stream, facts)


def evolve(topic: Topic, envelope: Envelope) -> Topic:
    facts = dict(topic.facts)
    _apply(facts, envelope)
    return Topic(topic.stream, facts)


def _apply(facts: dict[str, Fact], envelope: Envelope) -> None:
    event = envelope.event
    if isinstance(event, FactProposed):
        facts[event.fact_id] = _proposed(event, envelope)
    elif isinstance(event, TextErased):
        if event.record in facts:
            facts[event.record] = replace(facts[event.record], status="erased", content=ERASED, about="")
    elif (fact_id := getattr(event, "fact_id", "")) in facts:
        facts[fact_id] = _changed(facts[fact_id], event, envelope)


def _proposed(event: FactProposed, envelope: Envelope) -> Fact:
    return Fact(
        event.fact_id,
        event.domain,
        event.topic,
        event.content,
        event.confidence,
        event.memory_type,
        event.veracity,
        event.author,
        envelope.at,
        envelope.at,
        event.valid_from,
        event.valid_until,
        event.about,
        origins=(event.author,),
    )


def _changed(fact: Fact, event: Event, envelope: Envelope) -> Fact:
    match event:
        case FactMentioned(echoed=False, author=author, confidence=confidence):
            known = any(same_actor(author, one) for one in fact.origins)
            origins = fact.origins if known else (*fact.origins, author)
            return replace(fact, confidence=confidence, confirmed_at=envelope.at, origins=origins)
        case FactMentionWithdrawn(confidence=confidence, confirmed_at=before, forgets=gone):
            origins = tuple(one for one in fact.origins if not (gone and same_actor(gone, one)))
            return replace(fact, confidence=confidence, confirmed_at=before, origins=origins)
        case FactSuperseded(by=by, cause=cause):
            return replace(fact, status="superseded", superseded_by=by, ended_for=cause)
        case FactRetired(cause=cause):
            return replace(fact, status="retired", superseded_by="", ended_for=cause)
        case FactRestored():
            return replace(fact, status="live", superseded_by="", ended_for="")
        case FactLinked(links=links):
            taken = {(link.to, link.kind) for link in links}
            return replace(fact, links=(*(one for one in fact.links if (one.to, one.kind) not in taken), *links))
        case FactUnlinked(to=to, kind_of_link=kind):
            return replace(fact, links=tuple(one for one in fact.links if (one.to, one.kind) != (to, kind)))
        case _:
            return fact


# -- decide ------------------------------------------------------------------------------------------------------------


def supersede(old: Fact, new: Fact, chain: Iterable[str], cause: SupersededFor = "by_hand") -> FactSuperseded:
    """`old` gives way to `new`. `chain`: the successors of `new`, one after the other, to find loops.

    Refused: itself, a loop (SupersessionLoop), one that is not live (FactNotLive).
    """
    if old.fact_id == new.fact_id:
        raise Refused(f"{old.fact_id} cannot take its own place", "name two different facts")
    if old.status == "superseded" and old.superseded_by == new.fact_id:
        raise NothingChanged(f"{old.fact_id} is superseded by {new.fact_id} already")
    if old.fact_id in chain:
        raise SupersessionLoop(
            f"{new.fact_id} was itself superseded by {old.fact_id}: they would replace each other",
            f"tht fact restore {new.fact_id} first",
        )
    require_live(old)
    require_live(new)
    return FactSuperseded(fact_id=old.fact_id, by=new.fact_id, cause=cause)


def retire(fact: Fact, cause: RetiredFor = "wrong") -> FactRetired:
    """Out because it was wrong. NothingChanged when it is out already."""
    if fact.status == "retired":
        raise NothingChanged(f"{fact.fact_id} is retired already")
    require_live(fact)
    return FactRetired(fact_id=fact.fact_id, cause=cause)


def restore(fact: Fact) -> FactRestored:
    """Live again, whatever ended it but an erasure."""
    if fact.live:
        raise NothingChanged(f"{fact.fact_id} is live already")
    if fact.status == "erased":
        raise FactNotLive(f"{fact.fact_id} was erased: nobody can read it any more", "propose it anew")
    return FactRestored(fact_id=fact.fact_id)


def withdraw_mention(now: Fact, before: Fact) -> FactMentionWithdrawn:
    """The last mention undone: `before` is the fact as it was until then."""
    new = [one for one in now.origins if not any(same_actor(one, known) for known in before.origins)]
    return FactMentionWithdrawn(
        fact_id=now.fact_id,
        confidence=before.confidence,
        confirmed_at=before.confirmed_at,
        forgets=new[0] if new else "",
    )


def link(fact: Fact, to: str, kind: LinkKind, weight: float) -> FactLinked:
    """A link by hand. NothingChanged when it is there with this weight."""
    if fact.fact_id == to:
        raise Refused(f"{to} cannot be linked to itself", "name two different facts")
    if not 0 <= weight <= 1:  # false for what is no number as well
        raise InvalidInput(f"a link's weight is a number from 0 to 1, not {weight!r}")
    require_live(fact)
    wanted = Link(to=to, kind=kind, weight=weight)
    if wanted in fact.links:
        raise NothingChanged(f"{fact.fact_id} is linked to {to} already")
    return FactLinked(fact_id=fact.fact_id, links=(wanted,), by_hand=True)


def unlink(fact: Fact, to: str, kind: LinkKind) -> FactUnlinked:
    if not any((one.to, one.kind) == (to, kind) for one in fact.links):
        raise NothingChanged(f"{fact.fact_id} has no link {kind} to {to}")
    return FactUnlinked(fact_id=fact.fact_id, to=to, kind_of_link=kind)


def require_live(fact: Fact) -> None:
    """FactNotLive says what became of it and what to do."""
    if fact.live:
        return
    if fact.status == "superseded":
        raise FactNotLive(
            f"{fact.fact_id} was superseded by {fact.superseded_by}",
            f"use {fact.superseded_by}, or tht fact restore {fact.fact_id}",
        )
    hint = f"tht fact restore {fact.fact_id} brings it back" if fact.status == "retired" else "propose it anew"
    raise FactNotLive(f"{fact.fact_id} is {fact.status}", hint)
