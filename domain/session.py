"""One question worked through phases F1…F8: its state, and what may happen next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never, cast

from domain.erasure import TextErased
from domain.errors import InvalidInput, NothingChanged, Refused, SessionIsClosed, UnknownDecision, WrongPhase
from domain.event import ERASED, Envelope, Event, UtcTime
from domain.session_events import (
    DECISION_TYPES,
    LINKING,
    PHASES,
    REUSABLE_TYPES,
    REUSE_PHASE,
    ColumnExcluded,
    ColumnPromoted,
    ConceptClarified,
    Decided,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    MemoryRejected,
    MemorySetAside,
    Phase,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionDeferred,
    PromotionRefused,
    PromotionReviewClosed,
    SessionClosed,
    SessionEvent,
    SessionOpened,
    TableExcluded,
    TablePromoted,
    decision_record,
    question_record,
)
from domain.text import SUBJECT_LIMIT, accept_id, accept_text

Standing = Literal["effective", "retracted", "stale"]


@dataclass(frozen=True, slots=True)
class Decision:
    """A recorded decision and how it stands now. `author` is the actor who recorded it."""

    seq: int
    type: str
    phase: Phase
    subject: str
    detail: str
    rationale: str
    author: str
    question_context: str = ""
    concepts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    source_memory: str | None = None
    source_changed: bool = False
    supersedes: int | None = None
    standing: Standing = "effective"
    erased: bool = False  # its texts say ERASED, and nothing can be made of it any more

    @property
    def reusable(self) -> bool:
        return self.type in REUSABLE_TYPES


@dataclass(frozen=True, slots=True)
class Marker:
    """What a reviewer decided about a seq: by whom, at which position, and for a promotion into which memory."""

    by: str
    position: int
    memory_id: str = ""
    reason: str = ""
    leader: int = 0  # the seq that was decided; others went with it


@dataclass(frozen=True, slots=True)
class Session:
    session_id: str
    question: str
    database: str = ""
    phase: Phase = "F1"
    reopened: frozenset[Phase] = frozenset()
    closed: bool = False
    review_closed: bool = False
    decisions: tuple[Decision, ...] = ()
    promoted: Mapping[int, Marker] = field(default_factory=dict)
    declined: Mapping[int, Marker] = field(default_factory=dict)
    deferred: Mapping[int, Marker] = field(default_factory=dict)
    set_aside: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    question_erased: bool = False

    @property
    def effective(self) -> tuple[Decision, ...]:
        return tuple(decision for decision in self.decisions if decision.standing == "effective")

    @property
    def linking_subjects(self) -> frozenset[str]:
        """Subjects of the schema linking, whatever became of it: they name tables and columns."""
        return frozenset(one.subject for one in self.decisions if not one.reusable and not one.erased)

    @property
    def decided_memories(self) -> frozenset[str]:
        """Memories not to be offered again now: applied, rejected, or set aside since F2 was last opened."""
        applied = {decision.source_memory for decision in self.effective if decision.source_memory}
        return frozenset(applied) | self.set_aside | self.rejected

    def decision(self, seq: int) -> Decision:
        if not 1 <= seq <= len(self.decisions):
            raise UnknownDecision(f"session {self.session_id} has no decision {seq}, it has {len(self.decisions)}")
        return self.decisions[seq - 1]


# -- evolve ------------------------------------------------------------------------------------------------------------


def evolve(session: Session | None, envelope: Envelope) -> Session:
    """The session after one more recorded event."""
    event = envelope.event
    if isinstance(event, SessionOpened):
        return Session(event.session_id, event.question, event.database, question_erased=envelope.erased)
    if session is None:
        raise Refused(f"{envelope.stream} does not begin with its opening")
    return _evolve(session, cast("SessionEvent", event), envelope)


def fold(envelopes: Iterable[Envelope]) -> Session | None:
    session: Session | None = None
    for envelope in envelopes:
        session = evolve(session, envelope)
    return session


def _evolve(session: Session, event: SessionEvent, envelope: Envelope) -> Session:
    match event:
        case SessionOpened() | PromotionRefused():
            return session
        case ConceptClarified() | TablePromoted() | TableExcluded() | ColumnPromoted() | ColumnExcluded():
            decisions = (*session.decisions, _recorded(event, envelope))
            again = isinstance(event, ConceptClarified)  # there is something to review once more
            return replace(session, decisions=decisions, review_closed=session.review_closed and not again)
        case DecisionRetracted(seq=seq):
            return replace(session, decisions=_restand(session, "retracted", lambda decision: decision.seq == seq))
        case PhaseEntered(phase=phase):
            return _at_phase(session, phase, session.reopened)
        case PhaseReopened(phase=phase):
            return _reopened(session, phase)
        case PhaseRolledBack(phase=phase):
            return _rolled_back(session, phase)
        case MemorySetAside(memory_id=memory_id):
            return replace(session, set_aside=session.set_aside | {memory_id})
        case MemoryRejected(memory_id=memory_id):
            return replace(session, rejected=session.rejected | {memory_id})
        case MemoryPromoted(seq=seq, covers=covers, memory_id=memory_id):
            mark = Marker(envelope.actor, envelope.position, memory_id, envelope.reason, seq)
            return replace(session, promoted={**session.promoted, **dict.fromkeys((seq, *covers), mark)})
        case MemoryPromotionDeclined(seq=seq, covers=covers, reason=reason):
            mark = Marker(envelope.actor, envelope.position, "", reason, seq)
            return replace(session, declined={**session.declined, **dict.fromkeys((seq, *covers), mark)})
        case PromotionDeferred(seq=seq, reason=reason):
            mark = Marker(envelope.actor, envelope.position, "", reason, seq)
            return replace(session, deferred={**session.deferred, seq: mark})
        case PromotionReviewClosed():
            return replace(session, review_closed=True)
        case SessionClosed():
            return replace(session, closed=True)
        case TextErased(record=record):
            return _erased(session, record)
        case _:
            assert_never(event)


def _erased(session: Session, record: str) -> Session:
    """As if the text had never been read: the same as a replay, which does not get to see it."""
    if record == question_record(session.session_id):
        return replace(session, question=ERASED, question_erased=True)
    decisions = (
        _without_text(one) if decision_record(session.session_id, one.seq) == record else one
        for one in session.decisions
    )
    return replace(session, decisions=tuple(decisions))


def _without_text(decision: Decision) -> Decision:
    bare = replace(decision, subject=ERASED, detail=ERASED, rationale=ERASED, erased=True)
    return replace(bare, question_context=ERASED, concepts=()) if decision.reusable else bare


def _reopened(session: Session, phase: Phase) -> Session:
    kept = frozenset(other for other in session.reopened if other < phase) | {phase}
    later = _restand(session, "stale", lambda decision: decision.phase > phase)
    return _at_phase(replace(session, decisions=later, closed=False, review_closed=False), phase, kept)


def _rolled_back(session: Session, phase: Phase) -> Session:
    kept = frozenset(other for other in session.reopened if other < phase)
    undone = _restand(session, "stale", lambda decision: decision.phase >= phase)
    return _at_phase(replace(session, decisions=undone, closed=False, review_closed=False), phase, kept)


def _at_phase(session: Session, phase: Phase, reopened: frozenset[Phase]) -> Session:
    set_aside = frozenset[str]() if phase == REUSE_PHASE else session.set_aside  # marks lapse when F2 opens again
    return replace(session, phase=phase, reopened=reopened, set_aside=set_aside)


def _restand(session: Session, standing: Standing, which: Callable[[Decision], bool]) -> tuple[Decision, ...]:
    return tuple(
        replace(decision, standing=standing) if decision.standing == "effective" and which(decision) else decision
        for decision in session.decisions
    )


def _recorded(event: Decided, envelope: Envelope) -> Decision:
    common = (event.seq, event.kind, event.phase, event.subject, event.detail, event.rationale, envelope.actor)
    if isinstance(event, ConceptClarified):
        return Decision(
            *common,
            question_context=event.question_context,
            concepts=event.concepts,
            tables=event.tables,
            source_memory=event.source_memory,
            source_changed=event.source_changed,
            supersedes=event.supersedes,
            erased=envelope.erased,
        )
    return Decision(*common, erased=envelope.erased)


# -- decide ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to be recorded. Without a phase it belongs to the session's current one."""

    type: str
    subject: str
    detail: str
    rationale: str = ""
    phase: Phase | None = None
    question_context: str = ""
    concepts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    source_memory: str | None = None
    source_changed: bool = False
    supersedes: int | None = None
    occurred_at: UtcTime | None = None


def checked(new: NewDecision) -> NewDecision:
    """The decision with every text fit to be stored. InvalidInput names the field that is not."""
    accept_text(new.subject, "subject", limit=SUBJECT_LIMIT, required=True)
    accept_text(new.detail, "detail", required=new.type in REUSABLE_TYPES)
    accept_text(new.rationale, "rationale")
    accept_text(new.question_context, "question_context")
    for name, values in (("concepts", new.concepts), ("tables", new.tables)):
        for value in values:
            accept_text(value, name, limit=SUBJECT_LIMIT, required=True)
    if new.type not in DECISION_TYPES:
        raise InvalidInput(f"{new.type!r} is no type of decision", f"one of: {', '.join(DECISION_TYPES)}")
    if new.phase is not None and new.phase not in PHASES:
        raise InvalidInput(f"{new.phase!r} is no phase", f"one of: {', '.join(PHASES)}")
    return new


def open_session(session_id: str, question: str, database: str = "") -> SessionOpened:
    """The first event of a session."""
    return SessionOpened(
        session_id=accept_id(session_id, "session id"),
        question=accept_text(question, "question", required=True),
        database=accept_text(database, "database", limit=SUBJECT_LIMIT),
    )


def record(session: Session, new: NewDecision, *, historical: bool = False) -> Decided:
    """The event of a new decision, with the next seq. WrongPhase outside the current or a reopened earlier phase.

    A historical decision comes from an import and is kept in whatever phase it was made.
    """
    checked(new)
    phase = new.phase or session.phase
    if not historical:
        _must_be_open(session)
    if not historical and phase != session.phase and not (phase in session.reopened and phase < session.phase):
        opened = ", ".join(sorted({session.phase, *(other for other in session.reopened if other < session.phase)}))
        raise WrongPhase(
            f"session {session.session_id} takes decisions in {opened}, not in {phase}",
            f"tht session {'enter' if phase > session.phase else 'reopen'} {session.session_id} --phase {phase}",
        )
    common = {
        "seq": len(session.decisions) + 1,
        "phase": phase,
        "subject": new.subject,
        "detail": new.detail,
        "rationale": new.rationale,
        "occurred_at": new.occurred_at,
    }
    if new.type in LINKING:
        return LINKING[new.type].model_validate(common)
    return ConceptClarified.model_validate(
        common
        | {
            "question_context": new.question_context,
            "concepts": new.concepts,
            "tables": new.tables,
            "source_memory": new.source_memory,
            "source_changed": new.source_changed,
            "supersedes": new.supersedes,
        }
    )


_EDITED = ("subject", "detail", "rationale", "question_context", "concepts", "tables")


def edit(session: Session, seq: int, new: NewDecision, reason: str) -> tuple[Event, ...]:
    """A new clarification that supersedes an effective one: the old is retracted, the new names it."""
    old = session.decision(seq)
    if not old.reusable or new.type not in REUSABLE_TYPES:
        raise Refused(f"seq {seq} is a {old.type}, its new text a {new.type}: only clarifications are edited")
    if old.erased:
        raise Refused(f"seq {seq} was erased: there is no text left to edit", "record a new clarification")
    if all(getattr(old, name) == getattr(new, name) for name in _EDITED):
        raise NothingChanged(f"decision {seq} says this already")
    recorded = record(session, replace(new, supersedes=seq, phase=None))
    return (*retract(session, seq, reason or f"edited: see seq {recorded.seq}"), recorded)


def retract(session: Session, seq: int, reason: str) -> tuple[DecisionRetracted, ...]:
    """Allowed in a closed session too: what is wrong can always be withdrawn."""
    standing = session.decision(seq).standing
    if standing != "effective":
        raise NothingChanged(f"decision {seq} of {session.session_id} is {standing} already")
    return (DecisionRetracted(seq=seq, reason=reason),)


def enter(session: Session, phase: Phase) -> tuple[PhaseEntered, ...]:
    _must_be_open(session)
    if phase == session.phase:
        raise NothingChanged(f"session {session.session_id} is in {phase} already")
    if phase < session.phase:
        raise WrongPhase(
            f"session {session.session_id} is in {session.phase}, beyond {phase}",
            f"tht session reopen {session.session_id} --phase {phase} goes back to it",
        )
    return (PhaseEntered(phase=phase),)


def reopen(session: Session, phase: Phase) -> tuple[PhaseReopened, ...]:
    """Go back to a phase and keep its decisions; a closed session opens again."""
    _must_have_reached(session, phase)
    if _reopened(session, phase) == session:
        raise NothingChanged(f"{phase} of session {session.session_id} is reopened already")
    return (PhaseReopened(phase=phase),)


def roll_back(session: Session, phase: Phase) -> tuple[PhaseRolledBack, ...]:
    """Go back to a phase and undo its decisions and all later ones; a closed session opens again."""
    _must_have_reached(session, phase)
    if _rolled_back(session, phase) == session:
        raise NothingChanged(f"session {session.session_id} stands at the start of {phase} already")
    return (PhaseRolledBack(phase=phase),)


def enter_reuse(session: Session) -> tuple[PhaseEntered, ...]:
    """F2 begins by itself with the first choice of memories; later it has to be reopened."""
    _must_be_open(session)
    if session.phase == REUSE_PHASE or (session.phase > REUSE_PHASE and REUSE_PHASE in session.reopened):
        return ()
    return enter(session, REUSE_PHASE)


def set_aside(session: Session, memory_ids: Iterable[str]) -> tuple[MemorySetAside, ...]:
    _must_be_open(session)
    return tuple(MemorySetAside(memory_id=one) for one in memory_ids if one not in session.decided_memories)


def _must_be_open(session: Session) -> None:
    if session.closed:
        raise SessionIsClosed(f"session {session.session_id} is closed")


def _must_have_reached(session: Session, phase: Phase) -> None:
    if phase > session.phase:
        raise WrongPhase(
            f"session {session.session_id} is in {session.phase} and has not reached {phase}",
            f"tht session enter {session.session_id} --phase {phase}",
        )
