"""Which facts of different authors agree or contradict: given facts, then clusters and disputes. S-37, S-39, S-41."""

from __future__ import annotations

import pytest

from domain import belief
from domain.belief import Belief, BeliefFormed, BeliefRevised, BeliefWithdrawn, confidence_of
from domain.equivalents import Known
from domain.harmony import BLOCK, candidates, harmonised
from domain.links import telling_words
from tests.domain.test_equivalents import known


def pairs(facts: list[Known]) -> list[tuple[Known, Known]]:
    return list(candidates(facts, {fact.fact_id: telling_words(fact.content) for fact in facts}))


def agreed(one: str, other: str, **more: object) -> bool:
    return bool(harmonised([known(1, "notes", one), known(2, "notes", other, **more)]).clusters)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Backups run nightly", "backups run nightly!"),
        ("Backups run nightly", "Backups run nightly on the replica"),
        ("Deploys happen on Friday afternoon", "Deploys happen every Friday afternoon"),
        ("The staging cluster runs in Frankfurt", "The staging cluster is running in Frankfurt"),
        ("Il referto è firmato dal medico", "Il referto è firmato dal medico di turno"),
    ],
)
def test_the_same_or_finer_is_agreement(one: str, other: str) -> None:
    assert agreed(one, other)
    assert not agreed(one, other, authors=("agent:a1",)), "one author alone agrees with nobody"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deploys happen on Friday", "Deploys happen on Monday"),
        ("Ada manages the payments team", "Bo manages the payments team"),
        ("The api calls the database", "The database calls the api"),
        ("The retention of the audit log is 30 days", "The retention of the audit log is 90 days"),
        ("Backups of the orders run nightly", "Backups of the orders rarely run nightly"),
        ("The audit log is kept for a year", "Is the audit log kept for a year?"),
        ("Backups run nightly", "Coffee is free"),
    ],
)
def test_what_may_mean_something_else_is_no_agreement(one: str, other: str) -> None:
    assert not agreed(one, other)


def test_a_contradiction_between_authors_is_a_dispute_and_one_of_an_author_with_itself_is_none() -> None:
    one = known(1, "notes", "The retention of the audit log is 30 days")
    other = known(2, "audit log", "The retention of the audit log is 90 days")
    (dispute,) = harmonised([other, one]).disputes
    assert (dispute.older, dispute.newer, dispute.rule) == (one, other, "another value")
    both = known(2, "audit log", other.content, authors=("agent:a1", "agent:a9"))
    assert harmonised([one, both]).disputes == ()


def test_two_subjects_neither_agree_nor_contradict() -> None:
    """S-37."""
    text = "The retention of the log is {} days"
    facts = [
        known(1, "billing", text.format(30)),
        known(2, "search", text.format(30)),
        known(3, "stock", text.format(90)),
    ]
    assert harmonised(facts) == harmonised([])


def test_who_contradicts_their_own_cluster_is_left_out() -> None:
    facts = [
        known(1, "audit log", "The audit log is kept for 30 days"),
        known(2, "audit log", "The audit log is kept for 30 days on tape"),
        known(3, "audit log", "The audit log is not kept for 30 days"),
    ]
    found = harmonised(facts)
    assert [[fact.fact_id for fact in cluster] for cluster in found.clusters] == [["fact-1", "fact-2"]]
    assert found.disputes


def test_vectors_count_where_both_have_one() -> None:
    one, other = (
        known(1, "notes", "Builds are slow on Monday morning"),
        known(2, "notes", "Monday compilation takes long"),
    )
    near = {frozenset((one.fact_id, other.fact_id)): 0.8}
    assert not harmonised([one, other]).clusters
    assert harmonised([one, other], lambda a, b: near.get(frozenset((a, b)))).clusters
    same = known(2, "notes", "Builds are slow on Monday morning")
    assert not harmonised([one, same], lambda a, b: 0.69).clusters


def test_candidates_grow_with_the_facts_and_not_with_their_square() -> None:
    """Every fact shares a template's words; only neighbours are looked at."""
    counts = []
    for size in (500, 1000):
        facts = [known(n, "services", f"Service s{n} listens on port {n} of the internal network") for n in range(size)]
        counts.append(len(pairs(facts)))
    assert counts[1] <= 2.2 * counts[0]
    assert counts[1] < 1000 * BLOCK


def test_no_pair_that_shares_half_its_words_is_missed() -> None:
    words = [f"w{n}" for n in range(12)]
    facts = [known(n, "notes", " ".join([*words[n % 5 : n % 5 + 6], f"own{n}"])) for n in range(20)]
    found = {frozenset((one.fact_id, other.fact_id)) for one, other in pairs(facts)}
    for one in facts:
        for other in facts:
            shared = set(one.content.split()) & set(other.content.split())
            if one.place < other.place and len(shared) >= 0.5 * len(
                set(one.content.split()) | set(other.content.split())
            ):
                assert frozenset((one.fact_id, other.fact_id)) in found


@pytest.mark.parametrize(
    ("confidences", "authors", "expected"),
    [([0.7, 0.7], 2, 0.8), ([0.7, 0.5], 3, 0.8), ([0.7] * 5, 5, 0.9), ([0.1, 0.2], 2, 0.5), ([1.0, 0.9], 2, 0.95)],
)
def test_confidence_of_a_belief(confidences: list[float], authors: int, expected: float) -> None:
    assert confidence_of(confidences, authors) == pytest.approx(expected)


def test_a_belief_becomes_what_is_wanted_and_is_left_alone_when_it_is() -> None:
    wanted = Belief("belief-1", "ops", ("fact-1", "fact-2"), ("agent:a", "agent:b"), 0.8)
    grown = Belief("belief-1", "ops", ("fact-1", "fact-2", "fact-3"), ("agent:a", "agent:b"), 0.8)
    gone = Belief("belief-1", "ops", wanted.facts, wanted.authors, 0.8, live=False)
    assert [type(event) for event in belief.become(None, wanted)] == [BeliefFormed]
    assert belief.become(wanted, wanted) == ()
    assert [type(event) for event in belief.become(wanted, grown)] == [BeliefRevised]
    assert [type(event) for event in belief.become(wanted, gone)] == [BeliefWithdrawn]
    assert [type(event) for event in belief.become(gone, wanted)] == [BeliefFormed]
    assert belief.become(None, gone) == ()
