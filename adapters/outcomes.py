"""What a command came to, as every interface for programs tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.facts import Outcome
    from adapters.ledger import Committed

DENIED = "denied: the domain is closed to you, so you are not told what it met"


def committed_json(done: Committed, **more: object) -> dict[str, Any]:
    """What a command recorded, with `more` about it. `already`: an earlier run of the same command did."""
    return {
        "position": done.position,
        "already": done.already,
        "events": [
            {"position": envelope.position, "stream": envelope.stream, "type": envelope.event.kind}
            for envelope in done.envelopes
        ],
    } | more


def outcome_json(outcome: Outcome, done: Committed, *, dry_run: bool) -> dict[str, Any]:
    """What became of a proposal, with what was recorded."""
    if outcome.outcome == "recorded":  # nothing of what it met in a closed domain, not even by the kinds of events
        begun = done.envelopes[0].position  # how many follow it tells what was met
        return {"position": begun, "already": done.already, **proposal_json(outcome), "denied": DENIED}
    return committed_json(done, **proposal_json(outcome)) | ({"dry_run": True} if dry_run else {})


def proposal_json(outcome: Outcome) -> dict[str, Any]:
    """What became of a proposal, alone."""
    return {
        "outcome": outcome.outcome,
        "fact_id": outcome.fact_id,
        "domain": outcome.domain,
        "confidence": round(outcome.confidence, 6),
        "memory_type": outcome.memory_type or None,
        "echoed": outcome.echoed,
        "superseded": list(outcome.superseded),
        "superseded_by": outcome.superseded_by or None,
        "conflicts": [
            {"id": one.conflict_id, "facts": list(one.facts), "found": one.found, "state": one.state, "rule": one.rule}
            for one in outcome.conflicts
        ],
        "relations": [
            {
                "with": one.fact_id,
                "relation": one.relation.outcome,
                "finer": one.relation.finer,
                "reason": one.relation.explanation,
            }
            for one in outcome.relations
        ],
    }
