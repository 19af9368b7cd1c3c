"""Sessions after the first walk through: closed, opened again, and F2's marks that lapse (sessions.md, "Session")."""

from __future__ import annotations

import pytest

from domain import session as sessions
from domain.errors import SessionIsClosed, WrongPhase
from domain.session_events import (
    ConceptClarified,
    DecisionRetracted,
    MemoryRejected,
    MemorySetAside,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionReviewClosed,
    SessionClosed,
)
from tests.domain.spec import clarified, given, new

WALKED = (clarified(1, phase="F1"), PhaseEntered(phase="F3"), clarified(2, phase="F3"), PhaseEntered(phase="F5"))


# -- the closed session ------------------------------------------------------------------------------------------------

CLOSED = (clarified(1), PromotionReviewClosed(), SessionClosed())


def test_a_closed_session_takes_no_decision_phase_choice_or_edit() -> None:
    story = given(*CLOSED)
    story.when(lambda s: sessions.record(s, new())).fails_with(SessionIsClosed)
    story.when(lambda s: sessions.enter(s, "F2")).fails_with(SessionIsClosed)
    story.when(lambda s: sessions.enter_reuse(s)).fails_with(SessionIsClosed)
    story.when(lambda s: sessions.set_aside(s, ("mem-0001",))).fails_with(SessionIsClosed)
    story.when(lambda s: sessions.edit(s, 1, new(), "")).fails_with(SessionIsClosed)


def test_what_is_wrong_can_be_retracted_in_a_closed_session() -> None:
    given(*CLOSED).when(lambda s: sessions.retract(s, 1, "wrong")).then(DecisionRetracted(seq=1, reason="wrong"))


def test_an_import_keeps_a_decision_in_whatever_phase_it_was_made() -> None:
    given(*CLOSED).when(lambda s: sessions.record(s, new(phase="F6"), historical=True)).then(
        ConceptClarified(seq=2, phase="F6", subject="ablation", detail="a procedure")
    )


@pytest.mark.parametrize("event", [PhaseReopened(phase="F1"), PhaseRolledBack(phase="F1")])
def test_reopening_or_rolling_back_opens_a_closed_session_and_its_review(
    event: PhaseReopened | PhaseRolledBack,
) -> None:
    state = given(*CLOSED, event).state
    assert (state.closed, state.review_closed) == (False, False)


def test_a_closed_session_may_be_reopened_in_the_phase_where_it_stands() -> None:
    given(*CLOSED).when(lambda s: sessions.reopen(s, "F1")).then(PhaseReopened(phase="F1"))
    story = given(PhaseReopened(phase="F1"), *CLOSED)
    story.when(lambda s: sessions.reopen(s, "F1")).then(PhaseReopened(phase="F1"))


# -- F2: memories chosen, set aside, rejected --------------------------------------------------------------------------

IN_F2 = (PhaseEntered(phase="F2"), MemorySetAside(memory_id="mem-0002"))


def test_a_memory_set_aside_is_decided_until_f2_is_opened_again() -> None:
    """S-26: deselect in F2 is "not now", so the memory may be offered again."""
    assert given(*IN_F2).state.decided_memories == {"mem-0002"}
    assert given(*IN_F2, PhaseEntered(phase="F5")).state.decided_memories == {"mem-0002"}
    assert given(*IN_F2, PhaseEntered(phase="F5"), PhaseReopened(phase="F2")).state.decided_memories == set()
    assert given(*IN_F2, PhaseEntered(phase="F5"), PhaseRolledBack(phase="F2")).state.decided_memories == set()


def test_reopening_another_phase_keeps_what_was_set_aside() -> None:
    assert given(*IN_F2, PhaseEntered(phase="F5"), PhaseReopened(phase="F3")).state.decided_memories == {"mem-0002"}


def test_a_rejected_memory_stays_decided() -> None:
    rejected = MemoryRejected(memory_id="mem-0003")
    assert given(PhaseEntered(phase="F2"), rejected, PhaseReopened(phase="F2")).state.decided_memories == {"mem-0003"}


def test_an_applied_memory_is_decided_while_its_decision_is_effective() -> None:
    applied = (PhaseEntered(phase="F2"), clarified(1, phase="F2", source_memory="mem-0001"))
    assert given(*applied).state.decided_memories == {"mem-0001"}
    assert given(*applied, DecisionRetracted(seq=1)).state.decided_memories == set()


def test_setting_aside_marks_only_what_is_undecided() -> None:
    story = given(*IN_F2)
    story.when(lambda s: sessions.set_aside(s, ("mem-0002", "mem-0003"))).then(MemorySetAside(memory_id="mem-0003"))
    story.when(lambda s: sessions.set_aside(s, ("mem-0002",))).then()


def test_f2_begins_by_itself_with_the_first_choice_and_later_has_to_be_reopened() -> None:
    given().when(sessions.enter_reuse).then(PhaseEntered(phase="F2"))
    given(*IN_F2).when(sessions.enter_reuse).then()
    given(*WALKED).when(sessions.enter_reuse).fails_with(WrongPhase)
    given(*WALKED, PhaseReopened(phase="F2"), PhaseEntered(phase="F4")).when(sessions.enter_reuse).then()
