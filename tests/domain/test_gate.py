"""F8: the gate, and what each verdict records (sessions.md, "Promotion: F8")."""

from __future__ import annotations

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
from domain.memory import MemoryRetired, MemorySuperseded, NumberTaken, SourceAdded, memory_stream
from domain.promotion import Reviewer
from domain.session_events import DecisionRetracted, MemoryPromoted, MemoryPromotionDeclined, PhaseEntered
from tests.domain.review import (
    DONE,
    F8,
    REVIEWER,
    approved,
    declined,
    deferred,
    in_review,
    only,
    promoted,
)
from tests.domain.spec import ADA, BO, by, clarified, given, given_memory, remembered, source

# -- the gate ----------------------------------------------------------------------------------------------------------


def test_the_gate_opens_for_another_person_who_saw_what_is_recorded() -> None:
    story = in_review(clarified(1))
    assert promotion.admit(story.state, 1, only(story).revision, REVIEWER) == (only(story), False)


def test_an_approval_of_content_that_changed_since_is_stale() -> None:
    """S-22: revision 1 is shown, then edited; the candidate stays pending as it is."""
    shown = only(in_review(clarified(1, "a", "b"))).revision
    story = in_review(clarified(1, "a", "b"), DecisionRetracted(seq=1), clarified(2, "a", "b, but only once"))
    before = only(story)
    story.when(lambda s: promotion.admit(s, 2, shown, REVIEWER)).fails_with(StaleCandidate)
    story.when(lambda s: promotion.admit(s, 1, shown, REVIEWER)).fails_with(NotACandidate, "retracted")
    story.when(lambda s: promotion.admit(s, 2, "", REVIEWER)).fails_with(StaleCandidate, "not none")
    assert only(story) == before


@pytest.mark.parametrize("actor", ["agent:coder-1", "agent:reviewer", "tool:importer"])
@pytest.mark.parametrize("allow_self", [False, True])
def test_only_a_person_promotes_declines_or_defers(actor: str, allow_self: bool) -> None:
    """S-20, the agent: no setting lets one approve."""
    story, reviewer = in_review(clarified(1)), Reviewer(actor, allow_self)
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, reviewer)).fails_with(ReviewerNeeded)
    story.when(lambda s: promotion.decline(s, 1, "", reviewer)).fails_with(ReviewerNeeded)
    story.when(lambda s: promotion.defer(s, 1, "", reviewer)).fails_with(ReviewerNeeded)


@pytest.mark.parametrize("actor", ["human:ada", "human:Ada", "human:ＡＤＡ"])
def test_who_proposes_does_not_approve(actor: str) -> None:
    """S-20."""
    story = in_review(by(ADA, clarified(1)))
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, Reviewer(actor))).fails_with(SelfReview)


def test_who_wrote_a_covered_one_proposed_it_too() -> None:
    """S-20."""
    story = in_review(clarified(1, "a", "b"), by(ADA, clarified(2, "A", "b")))
    story.when(lambda s: promotion.admit(s, 1, only(story).revision, REVIEWER)).fails_with(SelfReview)


def test_a_solo_workspace_may_allow_it_and_says_so() -> None:
    story = in_review(by(ADA, clarified(1)))
    assert promotion.admit(story.state, 1, only(story).revision, Reviewer(ADA, True)) == (only(story), True)


def test_no_candidate_is_invented() -> None:
    """S-03: a seq that the session does not have."""
    in_review(clarified(1)).when(lambda s: promotion.admit(s, 2, "", REVIEWER)).fails_with(UnknownDecision)


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
    story.when(lambda s: promotion.decline(s, 1, "", REVIEWER)).then(F8, MemoryPromotionDeclined(seq=1, detail="seq:1"))
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
    story = given(clarified(1), F8, promoted(1), DecisionRetracted(seq=1))
    assert story.state.promoted[1].memory_id == "mem-0001"
    assert story.state.decision(1).standing == "retracted"
    assert promotion.candidates(story.state) == ()
