"""Why is it so: the history of a session, of a memory, of an actor, and who was shown what. No model, no index."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.audit_answers import MemoryAudit, Origin, Read, SessionAudit, Step
from adapters.session_history import session_envelopes
from adapters.workspace import Workspace, parse_time
from domain import session as sessions
from domain.errors import InvalidInput, UnknownMemory
from domain.event import Envelope, iso_utc, registered_events
from domain.recall import FactsShown, MemoriesShown
from domain.session import Session
from domain.session_events import Decided, MemoryPromoted, MemoryRejected, MemorySetAside
from domain.text import accept_actor
from projections import timeline
from projections.timeline import Filter, Line

if TYPE_CHECKING:
    from projections.record import Entry
    from projections.view import ViewsFile

_SHOWN = (MemoriesShown.kind, FactsShown.kind)


@dataclass(frozen=True, slots=True)
class Asked:
    """The filters of a log as they were given: times and `at` are ISO or, for `at`, a position; empty takes all."""

    actor: str = ""
    kind: str = ""
    session_id: str = ""
    memory_id: str = ""
    since: str = ""
    until: str = ""
    at: str = ""
    record: str = ""


@dataclass(frozen=True)
class Audit:
    workspace: Workspace

    def session(self, session_id: str, at: str = "") -> SessionAudit:
        """Every event of a session until `at` (a position or a time), with what it changed and what followed."""
        position = self._position(at)
        envelopes = session_envelopes(self.workspace.ledger, session_id, position)
        steps: list[Step] = []
        before: Session | None = None
        for envelope in envelopes:
            after = sessions.evolve(before, envelope)
            steps.append(self._step(before, envelope, after, position))
            before = after
        assert before is not None
        return SessionAudit(before, position, tuple(steps))

    def memory(self, memory_id: str, at: str = "") -> MemoryAudit:
        """Where a memory comes from, what became of it, and everything that rests on it. UnknownMemory without one."""
        position = self._position(at)
        if not at:
            self.workspace.caught_up()
            return self._memory(memory_id, self.workspace.file, position)
        with self.workspace.as_of(position) as past:
            return self._memory(memory_id, past, position)

    def log(self, asked: Asked, *, limit: int, offset: int = 0) -> tuple[list[Line], int]:
        """The timeline, filtered, in order of position; and how many lines match in all."""
        db = self.workspace.caught_up()
        return timeline.lines(db, self._filter(asked), limit=limit, offset=offset)

    def actor(self, who: str, *, at: str = "", limit: int, offset: int = 0) -> tuple[list[Line], int, dict[str, int]]:
        """What an actor did: the lines, how many in all, and how many of each kind."""
        wanted = Asked(actor=who, at=at)
        lines, total = self.log(wanted, limit=limit, offset=offset)
        kinds = timeline.count_by_kind(self.workspace.file.db, self._filter(wanted))
        return lines, total, kinds

    def reads(self, *, ref: str = "", actor: str = "", limit: int, offset: int = 0) -> tuple[list[Read], int]:
        """Who was shown which memories (`memory:mem-0001`) and facts, in order; and how many times in all."""
        db = self.workspace.caught_up()
        who = accept_actor(actor) if actor else ""
        lines = [line for kind in _SHOWN for line in timeline.lines(db, Filter(actor=who, kind=kind))[0]]
        shown = [
            _read(envelope, envelope.event)
            for stream in dict.fromkeys(line.stream for line in lines)
            for envelope in self.workspace.ledger.load(stream)
            if isinstance(envelope.event, MemoriesShown | FactsShown)
        ]
        found = [read for read in shown if not ref or ref in read.refs]
        found.sort(key=lambda read: read.position)
        return found[offset : offset + limit], len(found)

    # -- parts

    def _position(self, at: str) -> int:
        head = self.workspace.ledger.head().position
        if not at:
            return head
        position = self.workspace.position_at(at)
        if position > head:
            raise InvalidInput(f"the ledger has positions 0 to {head}, not {position}")
        return position

    def _step(self, before: Session | None, envelope: Envelope, after: Session, until: int) -> Step:
        was = {decision.seq: decision.standing for decision in before.decisions} if before else {}
        changed = [decision for decision in after.decisions if was.get(decision.seq) != decision.standing]
        undone = tuple(decision.seq for decision in changed if decision.standing != "effective")
        return Step(
            envelope,
            _describe(envelope, after),
            tuple(decision.seq for decision in changed if decision.standing == "effective"),
            tuple(decision.seq for decision in changed if decision.standing == "stale"),
            tuple(decision.seq for decision in changed if decision.standing == "retracted"),
            (*self._elsewhere(envelope, until), *_flagged(after, undone)),
        )

    def _elsewhere(self, envelope: Envelope, until: int) -> list[str]:
        """What the same promotion recorded on other streams, and from where on the index can know it."""
        if envelope.event.kind != "memory_promoted":
            return []
        db = self.workspace.caught_up()
        others = [
            line
            for line in timeline.together_with(db, [envelope.correlation_id])
            if line.stream != envelope.stream and line.position <= until
        ]
        followed = [f"{line.kind} {line.memory_id} at {line.position:,}".replace("  ", " ") for line in others]
        if others:
            followed.append(f"in the index from position {max(line.position for line in others):,} on")
        return followed

    def _memory(self, memory_id: str, file: ViewsFile, position: int) -> MemoryAudit:
        from projections import registry
        from projections.lineage import what_rests_on

        entry = registry.find_entry(file.db, memory_id)
        if entry is None:
            raise UnknownMemory(f"there is no memory {memory_id!r}" + f" at position {position:,}")
        history, _ = timeline.lines(file.db, Filter(memory_id=memory_id))
        origins = tuple(self._origin(file, entry, number) for number in range(len(entry.sources)))
        refused = [
            line
            for session_id in dict.fromkeys(source.session_id for source in entry.sources)
            for line in timeline.lines(file.db, Filter(session_id=session_id, kind="promotion_refused"))[0]
            if line.seq in {source.seq for source in entry.sources if source.session_id == session_id}
        ]
        return MemoryAudit(entry, position, origins, tuple(refused), tuple(history), what_rests_on(file.db, memory_id))

    def _origin(self, file: ViewsFile, entry: Entry, number: int) -> Origin:
        from projections.decisions import decision_row

        source = entry.sources[number]
        decision = decision_row(file.db, source.session_id, source.seq)
        approval = self._approval(decision["outcome_position"]) if decision is not None else None
        return Origin(
            session_id=source.session_id,
            seq=source.seq,
            author=decision["author"] if decision is not None else "",
            recorded=decision["position"] if decision is not None else 0,
            standing=decision["standing"] if decision is not None else "not in this ledger",
            approved_by=source.by,
            approved=source.position,
            self_reviewed=_self_reviewed(approval) if approval else entry.self_reviewed,
            reason=approval.reason if approval else "",
            withdrawn=source.withdrawn,
        )

    def _approval(self, position: int) -> Envelope | None:
        """The approval recorded at a position; None when something else stands there, or nothing yet."""
        found = self.workspace.ledger.page(position - 1, 1) if position else []
        return found[0] if found and isinstance(found[0].event, MemoryPromoted) else None

    def _filter(self, asked: Asked) -> Filter:
        return Filter(
            actor=accept_actor(asked.actor) if asked.actor else "",
            kind=_known_kind(asked.kind),
            session_id=asked.session_id,
            memory_id=asked.memory_id,
            since=iso_utc(parse_time(asked.since)) if asked.since else "",
            until=iso_utc(parse_time(asked.until)) if asked.until else "",
            record=asked.record,
            max_position=self._position(asked.at) if asked.at else None,
        )


def _describe(envelope: Envelope, after: Session) -> str:
    event = envelope.event
    if isinstance(event, Decided):
        reused = getattr(event, "source_memory", None)
        return f"seq {event.seq} in {event.phase}: {event.subject}" + (f", reuses {reused}" if reused else "")
    if isinstance(event, (MemorySetAside, MemoryRejected)):
        return event.memory_id
    seq = getattr(event, "seq", None)
    if seq is None:
        return timeline.describe(event)
    subject = after.decision(seq).subject if 1 <= seq <= len(after.decisions) else "not recorded"
    more = timeline.describe(event)
    return f"seq {seq}: {subject}" + (f" ({more})" if more else "")


def _flagged(after: Session, undone: Iterable[int]) -> list[str]:
    """Memories whose source this event took away: they stay, and say so."""
    return [
        f"{after.promoted[seq].memory_id}: source no longer effective (seq {seq})"
        for seq in undone
        if seq in after.promoted
    ]


def _self_reviewed(approval: Envelope) -> bool:
    return isinstance(approval.event, MemoryPromoted) and approval.event.self_reviewed


def _known_kind(kind: str) -> str:
    """The kind of an event; its stored name is understood too. InvalidInput with the nearest ones otherwise."""
    if not kind:
        return ""
    kinds = {event.kind for event in registered_events().values()}
    wanted = kind.rpartition(".")[2].replace("-", "_")
    if wanted not in kinds:
        from difflib import get_close_matches

        near = get_close_matches(wanted, sorted(kinds), n=3) or sorted(kinds)
        raise InvalidInput(f"{kind!r} is no kind of event", f"one of: {', '.join(near)}")
    return wanted


def _read(envelope: Envelope, event: MemoriesShown | FactsShown) -> Read:
    return Read(envelope.position, iso_utc(envelope.at), envelope.actor, event.session_id, event.mode, event.refs)
