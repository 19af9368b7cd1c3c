"""The invariants of facts over forged ledgers: each history is honest up to one command that no decider would write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from adapters.conflicts import Conflicts
from adapters.consolidate import Consolidate
from adapters.facts import Facts
from adapters.harmonize import Harmonize
from adapters.health import Health
from adapters.ledger import By
from adapters.undo import Undo
from adapters.workspace import Workspace, create_workspace
from domain.belief import BeliefFormed, BeliefRevised, belief_stream
from domain.conflict_case import ConflictFound, ConflictReopened, ConflictResolved, conflict_id, conflict_stream
from domain.propose import NewFact
from domain.topic_events import FactEvent, FactMentioned, FactProposed, FactRestored, FactRetired, FactSuperseded
from domain.upkeep import RunUndone, run_stream
from projections.invariants import broken_invariants
from projections.verify import Finding
from tests.projections.forged import ADA, BO, CODER, Written, write

STREAM, OTHER = "topic/ops/retention", "topic/ops/elsewhere"
ONE, TWO, THREE = "fact-one", "fact-two", "fact-three"
PAIR = conflict_id(ONE, TWO)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """Three live facts of one topic, honestly proposed as far as the ledger tells."""
    with create_workspace(tmp_path, "default") as made:
        for fact_id in (ONE, TWO, THREE):
            write(made, CODER, said(fact_id))
        assert findings(made) == []
        yield made


def said(fact_id: str, stream: str = STREAM, content: str = "kept for 30 days") -> Written:
    fields = {"fact_id": fact_id, "domain": "ops", "topic": "retention", "content": content, "confidence": 0.7}
    known = {"memory_type": "fact", "veracity": "inferred", "author": "agent:coder"}
    return stream, FactProposed.model_validate(fields | known)


def of(event: FactEvent, stream: str = STREAM) -> Written:
    return stream, event


def superseded(fact_id: str, by: str) -> Written:
    return of(FactSuperseded(fact_id=fact_id, by=by, cause="conflict"))


def restored(fact_id: str) -> Written:
    return of(FactRestored(fact_id=fact_id))


def conflict(winner: str = "") -> Written:
    state = "decided" if winner else "open"
    event = {"conflict_id": PAIR, "facts": (ONE, TWO), "found": "contradiction", "rule": "r"}
    return conflict_stream(PAIR), ConflictFound.model_validate(event | {"winner": winner, "state": state})


def resolved(state: str, kept: str) -> Written:
    return conflict_stream(PAIR), ConflictResolved.model_validate({"conflict_id": PAIR, "state": state, "kept": kept})


def believed(*authors: str, facts: tuple[str, ...] = (ONE, TWO)) -> Written:
    event = BeliefFormed(belief_id="belief-1", domain="ops", facts=facts, authors=authors, confidence=0.8)
    return belief_stream("belief-1"), event


def findings(workspace: Workspace) -> list[str]:
    return [one.what for one in _found(workspace)]


def _found(workspace: Workspace) -> list[Finding]:
    return list(broken_invariants(workspace.ledger.page(0, 10_000)))


FORGED: dict[str, tuple[Sequence[Sequence[Written]], str]] = {
    "the words of a fact changed": ([[said(ONE, content="kept for 90 days")]], "fact-one was proposed twice"),
    "the words of a fact changed elsewhere": ([[said(ONE, OTHER)]], "fact-one was proposed twice"),
    "an event of a fact on another stream": (
        [[of(FactRetired(fact_id=ONE), OTHER)]],
        "fact_retired of fact-one is on topic/ops/elsewhere",
    ),
    "a mention of nothing": (
        [[of(FactMentioned(fact_id="fact-nine", veracity="stated", confidence=1.0, author="human:ada"))]],
        "fact_mentioned is about fact-nine, which is no fact",
    ),
    "superseded by nothing": ([[superseded(ONE, "fact-nine")]], "fact-one gave way to fact-nine"),
    "superseded by what came later": (
        [[superseded(ONE, "fact-four")], [said("fact-four")]],
        "fact-one gave way to fact-four, which was no other fact then",
    ),
    "superseded by itself": ([[superseded(ONE, ONE)]], "fact-one gave way to fact-one"),
    "two that replace each other": (
        [[superseded(ONE, TWO)], [superseded(TWO, ONE)]],
        "fact-two gave way to fact-one, which had given way to it",
    ),
    "a circle of three": (
        [[superseded(ONE, TWO)], [superseded(TWO, THREE)], [superseded(THREE, ONE)]],
        "fact-three gave way to fact-one, which had given way to it",
    ),
    "a loser that stays": ([[conflict(ONE)]], "fact-two lost a conflict and was live all the same"),
    "a loser that a person's word leaves": (
        [[conflict()], [resolved("kept", TWO)]],
        "fact-one lost a conflict and was live all the same",
    ),
    "a merge that leaves one": (
        [[conflict()], [resolved("merged", THREE), superseded(ONE, THREE)]],
        "fact-two lost a conflict and was live all the same",
    ),
    "a loser brought back in the same command": (
        [[conflict(ONE), superseded(TWO, ONE), restored(TWO)]],
        "fact-two lost a conflict and was live all the same",
    ),
    "a belief of one author": ([[believed("agent:a1")]], "belief-1 rests on fewer than two authors"),
    "a belief of one author, twice": ([[believed("agent:a1", "agent:a1")]], "belief-1 rests on fewer than two"),
    "a belief of no facts": ([[believed("agent:a1", "agent:a2", facts=())]], "belief-1 rests on"),
    "a belief of what is no fact": (
        [[believed("agent:a1", "agent:a2", facts=(ONE, "fact-nine"))]],
        "belief-1 rests on fewer than two authors, or on what is no fact",
    ),
    "a belief revised to one author": (
        [
            [believed("agent:a1", "agent:a2")],
            [
                (
                    belief_stream("belief-1"),
                    BeliefRevised(belief_id="belief-1", facts=(ONE,), authors=("agent:a1",), confidence=0.7),
                )
            ],
        ],
        "belief-1 rests on fewer than two authors",
    ),
    "undone what never ran": ([[(run_stream("run-1"), RunUndone(run_id="run-1"))]], "run-1 was undone, and was no run"),
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_no_decider_would_write_is_found(workspace: Workspace, forged: str) -> None:
    steps, expected = FORGED[forged]
    for step in steps:
        write(workspace, BO, *step)
    assert [what for what in findings(workspace) if expected in what], findings(workspace)


def test_verify_tells_it_with_what_mends_it(workspace: Workspace) -> None:
    write(workspace, BO, superseded(ONE, TWO))
    write(workspace, BO, superseded(TWO, ONE))
    (found,) = [one for one in Health(workspace).verify(with_index=False).findings if one.level == "invariant"]
    assert "tht fact restore fact-two" in found.mend


def test_what_is_restored_before_may_be_replaced_the_other_way_round(workspace: Workspace) -> None:
    for step in ([superseded(ONE, TWO)], [restored(ONE)], [superseded(TWO, ONE)], [restored(TWO)], [conflict()]):
        write(workspace, BO, *step)
    assert findings(workspace) == []


def test_what_the_commands_write_breaks_nothing(tmp_path: Path) -> None:
    with create_workspace(tmp_path, "default") as workspace:
        facts, agents = Facts(workspace), [By(f"agent:a{n}") for n in range(4)]

        def propose(content: str, topic: str, by: By) -> str:
            return facts.propose("ops", NewFact(content, topic, by.actor, veracity="inferred"), by)[0].fact_id

        first = propose("The audit log is kept for 30 days", "retention", agents[0])
        second = propose("The audit log is kept for 90 days", "retention", agents[1])
        facts.restore(first, ADA)
        pair, again = workspace.ledger.load(conflict_stream(conflict_id(first, second)))
        assert isinstance(pair.event, ConflictFound)
        assert isinstance(again.event, ConflictReopened)
        Conflicts(workspace).keep(pair.event.conflict_id, first, ADA)
        propose("the audit log is kept for 30 days!", "audit log", agents[2])
        propose("Backups run nightly", "backups", agents[2])
        propose("Backups run nightly on the replica", "backup", agents[3])
        merged = Consolidate(workspace).run(ADA)
        believed = Harmonize(workspace).run(ADA)
        Undo(workspace).run(merged.run_id, ADA)
        Undo(workspace).run(believed.run_id, ADA)
        facts.correct(first, NewFact("The audit log is kept for 40 days", "", "human:bo"), BO)
        assert findings(workspace) == []
        assert Health(workspace).verify(with_index=False).findings == ()
