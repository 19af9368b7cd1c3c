"""Where a fact came from: what an echo is worth, and what rests on what. S-41, S-59."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tht
from tests.cli.facts import ADA, propose, searched


def test_s41_recalling_and_repeating_manufactures_no_confidence(tht: Tht) -> None:
    fact = propose(tht, "the cache lives one hour", "--actor", "agent:a", "--confidence", "0.5")["fact_id"]
    for _ in range(25):
        assert searched(tht, "how long does the cache live", "--actor", "agent:b") == ["the cache lives one hour"]
    for _ in range(3):
        again = propose(tht, "The cache lives one hour.", "--actor", "agent:b")
        assert (again["outcome"], again["echoed"], again["confidence"]) == ("mentioned", True, 0.5)
    shown = tht.json("fact", "show", fact)
    assert (shown["recall_count"], shown["mention_count"], shown["independent_origins"]) == (25, 0, 1)
    assert shown["confidence"] == 0.5
    own = propose(tht, "the cache lives one hour", "--actor", "human:ada")
    assert (own["echoed"], own["confidence"]) == (False, 0.65)
    assert tht.json("fact", "show", fact)["independent_origins"] == 2


def test_a_correction_washes_off_nothing_of_where_a_fact_came_from(tht: Tht) -> None:
    """S-59."""
    tool = propose(tht, "pushes go to main", "--veracity", "tool", "--actor", "tool:fetch")["fact_id"]
    told = tht.json("fact", "correct", tool, "all pushes go to main", "--actor", "agent:x")["fact_id"]
    assert tht.json("fact", "show", told)["trust"] == "tool"
    policy = tht.json("policy", "propose", "Push to main", "--domain", "d", "--from", told, *ADA)
    assert tht.json("policy", "show", policy["policy_id"])["status"] == "held"


@pytest.mark.parametrize("source", ["obs-aaaaaaaaaaaa", "item-aaaaaaaaaaaa", "fact-aaaaaaaaaaaa"])
def test_a_source_has_to_be_there(tht: Tht, source: str) -> None:
    propose(tht, "x is y", *ADA)
    words = ("fact", "propose", "y is z", "--domain", "d", "--topic", "t", "--source", source, *ADA)
    assert tht.refused(*words) == "UnknownFact"


def test_whoever_takes_a_fact_out_is_told_what_rests_on_it(tht: Tht) -> None:
    fact = propose(tht, "the owner of the release is Bo", *ADA)["fact_id"]
    policy = tht.json("policy", "propose", "Ask Bo before a release", "--domain", "d", "--from", fact, *ADA)
    citing = propose(tht, "Bo may stop a release", "--source", fact, *ADA, topic="other")["fact_id"]
    done = tht.json("fact", "retire", fact, *ADA, "--reason", "Bo left")
    assert done["look_again"] == [policy["policy_id"], citing]
    assert tht.json("fact", "retire", citing, *ADA)["look_again"] == []
