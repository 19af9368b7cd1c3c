"""Beliefs: what two or more independent authors agree on. One stream a belief; its facts stay what they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.event import Envelope, Event
from domain.ids import short_id

LOWEST, HIGHEST = 0.5, 0.95
AGREEMENT = 0.1  # what every further author adds to the mean confidence
AGREEMENT_LIMIT = 0.2


class BeliefEvent(Event):
    """What happens to one belief."""

    belief_id: str

    @property
    def record(self) -> str:
        return self.belief_id


class BeliefFormed(BeliefEvent, name="belief.belief-formed"):
    """`facts` by id, oldest first; `authors` who said so of their own, folded."""

    domain: str
    facts: tuple[str, ...]
    authors: tuple[str, ...]
    confidence: float


class BeliefRevised(BeliefEvent, name="belief.belief-revised"):
    """The same belief with other facts, authors or confidence."""

    facts: tuple[str, ...]
    authors: tuple[str, ...]
    confidence: float


class BeliefWithdrawn(BeliefEvent, name="belief.belief-withdrawn"):
    """Its facts are gone, or no longer of two authors."""


@dataclass(frozen=True, slots=True)
class Belief:
    """As it stands; not `live`: withdrawn, and as it was last."""

    belief_id: str
    domain: str
    facts: tuple[str, ...]
    authors: tuple[str, ...]
    confidence: float
    live: bool = True


def belief_id(*facts: str) -> str:
    return short_id("belief", *facts)


def belief_stream(belief: str) -> str:
    return f"belief/{belief}"


def confidence_of(confidences: Sequence[float], authors: int) -> float:
    """Mean + min(.2, .1·(n−1)) for n authors, within .5–.95 (knowledge.md, "Maintenance"); four digits."""
    mean = sum(confidences) / len(confidences)
    return round(min(HIGHEST, max(LOWEST, mean + min(AGREEMENT_LIMIT, AGREEMENT * (authors - 1)))), 4)


def evolve(belief: Belief | None, envelope: Envelope) -> Belief | None:
    event = envelope.event
    match event:
        case BeliefFormed():
            return Belief(event.belief_id, event.domain, event.facts, event.authors, event.confidence)
        case BeliefRevised() if belief is not None:
            return Belief(belief.belief_id, belief.domain, event.facts, event.authors, event.confidence)
        case BeliefWithdrawn() if belief is not None:
            return Belief(belief.belief_id, belief.domain, belief.facts, belief.authors, belief.confidence, False)
        case _:
            return belief


def fold(envelopes: Iterable[Envelope]) -> Belief | None:
    belief: Belief | None = None
    for envelope in envelopes:
        belief = evolve(belief, envelope)
    return belief


def become(now: Belief | None, wanted: Belief) -> tuple[Event, ...]:
    """What makes a belief as it is wanted out of what it is now (None: there never was one); nothing if it is."""
    if now is not None and now == wanted:
        return ()
    if not wanted.live:
        return (BeliefWithdrawn(belief_id=wanted.belief_id),) if now is not None and now.live else ()
    said = (wanted.facts, wanted.authors, wanted.confidence)
    if now is not None and now.live:
        facts, authors, confidence = said
        return (BeliefRevised(belief_id=now.belief_id, facts=facts, authors=authors, confidence=confidence),)
    return (
        BeliefFormed(
            belief_id=wanted.belief_id,
            domain=wanted.domain,
            facts=wanted.facts,
            authors=wanted.authors,
            confidence=wanted.confidence,
        ),
    )
