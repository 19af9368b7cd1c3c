"""Commands on facts: propose one or many, supersede, correct, retire, restore, link. Reading is in `fact_reading`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from adapters.knowledge import named_domain, scope_for
from adapters.ledger import By, Committed, Draft
from adapters.topic_draft import TopicDraft
from adapters.workspace import Workspace
from domain import links, propose, topic
from domain.conflict_case import ConflictFound
from domain.errors import ThtError
from domain.event import Event, iso_utc
from domain.propose import NewFact, OnConflict, Proposal
from domain.topic import Fact
from domain.topic_events import FactLinked, FactMentioned, FactProposed, FactSuperseded, LinkKind
from projections import fact_queries
from projections.scope import Reader

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
    def untold(self) -> Outcome:
        """What whoever may not read the domain is told: that it was recorded, not what it met there."""
        return Outcome("recorded", "", self.domain)


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

    @property
    def untold(self) -> LineOutcome:
        return replace(self, outcome=self.outcome and self.outcome.untold)


@dataclass(frozen=True)
class Facts:
    workspace: Workspace

    # -- proposing

    def propose(
        self, domain: str, new: NewFact, by: By, *, repo: str = "", on_conflict: OnConflict = "decide"
    ) -> tuple[Outcome, Committed]:
        """Propose one fact. UnknownRepoScope, InvalidInput, UnknownFact for a source that is none."""
        new = propose.checked(new)
        db = self.workspace.caught_up()
        scope = scope_for(self.workspace, Reader(by.actor, by.role), db)
        name = named_domain(self.workspace, domain, repo, scope, db)
        found: list[Proposal] = []

        def work(draft: Draft) -> None:
            found[:] = [self.decide_on(TopicDraft(self.workspace, draft), domain, repo, new, on_conflict)]

        command = ("fact.propose", name.id, *_fields(new), on_conflict)
        done = self.workspace.ledger.transact(work, by, command)
        outcome = _outcomes(done)[0]
        if not scope.sees(name.id):
            return outcome.untold, done
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
        command = [_command(one) for one in batch]
        done = self.workspace.ledger.transact(work, by, command)
        if done.already:
            found = [LineOutcome(batch[0].number, _outcomes(done)[0], None)]
        scope = scope_for(self.workspace, Reader(by.actor, by.role), self.workspace.file.db)
        return [one if one.outcome is None or scope.sees(one.outcome.domain) else one.untold for one in found]

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
            topics.require_source(source)
        name = topics.domain(domain, repo)
        if topics.draft.by.dry_run:
            topics.scope.require(name.id)  # asking only what would come of it is reading
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
        scope = topics.scope
        with self.workspace.file.reading() as db:  # its many questions see one state, and cost less together
            near = fact_queries.nominate(db, content, scope, NOMINATED)
        others = {fact_id: text for fact_id, text in near if fact_id not in proposal.superseded}
        for fact in topics.fresh:
            if fact.live and scope.sees(fact.domain) and propose.may_meet(fact.content, content):
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
            one, other = topics.seen(old), topics.seen(new)
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
            old = topics.seen(fact_id)
            topic.require_live(old)
            changed = propose.checked(_completed(new, old))
            propose.require_correction(changed, old, given=new)
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
            fact = topics.seen(fact_id)
            topics.append(topics.stream_of(fact), (topic.retire(fact),))

        return self._transact(decide, by, ("fact.retire", fact_id))

    def restore(self, fact_id: str, by: By) -> Committed:
        """Undo a supersession or retirement. A live fact that it contradicts stays; a person decides between them."""

        def decide(topics: TopicDraft) -> None:
            topics.restore(topics.seen(fact_id).fact_id)

        return self._transact(decide, by, ("fact.restore", fact_id))

    def link(self, fact_id: str, to: str, kind: LinkKind, weight: float, by: By) -> Committed:
        """A link by hand. UnknownFact when one of them is not there."""

        def decide(topics: TopicDraft) -> None:
            fact, other = topics.seen(fact_id), topics.seen(to)
            topics.append(topics.stream_of(fact), (topic.link(fact, other.fact_id, kind, weight),))

        return self._transact(decide, by, ("fact.link", fact_id, to, kind, weight))

    def unlink(self, fact_id: str, to: str, kind: LinkKind, by: By) -> Committed:
        def decide(topics: TopicDraft) -> None:
            fact = topics.seen(fact_id)
            topics.append(topics.stream_of(fact), (topic.unlink(fact, to, kind),))

        return self._transact(decide, by, ("fact.unlink", fact_id, to, kind))

    def _transact(self, decide: Callable[[TopicDraft], None], by: By, command: Sequence[object]) -> Committed:
        self.workspace.caught_up()
        return self.workspace.ledger.transact(lambda draft: decide(TopicDraft(self.workspace, draft)), by, command)


def _command(line: Line) -> tuple[object, ...]:
    said = _fields(line.new) if line.new else ()
    return ("fact.propose", line.domain, line.repo, line.on_conflict, *said)


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
