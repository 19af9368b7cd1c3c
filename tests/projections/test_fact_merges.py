"""Who answers for what was merged, and how fresh it is, over random merges and restorations, against a naive count."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from domain.event import Envelope, Event, iso_utc
from domain.topic_events import FactMentioned, FactProposed, FactRestored, FactRetired, FactSuperseded
from projections.facts import FactsView
from projections.tables.facts import FACTS, MERGED
from projections.view import ViewsFile

START = datetime(2026, 3, 2, tzinfo=UTC)
FACT_IDS = tuple(f"fact-{n}" for n in range(8))


class Story:
    """Events applied to the view, and what they come to: who was merged into whom, and when each was last said."""

    def __init__(self) -> None:
        self.file = ViewsFile(None, [FactsView()], "")
        self.view, self.position = FactsView(), 0
        self.into: dict[str, str] = {}
        self.ended: set[str] = set()
        self.said: dict[str, str] = {}
        for fact_id in FACT_IDS:
            fields = {"fact_id": fact_id, "domain": "d", "topic": "t", "content": "c", "confidence": 0.5}
            known = {"memory_type": "fact", "veracity": "stated", "author": "agent:a"}
            self.said[fact_id] = self.apply(FactProposed.model_validate(fields | known))

    def apply(self, event: Event) -> str:
        self.position += 1
        at = START + timedelta(hours=self.position)
        envelope = Envelope("topic/d/t", 1, self.position, at, "agent:a", "", "", "", "", event)
        self.view.apply(self.file.db, envelope)
        return iso_utc(at)

    @property
    def live(self) -> list[str]:
        return [one for one in FACT_IDS if one not in self.into and one not in self.ended]

    def step(self, chance: Random) -> None:
        live, out = self.live, [one for one in FACT_IDS if one not in self.live]
        verb = chance.choice(("merge", "merge", "merge", "restore", "mention", "retire"))
        if verb == "merge" and len(live) > 1:
            loser, keeper = chance.sample(live, 2)
            self.apply(FactSuperseded(fact_id=loser, by=keeper, cause="merge"))
            self.into[loser] = keeper
        elif verb == "restore" and out:
            one = chance.choice(out)
            self.apply(FactRestored(fact_id=one))
            self.into.pop(one, None)
            self.ended.discard(one)
        elif verb == "mention" and live:
            one = chance.choice(live)
            self.said[one] = self.apply(FactMentioned(fact_id=one, veracity="stated", confidence=0.6, author="agent:b"))
        elif verb == "retire" and len(live) > 3:
            self.apply(FactRetired(fact_id=live[0]))
            self.ended.add(live[0])

    def top(self, fact_id: str) -> str:
        while fact_id in self.into:
            fact_id = self.into[fact_id]
        return fact_id

    def latest(self, fact_id: str) -> str:
        return max(self.said[one] for one in FACT_IDS if fact_id in self.upwards(one))

    def upwards(self, fact_id: str) -> list[str]:
        found = [fact_id]
        while found[-1] in self.into:
            found.append(self.into[found[-1]])
        return found


@pytest.mark.parametrize("seed", range(12))
def test_each_is_answered_by_the_last_of_its_chain(seed: int) -> None:
    chance, story = Random(seed), Story()
    for _ in range(60):
        story.step(chance)
        db = story.file.db
        id_at = {row["position"]: row["id"] for row in db.execute(f"SELECT id, position FROM {FACTS}")}
        merged = {id_at[row[0]]: id_at[row[1]] for row in db.execute(f"SELECT * FROM {MERGED}")}
        assert merged == {one: story.top(one) for one in story.into}
        confirmed = {row["id"]: row["confirmed_at"] for row in db.execute(f"SELECT id, confirmed_at FROM {FACTS}")}
        assert confirmed == {one: story.latest(one) for one in FACT_IDS}
