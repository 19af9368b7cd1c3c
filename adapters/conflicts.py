"""Conflicts between facts: what a person decides about them, and what there is to decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from adapters.facts import Facts
from adapters.knowledge import require_human, seen_by
from adapters.ledger import By, Committed, Draft
from adapters.reviewers import require_reviewer
from adapters.topic_draft import TopicDraft
from adapters.workspace import Workspace
from domain import conflict_case, propose, topic
from domain.conflict_case import Conflict, ConflictResolved
from domain.errors import Refused, UnknownConflict
from domain.event import Event
from domain.propose import NewFact
from domain.topic import Fact
from domain.topic_events import FactRetired, FactSuperseded
from projections import conflicts, fact_queries
from projections.conflicts import ConflictRow
from projections.scope import Reader

STATES = ("open", "moot", "decided", "kept", "both", "merged", "withdrawn", "all")  # that a list may be asked for


@dataclass(frozen=True)
class Conflicts:
    """`token` proves the person, where `review.require_token` asks for it."""

    workspace: Workspace
    token: str = ""

    # -- commands, all of people

    def keep(self, conflict_id: str, fact_id: str, by: By) -> Committed:
        """One of the two stays, whichever lost before."""

        def decide(topics: TopicDraft, conflict: Conflict) -> Event:
            resolved = conflict_case.keep(conflict, fact_id)
            loser = next(one for one in conflict.facts if one != fact_id)
            _bring_back(topics, topics.fact(fact_id), conflict)
            _leave_merged(topics, conflict, topics.fact(fact_id))  # only now: else each would replace the other
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
            _leave_merged(topics, conflict, None)
            for fact_id in conflict.facts:
                _bring_back(topics, topics.fact(fact_id), conflict)
            return resolved

        return self._resolve(conflict_id, decide, by, ("conflicts.keep_both", conflict_id))

    def merge(self, conflict_id: str, content: str, by: By) -> tuple[str, Committed]:
        """A third fact says what both meant, in the newer one's topic; both give way to it. Its id comes first."""

        def decide(topics: TopicDraft, conflict: Conflict) -> Event:
            older, newer = (topics.fact(one) for one in conflict.facts)
            if older.about != newer.about:
                raise Refused(
                    f"{older.fact_id} and {newer.fact_id} are not about the same one",
                    "keep one or both: what is about one person must stay erasable by itself",
                )
            sources = (older.fact_id, newer.fact_id)
            said = NewFact(
                content,
                newer.topic,
                by.actor,
                by.role,
                None,
                newer.memory_type,
                "stated",
                sources,
                about=newer.about,
            )
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
        """Take a decision back: a merge with what it made; else the facts stay as they are until it is decided anew."""

        def decide(topics: TopicDraft, conflict: Conflict) -> Event:
            reopened = conflict_case.reopen(conflict)
            if conflict.state == "merged":
                _leave_merged(topics, conflict, None)
                for fact_id in conflict.facts:
                    _bring_back(topics, topics.fact(fact_id), conflict)
            return reopened

        return self._resolve(conflict_id, decide, by, ("conflicts.reopen", conflict_id))

    # -- queries

    def list(
        self, reader: Reader, *, state: str = "open", limit: int = -1, offset: int = 0
    ) -> tuple[list[ConflictRow], int, str]:
        """Conflicts that the reader may see, how many in all, and the notice when something is closed to them."""
        with seen_by(self.workspace, reader) as (db, scope):
            found, total = conflicts.list_conflicts(db, scope, state=state, limit=limit, offset=offset)
            return found, total, scope.denied

    def get(self, conflict_id: str, reader: Reader) -> dict[str, Any]:
        """A conflict with both facts side by side. AccessDenied when one is closed to the reader."""
        with seen_by(self.workspace, reader) as (db, scope):
            row = conflicts.find_conflict(db, conflict_id)
            if row is None:
                raise UnknownConflict(f"there is no conflict {conflict_id!r}")
            facts = [fact for fact in (fact_queries.find_fact(db, one) for one in row.facts) if fact]
            for fact in facts:
                scope.require(fact.domain)
            return row.as_json() | {"facts": [fact.as_json() for fact in fact_queries.as_seen(db, facts, scope)]}

    # -- parts

    def _resolve(
        self,
        conflict_id: str,
        decide: Callable[[TopicDraft, Conflict], Event],
        by: By,
        command: Sequence[object],
    ) -> Committed:
        require_human(by, "resolve conflicts")
        require_reviewer(self.workspace, by, self.token)
        self.workspace.caught_up()
        stream = conflict_case.conflict_stream(conflict_id)

        def work(draft: Draft) -> None:
            conflict = conflict_case.fold(draft.load(stream))
            if conflict is None:
                raise UnknownConflict(f"there is no conflict {conflict_id!r}")
            draft.append(stream, (decide(TopicDraft(self.workspace, draft), conflict),))

        return self.workspace.ledger.transact(work, by, command)


def _bring_back(topics: TopicDraft, fact: Fact, conflict: Conflict) -> None:
    """Live again when it was this conflict that ended it; what else it contradicts by now is an open conflict.
    FactNotLive when something else ended it."""
    ended_by = {*conflict.facts, conflict.winner}
    if fact.status == "superseded" and fact.superseded_by in ended_by and fact.ended_for in ("conflict", "merge"):
        topics.restore(fact.fact_id, settled=ended_by)
    else:
        topic.require_live(fact)


def _leave_merged(topics: TopicDraft, conflict: Conflict, kept: Fact | None) -> None:
    """What both were merged into gives way when the merge is taken back."""
    if conflict.state != "merged" or conflict.winner in conflict.facts:
        return
    merged = topics.fact(conflict.winner)
    if not merged.live:
        return
    if kept is None:
        ended: Event = FactRetired(fact_id=merged.fact_id, cause="undone")
    else:
        ended = FactSuperseded(fact_id=merged.fact_id, by=kept.fact_id, cause="conflict")
    topics.append(topics.stream_of(merged), (ended,))
