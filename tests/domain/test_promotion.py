"""F8: candidates, the gate, and what each verdict records (sessions.md, "Promotion: F8")."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from domain import promotion
from domain.errors import (
    MemoryNotLive,
    NotACandidate,
    NothingChanged,
    Refused,
    ReviewerNeeded,
    SelfReview,
    StaleCandidate,
    UndecidedCandidates,
    UnknownDecision,
    WrongPhase,
)
from domain.event import Event
from domain.memory import MemoryRetired, MemorySuperseded, NumberTaken, SourceAdded, memory_stream
from domain.promotion import Candidate, Promotion, Reviewer
from domain.session import (
    ColumnExcluded,
    ConceptClarified,
    DecisionRetracted,
    MemoryPromoted,
    MemoryPromotionDeclined,
    PhaseEntered,
    PhaseReopened,
    PhaseRolledBack,
    PromotionDeferred,
    PromotionReviewClosed,
    Session,
    SessionClosed,
    TableExcluded,
    TablePromoted,
)
from tests.domain.spec import ADA, AGENT, BO, Given, Story, by, clarified, given, given_memory, remembered, source

REVIEWER = Reviewer(ADA)
F8 = PhaseEntered(phase="F8")
DONE = PromotionReviewClosed()


def in_review(*events: Given) -> Story[Session]:
    return given(*events, F8)


def promoted(seq: int, *covers: int) -> tuple[str, Event]:
    return by(ADA, MemoryPromoted(seq=seq, detail=f"seq:{seq}", memory_id="mem-0001", covers=covers))


def declined(seq: int, *covers: int) -> tuple[str, Event]:
    return by(ADA, MemoryPromotionDeclined(seq=seq, detail=f"seq:{seq}", covers=covers))


def deferred(seq: int) -> tuple[str, Event]:
    return by(ADA, PromotionDeferred(seq=seq))


def linked(seq: int, subject: str, kind: type[TablePromoted | TableExcluded | ColumnExcluded]) -> Event:
    return kind(seq=seq, phase="F1", subject=subject, detail="")


def seqs(story: Story[Session]) -> list[int]:
    return [one.seq for one in promotion.candidates(story.state)]


def only(story: Story[Session]) -> Candidate:
    (candidate,) = promotion.candidates(story.state)
    return candidate


def approved(session: Session, seq: int = 1, **more: Any) -> Promotion:
    candidate = promotion.candidate_at(session, seq)
    return promotion.promote(session, candidate, more.pop("target", None), last_number=6, self_reviewed=False, **more)


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
    story.when(lambda s: promotion.candidate_at(s, 1) and ()).fails_with(NotACandidate, "only a concept_clarified")


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
    story.when(lambda s: promotion.candidate_at(s, 4) and ()).fails_with(NotACandidate, "declined")


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
    assert (first.seq, first.covers, first.authors) == (1, (3,), {AGENT, ADA})
    assert (second.seq, second.covers, second.authors) == (2, (), {BO})
    assert first.sources == (source(1), source(3))
    story.when(lambda s: promotion.candidate_at(s, 3) and ()).fails_with(NotACandidate, "goes with it")


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
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, REVIEWER) and ()).fails_with(
        NotACandidate, "names a table"
    )


@pytest.mark.parametrize("gone", [(), (DecisionRetracted(seq=1),)])
def test_a_subject_equal_to_one_of_the_sessions_schema_linking_is_refused(gone: tuple[Event, ...]) -> None:
    """Whatever became of the linking: the subject names a table or column."""
    story = in_review(linked(1, "Patients", TableExcluded), clarified(2, "`patients`", "the people treated"), *gone)
    assert "schema linking" in only(story).refusal
    story.when(lambda s: promotion.admit(s, 2, only(story).revision, REVIEWER) and ()).fails_with(NotACandidate)


def test_tables_inside_an_explanation_are_welcome() -> None:
    story = given(clarified(1, "ablation", "rows of fact_procedure with ablazione_transcatetere = TRUE"))
    assert only(story).refusal == ""


def test_another_sessions_tables_do_not_matter() -> None:
    assert only(given(clarified(1, "patients", "the people treated"))).refusal == ""


# -- reuse -------------------------------------------------------------------------------------------------------------


def test_a_memory_reused_unchanged_is_no_candidate() -> None:
    story = given(clarified(1, source_memory="mem-0001"))
    assert seqs(story) == []
    story.when(lambda s: promotion.candidate_at(s, 1) and ()).fails_with(NotACandidate, "reuses mem-0001 unchanged")


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


# -- the gate ----------------------------------------------------------------------------------------------------------


def test_the_gate_opens_for_another_person_who_saw_what_is_recorded() -> None:
    story = in_review(clarified(1))
    assert promotion.admit(story.state, 1, only(story).revision, REVIEWER) == (only(story), False)


def test_an_approval_of_content_that_changed_since_is_stale() -> None:
    """S-22: revision 1 is shown, then edited; the candidate stays pending as it is."""
    shown = only(in_review(clarified(1, "a", "b"))).revision
    story = in_review(clarified(1, "a", "b"), DecisionRetracted(seq=1), clarified(2, "a", "b, but only once"))
    before = only(story)
    story.when(lambda s: promotion.admit(s, 2, shown, REVIEWER) and ()).fails_with(StaleCandidate)
    story.when(lambda s: promotion.admit(s, 1, shown, REVIEWER) and ()).fails_with(NotACandidate, "retracted")
    story.when(lambda s: promotion.admit(s, 2, "", REVIEWER) and ()).fails_with(StaleCandidate, "not none")
    assert only(story) == before


@pytest.mark.parametrize("actor", ["agent:coder-1", "agent:reviewer", "tool:importer"])
@pytest.mark.parametrize("allow_self", [False, True])
def test_only_a_person_promotes_declines_or_defers(actor: str, allow_self: bool) -> None:
    """S-20, the agent: no setting lets one approve."""
    story, reviewer = in_review(clarified(1)), Reviewer(actor, allow_self)
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, reviewer) and ()).fails_with(ReviewerNeeded)
    story.when(lambda s: promotion.decline(s, 1, "", reviewer)).fails_with(ReviewerNeeded)
    story.when(lambda s: promotion.defer(s, 1, "", reviewer)).fails_with(ReviewerNeeded)


@pytest.mark.parametrize("actor", ["human:ada", "human:Ada", "human:ＡＤＡ"])
def test_who_proposes_does_not_approve(actor: str) -> None:
    """S-20."""
    story = in_review(by(ADA, clarified(1)))
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, Reviewer(actor)) and ()).fails_with(SelfReview)


def test_who_wrote_a_covered_one_proposed_it_too() -> None:
    """S-20."""
    story = in_review(clarified(1, "a", "b"), by(ADA, clarified(2, "A", "b")))
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, REVIEWER) and ()).fails_with(SelfReview)


def test_a_solo_workspace_may_allow_it_and_says_so() -> None:
    story = in_review(by(ADA, clarified(1)))
    assert promotion.admit(story.state, 1, only(story).revision, Reviewer(ADA, True)) == (only(story), True)


def test_no_candidate_is_invented() -> None:
    """S-03: a seq that the session does not have."""
    in_review(clarified(1)).when(lambda s: promotion.admit(s, 2, "", REVIEWER) and ()).fails_with(UnknownDecision)


# -- what an approval records ------------------------------------------------------------------------------------------


def test_a_new_memory_comes_with_its_marker_and_its_number() -> None:
    story = given(clarified(1, "a", "b"), clarified(2, "A", "b"), F8)
    made = approved(story.state)
    stream = memory_stream("a", "b")
    assert (made.memory_id, made.memory_stream) == ("mem-0007", stream)
    assert made.session_events == (
        MemoryPromoted(
            seq=1, detail="seq:1", memory_id="mem-0007", covers=(2,), revision=only(story).revision, self_reviewed=False
        ),
        DONE,
    )
    recording = remembered("mem-0007").model_copy(
        update={"subject": "a", "detail": "b", "sources": (source(1), source(2))}
    )
    assert made.memory_events == (recording,)
    assert made.number_events == (NumberTaken(number=7, memory_id="mem-0007", stream=stream),)
    assert made.replaced_events == ()


def test_content_that_is_known_adds_a_source_and_takes_no_number() -> None:
    """S-08: the same content from two sessions is one memory."""
    known = given_memory().state
    made = approved(given(clarified(1), F8, session_id="s2").state, target=known)
    assert made.memory_id == "mem-0001"
    assert made.memory_stream == known.stream
    assert made.memory_events == (SourceAdded(memory_id="mem-0001", sources=(source(1, "s2"),)),)
    assert made.number_events == ()


def test_a_memory_that_has_ended_takes_no_source() -> None:
    ended = given_memory(MemoryRetired(memory_id="mem-0001")).state
    in_review(clarified(1)).when(lambda s: approved(s, target=ended).memory_events).fails_with(MemoryNotLive)


def test_replacing_supersedes_the_old_one() -> None:
    made = approved(in_review(clarified(1)).state, replaces=given_memory(seq=2).state)
    assert made.replaced_events == (MemorySuperseded(memory_id="mem-0001", by="mem-0007"),)


def test_a_memory_replaces_neither_itself_nor_one_that_has_ended() -> None:
    known = given_memory().state
    ended = given_memory(MemoryRetired(memory_id="mem-0001"), seq=2).state
    story = in_review(clarified(1))
    story.when(lambda s: approved(s, target=known, replaces=known).replaced_events).fails_with(Refused)
    story.when(lambda s: approved(s, replaces=ended).replaced_events).fails_with(MemoryNotLive)


def test_f8_begins_by_itself_with_the_first_decision() -> None:
    story = given(clarified(1), clarified(2))
    story.when(lambda s: promotion.decline(s, 1, "", REVIEWER)).then(
        F8, MemoryPromotionDeclined(seq=1, detail="seq:1")
    )
    assert approved(story.state).session_events[0] == F8


def test_nothing_is_promoted_declined_or_deferred_in_f2() -> None:
    story = given(clarified(1), PhaseEntered(phase="F2"))
    story.when(lambda s: approved(s).session_events).fails_with(WrongPhase, "F2")
    story.when(lambda s: promotion.decline(s, 1, "", REVIEWER)).fails_with(WrongPhase)
    story.when(lambda s: promotion.defer(s, 1, "", REVIEWER)).fails_with(WrongPhase)
    story.when(promotion.close_review).fails_with(UndecidedCandidates)


# -- decline and defer -------------------------------------------------------------------------------------------------


def test_declining_takes_the_covered_ones_along() -> None:
    story = in_review(clarified(1, "a", "b"), clarified(2, "A", "b"))
    story.when(lambda s: promotion.decline(s, 1, "no", REVIEWER)).then(
        MemoryPromotionDeclined(seq=1, detail="seq:1", covers=(2,), reason="no"), DONE
    )


def test_deciding_twice_changes_nothing_and_names_the_first_reviewer() -> None:
    """S-24, for declining and deferring."""
    other = Reviewer(BO)
    in_review(clarified(1), declined(1)).when(lambda s: promotion.decline(s, 1, "", other)).fails_with(
        NothingChanged, ADA
    )
    in_review(clarified(1), deferred(1)).when(lambda s: promotion.defer(s, 1, "", other)).fails_with(
        NothingChanged, ADA
    )


def test_what_was_promoted_is_neither_declined_nor_deferred() -> None:
    story = in_review(clarified(1), promoted(1))
    story.when(lambda s: promotion.decline(s, 1, "", Reviewer(BO))).fails_with(NotACandidate, "mem-0001 by human:ada")
    story.when(lambda s: promotion.defer(s, 1, "", Reviewer(BO))).fails_with(NotACandidate)


def test_a_promotion_keeps_its_first_reviewer() -> None:
    """S-24: the marker that a second approval is answered with."""
    marker = in_review(clarified(1), promoted(1)).state.promoted[1]
    assert (marker.by, marker.memory_id, marker.leader) == (ADA, "mem-0001", 1)


def test_a_declined_one_is_not_deferred_and_a_deferred_one_may_be_declined() -> None:
    in_review(clarified(1), declined(1)).when(lambda s: promotion.defer(s, 1, "", REVIEWER)).fails_with(NotACandidate)
    in_review(clarified(1), clarified(2), deferred(1)).when(lambda s: promotion.decline(s, 1, "", REVIEWER)).then(
        MemoryPromotionDeclined(seq=1, detail="seq:1")
    )


def test_a_promotion_outlives_its_source() -> None:
    """S-26: the promotion already made stays, its source's standing says that it fell away."""
    session = given(clarified(1), F8, promoted(1), DecisionRetracted(seq=1)).state
    assert session.promoted[1].memory_id == "mem-0001"
    assert session.decision(1).standing == "retracted"
    assert replace(session.decision(1), standing="effective") not in session.effective
