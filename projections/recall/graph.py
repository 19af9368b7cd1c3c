"""Graph voice: what is linked with the strongest that words and meaning found, two steps in both directions.

A step is damped by the link's weight and by distance. It goes only through records that may answer themselves, so that
no walk leads through a domain that is closed to the reader.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from domain.text import memory_number
from projections.recall.question import Candidate, Question
from projections.recall.records import Source, may_answer
from projections.refs import FACT, MEMORY, id_of, ref_of
from projections.tables.links import LINKS

SEEDS = 5
STEPS = 2
DAMPING = 0.5  # a step
FAN = 20  # links of one record that are followed, the strongest
LOOKED_AT = 200  # links of one record that are looked at, as many may lead to what has ended or is closed


@dataclass(frozen=True, slots=True)
class Reached:
    """A record that links lead to. `strength`: 0 to 1; `via`: the ref one step before it."""

    candidate: Candidate
    strength: float
    via: str


def linked(
    db: sqlite3.Connection, sources: Sequence[Source], question: Question, seeds: Mapping[str, float]
) -> dict[str, Reached]:
    """The records within two steps of the seeds (ref and strength, 0 to 1), by ref, each by its strongest way."""
    reached: dict[str, Reached] = {}
    strengths = dict(seeds)
    edge = sorted(seeds)
    for _ in range(STEPS):
        links = {ref: _links(db, ref) for ref in edge}
        allowed = may_answer(db, sources, question, {target for found in links.values() for target, _ in found})
        ways = _ways(links, strengths, allowed.keys())
        edge = []
        for ref, (strength, via) in sorted(ways.items()):
            if strength > strengths.get(ref, 0.0):
                strengths[ref] = strength
                reached[ref] = Reached(allowed[ref], strength, via)
                edge.append(ref)
    return reached


def _links(db: sqlite3.Connection, ref: str) -> list[tuple[str, float]]:
    """Where a record's links lead, the strongest first: refs, whether they may answer or not."""
    statement = f"""SELECT other, max(weight) AS weight FROM (
        SELECT target AS other, weight FROM {LINKS} WHERE source = ?
        UNION ALL SELECT source, weight FROM {LINKS} WHERE target = ?
    ) GROUP BY other ORDER BY weight DESC, other LIMIT ?"""
    own = id_of(ref)
    return [
        (ref_of(MEMORY if memory_number(other) is not None else FACT, other), weight)
        for other, weight in db.execute(statement, (own, own, LOOKED_AT))
    ]


def _ways(
    links: Mapping[str, Sequence[tuple[str, float]]], strengths: Mapping[str, float], allowed: Collection[str]
) -> dict[str, tuple[float, str]]:
    """The strongest way to each record that may answer, ties by the ref it comes from. What may not takes no place."""
    ways: dict[str, tuple[float, str]] = {}
    for ref, found in links.items():
        for target, weight in [one for one in found if one[0] in allowed][:FAN]:
            strength = strengths[ref] * weight * DAMPING
            if strength > ways.get(target, (0.0, ""))[0]:
                ways[target] = (strength, ref)
    return ways
