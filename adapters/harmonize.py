"""`harmonize`: what independent authors agree on becomes a belief, what they contradict an open conflict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.upkeep import Act, Part, Ran, Upkeep
from adapters.workspace import Workspace
from domain import belief, conflict_case
from domain.belief import Belief, belief_stream, confidence_of
from domain.conflict_case import ConflictFound
from domain.equivalents import Known
from domain.errors import ModelUnavailable
from domain.event import iso_utc
from domain.harmony import Cosine, Dispute, Harmony, harmonised, no_vectors
from domain.text import actor_key
from projections import beliefs, conflicts, counters
from projections.beliefs import BeliefRow
from projections.fact_queries import find_fact
from projections.scope import everything
from projections.upkeep import known_facts


@dataclass(frozen=True)
class Harmonize:
    workspace: Workspace

    def run(self, by: By, *, embed: bool = False) -> Ran:
        """One run. NothingChanged when beliefs and conflicts are as they should be. With `embed`, what has no vector
        yet gets one first; else vectors count where they are there."""
        upkeep = Upkeep(self.workspace)
        upkeep.require_everything(by)
        return upkeep.carry_out("harmonize", lambda: self.plan(embed=embed), by, ("harmonize", embed))

    def plan(self, *, embed: bool = False) -> Sequence[Act]:
        db, at = self.workspace.file.db, iso_utc(self.workspace.clock())
        facts = [fact for fact in known_facts(db, everything(), at) if fact.holds[0] <= at]
        harmony = harmonised(facts, self._cosine(facts, embed=embed))
        return [*self._beliefs(harmony), *self._disputes(harmony)]

    def _cosine(self, facts: Sequence[Known], *, embed: bool) -> Cosine:
        """From the vectors that the cache has for the configured model; no model is loaded unless `embed`."""
        if not (embed or self.workspace.paths.vectors.exists()):
            return no_vectors
        embedder = Indexing.of(self.workspace).embedder
        texts = [fact.content for fact in facts]
        try:
            if embed:
                embedder.embed_documents(texts)
            by_text = embedder.known(texts)
        except ModelUnavailable:
            if embed:
                raise
            return no_vectors
        finally:
            embedder.close()
        vectors = {fact.fact_id: by_text[fact.content] for fact in facts if fact.content in by_text}
        return partial(_cosine_of, vectors) if vectors else no_vectors

    # -- beliefs

    def _beliefs(self, harmony: Harmony) -> Iterator[Act]:
        db = self.workspace.file.db
        there = beliefs.list_beliefs(db, everything())
        wanted = _matched([self._belief(cluster) for cluster in harmony.clusters], there)
        known = {row.id: row for row in there}
        for one in wanted:
            row = known.pop(one.belief_id, None)
            if row is None or (row.facts, row.authors, row.confidence) != (one.facts, one.authors, one.confidence):
                yield partial(_believe, one)
        for row in known.values():
            yield partial(_believe, Belief(row.id, row.domain, row.facts, row.authors, row.confidence, live=False))

    def _belief(self, cluster: tuple[Known, ...]) -> Belief | None:
        """None when nobody said it of their own but one: recalled text is no corroboration."""
        facts = tuple(fact.fact_id for fact in cluster)
        authors = self._independent(cluster)
        if len(authors) < 2:
            return None
        confidence = confidence_of([fact.confidence for fact in cluster], len(authors))
        return Belief(belief.belief_id(facts[0]), cluster[0].domain, facts, authors, confidence)

    def _independent(self, cluster: tuple[Known, ...]) -> tuple[str, ...]:
        """The authors without those who were shown one of the facts before they proposed another."""
        found: set[str] = set()
        for fact in cluster:
            row = find_fact(self.workspace.file.db, fact.fact_id)
            proposer = actor_key(row.author) if row else ""
            for author in fact.authors:
                others = [one.fact_id for one in cluster if one.fact_id != fact.fact_id]
                if author != proposer or not row or not self._shown_before(author, others, row.recorded_at):
                    found.add(author)
        return tuple(sorted(found))

    def _shown_before(self, author: str, facts: Sequence[str], at: str) -> bool:
        shown = (counters.first_shown(self.workspace.file.db, author, one) for one in facts)
        return any(one and one <= at for one in shown)

    # -- conflicts

    def _disputes(self, harmony: Harmony) -> Iterator[Act]:
        for dispute in harmony.disputes:
            pair = (dispute.older.fact_id, dispute.newer.fact_id)
            row = conflicts.find_conflict(self.workspace.file.db, conflict_case.conflict_id(*pair))
            if row is None or row.state == "withdrawn":
                yield partial(_dispute, dispute)


def _cosine_of(vectors: dict[str, list[float]], one: str, other: str) -> float | None:
    left, right = vectors.get(one), vectors.get(other)
    if left is None or right is None:
        return None
    product = sum(a * b for a, b in zip(left, right, strict=True))
    length = (sum(a * a for a in left) * sum(b * b for b in right)) ** 0.5
    return product / length if length else 0.0


def _matched(wanted: Sequence[Belief | None], there: Sequence[BeliefRow]) -> list[Belief]:
    """The beliefs that are wanted, each under the id of the one that shares most of its facts, so that it grows
    instead of being formed twice."""
    owner = {fact: row for row in there for fact in row.facts}
    taken: set[str] = set()
    found: list[Belief] = []
    for one in sorted((one for one in wanted if one), key=lambda one: (-len(one.facts), one.belief_id)):
        shared = Counter(owner[fact].id for fact in one.facts if fact in owner)
        choices = [name for name, _ in sorted(shared.items(), key=lambda item: (-item[1], item[0]))]
        fresh = (one.belief_id, belief.belief_id(*one.facts))
        known = {row.id for row in there}
        name = next(
            (name for name in choices if name not in taken),
            next((name for name in fresh if name not in taken and name not in known), fresh[1]),
        )
        taken.add(name)
        found.append(Belief(name, one.domain, one.facts, one.authors, one.confidence))
    return sorted(found, key=lambda one: one.belief_id)


def _believe(wanted: Belief, part: Part) -> None:
    """Look at its facts in their own streams first; what changed meanwhile is left to the next run."""
    if wanted.live and not all(part.topics.fact(fact_id).live for fact_id in wanted.facts):
        return
    stream = belief_stream(wanted.belief_id)
    now = belief.fold(part.draft.load(stream))
    events = belief.become(now, wanted)
    part.append(stream, events)
    for _ in events:
        what = "withdrawn" if not wanted.live else "revised" if now and now.live else "formed"
        part.told(what, wanted.belief_id)


def _dispute(dispute: Dispute, part: Part) -> None:
    pair = (dispute.older.fact_id, dispute.newer.fact_id)
    if not all(part.topics.fact(fact_id).live for fact_id in pair):
        return
    identity = conflict_case.conflict_id(*pair)
    before = len(part.draft.added)
    part.topics.found(ConflictFound(conflict_id=identity, facts=pair, found="cross_agent", rule=dispute.rule))
    if len(part.draft.added) > before:
        part.told("conflicts", identity)
