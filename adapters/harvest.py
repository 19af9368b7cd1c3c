"""`harvest`: a meeting's decisions as facts of one topic; those that are no longer listed are retired."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from adapters.facts import Facts
from adapters.json_lines import shown
from adapters.knowledge import scope_for
from adapters.ledger import By
from adapters.upkeep import Act, Part, Ran, Upkeep
from adapters.workspace import Workspace
from domain import propose, topic
from domain.conflict import relation
from domain.decay import usual_veracity
from domain.errors import InvalidInput, Unavailable
from domain.propose import NewFact
from domain.text import accept_id, accept_text
from domain.topic import Fact
from projections import fact_queries
from projections.scope import Reader

DECISIONS = "decisions"  # the domain


@dataclass(frozen=True)
class Harvest:
    workspace: Workspace

    def run(self, title: str, meeting: str, decisions: Sequence[str], by: By) -> Ran:
        """Make the topic of a meeting say what is listed. NothingChanged when it does; InvalidInput without a decision.

        AccessDenied where the domain is closed to the actor: what is retired is told.
        """
        scope_for(self.workspace, Reader(by.actor, by.role)).require(DECISIONS)
        name = f"{accept_text(title, 'title', required=True).strip()} ({accept_id(meeting, 'meeting id')})"
        topic.topic_stream(DECISIONS, name)
        listed = [accept_text(one, "decision", required=True).strip() for one in decisions]
        if not listed:
            raise InvalidInput("no decision is given", "name them, or give --file; tht fact retire takes one out")
        act: Act = partial(_harvest, Facts(self.workspace), name, listed)
        upkeep = Upkeep(self.workspace)
        return upkeep.carry_out("harvest", lambda: [act], by, ("harvest", name, *listed))


def _harvest(facts: Facts, name: str, listed: Sequence[str], part: Part) -> None:
    by = part.draft.by
    known = part.topics.topic(topic.topic_stream(DECISIONS, name))
    said = {decision: _standing_for(decision, tuple(known.facts.values()), part) for decision in listed}
    kept = {fact.fact_id for fact in said.values() if fact is not None}
    for fact in known.live:
        if fact.fact_id not in kept:
            part.topics.append(known.stream, (topic.retire(fact, "not_listed"),))
            part.told("retired", fact.fact_id)
    for decision, standing in said.items():
        if standing is None:
            new = NewFact(decision, name, by.actor, by.role, None, "decision", usual_veracity(by.actor))
            proposal = facts.decide_on(part.topics, DECISIONS, "", propose.checked(new), "ask")
            if proposal.outcome == "proposed":
                part.told("proposed", proposal.fact_id)
            for conflict in proposal.conflicts:
                part.told("conflicts", conflict.conflict_id)


def _standing_for(decision: str, known: Sequence[Fact], part: Part) -> Fact | None:
    """The fact that says this already, or what somebody put in its place, or that they took it out as wrong; None
    when it has to be proposed."""
    for fact in reversed(known):
        if fact.status == "erased" or relation(fact.content, decision).outcome != "same":
            continue
        if fact.live:
            return fact
        if fact.status == "superseded":
            for fact_id in fact_queries.successors(part.topics.workspace.file.db, fact.fact_id):
                if (successor := part.topics.fact(fact_id)).live:
                    return successor
            continue
        row = fact_queries.find_fact(part.topics.workspace.file.db, fact.fact_id)
        if row is not None and row.ended_for == "wrong":
            return fact
    return None


def read_decisions(path: Path) -> list[str]:
    """One decision a line, as text or as {"content": …}. Unavailable when it cannot be read; InvalidInput names a line
    that is neither."""
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}", "check its name and permissions") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path} is no UTF-8 text, at byte {error.start + 1}") from error
    return [_decision(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _decision(number: int, line: str) -> str:
    if not line.lstrip().startswith("{"):
        return line.strip()
    try:
        content = json.loads(line)["content"]
    except (ValueError, KeyError, RecursionError) as error:
        raise InvalidInput(shown(f'line {number} is no {{"content": …}}: {error}')) from error
    return accept_text(content, f"content in line {number}", required=True)
