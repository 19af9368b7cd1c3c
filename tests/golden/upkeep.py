"""Samples of beliefs and runs of upkeep, and of what only their undoing records: see `tests.golden.samples`."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.belief import BeliefFormed, BeliefRevised, BeliefWithdrawn, belief_stream
from domain.conflict_case import ConflictWithdrawn, conflict_stream
from domain.event import Event
from domain.topic_events import FactMentionWithdrawn
from domain.upkeep import RunUndone, UpkeepRun, run_stream

RUN, BELIEF, CONFLICT = "run-k3m9x2p7qa4t", "belief-k3m9x2p7qa4t", "conflict-k3m9x2p7qa4t"
FACT, OTHER, ITEM = "fact-k3m9x2p7qa4t", "fact-aaaaaaaaaaaa", "item-k3m9x2p7qa4t"
AUTHORS = ("agent:coder-1", "human:μαρία")
BEFORE = datetime(2026, 2, 28, 9, 0, 0, 5, tzinfo=UTC)

RUNS: tuple[Event, ...] = (
    UpkeepRun(
        run_id=RUN,
        what="consolidate",
        finished=True,
        expired=(ITEM,),
        raised=((ITEM, FACT),),
        merged=((OTHER, FACT),),
        pruned=(FACT, OTHER),
        proposed=(FACT,),
        retired=(OTHER,),
        deactivated=("policy-k3m9x2p7qa4t",),
        formed=(BELIEF,),
        revised=(BELIEF,),
        withdrawn=(BELIEF,),
        conflicts=(CONFLICT,),
    ),
    RunUndone(run_id=RUN, finished=True, left=(FACT,)),
)
BELIEFS: tuple[Event, ...] = (
    BeliefFormed(
        belief_id=BELIEF, domain="repo:shop/αρχιτεκτονική", facts=(FACT, OTHER), authors=AUTHORS, confidence=0.85
    ),
    BeliefRevised(belief_id=BELIEF, facts=(FACT,), authors=AUTHORS, confidence=0.9),
    BeliefWithdrawn(belief_id=BELIEF),
)

UPKEEP: tuple[tuple[str, Event], ...] = (
    *((run_stream(RUN), event) for event in RUNS),
    *((belief_stream(BELIEF), event) for event in BELIEFS),
    (conflict_stream(CONFLICT), ConflictWithdrawn(conflict_id=CONFLICT)),
    (
        "topic/architecture/release",
        FactMentionWithdrawn(fact_id=FACT, confidence=0.7, confirmed_at=BEFORE, forgets=AUTHORS[1]),
    ),
)
