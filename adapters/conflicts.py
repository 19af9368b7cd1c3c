"""Conflicts between facts: what a person decides about them, and what there is to decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.facts import Facts, TopicDraft
from adapters.knowledge import require_human, scope_for
from adapters.ledger import By, Committed, Draft
from adapters.workspace import Workspace
from domain import conflict_case, propose, topic
from domain.conflict_case import Conflict, ConflictResolved
from domain.errors import UnknownConflict
from domain.event import Event
from domain.propose import NewFact
from domain.topic import Fact
from domain.topic_events import FactRestored, FactSuperseded
from projections import conflicts, fact_queries
from projections.conflicts import ConflictRow
from projections.scope import Reader


@dataclass(frozen=True)
class Conflicts:
    workspace: Workspace

    # -- commands, all of people

    def keep(self, conflict_id: str, fact_id: str, by: By) -> Committed:
        """One of the two stays, whichever lost before."""

        def decide(topics: TopicDraft, conflict: Conflict) -> Event:
            resolved = conflict_case.keep(conflict, fact_id)
            loser = next(one for one in conflict.facts if one != fact_id)
            _bring_back(topics, topics.fact(fact_id))
            lost = topics.fact(loser)
            if lost.live:
                ended = FactSuperseded(fact_id=loser, by=fact_id, cause="conflict")
                topics.append(topics.stream_of(lost), (ended,))
            return resolved

        return self._resolve(conflict_id, decide, by, ("conflicts.keep", conflict_id, fact_id))

    def keep_both(self, conflict_id: str, by: By) -> Committed:
        """Both hold: it was no conflict."""

        def decide(topics: TopicDraft, conflict: Conflict) -> Event:
            resolved = conflict_case.keep_both(conflict)
            for fact_id in conflict.facts:
                _bring_back(topics, topics.fact(fact_id))
            return resolved

        return self._resolve(conflict_id, decide, by, ("conflicts.keep_both", conflict_id))

    def merge(self, conflict_id: str, content: str, by: By) -> tuple[str, Committed]:
        """A third fact says what both meant, in the newer one's topic; both give way to it. Its id comes first."""

        def decide(topics: TopicDraft, conflict: Conflict) -> Event:
            older, newer = (topics.fact(one) for one in conflict.facts)
            sources = (older.fact_id, newer.fact_id)
            said = NewFact(content, newer.topic, by.actor, by.role, None, newer.memory_type, "stated", sources)
            facts = Facts(self.workspace)
            proposal = facts.decide_on(topics, newer.domain, "", propose.checked(said), "keep_both")
            for fact in (topics.fact(older.fact_id), topics.fact(newer.fact_id)):
                if fact.live and fact.fact_id != proposal.fact_id:
                    ended = FactSuperseded(fact_id=fact.fact_id, by=proposal.fact_id, cause="merge")
                    topics.append(topics.stream_of(fact), (ended,))
            return conflict_case.merge(conflict, proposal.fact_id)

        done = self._resolve(conflict_id, decide, by, ("conflicts.merge", conflict_id, content))
        (resolved,) = done.events(ConflictResolved)
        return resolved.kept, done

    def reopen(self, conflict_id: str, by: By) -> Committed:
        """Undo a decision about it: the facts stay as they are until it is decided anew."""

        def decide(_: TopicDraft, conflict: Conflict) -> Event:
            return conflict_case.reopen(conflict)

        return self._resolve(conflict_id, decide, by, ("conflicts.reopen", conflict_id))

    # -- queries

    def list(
        self, reader: Reader, *, state: str = "open", limit: int = -1, offset: int = 0
    ) -> tuple[list[ConflictRow], int, str]:
        """Conflicts that the reader may see, how many in all, and the notice when something is closed to them."""
        scope = scope_for(self.workspace, reader)
        found, total = conflicts.list_conflicts(self.workspace.file.db, scope, state=state, limit=limit, offset=offset)
        return found, total, scope.denied

    def get(self, conflict_id: str, reader: Reader) -> dict[str, Any]:
        """A conflict with both facts side by side. AccessDenied when one is closed to the reader."""
        scope = scope_for(self.workspace, reader)
        db = self.workspace.file.db
        row = conflicts.find_conflict(db, conflict_id)
        if row is None:
            raise UnknownConflict(f"there is no conflict {conflict_id!r}")
        facts = [fact for fact in (fact_queries.find_fact(db, one) for one in row.facts) if fact]
        for fact in facts:
            scope.require(fact.domain)
        return row.as_json() | {"facts": [fact.as_json() for fact in facts]}

    # -- parts

    def _resolve(
        self,
        conflict_id: str,
        decide: Callable[[TopicDraft, Conflict], Event],
        by: By,
        command: Sequence[object],
    ) -> Committed:
        require_human(by, "resolve conflicts")
        self.workspace.caught_up()
        stream = conflict_case.conflict_stream(conflict_id)

        def work(draft: Draft) -> None:
            conflict = conflict_case.fold(draft.load(stream))
            if conflict is None:
                raise UnknownConflict(f"there is no conflict {conflict_id!r}")
            draft.append(stream, (decide(TopicDraft(self.workspace, draft), conflict),))

        return self.workspace.ledger.transact(work, by, command)


def _bring_back(topics: TopicDraft, fact: Fact) -> None:
    """Live again when it was superseded. FactNotLive when it was erased, or retired as wrong."""
    if fact.status == "superseded":
        topics.append(topics.stream_of(fact), (FactRestored(fact_id=fact.fact_id),))
    else:
        topic.require_live(fact)
