"""F8: which clarifications are candidates, and what a reviewer's decision about one of them records.

The only place where a memory comes into being, so the guards stand here: type, person, author, revision.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain import memory as memories
from domain import session as sessions
from domain.errors import (
    NotACandidate,
    NothingChanged,
    Refused,
    ReviewerNeeded,
    SelfReview,
    StaleCandidate,
    UndecidedCandidates,
    WrongPhase,
)
from domain.event import Event
from domain.memory import Memory, MemoryRecorded, NumberTaken, Source
from domain.session import Decision, Marker, Session
from domain.session_events import (
    REUSE_PHASE,
    REVIEW_PHASE,
    MemoryPromoted,
    MemoryPromotionDeclined,
    Phase,
    PhaseEntered,
    PromotionDeferred,
    PromotionReviewClosed,
    SessionClosed,
)
from domain.text import content_key, digest, is_person, looks_like_a_table, memory_id, normal_form, same_actor

PAGE = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """An effective clarification that a reviewer has to decide about; `covers` are equivalent later ones.

    `refusal` says why it cannot become a memory at all. `authors` includes those of the covered ones.
    """

    session_id: str
    decision: Decision
    covers: tuple[int, ...]
    authors: frozenset[str]
    deferred: Marker | None = None
    refusal: str = ""

    @property
    def seq(self) -> int:
        return self.decision.seq

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(Source(session_id=self.session_id, seq=seq) for seq in (self.seq, *self.covers))

    def written_by(self, actor: str) -> bool:
        """Whether these are the actor's own words, which somebody else has to approve."""
        return any(same_actor(actor, author) for author in self.authors)

    @property
    def revision(self) -> str:
        """A hash of what the reviewer sees: 16 hex digits."""
        shown = self.decision
        return digest(
            [
                self.session_id,
                [self.seq, *self.covers],
                [shown.subject, shown.detail, shown.rationale, shown.question_context],
                [shown.concepts, shown.tables, shown.source_memory],
            ]
        )[:16]


def candidates(session: Session) -> tuple[Candidate, ...]:
    """Every open candidate in seq order, the deferred and the refused among them.

    Content that was declined in this session is not proposed again, however often it is recorded.
    """
    declined = {_key(one) for seq in session.declined if not (one := session.decision(seq)).erased}
    groups: dict[str, list[Decision]] = {}
    for decision in session.effective:
        if decision.reusable and decision.seq not in session.promoted and _is_own(decision) and not decision.erased:
            key = _key(decision)
            if key not in declined:
                groups.setdefault(key, []).append(decision)
    return tuple(_candidate(session, group) for group in groups.values())


def undecided(session: Session) -> tuple[Candidate, ...]:
    """Candidates that keep a review open: neither deferred nor refused."""
    return tuple(one for one in candidates(session) if one.deferred is None and not one.refusal)


def _is_own(decision: Decision) -> bool:
    """A reused memory that was not changed says nothing new."""
    return decision.source_memory is None or decision.source_changed


def _key(decision: Decision) -> str:
    return content_key(decision.subject, decision.detail)


def _candidate(session: Session, group: list[Decision]) -> Candidate:
    first, *rest = group
    return Candidate(
        session.session_id,
        first,
        tuple(one.seq for one in rest),
        _authors(session, first),
        session.deferred.get(first.seq),
        names_a_table(session, first),
    )


def _authors(session: Session, decision: Decision) -> frozenset[str]:
    """Everybody who said this in the session, whatever became of it: no edit, retraction or repetition by somebody
    else takes an author away."""
    key = _key(decision)
    return frozenset(one.author for one in session.decisions if one.reusable and not one.erased and _key(one) == key)


def names_a_table(session: Session, decision: Decision) -> str:
    """Why its subject is no concept: it is that of a table or column. Empty when it is one."""
    if looks_like_a_table(decision.subject):
        return f"the subject {decision.subject!r} names a table, not a concept"
    if normal_form(decision.subject) in {normal_form(subject) for subject in session.linking_subjects}:
        return f"the subject {decision.subject!r} is a table or column of this session's schema linking"
    return ""


# -- the gate ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Reviewer:
    """Who decides, and whether this workspace lets a person approve their own words."""

    actor: str
    allow_self: bool = False


def candidate_at(session: Session, seq: int) -> Candidate:
    """The open candidate that `seq` leads; NotACandidate says why it is none."""
    decision = session.decision(seq)
    for one in candidates(session):
        if one.seq == seq:
            return one
        if seq in one.covers:
            raise NotACandidate(f"seq {seq} says the same as seq {one.seq} and goes with it", f"decide seq {one.seq}")
    if not decision.reusable:
        raise NotACandidate(f"seq {seq} is a {decision.type}: only a concept_clarified becomes a memory")
    if decision.erased:
        raise NotACandidate(f"seq {seq} was erased: there is no text left to decide about")
    if decision.standing != "effective":
        raise NotACandidate(f"seq {seq} is {decision.standing}: record it again if it holds")
    if not _is_own(decision):
        raise NotACandidate(f"seq {seq} reuses {decision.source_memory} unchanged: it is a memory already")
    raise NotACandidate(f"seq {seq} was declined in this session")


def admit(session: Session, seq: int, revision: str, reviewer: Reviewer) -> tuple[Candidate, bool]:
    """The candidate, and whether this is a self-review. Raises when the gate does not open; nothing bypasses it."""
    require_person(reviewer)
    candidate = candidate_at(session, seq)
    if candidate.refusal:
        raise NotACandidate(f"seq {seq} cannot become a memory: {candidate.refusal}")
    require_revision(candidate, revision)
    own = candidate.written_by(reviewer.actor)
    if own and not reviewer.allow_self:
        raise SelfReview(f"{reviewer.actor} wrote seq {seq}: who proposes does not approve")
    return candidate, own


def require_revision(candidate: Candidate, revision: str) -> None:
    """StaleCandidate when what the reviewer saw is not what is recorded now."""
    if revision != candidate.revision:
        where = f"seq {candidate.seq} of {candidate.session_id}"
        raise StaleCandidate(
            f"{where} has revision {candidate.revision}, not {revision or 'none'}",
            f"look at it again: tht memory promote --session {candidate.session_id} --preview",
        )


def require_person(reviewer: Reviewer) -> None:
    if not is_person(reviewer.actor):
        raise ReviewerNeeded(f"{reviewer.actor} is not a person: only people decide about memories")


# -- decisions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Promotion:
    """What one promotion records, on each stream; `fresh` tells whether the memory is new."""

    memory_id: str
    memory_stream: str
    session_events: tuple[Event, ...]
    memory_events: tuple[Event, ...]
    number_events: tuple[Event, ...]
    replaced_events: tuple[Event, ...]


def promote(
    session: Session,
    candidate: Candidate,
    target: Memory | None,
    *,
    last_number: int,
    self_reviewed: bool,
    replaces: Memory | None = None,
) -> Promotion:
    """The events of one approval. `target` is the memory that takes the candidate as a source: the one with the same
    content, or one that the reviewer merges it into; None makes a new memory with the next number."""
    shown = candidate.decision
    if target is None:
        number = last_number + 1
        identity, stream = memory_id(number), memories.memory_stream(shown.subject, shown.detail)
        memory_events: tuple[Event, ...] = (
            MemoryRecorded(
                memory_id=identity,
                type=shown.type,
                subject=shown.subject,
                detail=shown.detail,
                rationale=shown.rationale,
                question_context=shown.question_context,
                concepts=shown.concepts,
                sources=candidate.sources,
                self_reviewed=self_reviewed,
            ),
        )
        number_events: tuple[Event, ...] = (NumberTaken(number=number, memory_id=identity, stream=stream),)
    else:
        identity, stream, number_events = target.memory_id, target.stream, ()
        memory_events = memories.add_sources(target, candidate.sources, self_reviewed=self_reviewed)
    replaced: tuple[Event, ...] = ()
    if replaces is not None:
        if replaces.memory_id == identity:
            raise Refused(f"{identity} says this already and cannot replace itself")
        memories.require_live(replaces)
        replaced = (memories.MemorySuperseded(memory_id=replaces.memory_id, by=identity),)
    marker = MemoryPromoted(
        seq=candidate.seq,
        detail=f"seq:{candidate.seq}",
        memory_id=identity,
        covers=candidate.covers,
        revision=candidate.revision,
        self_reviewed=self_reviewed,
    )
    return Promotion(identity, stream, _decided(session, candidate, marker), memory_events, number_events, replaced)


def decline(session: Session, seq: int, reason: str, reviewer: Reviewer, revision: str = "") -> tuple[Event, ...]:
    require_person(reviewer)
    if (before := session.declined.get(seq)) is not None:
        raise NothingChanged(f"seq {seq} was declined already, by {before.by}")
    candidate = _not_promoted(session, seq)
    if revision:
        require_revision(candidate, revision)
    marker = MemoryPromotionDeclined(seq=seq, detail=f"seq:{seq}", covers=candidate.covers, reason=reason)
    return _decided(session, candidate, marker)


def defer(session: Session, seq: int, reason: str, reviewer: Reviewer, revision: str = "") -> tuple[Event, ...]:
    """With the revision that was shown, StaleCandidate for what is another candidate by now."""
    require_person(reviewer)
    candidate = _not_promoted(session, seq)
    if revision:
        require_revision(candidate, revision)
    if candidate.deferred is not None:
        raise NothingChanged(f"seq {seq} was deferred already, by {candidate.deferred.by}")
    return _decided(session, candidate, PromotionDeferred(seq=seq, reason=reason))


def enter(session: Session, phase: Phase) -> tuple[Event, ...]:
    """Go on to a later phase. F8 without a candidate closes its review by itself."""
    entered = sessions.enter(session, phase)
    if phase != REVIEW_PHASE or session.review_closed or undecided(session):
        return entered
    return (*entered, PromotionReviewClosed())


def enter_review(session: Session) -> tuple[Event, ...]:
    """F8 begins by itself with the first decision about a candidate. Never from F2, where memories are reused."""
    if session.closed or session.phase == REVIEW_PHASE:
        return ()
    if session.phase == REUSE_PHASE:
        raise WrongPhase(
            f"session {session.session_id} is in F2, where memories are reused, never promoted",
            f"tht session enter {session.session_id} --phase F8 begins the review",
        )
    return (PhaseEntered(phase=REVIEW_PHASE),)


def close_review(session: Session) -> tuple[Event, ...]:
    """F8 with nothing left to decide closes."""
    _require_decided(session)
    if session.review_closed:
        raise NothingChanged(f"the review of session {session.session_id} is closed already")
    return (*enter_review(session), PromotionReviewClosed())


def close(session: Session) -> tuple[Event, ...]:
    """The session's end; refused while a candidate is undecided."""
    if session.closed:
        raise NothingChanged(f"session {session.session_id} is closed already")
    _require_decided(session)
    return (*(() if session.review_closed else (PromotionReviewClosed(),)), SessionClosed())


def _decided(session: Session, candidate: Candidate, marker: Event) -> tuple[Event, ...]:
    last = all(one.seq == candidate.seq for one in undecided(session))
    ends = (PromotionReviewClosed(),) if last and not session.review_closed else ()
    return (*enter_review(session), marker, *ends)


def _not_promoted(session: Session, seq: int) -> Candidate:
    if (before := session.promoted.get(seq)) is not None:
        raise NotACandidate(
            f"seq {seq} was promoted to {before.memory_id} by {before.by}",
            f"tht registry retire {before.memory_id} takes it back",
        )
    return candidate_at(session, seq)


def _require_decided(session: Session) -> None:
    left = undecided(session)
    if left:
        listed = ", ".join(str(one.seq) for one in left)
        many = "s" if len(left) > 1 else ""
        raise UndecidedCandidates(
            f"session {session.session_id} has {len(left)} undecided candidate{many}: seq {listed}",
            f"tht review {session.session_id} decides them, or defers them for later",
        )
