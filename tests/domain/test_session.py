"""Sessions: phases, effective decisions, what is refused, and marks that lapse (sessions.md, "Session")."""

from __future__ import annotations

import pytest

from domain import session as sessions
from domain.errors import InvalidInput, NothingChanged, Refused, UnknownDecision, WrongPhase
from domain.session import NewDecision, Session
from domain.session_events import (
    PHASES,
    ColumnExcluded,
    ColumnPromoted,
    ConceptClarified,
    DecisionRetracted,
    Phase,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    SessionOpened,
    TableExcluded,
    TablePromoted,
)
from tests.domain.spec import ADA, Story, by, clarified, given, new, recorded

WALKED = (clarified(1, phase="F1"), PhaseEntered(phase="F3"), clarified(2, phase="F3"), PhaseEntered(phase="F5"))


def standings(story: Story[Session]) -> dict[int, str]:
    return {decision.seq: decision.standing for decision in story.state.decisions}


# -- opening and recording ---------------------------------------------------------------------------------------------


def test_a_session_begins_in_f1_with_its_question() -> None:
    opened = sessions.open_session("s1", "How many?", "cardio")
    assert opened == SessionOpened(session_id="s1", question="How many?", database="cardio")
    state = given().state
    assert (state.phase, state.decisions, state.closed, state.review_closed) == ("F1", (), False, False)


@pytest.mark.parametrize(("session_id", "question"), [("", "q"), ("a b", "q"), ("s", " "), ("s", "a\x00b")])
def test_a_session_without_an_id_or_a_question_is_not_opened(session_id: str, question: str) -> None:
    with pytest.raises(InvalidInput):
        sessions.open_session(session_id, question)


def test_decisions_are_numbered_from_1_whatever_their_type() -> None:
    story = given(clarified(1), TablePromoted(seq=2, phase="F1", subject="fact_x", detail=""))
    story.when(lambda s: sessions.record(s, new())).then(
        ConceptClarified(seq=3, phase="F1", subject="ablation", detail="a procedure")
    )


def test_the_number_of_a_retracted_decision_is_not_taken_again() -> None:
    story = given(clarified(1), DecisionRetracted(seq=1))
    story.when(lambda s: sessions.record(s, new())).then(
        ConceptClarified(seq=2, phase="F1", subject="ablation", detail="a procedure")
    )


@pytest.mark.parametrize(
    ("type_", "event"),
    [
        ("table_promoted", TablePromoted),
        ("table_excluded", TableExcluded),
        ("column_promoted", ColumnPromoted),
        ("column_excluded", ColumnExcluded),
    ],
)
def test_schema_linking_is_recorded_under_its_own_name(
    type_: str, event: type[TablePromoted | TableExcluded | ColumnPromoted | ColumnExcluded]
) -> None:
    decision = NewDecision(type_, "fact_x", "", "why")
    given().when(lambda s: sessions.record(s, decision)).then(
        event(seq=1, phase="F1", subject="fact_x", detail="", rationale="why")
    )


@pytest.mark.parametrize(
    "bad",
    [
        NewDecision("memory_promoted", "x", "y"),
        NewDecision("concept_clarified", " ", "y"),
        NewDecision("concept_clarified", "x", ""),
        NewDecision("concept_clarified", "x", "\ud800"),
        NewDecision("concept_clarified", "x", "y", concepts=("ok", "")),
        NewDecision("concept_clarified", "x" * 2_001, "y"),
        NewDecision("concept_clarified", "x", "y" * 100_001),
        NewDecision("concept_clarified", "x", "y", phase="F9"),  # type: ignore[arg-type]  # as JSON may say
    ],
)
def test_a_decision_that_cannot_be_stored_or_shown_is_invalid(bad: NewDecision) -> None:
    given().when(lambda s: sessions.record(s, bad)).fails_with(InvalidInput)


# -- phases ------------------------------------------------------------------------------------------------------------


def test_phases_go_forward_and_may_skip() -> None:
    given().when(lambda s: sessions.enter(s, "F2")).then(PhaseEntered(phase="F2"))
    given(PhaseEntered(phase="F2")).when(lambda s: sessions.enter(s, "F8")).then(PhaseEntered(phase="F8"))


def test_entering_the_current_phase_changes_nothing() -> None:
    given().when(lambda s: sessions.enter(s, "F1")).fails_with(NothingChanged)


def test_an_earlier_phase_is_reopened_not_entered() -> None:
    given(PhaseEntered(phase="F4")).when(lambda s: sessions.enter(s, "F3")).fails_with(WrongPhase)


@pytest.mark.parametrize("phase", PHASES)
def test_a_decision_belongs_to_the_current_phase_alone(phase: Phase) -> None:
    outcome = given(PhaseEntered(phase="F4")).when(lambda s: sessions.record(s, new(phase=phase)))
    if phase == "F4":
        outcome.then(ConceptClarified(seq=1, phase="F4", subject="ablation", detail="a procedure"))
    else:
        outcome.fails_with(WrongPhase)


def test_a_reopened_phase_takes_decisions_after_the_session_has_gone_on() -> None:
    story = given(*WALKED, PhaseReopened(phase="F3"), PhaseEntered(phase="F6"))
    story.when(lambda s: sessions.record(s, new(phase="F3"))).then(
        ConceptClarified(seq=3, phase="F3", subject="ablation", detail="a procedure")
    )
    story.when(lambda s: sessions.record(s, new(phase="F1"))).fails_with(WrongPhase, "F3, F6")
    story.when(lambda s: sessions.record(s, new(phase="F7"))).fails_with(WrongPhase)


def test_reopening_an_earlier_phase_shuts_the_later_reopened_one() -> None:
    story = given(*WALKED, PhaseReopened(phase="F3"), PhaseReopened(phase="F1"), PhaseEntered(phase="F5"))
    assert story.state.reopened == {"F1"}
    story.when(lambda s: sessions.record(s, new(phase="F3"))).fails_with(WrongPhase)


def test_only_a_phase_that_was_reached_is_reopened_or_rolled_back() -> None:
    given().when(lambda s: sessions.reopen(s, "F2")).fails_with(WrongPhase)
    given().when(lambda s: sessions.roll_back(s, "F2")).fails_with(WrongPhase)


def test_reopening_twice_changes_nothing() -> None:
    story = given(*WALKED, PhaseReopened(phase="F3"))
    story.when(lambda s: sessions.reopen(s, "F3")).fails_with(NothingChanged)


def test_reopening_again_after_going_on_is_a_change() -> None:
    story = given(*WALKED, PhaseReopened(phase="F3"), PhaseEntered(phase="F5"))
    story.when(lambda s: sessions.reopen(s, "F3")).then(PhaseReopened(phase="F3"))


# -- effective decisions -----------------------------------------------------------------------------------------------


def test_reopening_makes_later_phases_stale_and_lets_its_own_stand() -> None:
    story = given(*WALKED, clarified(3, phase="F5"), PhaseReopened(phase="F3"))
    assert standings(story) == {1: "effective", 2: "effective", 3: "stale"}
    assert [decision.seq for decision in story.state.effective] == [1, 2]


def test_rolling_back_makes_its_own_phase_stale_too() -> None:
    story = given(*WALKED, clarified(3, phase="F5"), PhaseRolledBack(phase="F3"))
    assert standings(story) == {1: "effective", 2: "stale", 3: "stale"}
    assert story.state.phase == "F3"


def test_a_rolled_back_phase_is_the_current_one_and_takes_decisions() -> None:
    story = given(*WALKED, PhaseRolledBack(phase="F3"))
    story.when(lambda s: sessions.record(s, new())).then(
        ConceptClarified(seq=3, phase="F3", subject="ablation", detail="a procedure")
    )


def test_a_stale_decision_comes_back_only_by_being_recorded_again() -> None:
    """S-26, the part of rolled-back decisions: going forward again does not revive them."""
    again = (PhaseRolledBack(phase="F3"), PhaseEntered(phase="F5"))
    assert standings(given(*WALKED, *again)) == {1: "effective", 2: "stale"}
    story = given(*WALKED, *again, clarified(3, "concept 2", "what 2 means", phase="F5"))
    assert standings(story) == {1: "effective", 2: "stale", 3: "effective"}


def test_a_decision_recorded_after_the_reopening_stands() -> None:
    story = given(*WALKED, PhaseReopened(phase="F1"), PhaseEntered(phase="F3"), clarified(3, phase="F3"))
    assert standings(story) == {1: "effective", 2: "stale", 3: "effective"}


def test_retracting_twice_or_retracting_what_is_stale_changes_nothing() -> None:
    """S-03."""
    given(clarified(1)).when(lambda s: sessions.retract(s, 1, "wrong")).then(DecisionRetracted(seq=1, reason="wrong"))
    given(clarified(1), DecisionRetracted(seq=1)).when(lambda s: sessions.retract(s, 1, "")).fails_with(
        NothingChanged, "retracted already"
    )
    given(*WALKED, PhaseReopened(phase="F1")).when(lambda s: sessions.retract(s, 2, "")).fails_with(
        NothingChanged, "stale already"
    )


@pytest.mark.parametrize("seq", [0, -1, 2])
def test_a_seq_that_is_not_the_sessions_is_unknown(seq: int) -> None:
    """S-03."""
    given(clarified(1)).when(lambda s: sessions.retract(s, seq, "")).fails_with(UnknownDecision)


def test_a_retracted_decision_stays_retracted_when_its_phase_is_rolled_back() -> None:
    story = given(clarified(1), DecisionRetracted(seq=1), PhaseRolledBack(phase="F1"))
    assert standings(story) == {1: "retracted"}


# -- edit --------------------------------------------------------------------------------------------------------------


def test_an_edit_retracts_the_old_and_records_the_new_that_names_it() -> None:
    story = given(*WALKED)
    story.when(lambda s: sessions.edit(s, 1, new(), "")).then(
        DecisionRetracted(seq=1, reason="edited: see seq 3"),
        ConceptClarified(seq=3, phase="F5", subject="ablation", detail="a procedure", supersedes=1),
    )


def test_an_edit_that_says_the_same_changes_nothing() -> None:
    story = given(clarified(1, "ablation", "a procedure"))
    story.when(lambda s: sessions.edit(s, 1, new(), "")).fails_with(NothingChanged)


def test_only_an_effective_clarification_is_edited() -> None:
    linked = TablePromoted(seq=1, phase="F1", subject="fact_x", detail="")
    given(linked).when(lambda s: sessions.edit(s, 1, new(), "")).fails_with(Refused, "only clarifications")
    gone = (clarified(1), DecisionRetracted(seq=1))
    given(*gone).when(lambda s: sessions.edit(s, 1, new(), "")).fails_with(NothingChanged)
    given(clarified(1)).when(lambda s: sessions.edit(s, 2, new(), "")).fails_with(UnknownDecision)


def test_an_edit_does_not_turn_a_clarification_into_schema_linking() -> None:
    table = NewDecision("table_promoted", "fact_x", "use it")
    given(clarified(1)).when(lambda s: sessions.edit(s, 1, table, "")).fails_with(Refused, "only clarifications")


# -- folding -----------------------------------------------------------------------------------------------------------


def test_the_author_is_who_recorded_the_decision() -> None:
    story = given(clarified(1), by(ADA, clarified(2)))
    assert [decision.author for decision in story.state.decisions] == ["agent:coder-1", "human:ada"]


def test_a_stream_that_does_not_begin_with_its_opening_is_refused() -> None:
    assert sessions.fold([]) is None
    with pytest.raises(Refused):
        sessions.fold(recorded("session/s1", [clarified(1)]))
