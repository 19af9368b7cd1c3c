"""F8: who is a candidate, and when the review ends (sessions.md, "Promotion: F8", 1 to 6)."""

from __future__ import annotations

from typing import Any

import pytest

from domain import promotion
from domain.errors import (
    NotACandidate,
    NothingChanged,
    UndecidedCandidates,
)
from domain.event import Event
from domain.session_events import (
    ColumnExcluded,
    ConceptClarified,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionDeferred,
    SessionClosed,
    TableExcluded,
    TablePromoted,
)
from tests.domain.review import (
    DONE,
    F8,
    REVIEWER,
    approved,
    declined,
    deferred,
    in_review,
    linked,
    only,
    promoted,
    seqs,
)
from tests.domain.spec import ADA, AGENT, BO, by, clarified, given, source

# -- rules 1 to 4: who is a candidate ----------------------------------------------------------------------------------


def test_only_effective_decisions_are_candidates() -> None:
    """S-26: a retracted or rolled-back decision is not promotable."""
    walked = (clarified(1), clarified(2), PhaseEntered(phase="F3"), clarified(3, phase="F3"))
    assert seqs(given(*walked)) == [1, 2, 3]
    assert seqs(given(*walked, DecisionRetracted(seq=2))) == [1, 3]
    assert seqs(given(*walked, PhaseRolledBack(phase="F3"))) == [1, 2]
    assert seqs(given(*walked, PhaseReopened(phase="F1"))) == [1, 2]


def test_only_clarifications_are_candidates() -> None:
    story = given(linked(1, "a", TablePromoted), linked(2, "b", TableExcluded), linked(3, "c", ColumnExcluded))
    assert seqs(story) == []
    story.when(lambda s: promotion.candidate_at(s, 1)).fails_with(NotACandidate, "only a concept_clarified")


def test_what_was_promoted_is_no_candidate_any_more_its_covered_ones_neither() -> None:
    same = (clarified(1, "A", "b"), clarified(2, "c", "d"), clarified(3, "a", "B"))
    assert seqs(given(*same, promoted(1, 3))) == [2]


def test_the_same_content_said_again_after_its_promotion_is_a_candidate_of_its_own() -> None:
    """It adds a source to the memory that is known."""
    assert seqs(given(clarified(1, "a", "b"), promoted(1), clarified(2, "a", "b"))) == [2]


def test_declined_content_never_comes_back_in_this_session() -> None:
    """S-26: neither itself, nor its covered ones, nor the same content recorded anew, nor after a rollback."""
    story = given(
        clarified(1, "a", "b"),
        clarified(2, "A", "b."),
        declined(1, 2),
        clarified(3, "«a»", "b"),
        PhaseRolledBack(phase="F1"),
        clarified(4, "a", "b"),
        clarified(5, "a", "other"),
    )
    assert seqs(story) == [5]
    story.when(lambda s: promotion.candidate_at(s, 4)).fails_with(NotACandidate, "declined")


def test_a_deferred_candidate_stays_one() -> None:
    story = given(clarified(1), clarified(2), deferred(1))
    assert seqs(story) == [1, 2]
    assert [one.seq for one in promotion.undecided(story.state)] == [2]
    deferral = promotion.candidates(story.state)[0].deferred
    assert deferral is not None
    assert deferral.by == ADA


# -- rule 5: equivalent content ----------------------------------------------------------------------------------------


def test_equivalent_content_is_one_candidate_led_by_the_earliest() -> None:
    story = given(
        clarified(1, "Ablation", "A  procedure."),
        by(BO, clarified(2, "other", "thing")),
        by(ADA, clarified(3, "“ablation”", "a procedure")),
    )
    first, second = promotion.candidates(story.state)
    assert (first.seq, first.covers, set(first.authors)) == (1, (3,), {AGENT, ADA})
    assert (second.seq, second.covers, set(second.authors)) == (2, (), {BO})
    assert first.sources == (source(1), source(3))
    story.when(lambda s: promotion.candidate_at(s, 3)).fails_with(NotACandidate, "goes with it")


def test_when_the_leader_goes_the_next_one_leads() -> None:
    story = given(clarified(1, "a", "b"), clarified(2, "A", "b"), deferred(1), DecisionRetracted(seq=1))
    assert (only(story).seq, only(story).covers, only(story).deferred) == (2, (), None)


@pytest.mark.parametrize(
    ("one", "other"), [("age < 5", "age 5"), ("counted once", "not counted once"), ("5 mg", "50 mg"), ("Rome", "Milan")]
)
def test_numbers_negation_and_names_are_never_covered(one: str, other: str) -> None:
    """S-39."""
    assert seqs(given(clarified(1, "criterion", one), clarified(2, "criterion", other))) == [1, 2]


# -- rule 6 and closing ------------------------------------------------------------------------------------------------

NINE = tuple(clarified(seq) for seq in range(1, 10))


def test_nine_clarifications_all_reach_a_decision_before_the_session_closes() -> None:
    """S-25: the page of five loses none."""
    story = in_review(*NINE)
    assert seqs(story) == list(range(1, 10))
    assert promotion.PAGE == 5
    story.when(promotion.close).fails_with(UndecidedCandidates, "9 undecided candidates: seq 1, 2, 3, 4, 5, 6, 7, 8, 9")
    story.when(promotion.close_review).fails_with(UndecidedCandidates)
    five = [promoted(seq) for seq in range(1, 6)]
    in_review(*NINE, *five).when(promotion.close).fails_with(UndecidedCandidates, "seq 6, 7, 8, 9")
    rest = [declined(6), declined(7), deferred(8), deferred(9)]
    in_review(*NINE, *five, *rest).when(promotion.close).then(DONE, SessionClosed())


def test_the_last_decision_closes_the_review() -> None:
    story = in_review(clarified(1), clarified(2), promoted(1))
    marker = MemoryPromotionDeclined(seq=2, detail="seq:2", reason="no")
    story.when(lambda s: promotion.decline(s, 2, "no", REVIEWER)).then(marker, DONE)
    in_review(clarified(1), clarified(2)).when(lambda s: promotion.decline(s, 2, "no", REVIEWER)).then(marker)


def test_the_last_deferral_closes_the_review_and_the_session_may_close() -> None:
    in_review(clarified(1)).when(lambda s: promotion.defer(s, 1, "later", REVIEWER)).then(
        PromotionDeferred(seq=1, reason="later"), DONE
    )
    given(clarified(1), F8, deferred(1), DONE).when(promotion.close).then(SessionClosed())


def test_without_candidates_the_review_closes_by_itself() -> None:
    in_review().when(promotion.close_review).then(DONE)
    given().when(promotion.close_review).then(F8, DONE)
    given().when(promotion.close).then(DONE, SessionClosed())


def test_a_candidate_that_can_only_be_refused_does_not_keep_the_session_open() -> None:
    given(clarified(1, "fact_cardioversione", "use it")).when(promotion.close).then(DONE, SessionClosed())


def test_closing_twice_changes_nothing() -> None:
    """S-03."""
    given(F8, DONE).when(promotion.close_review).fails_with(NothingChanged)
    given(DONE, SessionClosed()).when(promotion.close).fails_with(NothingChanged)


def test_a_clarification_after_the_review_opens_the_question_again() -> None:
    """S-25: what is said in F8 itself is not lost either."""
    story = given(F8, DONE, clarified(1, phase="F8"))
    story.when(promotion.close).fails_with(UndecidedCandidates)
    story.when(promotion.close_review).fails_with(UndecidedCandidates)


def test_deferred_candidates_of_a_closed_session_are_still_decided() -> None:
    story = given(clarified(1), F8, deferred(1), DONE, SessionClosed())
    assert seqs(story) == [1]
    story.when(lambda s: promotion.decline(s, 1, "", REVIEWER)).then(MemoryPromotionDeclined(seq=1, detail="seq:1"))
    story.when(lambda s: approved(s).session_events).then(
        MemoryPromoted(seq=1, detail="seq:1", memory_id="mem-0007", revision=only(story).revision)
    )


# -- what cannot become a memory ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", ["fact_cardioversione", "dim_time", "`DIM_TIME`", "dwh.fact_x"])
def test_a_subject_that_looks_like_a_table_is_refused_not_only_hidden(subject: str) -> None:
    story = in_review(clarified(1, subject, "include this table"))
    assert "names a table" in only(story).refusal
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, REVIEWER)).fails_with(
        NotACandidate, "names a table"
    )


@pytest.mark.parametrize("gone", [(), (DecisionRetracted(seq=1),)])
def test_a_subject_equal_to_one_of_the_sessions_schema_linking_is_refused(gone: tuple[Event, ...]) -> None:
    """Whatever became of the linking: the subject names a table or column."""
    story = in_review(linked(1, "Patients", TableExcluded), clarified(2, "`patients`", "the people treated"), *gone)
    assert "schema linking" in only(story).refusal
    story.when(lambda s: promotion.admit(s, 2, only(story).revision, REVIEWER)).fails_with(NotACandidate)


def test_tables_inside_an_explanation_are_welcome() -> None:
    story = given(clarified(1, "ablation", "rows of fact_procedure with ablazione_transcatetere = TRUE"))
    assert only(story).refusal == ""


def test_another_sessions_tables_do_not_matter() -> None:
    assert only(given(clarified(1, "patients", "the people treated"))).refusal == ""


# -- reuse -------------------------------------------------------------------------------------------------------------


def test_a_memory_reused_unchanged_is_no_candidate() -> None:
    story = given(clarified(1, source_memory="mem-0001"))
    assert seqs(story) == []
    story.when(lambda s: promotion.candidate_at(s, 1)).fails_with(NotACandidate, "reuses mem-0001 unchanged")


def test_a_memory_reused_and_changed_is_a_candidate_that_says_what_it_replaces() -> None:
    changed = clarified(1, source_memory="mem-0001").model_copy(update={"source_changed": True})
    assert only(given(changed)).decision.source_memory == "mem-0001"


# -- revision ----------------------------------------------------------------------------------------------------------

SHOWN = ConceptClarified(
    seq=1,
    phase="F1",
    subject="a",
    detail="b",
    rationale="c",
    question_context="d",
    concepts=("e",),
    tables=("f",),
    source_memory="mem-0001",
    source_changed=True,
)


@pytest.mark.parametrize(
    "change",
    [
        {"subject": "a2"},
        {"detail": "b2"},
        {"rationale": "c2"},
        {"question_context": "d2"},
        {"concepts": ("e", "e2")},
        {"tables": ()},
        {"source_memory": "mem-0002"},
        {"subject": "A"},
    ],
)
def test_the_revision_changes_with_whatever_is_shown(change: dict[str, Any]) -> None:
    assert only(given(SHOWN.model_copy(update=change))).revision != only(given(SHOWN)).revision


def test_the_revision_changes_when_another_decision_is_covered() -> None:
    assert only(given(SHOWN, clarified(2, "A", "b"))).revision != only(given(SHOWN)).revision


def test_the_revision_stays_while_what_is_shown_stays() -> None:
    before = only(given(SHOWN)).revision
    assert len(before) == 16
    around = given(
        by(BO, SHOWN.model_copy(update={"phase": "F1"})), clarified(2), DecisionRetracted(seq=2), deferred(1), F8
    )
    assert only(around).revision == before


def test_two_sessions_never_share_a_revision() -> None:
    assert only(given(SHOWN)).revision != only(given(SHOWN, session_id="s2")).revision
