"""Policies: what is recorded when, and which rules wait for a person (knowledge.md, "Policies"; scenario S-59)."""

from __future__ import annotations

import pytest

from domain import policy as policies
from domain.erasure import TextErased
from domain.errors import InvalidInput, NothingChanged, Refused, ReviewerNeeded, SelfReview
from domain.event import ERASED
from domain.policy import NewPolicy, Policy, accept_policy, policy_id, policy_stream, why_held
from domain.policy_events import PolicyActivated, PolicyDeactivated, PolicyProposed, PolicySuperseded
from domain.promotion import Reviewer
from tests.domain.spec import ADA, AGENT, BO, Given, Story, by, recorded

RULE = "Always use pnpm"
ID = policy_id("architecture", RULE)
NEW = accept_policy("architecture", "Always use npm")
HELD = "derived from what is not first hand: fact-a is tool"
DEACTIVATED = PolicyDeactivated(policy_id=ID)
ACTIVATED = PolicyActivated(policy_id=ID)
SUPERSEDED = PolicySuperseded(policy_id=ID, by=NEW.id)
GONE = TextErased(record=ID)


def proposed(held: str = "", *, supersedes: str = "", rule: str = RULE) -> PolicyProposed:
    return PolicyProposed(
        policy_id=policy_id("architecture", rule),
        domain="architecture",
        rule=rule,
        active=not held,
        held=held,
        supersedes=supersedes,
    )


def given_policy(*events: Given, held: str = "", supersedes: str = "", proposer: str = AGENT) -> Story[Policy]:
    first = by(proposer, proposed(held, supersedes=supersedes))
    policy = policies.fold(recorded(policy_stream(ID), (first, *events)))
    assert policy is not None
    return Story(policy)


# -- proposing ---------------------------------------------------------------------------------------------------------


def test_a_rule_is_active_at_once() -> None:
    assert policies.propose(None, accept_policy("architecture", f"  {RULE} "), "") == proposed()


@pytest.mark.parametrize("same", ["Always use pnpm", "  always   use PNPM. ", "«Always use pnpm»"])
def test_the_same_rule_in_one_domain_meets_itself(same: str) -> None:
    new = accept_policy("architecture", same)
    assert new.id == ID
    given_policy().when(lambda there: policies.propose(there, new, "")).fails_with(NothingChanged, "active already")


def test_the_same_rule_in_another_domain_is_another_policy() -> None:
    assert accept_policy("repo:shop/architecture", RULE).id != ID


def test_a_rule_that_is_there_and_out_says_how_to_bring_it_back() -> None:
    for story in (given_policy(DEACTIVATED), given_policy(SUPERSEDED), given_policy(held=HELD)):
        with pytest.raises(NothingChanged) as caught:
            policies.propose(story.state, accept_policy("architecture", RULE), "")
        assert caught.value.hint == f"tht policy activate {ID}"


def test_an_erased_rule_is_not_proposed_again_in_the_same_words() -> None:
    """S-13: else the id alone would say what was erased."""
    given_policy(GONE).when(lambda there: policies.propose(there, accept_policy("architecture", RULE), "")).fails_with(
        Refused
    )


@pytest.mark.parametrize("rule", ["", "  \n", "...", "x" * 2_001, "a\x00b"])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(InvalidInput):
        accept_policy("architecture", rule)


# -- trust -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proposer", "lineage", "held"),
    [
        (AGENT, {}, ""),
        (AGENT, {"fact-a": "stated", "fact-b": "inferred"}, ""),
        (AGENT, {"fact-a": "stated", "fact-b": "tool"}, "fact-b is tool"),
        (ADA, {"fact-a": "imported"}, "fact-a is imported"),
        (ADA, {"fact-a": "unknown"}, "fact-a is unknown"),
        (ADA, {"fact-a": None}, "fact-a is unknown"),
        ("tool:scraper", {}, "proposed by tool:scraper"),
    ],
)
def test_trust_is_the_least_of_the_lineage(proposer: str, lineage: dict[str, str | None], held: str) -> None:
    """S-59: whoever proposes it, a person too."""
    found = why_held(proposer, lineage)
    assert bool(found) == bool(held)
    assert held in found


def test_what_is_held_is_not_active() -> None:
    """S-59: a policy with a source of tool or imported origin stays inactive."""
    event = policies.propose(None, accept_policy("architecture", RULE, derived_from=("fact-a",)), HELD)
    assert (event.active, event.held) == (False, HELD)
    assert given_policy(held=HELD).state.status == "held"


def test_only_a_person_who_did_not_propose_it_lets_it_in() -> None:
    """S-59, S-20: invariant 8."""
    held = given_policy(held=HELD)
    held.when(lambda policy: policies.activate(policy, Reviewer(AGENT))).fails_with(ReviewerNeeded)
    held.when(lambda policy: policies.activate(policy, Reviewer("tool:x", allow_self=True))).fails_with(ReviewerNeeded)
    held.when(lambda policy: policies.activate(policy, Reviewer(ADA))).then(ACTIVATED)
    assert given_policy(by(ADA, ACTIVATED), held=HELD).state == given_policy().state


def test_whoever_proposed_it_does_not_let_it_in_unless_the_workspace_says_so() -> None:
    own = given_policy(held=HELD, proposer=ADA)
    own.when(lambda policy: policies.activate(policy, Reviewer("human:Ada"))).fails_with(SelfReview)
    own.when(lambda policy: policies.activate(policy, Reviewer(ADA, allow_self=True))).then(
        PolicyActivated(policy_id=ID, self_reviewed=True)
    )


def test_taking_a_held_policy_out_does_not_make_it_free() -> None:
    """S-59 by another road: held, deactivated, activated by the agent."""
    out = given_policy(DEACTIVATED, held=HELD)
    assert out.state.status == "inactive"
    out.when(lambda policy: policies.activate(policy, Reviewer(AGENT))).fails_with(ReviewerNeeded)
    out.when(lambda policy: policies.activate(policy, Reviewer(BO))).then(ACTIVATED)


# -- superseding -------------------------------------------------------------------------------------------------------


def supersede(policy: Policy, there: Policy | None = None, held: str = "", new: NewPolicy = NEW) -> tuple[object, ...]:
    change = policies.supersede(policy, there, new, held)
    return (*change.new, *change.old)


def test_the_new_rule_and_the_end_of_the_old_are_one_change() -> None:
    given_policy().when(supersede).then(proposed(rule="Always use npm"), SUPERSEDED)
    after = given_policy(SUPERSEDED).state
    assert (after.status, after.superseded_by) == ("superseded", NEW.id)


def test_the_old_rule_stays_while_the_new_one_waits_for_a_person() -> None:
    """S-59: what a tool said takes no rule away either."""
    given_policy().when(lambda old: supersede(old, held=HELD)).then(
        proposed(HELD, supersedes=ID, rule="Always use npm")
    )
    assert policies.give_way(given_policy().state, NEW.id) == (SUPERSEDED,)
    assert policies.give_way(given_policy(GONE).state, NEW.id) == ()
    assert policies.give_way(given_policy(SUPERSEDED).state, NEW.id) == ()


def test_a_rule_that_is_there_may_take_the_place() -> None:
    there = policies.fold(recorded(policy_stream(NEW.id), (proposed(rule="Always use npm"),)))
    given_policy().when(lambda old: supersede(old, there)).then(SUPERSEDED)
    out = policies.fold(
        recorded(policy_stream(NEW.id), (proposed(rule="Always use npm"), PolicyDeactivated(policy_id=NEW.id)))
    )
    given_policy().when(lambda old: supersede(old, out)).then(PolicyActivated(policy_id=NEW.id), SUPERSEDED)


def test_a_rule_that_waits_takes_no_place_by_being_said_again() -> None:
    """S-59 by another road."""
    waiting = policies.fold(recorded(policy_stream(NEW.id), (proposed(HELD, rule="Always use npm"),)))
    given_policy().when(lambda old: supersede(old, waiting)).fails_with(NothingChanged, "waits for a person")


def test_superseding_what_is_out_or_by_itself_is_refused() -> None:
    same = accept_policy("architecture", "ALWAYS use pnpm!")
    given_policy().when(lambda old: supersede(old, new=same)).fails_with(Refused)
    given_policy(SUPERSEDED).when(supersede).fails_with(NothingChanged)
    given_policy(GONE).when(supersede).fails_with(Refused)


def test_a_superseded_policy_comes_back() -> None:
    given_policy(SUPERSEDED).when(lambda policy: policies.activate(policy, Reviewer(AGENT))).then(ACTIVATED)
    assert given_policy(SUPERSEDED, ACTIVATED).state == given_policy().state


# -- activating and deactivating ---------------------------------------------------------------------------------------


def test_commands_that_change_nothing_say_so() -> None:
    """S-03."""
    given_policy().when(lambda policy: policies.activate(policy, Reviewer(AGENT))).fails_with(NothingChanged)
    for out in (DEACTIVATED, SUPERSEDED):
        given_policy(out).when(policies.deactivate).fails_with(NothingChanged)
    given_policy().when(policies.deactivate).then(DEACTIVATED)


def test_an_erased_policy_stays_erased() -> None:
    """S-13: the fold of a stream whose text is gone is that of one in which it was read."""
    after = given_policy(GONE).state
    assert (after.status, after.rule) == ("erased", ERASED)
    given_policy(GONE).when(lambda policy: policies.activate(policy, Reviewer(BO))).fails_with(Refused)
    given_policy(GONE).when(policies.deactivate).fails_with(Refused)
    unread = policies.fold(recorded(policy_stream(ID), (proposed().model_copy(update={"rule": ERASED}), GONE)))
    assert unread == after
