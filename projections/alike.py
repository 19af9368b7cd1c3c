"""What else says a text that is to be erased: the same words, which go along, and what may say something alike.

Asked of the views `facts`, `notes` and `policies` together, whoever may read them: only ids are answered. What is
erased already says nothing any more, so it is never among the answers.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from heapq import nlargest

from domain.conflict import relation
from domain.links import telling_words
from domain.propose import may_meet
from projections.tables.facts import FACTS
from projections.tables.notes import ITEMS, OBSERVATIONS
from projections.tables.policies import POLICIES

COMPARED = 20  # erased texts that another fact of their topic is compared with: those with most words in common

_MERGED = f"""WITH RECURSIVE below (id) AS (
    SELECT id FROM {FACTS} WHERE superseded_by = ? AND superseded_by <> '' AND ended_for = 'merge'
    UNION SELECT f.id FROM {FACTS} f JOIN below ON f.superseded_by = below.id
        WHERE f.superseded_by <> '' AND f.ended_for = 'merge'
) SELECT id, content FROM {FACTS} JOIN below USING (id) WHERE status <> 'erased' ORDER BY position"""
_RAISED = f"SELECT id, fact_id, content FROM {ITEMS} WHERE fact_id <> '' AND state <> 'erased' ORDER BY position"
_READABLE = f"""SELECT 1 FROM {FACTS} WHERE id = :id AND status <> 'erased'
    UNION ALL SELECT 1 FROM {POLICIES} WHERE id = :id AND status <> 'erased'
    UNION ALL SELECT 1 FROM {ITEMS} WHERE id = :id AND state <> 'erased'
    UNION ALL SELECT 1 FROM {OBSERVATIONS} WHERE id = :id AND NOT erased"""
_FACTS = f"SELECT id, stream, content, superseded_by, corrects, sources, content_hash FROM {FACTS}"
_POLICIES = f"SELECT id, superseded_by, supersedes, derived_from FROM {POLICIES}"


class Alike:
    """One command's questions. What was raised from whose mind is read once for all of them."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._raised: dict[str, list[tuple[str, str]]] = {}  # by fact: id and text of the items
        for item_id, fact_id, text in db.execute(_RAISED):
            self._raised.setdefault(fact_id, []).append((item_id, text))

    def same_words(self, record: str) -> list[str]:
        """Of a fact: what was merged into it, and the items that it was raised from. Of an item: the fact that it was
        raised to. Those only that say the same as the record does."""
        said, others = self._made_of(record)
        return [one for one, text in others if relation(said, text).outcome == "same"]

    def is_readable(self, record: str) -> bool:
        """Whether it is a fact, policy, item or observation whose text is not erased."""
        return self._db.execute(_READABLE, {"id": record}).fetchone() is not None

    def near(self, taken: frozenset[str], cited: Iterable[str] = ()) -> list[str]:
        """The records beside those that are taken in which a text that goes may still be read, or be guessed from them.

        What took their place or gave way to them, what they correct or cite (`cited`: when they were mentioned) or
        are cited by, the same text elsewhere, and facts of the same topic that the conflict rules find to say the same,
        more or the contrary. Linear in the number of facts.
        """
        facts = [row for one in taken if (row := self._row(FACTS, one)) is not None]
        named = dict.fromkeys((*cited, *self._named_by(facts, taken), *self._naming(facts, taken)))
        found = {one: None for one in named if one not in taken and self.is_readable(one)}
        return [*found, *self._of_their_topics(facts, {*taken, *found})]

    def _row(self, table: str, record: str) -> sqlite3.Row | None:
        found: sqlite3.Row | None = self._db.execute(f"SELECT * FROM {table} WHERE id = ?", (record,)).fetchone()
        return found

    def _made_of(self, record: str) -> tuple[str, list[tuple[str, str]]]:
        """What a record says; and id and text of those that were made one with it, of it, or it of them."""
        if (fact := self._row(FACTS, record)) is not None:
            merged = [(str(own), str(text)) for own, text in self._db.execute(_MERGED, (record,))]
            return fact["content"], [*merged, *self._raised.get(record, [])]
        if (item := self._row(ITEMS, record)) is not None:
            fact = self._row(FACTS, item["fact_id"])
            raised = [] if fact is None or fact["status"] == "erased" else [(fact["id"], fact["content"])]
            return item["content"], raised
        return "", []

    def _named_by(self, facts: Iterable[sqlite3.Row], taken: Iterable[str]) -> Iterator[str]:
        """What the taken records name themselves."""
        for fact in facts:
            yield from (fact["superseded_by"], fact["corrects"], *json.loads(fact["sources"]))
            yield from (item_id for item_id, _ in self._raised.get(fact["id"], []))
        for record in taken:
            if (item := self._row(ITEMS, record)) is not None:
                yield item["fact_id"]
            if (policy := self._row(POLICIES, record)) is not None:
                yield from (policy["superseded_by"], policy["supersedes"], *json.loads(policy["derived_from"]))

    def _naming(self, facts: Iterable[sqlite3.Row], taken: frozenset[str]) -> Iterator[str]:
        """Facts and policies that name a taken record, and facts that say word for word what a taken one does."""
        texts = {fact["content_hash"] for fact in facts if fact["status"] != "erased"}
        for fact in self._db.execute(f"{_FACTS} WHERE status <> 'erased' ORDER BY position"):
            names = (fact["superseded_by"], fact["corrects"], *_listed(fact["sources"]))
            if fact["content_hash"] in texts or not taken.isdisjoint(names):
                yield fact["id"]
        for policy in self._db.execute(f"{_POLICIES} WHERE status <> 'erased' ORDER BY position"):
            names = (policy["superseded_by"], policy["supersedes"], *_listed(policy["derived_from"]))
            if not taken.isdisjoint(names):
                yield policy["id"]

    def _of_their_topics(self, facts: Iterable[sqlite3.Row], apart: Collection[str]) -> Iterator[str]:
        """Other facts of their topics, those that ended too, that stand to one of them as a conflict rule says."""
        said: dict[str, list[str]] = {}
        for fact in facts:
            if fact["status"] != "erased":
                said.setdefault(fact["stream"], []).append(fact["content"])
        for other in self._db.execute(f"{_FACTS} WHERE status <> 'erased' ORDER BY position"):
            texts = said.get(other["stream"], ())
            if texts and other["id"] not in apart and _stands_to_one(other["content"], texts):
                yield other["id"]


def _listed(ids: str) -> Sequence[str]:
    return () if ids == "[]" else json.loads(ids)


def _stands_to_one(content: str, texts: Sequence[str]) -> bool:
    words = telling_words(content)
    nearest = nlargest(COMPARED, texts, key=lambda text: len(words & telling_words(text)))
    met = (text for text in nearest if may_meet(text, content))
    return any(relation(text, content).outcome in ("same", "refines", "contradicts") for text in met)
