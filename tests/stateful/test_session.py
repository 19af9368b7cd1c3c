"""A session and its review, step by step against a model that knows seqs, phases and outcomes, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from adapters.curation import Curation
from adapters.ledger import By
from adapters.review import Review
from adapters.sessions import Sessions
from domain.errors import ReviewerNeeded, ThtError
from domain.session import NewDecision
from tests.oracle.histories import refusal
from tests.stateful.machine import Machine, run

PHASES: Any = st.sampled_from([f"F{number}" for number in range(1, 9)])
AUTHOR, PEOPLE = "agent:coder-1", ("human:ada", "human:bo")
AUTHORS = st.sampled_from([AUTHOR, AUTHOR, PEOPLE[0]])
REVIEWERS = st.sampled_from([*PEOPLE, *PEOPLE, "agent:critic"])
TYPES = st.sampled_from(["concept_clarified"] * 4 + ["table_promoted", "column_excluded"])
CHOICE = st.integers(0, 1000)


@dataclass
class Recorded:
    type: str
    phase: str
    author: str
    standing: str = "effective"
    outcome: str = ""

    @property
    def waits(self) -> bool:
        return self.type == "concept_clarified" and self.standing == "effective" and self.outcome in ("", "deferred")


class SessionMachine(Machine):
    """`said`: by seq less one."""

    @initialize()
    def opened(self) -> None:
        self.said: list[Recorded] = []
        self.phase, self.reopened, self.closed = "F1", set[str](), False
        self.memories: dict[str, int] = {}
        self.sessions, self.review = Sessions(self.workspace), Review(self.workspace)
        self.sessions.open("s", "How many?", By(AUTHOR))
        for author in (AUTHOR, AUTHOR, PEOPLE[0], AUTHOR):
            self.record("concept_clarified", author, None)

    # -- working

    @rule(kind=TYPES, author=AUTHORS, phase=st.none() | PHASES)
    def record(self, kind: str, author: str, phase: Any) -> None:
        number = len(self.said) + 1
        new = NewDecision(kind, f"concept {number}", f"what number {number} means", phase=phase)
        there = phase in (None, self.phase) or (phase in self.reopened and phase < self.phase)
        answer = self.tried(author, lambda by: self.sessions.record("s", new, by))
        assert isinstance(answer, ThtError) == (self.closed or not there)
        if not isinstance(answer, ThtError):
            self.said.append(Recorded(kind, phase or self.phase, author))

    @rule(phase=PHASES)
    def enter(self, phase: Any) -> None:
        answer = self.tried(AUTHOR, lambda by: self.sessions.enter("s", phase, by))
        assert isinstance(answer, ThtError) == (self.closed or phase <= self.phase)
        if not isinstance(answer, ThtError):
            self.phase = phase

    @rule(phase=PHASES)
    def reopen(self, phase: Any) -> None:
        answer = self.tried(AUTHOR, lambda by: self.sessions.reopen("s", phase, by))
        assert not (phase > self.phase and not isinstance(answer, ThtError))
        if not isinstance(answer, ThtError):
            self._back_to(phase, {phase}, lambda one: one.phase > phase)

    @rule(phase=PHASES)
    def roll_back(self, phase: Any) -> None:
        answer = self.tried(AUTHOR, lambda by: self.sessions.roll_back("s", phase, by))
        assert not (phase > self.phase and not isinstance(answer, ThtError))
        if not isinstance(answer, ThtError):
            self._back_to(phase, set(), lambda one: one.phase >= phase)

    def _back_to(self, phase: str, also: set[str], undone: Any) -> None:
        for one in self.said:
            if one.standing == "effective" and undone(one):
                one.standing = "stale"
        self.phase, self.closed = phase, False
        self.reopened = {other for other in self.reopened if other < phase} | also

    @precondition(lambda self: self.said)
    @rule(which=CHOICE)
    def retract(self, which: int) -> None:
        seq = 1 + which % len(self.said)
        answer = self.tried(AUTHOR, lambda by: self.sessions.retract("s", seq, by))
        assert isinstance(answer, ThtError) == (self.said[seq - 1].standing != "effective")
        if not isinstance(answer, ThtError):
            self.said[seq - 1].standing = "retracted"

    # -- reviewing

    @precondition(lambda self: self.said)
    @rule(which=CHOICE, reviewer=REVIEWERS)
    def promote(self, which: int, reviewer: str) -> None:
        """Invariants 1, 3 and 8, and that nothing else stands in the way of what may be promoted."""
        seq = self._seq(which)
        one = self.said[seq - 1]
        shown = self.review.preview("s", limit=-1, with_deferred=True).candidates
        assert {each.candidate.seq for each in shown} == {n for n, each in enumerate(self.said, 1) if each.waits}
        revision = {each.candidate.seq: each.candidate.revision for each in shown}.get(seq, "")
        if one.outcome == "promoted":
            before = self.workspace.ledger.head()
            if reviewer not in PEOPLE:
                assert isinstance(
                    refusal(lambda: self.review.save_one("s", seq, revision, By(reviewer))), ReviewerNeeded
                )
                return
            assert self.review.save_one("s", seq, revision, By(reviewer)).already
            assert self.workspace.ledger.head() == before
            return
        answer = self.tried(
            reviewer, lambda by: self.review.save_one("s", seq, revision, by), noted="promotion_refused"
        )
        may = one.waits and reviewer in PEOPLE and reviewer != one.author
        assert isinstance(answer, ThtError) == (not may or self._choosing), (answer, one)
        if not isinstance(answer, ThtError):
            self._decided(one, "promoted")
            assert answer.memory_id not in self.memories
            self.memories[answer.memory_id] = seq

    @precondition(lambda self: self.said)
    @rule(which=CHOICE, reviewer=REVIEWERS, verb=st.sampled_from(["decline", "defer"]))
    def decide_otherwise(self, which: int, reviewer: str, verb: str) -> None:
        seq = self._seq(which)
        one = self.said[seq - 1]
        answer = self.tried(reviewer, lambda by: getattr(self.review, verb)("s", seq, by))
        may = one.waits and reviewer in PEOPLE and not (verb == "defer" and one.outcome == "deferred")
        assert isinstance(answer, ThtError) == (not may or self._choosing), (answer, one)
        if not isinstance(answer, ThtError):
            self._decided(one, "declined" if verb == "decline" else "deferred")

    @property
    def _choosing(self) -> bool:
        """In F2 memories are reused, never promoted."""
        return self.phase == "F2" and not self.closed

    def _decided(self, one: Recorded, outcome: str) -> None:
        """F8 begins by itself with the first decision."""
        one.outcome = outcome
        self.phase = self.phase if self.closed else "F8"

    def _seq(self, which: int) -> int:
        """Mostly one that waits."""
        waiting = [number for number, one in enumerate(self.said, 1) if one.waits]
        return waiting[which % len(waiting)] if waiting and which % 5 else 1 + which % len(self.said)

    @rule()
    def close(self) -> None:
        answer = self.tried(AUTHOR, lambda by: self.sessions.close("s", by))
        undecided = any(one.waits and not one.outcome for one in self.said)
        assert isinstance(answer, ThtError) == (self.closed or undecided)
        self.closed = self.closed or not isinstance(answer, ThtError)

    # -- what is read

    @invariant()
    def the_session_stands_as_it_was_told(self) -> None:
        session = self.sessions.get("s")
        assert (session.phase, session.closed) == (self.phase, self.closed)
        assert [(one.type, one.phase, one.author, one.standing) for one in session.decisions] == [
            (one.type, one.phase, one.author, one.standing) for one in self.said
        ]
        outcomes = {"promoted": session.promoted, "declined": session.declined}
        for outcome, found in outcomes.items():
            assert set(found) == {seq for seq, one in enumerate(self.said, 1) if one.outcome == outcome}

    @invariant()
    def the_registry_is_what_was_promoted(self) -> None:
        entries, _ = Curation(self.workspace).list(status="")
        found = {entry.id: [one.seq for one in entry.sources] for entry in entries}
        assert found == {memory: [seq] for memory, seq in self.memories.items()}
        assert {entry.record.type for entry in entries} <= {"concept_clarified"}


def test_a_session_does_what_it_was_told_whatever_comes_next() -> None:
    run(
        SessionMachine,
        "record enter reopen roll_back retract promote decide_otherwise close",
        "WrongPhase NothingChanged SessionIsClosed UndecidedCandidates SelfReview ReviewerNeeded NotACandidate",
    )
