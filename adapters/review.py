"""The review gate as commands: preview, promote, decline, defer, edit, in one or in a batch; and the queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adapters.ledger import By, Committed, Draft
from adapters.reviewers import require_reviewer
from adapters.sessions import Sessions, load_memory, load_session
from adapters.workspace import Workspace
from domain import memory as memories
from domain import promotion
from domain.errors import InvalidInput, NotACandidate, ReviewerNeeded, SelfReview, ThtError
from domain.event import Event
from domain.memory import NUMBERING, NumberTaken, memory_stream
from domain.promotion import Candidate
from domain.session import Marker, Session
from domain.session_events import MemoryPromoted, PromotionRefused, session_stream
from projections import registry
from projections.decisions import sessions_with_candidates
from projections.similar import Similar, similar


@dataclass(frozen=True, slots=True)
class Shown:
    """A candidate as the reviewer sees it."""

    candidate: Candidate
    known_as: str | None  # the memory that already says the same
    known_status: str  # its status, '' without one
    similar: tuple[Similar, ...]

    def as_json(self) -> dict[str, Any]:
        decision = self.candidate.decision
        return {
            "seq": decision.seq,
            "subject": decision.subject,
            "detail": decision.detail,
            "rationale": decision.rationale,
            "revision": self.candidate.revision,
            "covers": list(self.candidate.covers),
            "known_as": self.known_as,
            "similar": [one.as_json() for one in self.similar],
            "replaces": decision.source_memory,
            "author": decision.author,
            "deferred": self.candidate.deferred is not None,
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """A page of a session's candidates; `remaining` come after it. `refused` can never become memories."""

    session_id: str
    question: str
    candidates: tuple[Shown, ...]
    remaining: int
    deferred: int
    refused: tuple[Candidate, ...]

    def as_json(self) -> dict[str, Any]:
        return {
            "session_id": self.session_id,
            "candidates": [one.as_json() for one in self.candidates],
            "remaining": self.remaining,
            "deferred": self.deferred,
            "refused": [
                {"seq": one.seq, "subject": one.decision.subject, "reason": one.refusal} for one in self.refused
            ],
        }


@dataclass(frozen=True, slots=True)
class Saved:
    """The outcome of one approval. `already`: it was promoted before, by `reviewer`.

    `position` is the last that the approval wrote: whoever reads at it or beyond sees the memory.
    """

    memory_id: str
    position: int
    already: bool
    reviewer: str

    def as_json(self) -> dict[str, Any]:
        return {
            "memory_id": self.memory_id,
            "position": self.position,
            "already": self.already,
            "reviewer": self.reviewer,
        }


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a reviewer decided about one candidate. `memory_id`: for merge the target, for replace the old one."""

    session_id: str
    seq: int
    revision: str
    action: Literal["promote", "merge", "replace", "decline", "defer"]
    memory_id: str = ""
    reason: str = ""


def _require_target(verdict: Verdict) -> None:
    """InvalidInput for a merge into nothing: it would be a promotion that nobody decided."""
    needed = verdict.action in ("merge", "replace")
    if needed and not verdict.memory_id:
        word = "merge into" if verdict.action == "merge" else "replace"
        raise InvalidInput(f"name the memory to {word}", "or promote the candidate as a new one")
    if verdict.memory_id and not needed:
        raise InvalidInput(f"a verdict to {verdict.action} names no memory", "leave it out, or merge or replace")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one verdict of a batch: an id, or the error that left this one undone."""

    verdict: Verdict
    memory_id: str = ""
    already: bool = False
    error: ThtError | None = None

    def as_json(self) -> dict[str, Any]:
        return {
            "session_id": self.verdict.session_id,
            "seq": self.verdict.seq,
            "action": self.verdict.action,
            "memory_id": self.memory_id or None,
            "already": self.already,
            "error": None if self.error is None else {"type": self.error.type, "message": self.error.message},
        }


@dataclass(frozen=True)
class Review:
    workspace: Workspace

    # -- queries

    def preview(
        self, session_id: str, *, limit: int | None = None, after: int = 0, with_deferred: bool = False
    ) -> Preview:
        """The next candidates of a session in seq order, `limit` (review.page) at a time, beyond seq `after`."""
        return self._preview(Sessions(self.workspace).get(session_id), limit, after, with_deferred)

    def queue(self, *, with_deferred: bool = True) -> list[Preview]:
        """Every session with something to decide, by id, all its candidates at once."""
        ids = sessions_with_candidates(self.workspace.caught_up())
        previews = (self.preview(session_id, limit=-1, with_deferred=with_deferred) for session_id in ids)
        return [preview for preview in previews if preview.candidates]

    def pending(self, session_ids: Iterable[str] = ()) -> list[Candidate]:
        """Every undecided candidate of these sessions, or of all, without looking for similar memories."""
        ids = list(session_ids) or sessions_with_candidates(self.workspace.caught_up())
        sessions = Sessions(self.workspace)
        return [one for session_id in ids for one in promotion.undecided(sessions.get(session_id))]

    def _preview(self, session: Session, limit: int | None, after: int, with_deferred: bool) -> Preview:
        everything = promotion.candidates(session)
        open_ones = [one for one in everything if not one.refusal and (with_deferred or one.deferred is None)]
        rest = [one for one in open_ones if one.seq > after]
        size = self.workspace.config.value("review.page") if limit is None else limit
        page = rest if size < 0 else rest[:size]
        return Preview(
            session.session_id,
            session.question,
            tuple(self._shown(one) for one in page),
            remaining=len(rest) - len(page),
            deferred=sum(1 for one in everything if one.deferred is not None),
            refused=tuple(one for one in everything if one.refusal),
        )

    def _shown(self, candidate: Candidate) -> Shown:
        db = self.workspace.caught_up()
        decision = candidate.decision
        known = registry.entry_of_stream(db, memory_stream(decision.subject, decision.detail))
        near = similar(db, decision.subject, decision.detail, without=[known.id] if known else ())
        return Shown(candidate, known.id if known else None, known.status if known else "", tuple(near))

    # -- commands

    def save_one(
        self, session_id: str, seq: int, revision: str, by: By, *, into: str = "", replaces: str = "", token: str = ""
    ) -> Saved:
        """Approve one candidate: marker, memory and number in one transaction, or nothing at all.

        `into` merges it into a known memory, `replaces` supersedes one. Approving again is a no-op that names the
        first reviewer. Raises StaleCandidate, SelfReview, ReviewerNeeded, NotACandidate, MemoryNotLive.
        """
        if into or replaces:
            self.workspace.caught_up()  # only the registry knows the stream of a memory named by its id
        before: list[Saved] = []

        def work(draft: Draft) -> None:
            before.clear()
            reviewer = require_reviewer(self.workspace, by, token)
            promotion.require_person(reviewer)
            session = load_session(draft, session_id)
            session.decision(seq)
            if (marker := session.promoted.get(seq)) is not None:
                if into not in ("", marker.memory_id) or (replaces and not self._gave_way(draft, replaces, marker)):
                    raise NotACandidate(f"seq {seq} was promoted to {marker.memory_id} already, by {marker.by}")
                position = self.workspace.ledger.end_of_command(marker.position)
                before.append(Saved(marker.memory_id, position, True, marker.by))
                return
            self._promote(draft, session, promotion.admit(session, seq, revision, reviewer), into, replaces)

        command = ("memory.save-one", session_id, seq, revision, into, replaces)
        try:
            done = self.workspace.ledger.transact(work, by, command)
        except (SelfReview, ReviewerNeeded) as error:
            if not by.dry_run:
                self._note_refusal(session_id, seq, by, error)
            raise
        if before:
            return before[0]
        marker = done.events(MemoryPromoted)[0]
        return Saved(marker.memory_id, done.position, done.already, done.envelopes[0].actor)

    def decline(self, session_id: str, seq: int, by: By, *, token: str = "", revision: str = "") -> Committed:
        """Not to become a memory. With the revision that was shown, what came to it since is not declined unseen."""
        reviewer = require_reviewer(self.workspace, by, token)
        command = ("memory.decline", session_id, seq)
        return self._decide(
            session_id, lambda session: promotion.decline(session, seq, by.reason, reviewer, revision), by, command
        )

    def defer(self, session_id: str, seq: int, by: By, *, token: str = "", revision: str = "") -> Committed:
        """For later. With the revision that was shown, what came to it since is not deferred unseen."""
        reviewer = require_reviewer(self.workspace, by, token)
        command = ("memory.defer", session_id, seq)
        return self._decide(
            session_id, lambda session: promotion.defer(session, seq, by.reason, reviewer, revision), by, command
        )

    def close(self, session_id: str, by: By) -> Committed:
        """End F8 when nothing is left to decide."""
        return self._decide(session_id, promotion.close_review, by, ("review.close", session_id))

    def batch(
        self,
        verdicts: Iterable[Verdict],
        by: By,
        *,
        token: str = "",
        done: Callable[[Outcome], None] = lambda outcome: None,
    ) -> list[Outcome]:
        """Every verdict on its own; what fails is reported and leaves the others alone."""
        outcomes = []
        for verdict in verdicts:
            outcomes.append(self._settle(verdict, by, token))
            done(outcomes[-1])
        return outcomes

    # -- parts

    def _settle(self, verdict: Verdict, by: By, token: str) -> Outcome:
        by = By(by.actor, by.role, verdict.reason or by.reason, "", by.dry_run)
        try:
            _require_target(verdict)
            if verdict.action == "decline":
                self.decline(verdict.session_id, verdict.seq, by, token=token, revision=verdict.revision)
                return Outcome(verdict)
            if verdict.action == "defer":
                self.defer(verdict.session_id, verdict.seq, by, token=token, revision=verdict.revision)
                return Outcome(verdict)
            saved = self.save_one(
                verdict.session_id,
                verdict.seq,
                verdict.revision,
                by,
                into=verdict.memory_id if verdict.action == "merge" else "",
                replaces=verdict.memory_id if verdict.action == "replace" else "",
                token=token,
            )
        except ThtError as error:
            if error.exit_code == 3:
                raise  # the ledger is away: the rest would fail alike
            return Outcome(verdict, error=error)
        return Outcome(verdict, saved.memory_id, saved.already)

    def _promote(
        self, draft: Draft, session: Session, admitted: tuple[Candidate, bool], into: str, replaces: str
    ) -> None:
        candidate, self_reviewed = admitted
        stream = memory_stream(candidate.decision.subject, candidate.decision.detail)
        same = memories.fold(draft.load(stream))
        target = load_memory(draft, self.workspace, into) if into else same
        last = draft.last(NUMBERING)
        number = last.event.number if last and isinstance(last.event, NumberTaken) else 0
        old = load_memory(draft, self.workspace, replaces) if replaces else None
        made = promotion.promote(
            session,
            candidate,
            target,
            last_number=number,
            self_reviewed=self_reviewed,
            replaces=old,
        )
        draft.append(session_stream(session.session_id), made.session_events)
        draft.append(made.memory_stream, made.memory_events)
        draft.append(NUMBERING, made.number_events)
        if old is not None:
            draft.append(old.stream, made.replaced_events)

    def _decide(
        self, session_id: str, decide: Callable[[Session], Sequence[Event]], by: By, command: Sequence[object]
    ) -> Committed:
        def work(draft: Draft) -> None:
            session = load_session(draft, session_id)
            draft.append(session_stream(session_id), decide(session))

        return self.workspace.ledger.transact(work, by, command)

    def _gave_way(self, draft: Draft, memory_id: str, marker: Marker) -> bool:
        return load_memory(draft, self.workspace, memory_id).successor == marker.memory_id

    def _note_refusal(self, session_id: str, seq: int, by: By, error: ThtError) -> None:
        """The attempt stands in the audit, once: trying the same again adds nothing."""
        refused = PromotionRefused(seq=seq, reviewer=by.actor, reason=error.message)

        def work(draft: Draft) -> None:
            stream = session_stream(session_id)
            if refused not in [envelope.event for envelope in draft.load(stream)]:
                draft.append(stream, (refused,))

        self.workspace.ledger.transact(work, By(by.actor, by.role, by.reason), ("refused", session_id, seq))
