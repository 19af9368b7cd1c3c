"""`consolidate`: expire and raise what agents keep in mind, merge what says the same, prune what nobody needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from adapters.facts import Facts
from adapters.knowledge import curves
from adapters.ledger import By
from adapters.upkeep import Act, Part, Ran, Upkeep
from adapters.workspace import Workspace
from domain import hot, propose, topic
from domain.decay import usual_veracity
from domain.equivalents import Merge, merges
from domain.errors import InvalidInput
from domain.event import iso_utc
from domain.hot import Item, hot_stream
from domain.ids import slug_of
from domain.propose import NewFact
from domain.topic_events import RetiredFor
from projections import notes
from projections.notes import ItemRow
from projections.scope import everything
from projections.upkeep import ended, known_facts, unneeded

RAISED = "working-memory"  # the domain of what agents had in mind


@dataclass(frozen=True)
class Consolidate:
    workspace: Workspace

    def run(self, by: By) -> Ran:
        """One run. NothingChanged when there is nothing to do; AccessDenied where a domain is closed to the actor."""
        upkeep = Upkeep(self.workspace)
        upkeep.require_everything(by)
        return upkeep.carry_out("consolidate", self.plan, by, ("consolidate",))

    def plan(self) -> Sequence[Act]:
        """What there is to do now, by the views; every act looks again at the streams that it writes to.

        What is pruned is merged into nothing, and nothing into it.
        """
        db, at = self.workspace.file.db, iso_utc(self.workspace.clock())
        below = float(self.workspace.config.value("upkeep.prune_below"))
        decayed = unneeded(db, everything(), at, below, curves(self.workspace))
        gone = frozenset(decayed)
        staying = (fact for fact in known_facts(db, everything(), at) if fact.fact_id not in gone)
        return [
            *self._items(at),
            *(partial(_merge, one) for one in merges(staying)),
            *(partial(_prune, fact_id, "expired") for fact_id in ended(db, at, everything())),
            *(partial(_prune, fact_id, "decayed") for fact_id in decayed),
        ]

    def _items(self, at: str) -> list[Act]:
        threshold = float(self.workspace.config.value("upkeep.raise_from"))
        acts: list[Act] = []
        for item in notes.held_items(self.workspace.file.db):
            if item.expires_at is not None and item.expires_at <= at:
                acts.append(partial(_expire, item))
            elif item.importance >= threshold:
                acts.append(partial(_raise, Facts(self.workspace), item))
        return acts


def _expire(row: ItemRow, part: Part) -> None:
    stream = hot_stream(row.agent)
    item = part.item(stream, row.id)
    if item.state == "held":
        part.append(stream, (hot.expire(item, part.draft.at),))
        part.told("expired", row.id)


def _raise(facts: Facts, row: ItemRow, part: Part) -> None:
    """The item as a fact of the agent who remembered it, proposed as any other is."""
    stream = hot_stream(row.agent)
    item = part.item(stream, row.id)
    if item.state != "held":
        return
    new = propose.checked(
        NewFact(
            item.content,
            _topic_of(item),
            item.agent,
            "",
            item.importance,
            item.memory_type,
            usual_veracity(item.agent),
            (item.item_id,),
        )
    )
    proposal = facts.decide_on(part.topics, RAISED, "", new, "decide")
    part.append(stream, (hot.raise_to(item, proposal.fact_id),))
    part.told("raised", (row.id, proposal.fact_id))
    for conflict in proposal.conflicts:
        part.told("conflicts", conflict.conflict_id)


def _topic_of(item: Item) -> str:
    """Its session, where that can name a topic, else its type."""
    try:
        slug_of(item.session_id, "session")
    except InvalidInput:
        return item.memory_type
    return item.session_id


def _merge(merge: Merge, part: Part) -> None:
    loser, keeper = part.topics.fact(merge.loser), part.topics.fact(merge.keeper)
    if loser.live and keeper.live:
        superseded = topic.supersede(loser, keeper, (), "merge")
        part.topics.append(part.topics.stream_of(loser), (superseded,))
        part.told("merged", (loser.fact_id, keeper.fact_id))


def _prune(fact_id: str, cause: RetiredFor, part: Part) -> None:
    fact = part.topics.fact(fact_id)
    if fact.live:
        part.topics.append(part.topics.stream_of(fact), (topic.retire(fact, cause),))
        part.told("pruned", fact_id)
