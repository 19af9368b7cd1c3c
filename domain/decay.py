"""How facts age and how sure they are: the Weibull table, veracity weights, confidence (knowledge.md, "Facts").

Pure: the age is given, nobody looks at a clock (README.md, invariant 10).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from domain.errors import InvalidInput

FLOOR = 0.02  # what decay leaves of a fact's score, so that nothing old vanishes
MENTION_STEP = 0.3  # the part of the distance to certainty that one stated mention closes


@dataclass(frozen=True, slots=True)
class Curve:
    """survival(age) = exp(−(age/η)^k): `k` bends it, `eta` is the age in hours at which 1/e is left."""

    k: float
    eta: float

    def survival(self, age_hours: float) -> float:
        """1 for a fact just confirmed, towards 0; an age before the confirmation counts as 0 hours."""
        return math.exp(-((max(age_hours, 0.0) / self.eta) ** self.k))

    def age_at(self, survival: float) -> float:
        """The age in hours at which `survival` (over 0, at most 1) is left: the inverse, for pruning by one date."""
        return self.eta * float((-math.log(survival)) ** (1 / self.k))


CURVES: Mapping[str, Curve] = MappingProxyType(
    {
        "fact": Curve(0.8, 720),
        "profile": Curve(0.3, 8760),
        "preference": Curve(0.4, 4380),
        "decision": Curve(1.0, 336),
        "commitment": Curve(1.0, 240),
        "goal": Curve(0.9, 720),
        "event": Curve(1.2, 168),
        "instruction": Curve(0.35, 8760),
        "relationship": Curve(0.35, 8760),
        "context": Curve(0.85, 360),
        "learning": Curve(0.7, 1440),
        "observation": Curve(0.9, 480),
        "error": Curve(1.1, 336),
        "artifact": Curve(0.75, 2160),
        "request": Curve(1.5, 72),
        "unknown": Curve(1.0, 168),
    }
)
MEMORY_TYPES = tuple(CURVES)

VERACITY_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {"stated": 1.0, "inferred": 0.7, "imported": 0.6, "tool": 0.5, "unknown": 0.8}
)
GIVEN_VERACITIES = ("stated", "inferred", "imported", "tool")  # `unknown` is only for imported old data


def parse_curve(text: str) -> Curve:
    """`0.8 720`: k and η in hours, both over 0. InvalidInput says what is taken."""
    try:
        k, eta = (float(part) for part in text.split())
    except ValueError:
        raise InvalidInput(f"{text!r} is no curve", "write k and η in hours, as in: 0.8 720") from None
    if not (0 < k <= 10 and 0 < eta < float("inf")):
        raise InvalidInput(f"{text!r} is no curve: k is over 0 and at most 10, η over 0 hours")
    return Curve(k, eta)


def curve_for(memory_type: str, curves: Mapping[str, Curve] = CURVES) -> Curve:
    """The curve of a memory type; InvalidInput names the known ones."""
    found = curves.get(memory_type)
    if found is None:
        raise InvalidInput(f"{memory_type!r} is no memory type", f"one of {', '.join(curves)}")
    return found


def survival(memory_type: str, age_hours: float, curves: Mapping[str, Curve] = CURVES) -> float:
    """What is left, 0 to 1, of a fact `age_hours` after it was last confirmed."""
    return curve_for(memory_type, curves).survival(age_hours)


def recall_factor(memory_type: str, age_hours: float, curves: Mapping[str, Curve] = CURVES) -> float:
    """What recall multiplies a score with, 0.02 to 1: 0.02 + 0.98 · survival."""
    return FLOOR + (1 - FLOOR) * survival(memory_type, age_hours, curves)


def hours_between(earlier: datetime, later: datetime) -> float:
    """The age in hours at `later` of what was confirmed at `earlier`; both with a zone."""
    return (later - earlier).total_seconds() / 3_600


def veracity_weight(veracity: str) -> float:
    """0.5 to 1; InvalidInput names the known ones."""
    weight = VERACITY_WEIGHTS.get(veracity)
    if weight is None:
        raise InvalidInput(f"{veracity!r} is no veracity", f"one of {', '.join(GIVEN_VERACITIES)}")
    return weight


def usual_veracity(actor: str) -> str:
    """How what an actor says is known, when they do not say: stated by a person, inferred by an agent, from a tool."""
    return {"human": "stated", "agent": "inferred", "tool": "tool"}[actor.partition(":")[0]]


def accept_confidence(value: float) -> float:
    """`value` if it is a number from 0 to 1, else InvalidInput."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"confidence must be a number from 0 to 1, not {value!r}")
    return float(value)


def starting_confidence(veracity: str, given: float | None = None) -> float:
    """The caller's confidence, else the weight of how it is known."""
    weight = veracity_weight(veracity)
    return weight if given is None else accept_confidence(given)


def mentioned(confidence: float, weight: float) -> float:
    """The confidence after one more mention of veracity `weight`: min(1, c + (1 − c) · w · 0.3)."""
    return min(1.0, confidence + (1 - confidence) * weight * MENTION_STEP)


def standing(confidence: float, veracity: str) -> float:
    """What decides a contradiction, 0 to 1: confidence × veracity weight; on a tie the later fact wins."""
    return confidence * veracity_weight(veracity)
