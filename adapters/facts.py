"""Commands on facts: propose one or many, supersede, correct, retire, restore, link. Reading is in `fact_reading`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from adapters.knowledge import load_domain, named_domain
from adapters.ledger import By, Committed, Draft
from adapters.workspace import Workspace
from domain import conflict_case, links, propose, topic
from domain.access import DomainName
from domain.conflict_case import ConflictFound
from domain.errors import HomeNotWritable, ThtError, UnknownFact
from domain.event import Event, iso_utc
from domain.propose import NewFact, OnConflict, Proposal
from domain.topic import Fact, Topic
from domain.topic_events import FactLinked, FactMentioned, FactProposed, FactSuperseded, LinkKind
from projections import fact_queries
from projections.counters import ShownLately
from projections.fact_queries import FactRow

NOMINATED = 30  # facts that a new one is compared with for links
BATCH = 200  # proposals to a transaction


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one proposal, as it is recorded. `relations`: why, fact by fact; empty on a retry."""

    outcome: str
    fact_id: str
    domain: str
    superseded: tuple[str, ...] = ()
    superseded_by: str = ""
    conflicts: tuple[ConflictFound, ...] = ()
    relations: tuple[propose.Related, ...] = ()
    confidence: float = 0.0
    echoed: bool = False
    memory_type: str = ""

    @property
    def alone(self) -> Outcome:
        """The outcome without the facts that it met."""
        return replace(self, superseded=(), superseded_by="", conflicts=(), relations=())


@dataclass(frozen=True, slots=True)
class Line:
    """One proposal of a file: where it stands, what it says; `error` when it cannot even be read."""

    number: int
    domain: str = ""
    repo: str = ""
    new: NewFact | None = None
    on_conflict: OnConflict = "decide"
    error: ThtError | None = None


@dataclass(frozen=True, slots=True)
class LineOutcome:
    number: int
    outcome: Outcome | None
    error: ThtError | None


@dataclass
class TopicDraft:
    """The topics of one command while it is decided: each is folded once and then follows what is appended."""

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
        stream = conflict_case.conflict_stream(conflict.conflict_id)
        self.draft.load(stream)
        events = conflict_case.find(conflict_case.fold(self.draft.so_far(stream)), conflict)
        self.draft.append(stream, events)

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

    def shown_to(self, author: str) -> ShownLately:
        """The facts that the author was shown so lately that saying them again is an echo."""
        hours = float(self.workspace.config.value("recall.echo_hours"))
        return ShownLately(self.workspace.file.db, author, iso_utc(self.draft.at - timedelta(hours=hours)))

    def domain(self, domain: str, repo: str) -> DomainName:
        """The domain that is meant, there or not, and made with its first grants when it is not."""
        if (domain, repo) not in self.names:
            name = named_domain(self.workspace, domain, repo)
            load_domain(self.draft, name, self.workspace)
            self.names[domain, repo] = name
        return self.names[domain, repo]

    def restore(self, fact_id: str) -> None:
        """Bring a fact back. A live one that it contradicts stays; a person decides between them."""
        fact = self.fact(fact_id)
        stream = self.stream_of(fact)
        restored = topic.restore(fact)
        for conflict in _against(self.topic(stream), fact):
            self.found(conflict)
        self.append(stream, (restored,))

    def stream_of(self, fact: Fact) -> str:
        return topic.topic_stream(fact.domain, fact.topic)


@dataclass(frozen=True)
class Facts:
    workspace: Workspace

    # -- proposing

    def propose(
        self, domain: str, new: NewFact, by: By, *, repo: str = "", on_conflict: OnConflict = "decide"
    ) -> tuple[Outcome, Committed]:
        """Propose one fact. UnknownRepoScope, InvalidInput, UnknownFact for a source that is none."""
        new = propose.checked(new)
        name = named_domain(self.workspace, domain, repo)
        found: list[Proposal] = []

        def work(draft: Draft) -> None:
            found[:] = [self.decide_on(TopicDraft(self.workspace, draft), domain, repo, new, on_conflict)]

        command = ("fact.propose", name.id, *_fields(new), on_conflict)
        done = self.workspace.ledger.transact(work, by, command)
        outcome = _outcomes(done)[0]
        return (outcome if done.already else replace(outcome, relations=found[0].related)), done

    def propose_many(
        self, lines: Iterable[Line], by: By, *, progress: Callable[[int], None] = lambda done: None
    ) -> Iterator[LineOutcome]:
        """Propose line after line; a line that is refused stops no other. A dry run decides all of them on one draft.

        Saved in batches of 200; with an idempotency key each line is a command of its own, so a retry finds each.
        """
        size = 1 if by.idempotency_key else BATCH
        batch: list[Line] = []
        done = 0
        for line in lines:
            batch.append(line)
            if len(batch) >= size and not by.dry_run:
                yield from self._propose_batch(batch, by)
                done += len(batch)
                progress(done)
                batch = []
        yield from self._propose_batch(batch, by)
        progress(done + len(batch))

    def _propose_batch(self, batch: list[Line], by: By) -> list[LineOutcome]:
        if not batch:
            return []
        self.workspace.caught_up()
        found: list[LineOutcome] = []

        def work(draft: Draft) -> None:
            found.clear()
            topics = TopicDraft(self.workspace, draft)
            for line in batch:
                draft.begin()
                found.append(self._propose_line(topics, line))

        if by.idempotency_key:
            by = replace(by, idempotency_key=f"{by.idempotency_key}:{batch[0].number}")
        command = [("fact.propose", one.domain, one.repo, *(_fields(one.new) if one.new else ())) for one in batch]
        done = self.workspace.ledger.transact(work, by, command)
        if done.already:
            return [LineOutcome(batch[0].number, _outcomes(done)[0], None)]
        return found

    def _propose_line(self, topics: TopicDraft, line: Line) -> LineOutcome:
        """Whatever is wrong with a line is found before anything of it is appended."""
        if line.error is not None or line.new is None:
            return LineOutcome(line.number, None, line.error)
        try:
            new = propose.checked(line.new)
            proposal = self.decide_on(topics, line.domain, line.repo, new, line.on_conflict)
        except ThtError as error:
            return LineOutcome(line.number, None, error)
        return LineOutcome(line.number, _outcome(proposal, topics.domain(line.domain, line.repo).id), None)

    def decide_on(self, topics: TopicDraft, domain: str, repo: str, new: NewFact, on_conflict: OnConflict) -> Proposal:
        """Decide about a checked proposal within a command and append what comes of it.

        Whatever may be refused is refused before anything is appended.
        """
        topic.topic_stream("", new.topic)
        for source in new.source_observation_ids:
            if source.startswith("fact-"):
                topics.fact(source)
        name = topics.domain(domain, repo)
        stream = topic.topic_stream(name.id, new.topic)
        known = topics.topic(stream)
        at = topics.draft.at
        proposal = propose.propose(
            known, name.id, new, at=at, shown=topics.shown_to(new.author), on_conflict=on_conflict
        )
        made = self._links(topics, proposal, new.content) if proposal.survives else ()
        topics.append(stream, (*proposal.events, *made))
        for conflict in proposal.conflicts:
            topics.found(conflict)
        return proposal

    def _links(self, topics: TopicDraft, proposal: Proposal, content: str) -> tuple[FactLinked, ...]:
        near = fact_queries.nominate(self.workspace.file.db, content, NOMINATED)
        others = {fact_id: text for fact_id, text in near if fact_id not in proposal.superseded}
        for fact in topics.fresh:
            if fact.live and propose.may_meet(fact.content, content):
                others[fact.fact_id] = fact.content
        others.pop(proposal.fact_id, None)
        refined = {link.to for event in proposal.events if isinstance(event, FactLinked) for link in event.links}
        found = links.related(content, ((one, text) for one, text in others.items() if one not in refined))
        made = (*found, *links.references(content, proposal.fact_id))
        return (FactLinked(fact_id=proposal.fact_id, links=made),) if made else ()

    # -- what becomes of a fact

    def supersede(self, old: str, new: str, by: By) -> Committed:
        """Let another fact take its place: it was true. Both may be of different topics."""

        def decide(topics: TopicDraft) -> None:
            one, other = topics.fact(old), topics.fact(new)
            chain = fact_queries.successors(self.workspace.file.db, new)
            topics.append(topics.stream_of(one), (topic.supersede(one, other, chain),))

        return self._transact(decide, by, ("fact.supersede", old, new))

    def correct(self, fact_id: str, new: NewFact, by: By) -> tuple[Outcome, Committed]:
        """Say it as it should have been said: the old one never held, a new one takes its place.

        `new` may leave topic, type and validity empty: they are the old one's.
        """
        found: list[Proposal] = []
        domain: list[str] = []

        def decide(topics: TopicDraft) -> None:
            old = topics.fact(fact_id)
            topic.require_live(old)
            changed = propose.checked(_completed(new, old))
            domain[:] = [old.domain]
            proposal = self.decide_on(topics, old.domain, "", changed, "supersede")
            found[:] = [proposal]
            ended = FactSuperseded(fact_id=fact_id, by=proposal.fact_id, cause="correction")
            topics.append(topics.stream_of(old), (ended,))

        done = self._transact(decide, by, ("fact.correct", fact_id, *_fields(new)))
        outcome = _outcomes(done)[0] if done.already else _outcome(found[0], domain[0])
        return outcome, done

    def retire(self, fact_id: str, by: By) -> Committed:
        """Take a fact out because it is wrong."""

        def decide(topics: TopicDraft) -> None:
            fact = topics.fact(fact_id)
            topics.append(topics.stream_of(fact), (topic.retire(fact),))

        return self._transact(decide, by, ("fact.retire", fact_id))

    def restore(self, fact_id: str, by: By) -> Committed:
        """Undo a supersession or retirement. A live fact that it contradicts stays; a person decides between them."""

        return self._transact(lambda topics: topics.restore(fact_id), by, ("fact.restore", fact_id))

    def link(self, fact_id: str, to: str, kind: LinkKind, weight: float, by: By) -> Committed:
        """A link by hand. UnknownFact when one of them is not there."""

        def decide(topics: TopicDraft) -> None:
            fact, other = topics.fact(fact_id), topics.fact(to)
            topics.append(topics.stream_of(fact), (topic.link(fact, other.fact_id, kind, weight),))

        return self._transact(decide, by, ("fact.link", fact_id, to, kind, weight))

    def unlink(self, fact_id: str, to: str, kind: LinkKind, by: By) -> Committed:
        def decide(topics: TopicDraft) -> None:
            fact = topics.fact(fact_id)
            topics.append(topics.stream_of(fact), (topic.unlink(fact, to, kind),))

        return self._transact(decide, by, ("fact.unlink", fact_id, to, kind))

    def _transact(self, decide: Callable[[TopicDraft], None], by: By, command: Sequence[object]) -> Committed:
        self.workspace.caught_up()
        return self.workspace.ledger.transact(lambda draft: decide(TopicDraft(self.workspace, draft)), by, command)


def find_fact(workspace: Workspace, fact_id: str) -> FactRow:
    """The fact as it is read. UnknownFact when there is none."""
    row = fact_queries.find_fact(workspace.caught_up(), fact_id)
    if row is None:
        raise UnknownFact(f"there is no fact {fact_id!r}")
    return row


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


def _completed(new: NewFact, old: Fact) -> NewFact:
    return replace(
        new,
        topic=new.topic or old.topic,
        memory_type=new.memory_type or old.memory_type,
        valid_from=new.valid_from or old.valid_from or old.at,
        valid_until=new.valid_until or old.valid_until,
        about=new.about or old.about,
        corrects=old.fact_id,
    )


def _fields(new: NewFact) -> tuple[object, ...]:
    times = tuple(iso_utc(one) if one else "" for one in (new.valid_from, new.valid_until))
    said = (new.content, new.topic, new.author, new.confidence, new.memory_type, new.veracity)
    return (*said, list(new.source_observation_ids), *times, new.about)


def _outcome(proposal: Proposal, domain: str) -> Outcome:
    first = proposal.events[0]
    assert isinstance(first, FactProposed | FactMentioned)
    return Outcome(
        proposal.outcome,
        proposal.fact_id,
        domain,
        proposal.superseded,
        proposal.superseded_by,
        proposal.conflicts,
        proposal.related,
        first.confidence,
        proposal.echoed,
        getattr(first, "memory_type", ""),
    )


def _outcomes(done: Committed) -> list[Outcome]:
    """What each command of a transaction came to, read back from its events: a retry is told the same again."""
    groups: dict[str, list[Event]] = {}
    domains: dict[str, str] = {}
    for envelope in done.envelopes:
        groups.setdefault(envelope.correlation_id, []).append(envelope.event)
        if envelope.stream.startswith("topic/"):
            domains.setdefault(envelope.correlation_id, envelope.stream[len("topic/") :].rpartition("/")[0])
    return [_read_back(events, domains.get(key, "")) for key, events in groups.items()]


def _read_back(events: Sequence[Event], domain: str) -> Outcome:
    first = next(event for event in events if isinstance(event, FactProposed | FactMentioned))
    ended = [event for event in events if isinstance(event, FactSuperseded)]
    lost = next((event.by for event in ended if event.fact_id == first.fact_id), "")
    outcome = "mentioned" if isinstance(first, FactMentioned) else "superseded_by_conflict" if lost else "proposed"
    return Outcome(
        outcome,
        first.fact_id,
        domain,
        tuple(event.fact_id for event in ended if event.by == first.fact_id and event.cause != "correction"),
        lost,
        tuple(event for event in events if isinstance(event, ConflictFound)),
        (),
        first.confidence,
        getattr(first, "echoed", False),
        getattr(first, "memory_type", ""),
    )
