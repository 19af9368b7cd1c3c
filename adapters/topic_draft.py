"""One command on facts while it is decided: the topics that it loaded, as they become with what it appends."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property

from adapters.knowledge import load_domain, named_domain, scope_for
from adapters.ledger import Draft
from adapters.workspace import Workspace
from domain import conflict_case, propose, topic
from domain.access import DomainName
from domain.conflict_case import ConflictFound
from domain.errors import HomeNotWritable, UnknownFact
from domain.event import Event, iso_utc
from domain.propose import NewFact
from domain.topic import Fact, Topic
from domain.topic_events import FactProposed
from projections import fact_queries, notes
from projections.counters import ShownLately
from projections.scope import Reader, Scope


@dataclass
class TopicDraft:
    """Each topic is folded once and then follows what is appended."""

    workspace: Workspace
    draft: Draft
    topics: dict[str, Topic] = field(default_factory=dict)
    names: dict[tuple[str, str], DomainName] = field(default_factory=dict)
    fresh: list[Fact] = field(default_factory=list)  # proposed by this command: no view knows them yet

    def topic(self, stream: str) -> Topic:
        if stream not in self.topics:
            self.topics[stream] = topic.fold(stream, self.draft.load(stream))
        return self.topics[stream]

    def append(self, stream: str, events: Sequence[Event]) -> None:
        known = self.topic(stream)
        self.draft.append(stream, events)
        for event in events:
            known = topic.evolve(known, self.draft.envelope(stream, event))
            if isinstance(event, FactProposed):
                self.fresh.append(known.facts[event.fact_id])
        self.topics[stream] = known

    def found(self, conflict: ConflictFound) -> None:
        """Record a conflict, unless the pair is known."""
        self._case(conflict, conflict_case.find)

    def found_again(self, conflict: ConflictFound) -> None:
        """Record a conflict of two facts that are live side by side: one that was settled is open again."""
        self._case(conflict, conflict_case.find_again)

    def _case(self, conflict: ConflictFound, decide: conflict_case.Finding) -> None:
        stream = conflict_case.conflict_stream(conflict.conflict_id)
        self.draft.load(stream)
        self.draft.append(stream, decide(conflict_case.fold(self.draft.so_far(stream)), conflict))

    def fact(self, fact_id: str) -> Fact:
        """A fact from its own stream; the view only says which that is. UnknownFact when there is none."""
        for one in self.topics.values():
            if fact_id in one.facts:
                return one.facts[fact_id]
        row = fact_queries.find_fact(self.workspace.file.db, fact_id)
        if row is None:
            raise UnknownFact(f"there is no fact {fact_id!r}")
        found = self.topic(row.stream).facts.get(fact_id)
        if found is None:  # nothing is written on the word of a view
            raise HomeNotWritable(
                f"the view facts says that {fact_id} is of {row.stream}, which does not know it",
                "tht projection rebuild facts makes it anew",
            )
        return found

    def seen(self, fact_id: str) -> Fact:
        """A fact that the actor names. AccessDenied where its domain is closed to them."""
        fact = self.fact(fact_id)
        self.scope.require(fact.domain)
        return fact

    def require_source(self, source: str) -> None:
        """UnknownFact for a fact, observation or item that is not there; AccessDenied for a fact that is closed."""
        if source.startswith("fact-"):
            self.seen(source)
        elif source.startswith(("obs-", "item-")) and not notes.is_recorded(self.workspace.file.db, source):
            raise UnknownFact(f"there is no {source!r}", "tht notes show lists your observations")

    @cached_property
    def scope(self) -> Scope:
        """What the actor of the command may see: hints name nothing else. Of one moment for the whole try, with the
        views caught up: it may be another one, after others wrote."""
        by = self.draft.by
        return scope_for(self.workspace, Reader(by.actor, by.role))

    def shown_to(self, author: str) -> ShownLately:
        """The facts that the author was shown so lately that saying them again is an echo."""
        hours = float(self.workspace.config.value("recall.echo_hours"))
        return ShownLately(self.workspace.file.db, author, iso_utc(self.draft.at - timedelta(hours=hours)))

    def domain(self, domain: str, repo: str) -> DomainName:
        """The domain that is meant, there or not, and made with its first grants when it is not."""
        if (domain, repo) not in self.names:
            name = named_domain(self.workspace, domain, repo, self.scope, self.workspace.file.db)
            load_domain(self.draft, name, self.workspace)
            self.names[domain, repo] = name
        return self.names[domain, repo]

    def restore(self, fact_id: str, *, settled: Collection[str] = ()) -> None:
        """Bring a fact back. A live one that it contradicts stays; a person decides between them, unless this very
        command has `settled` how it stands to that one."""
        fact = self.fact(fact_id)
        stream = self.stream_of(fact)
        restored = topic.restore(fact)
        for conflict in _against(self.topic(stream), fact):
            if conflict.facts[0] not in settled:
                self.found_again(conflict)
        self.append(stream, (restored,))

    def stream_of(self, fact: Fact) -> str:
        return topic.topic_stream(fact.domain, fact.topic)


def _against(known: Topic, fact: Fact) -> list[ConflictFound]:
    """The conflicts of a fact that comes back with those that are live."""
    new = NewFact(fact.content, fact.topic, fact.author, valid_from=fact.valid_from, valid_until=fact.valid_until)
    found = []
    for one in propose.compared(known, new, fact.at):
        if one.relation.outcome in ("contradicts", "unsure"):
            pair = (one.fact_id, fact.fact_id)
            kind: conflict_case.Found = "contradiction" if one.relation.outcome == "contradicts" else "unsure"
            identity = conflict_case.conflict_id(*pair)
            found.append(ConflictFound(conflict_id=identity, facts=pair, found=kind, rule=one.relation.reason))
    return found
