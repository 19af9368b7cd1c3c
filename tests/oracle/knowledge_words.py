"""A small vocabulary whose texts are known by hand to say the same, more, the opposite or something close; and what a
proposal of one of them must come to."""

from __future__ import annotations

from datetime import datetime

from domain.propose import NewFact
from tests.oracle.knowledge_oracle import WEIGHTS, Data, moment

# By subject: what each text says of it, as (value, how far it goes); None is close to all of the others, and unsure.
SAID: dict[str, tuple[str, tuple[str, int] | None]] = {
    "The API listens on port 8080": ("api", ("8080", 0)),
    "the api listens on port 8080.": ("api", ("8080", 0)),
    "The API listens on port 8080 in production": ("api", ("8080", 1)),
    "The API listens on port 9090": ("api", ("9090", 0)),
    "Usually the API listens on port 8080": ("api", None),
    "Sessions are kept in Redis": ("sessions", ("kept", 0)),
    "Sessions are kept in Redis for one day": ("sessions", ("kept", 1)),
    "Sessions are not kept in Redis": ("sessions", ("not kept", 0)),
    "Sessions may be kept in Redis": ("sessions", None),
    "The database is PostgreSQL": ("database", ("postgresql", 0)),
    "The database is MySQL": ("database", ("mysql", 0)),
    "The budget was 3 in 2020": ("budget of 2020", ("3", 0)),
    "The budget was 4 in 2024": ("budget of 2024", ("4", 0)),
}
TEXTS = tuple(SAID)


def stands(one: str, other: str) -> str:
    """How two texts of the vocabulary stand to each other: same, refines, contradicts, unsure, distinct."""
    (subject, said), (another, claimed) = SAID[one], SAID[other]
    if subject != another:
        return "distinct"
    if said == claimed:
        return "same"
    if said is None or claimed is None:
        return "unsure"
    return "refines" if said[0] == claimed[0] else "contradicts"


def foretold(
    known: dict[str, Data], domain: str, new: NewFact, on_conflict: str, at: datetime
) -> tuple[str, set[str], str] | None:
    """What must come of a proposal at a time: its outcome, what it supersedes, what superseded it. None where the topic
    has a text that is not of the vocabulary, or several stand equally high."""
    stream = f"topic/{domain}/{new.topic.casefold()}"
    there = [fact for fact in known.values() if fact["stream"] == stream and fact["status"] == "live"]
    if any(fact["content"] not in SAID for fact in there):
        return None
    meeting = {name: fact for name, fact in known.items() if fact in there and not apart(fact, new, at)}
    how = {name: stands(fact["content"], new.content) for name, fact in meeting.items()}
    if any(how[name] == "same" and of_one(fact, new) for name, fact in meeting.items()):
        return "mentioned", set(), ""
    against = {name: height(fact) for name, fact in meeting.items() if how[name] == "contradicts"}
    if not against or on_conflict in ("keep_both", "ask"):
        return "proposed", set(), ""
    weight = WEIGHTS[new.veracity]
    own = weight * (weight if new.confidence is None else new.confidence)
    highest = [name for name, height in against.items() if height == max(against.values())]
    if on_conflict == "decide" and against[highest[0]] > own:
        return None if len(highest) > 1 else ("superseded_by_conflict", set(), highest[0])
    return "proposed", set(against), ""


def missed(known: dict[str, Data], pairs: set[frozenset[str]]) -> list[tuple[str, str]]:
    """Live facts of one topic that contradict each other at one time, and of which nobody is told. `pairs`: those whose
    conflict is open, or was settled so that both hold."""
    live = [(name, fact) for name, fact in known.items() if fact["status"] == "live" and fact["content"] in SAID]
    return [
        (one, other)
        for number, (one, fact) in enumerate(live)
        for other, against in live[number + 1 :]
        if fact["stream"] == against["stream"]
        and stands(fact["content"], against["content"]) == "contradicts"
        and not (ended_before(fact, against) or ended_before(against, fact))
        and frozenset((one, other)) not in pairs
    ]


def ended_before(fact: Data, other: Data) -> bool:
    return bool(fact["valid_until"] is not None and fact["valid_until"] <= other["held_from"])


def height(fact: Data) -> float:
    return float(fact["confidence"]) * WEIGHTS[fact["veracity"]]


def of_one(fact: Data, new: NewFact) -> bool:
    """Whether the same words are said of the same one, and for no other time."""
    begins, ends = (moment(one.isoformat()) if one else None for one in (new.valid_from, new.valid_until))
    return fact["about"] == new.about and begins in (None, fact["held_from"]) and ends in (None, fact["valid_until"])


def apart(fact: Data, new: NewFact, at: datetime) -> bool:
    """Whether one had ended before the other began."""
    begins, ends = ((moment(one.isoformat()) if one else None) for one in (new.valid_from or at, new.valid_until))
    return bool((fact["valid_until"] and fact["valid_until"] <= begins) or (ends and ends <= fact["held_from"]))
