"""What is asked of recall, and what a record brings to it. Every voice speaks of these, whatever the record is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, get_args

from domain.decay import CURVES, Curve
from domain.errors import InvalidInput
from projections.fact_queries import Wanted
from projections.recall.intent import Intent
from projections.recall.weights import DEFAULT, Weights
from projections.scope import Scope

Mode = Literal["keyword", "semantic", "hybrid"]
Kind = Literal["fact", "memory"]
KindName = Literal["fact", "memory", "all"]
MODES: tuple[Mode, ...] = get_args(Mode)
KINDS: dict[str, tuple[Kind, ...]] = {"fact": ("fact",), "memory": ("memory",), "all": ("fact", "memory")}


@dataclass(frozen=True, slots=True)
class Question:
    """A question with all that decides what may answer it, before anything is ranked.

    `wanted`: which facts, and at what time (`wanted.at`, ISO 8601 in UTC), which is also the time of asking for
    decay and for `last week`. `without`: refs that are not wanted. `repo`: slug of the caller's repository, whose facts
    count for more. `offset`: how many of the best are passed over.
    """

    text: str
    wanted: Wanted
    scope: Scope
    mode: Mode = "hybrid"
    kinds: tuple[Kind, ...] = ("fact",)
    limit: int = 5
    offset: int = 0
    explain: bool = False  # whether ranks in each voice are told
    repo: str = ""
    without: frozenset[str] = frozenset()
    curves: Mapping[str, Curve] = field(default_factory=lambda: CURVES)
    weights: Weights = DEFAULT
    intent: Intent | None = None  # where it is known already

    @property
    def now(self) -> datetime:
        return datetime.fromisoformat(self.wanted.at)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record that may answer. `ref` is `fact:…` or `memory:…`; `words` as the full-text table holds them.

    `active_at`: when it was last said (ISO 8601 in UTC); `memory_type` is empty for a memory, which does not age.
    """

    ref: str
    id: str
    kind: Kind
    place: int  # its row's number, which full-text tables use
    words: str
    domain: str
    memory_type: str
    confidence: float
    active_at: str
    held_from: str


def accept_mode(mode: str) -> Mode:
    """InvalidInput names the known modes."""
    for known in MODES:
        if mode == known:
            return known
    raise InvalidInput(f"{mode!r} is no mode of search", f"one of {', '.join(MODES)}")


def accept_kinds(kind: str) -> tuple[Kind, ...]:
    """InvalidInput names the known kinds."""
    if kind not in KINDS:
        raise InvalidInput(f"{kind!r} is no kind of record", f"one of {', '.join(KINDS)}")
    return KINDS[kind]
