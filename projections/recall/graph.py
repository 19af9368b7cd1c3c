"""Graph voice: what is linked with the strongest that words and meaning found, two steps in both directions.

A step is damped by the link's weight and by distance. It goes only through records that may answer themselves, so that
no walk leads through a domain that is closed to the reader.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from projections.links import LINKS
from projections.recall.question import Candidate, Question, ref_of
from projections.recall.records import Source, may_answer

SEEDS = 5
STEPS = 2
DAMPING = 0.5  # a step
FAN = 20  # links of one record that are followed, the strongest


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
        ways = _ways(db, edge, strengths)
        allowed = may_answer(db, sources, question, ways.keys())
        edge = []
        for ref, (strength, via) in sorted(ways.items()):
            if ref in allowed and strength > strengths.get(ref, 0.0):
                strengths[ref] = strength
                reached[ref] = Reached(allowed[ref], strength, via)
                edge.append(ref)
    return reached


def _ways(db: sqlite3.Connection, edge: Sequence[str], strengths: Mapping[str, float]) -> dict[str, tuple[float, str]]:
    """Where one step leads from the refs at the edge: the strongest way to each, ties by the ref it comes from."""
    statement = f"""SELECT other, max(weight) AS weight FROM (
        SELECT target AS other, weight FROM {LINKS} WHERE source = ?
        UNION ALL SELECT source, weight FROM {LINKS} WHERE target = ?
    ) GROUP BY other ORDER BY weight DESC, other LIMIT ?"""
    ways: dict[str, tuple[float, str]] = {}
    for ref in edge:
        own = ref.partition(":")[2]
        for other, weight in db.execute(statement, (own, own, FAN)):
            target = ref_of("memory" if other.startswith("mem-") else "fact", other)
            strength = strengths[ref] * weight * DAMPING
            if strength > ways.get(target, (0.0, ""))[0]:
                ways[target] = (strength, ref)
    return ways
