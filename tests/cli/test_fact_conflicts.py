"""`tht conflicts`: what excludes each other is superseded or asked about, and a person decides. S-35 to S-39."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tht
from tests.cli.facts import ADA, listed, propose, searched

# -- S-35, S-37, S-39: supersession and conflict


def test_s35_only_the_newer_of_two_that_exclude_each_other_is_read(tht: Tht) -> None:
    old = propose(tht, "Ada works at Acme", *ADA)
    new = propose(tht, "Ada works at Beta", *ADA)
    assert (new["outcome"], new["superseded"]) == ("proposed", [old["fact_id"]])
    assert listed(tht) == searched(tht, "where does Ada work") == ["Ada works at Beta"]
    (row,) = tht.json("conflicts", "list", "--all")["conflicts"]
    assert (row["facts"], row["winner"], row["state"]) == (
        [old["fact_id"], new["fact_id"]],
        new["fact_id"],
        "decided",
    )
    shown = tht.json("fact", "show", new["fact_id"])
    assert [one["content"] for one in shown["replaced"]] == ["Ada works at Acme"]


def test_s37_an_unrelated_fact_stays_live(tht: Tht) -> None:
    propose(tht, "Ada is engineer at X", *ADA)
    propose(tht, "Ada administers X's repo", *ADA)
    propose(tht, "Ada is engineer at Y", *ADA, topic="another topic")
    propose(tht, "Ada is engineer at Z", *ADA, domain="another")
    assert len(listed(tht)) == 4
    assert tht.json("conflicts", "list", "--state", "decided")["conflicts"] == []


def test_s38_a_reworded_contradiction_waits_for_a_person(tht: Tht) -> None:
    one = propose(tht, "Ada leads the payments team in Milan", *ADA)
    other = propose(tht, "the payments team in Milan has Ada as lead", *ADA)
    (row,) = tht.json("conflicts", "list")["conflicts"]
    assert (row["found"], row["state"], len(listed(tht))) == ("unsure", "open", 2)
    kept = tht.json("conflicts", "resolve", row["id"], "--keep", one["fact_id"], *ADA, "--reason", "said it first")
    assert kept["kept"] == one["fact_id"]
    assert listed(tht) == ["Ada leads the payments team in Milan"]
    shown = tht.json("conflicts", "show", row["id"])
    assert (shown["state"], shown["resolved_by"], shown["resolved_reason"]) == ("kept", "human:ada", "said it first")
    assert [fact["id"] for fact in shown["facts"]] == [one["fact_id"], other["fact_id"]]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the timeout of the API gateway is 30 seconds", "the timeout of the API gateway is 31 seconds"),
        ("the backup of the orders database is encrypted", "the backup of the orders database is not encrypted"),
        ("the incident on call is handled by Ada Rossi", "the incident on call is handled by Ida Rossi"),
        ("il farmaco va preso prima dei pasti ogni giorno", "il farmaco va preso dopo i pasti ogni giorno"),
    ],
)
def test_s39_texts_that_differ_in_a_number_a_name_or_a_negation_are_never_merged(
    tht: Tht, one: str, other: str
) -> None:
    first, second = propose(tht, one, *ADA), propose(tht, other, *ADA)
    assert second["outcome"] != "mentioned"
    assert second["fact_id"] != first["fact_id"]
    assert {one, other} == set(listed(tht, "--status", "all"))


def test_a_restored_fact_that_contradicts_a_live_one_opens_a_conflict(tht: Tht) -> None:
    old = propose(tht, "Ada works at Acme", *ADA)["fact_id"]
    tht.json("fact", "retire", old, *ADA)
    propose(tht, "Ada works at Beta", *ADA)
    tht.json("fact", "restore", old, *ADA)
    (row,) = tht.json("conflicts", "list")["conflicts"]
    assert (row["found"], row["state"], len(listed(tht))) == ("contradiction", "open", 2)


def test_a_fact_that_comes_back_opens_the_conflict_that_it_had_lost(tht: Tht) -> None:
    old = propose(tht, "the port is 8080", *ADA)["fact_id"]
    propose(tht, "the port is 9090", *ADA)
    tht.json("fact", "restore", old, *ADA)
    (row,) = tht.json("conflicts", "list")["conflicts"]
    assert (row["state"], row["winner"], len(listed(tht))) == ("open", None, 2)


# -- a person decides, and may take it back


def test_a_person_keeps_both_merges_or_takes_the_decision_back(tht: Tht) -> None:
    propose(tht, "Ada works at Acme", *ADA)
    propose(tht, "Ada works at Beta", *ADA)
    (row,) = tht.json("conflicts", "list", "--all")["conflicts"]
    assert tht.refused("conflicts", "resolve", row["id"], "--both", "--actor", "agent:a") == "ReviewerNeeded"
    assert tht.refused("conflicts", "resolve", row["id"], code=2) == "InvalidInput"
    assert tht.refused("conflicts", "resolve", "conflict-nobody", "--both", *ADA) == "UnknownConflict"
    tht.json("conflicts", "resolve", row["id"], "--both", *ADA)
    assert len(listed(tht)) == 2
    assert tht.refused("conflicts", "resolve", row["id"], "--both", *ADA) == "NothingChanged"
    tht.json("conflicts", "resolve", row["id"], "--reopen", *ADA)
    merged = tht.json("conflicts", "resolve", row["id"], "--merge", "Ada works at Acme and Beta", *ADA)
    assert listed(tht) == ["Ada works at Acme and Beta"]
    assert tht.json("fact", "show", merged["kept"])["source_observation_ids"] == row["facts"]
    assert tht.json("verify")["ok"]


def test_a_merge_is_about_whom_both_are_about(tht: Tht) -> None:
    mario = ("--about", "person:mario", *ADA)
    propose(tht, "Mario earns 50000 euro", *mario)
    propose(tht, "Mario earns 60000 euro", *mario)
    (row,) = tht.json("conflicts", "list", "--all")["conflicts"]
    merged = tht.json("conflicts", "resolve", row["id"], "--merge", "Mario earns 50000 plus 10000 euro", *ADA)["kept"]
    assert tht.json("fact", "show", merged)["about"] == "person:mario"
    propose(tht, "the door code is 1", "--about", "person:ann", *ADA, topic="door")
    (other,) = propose(tht, "the door code is 2", *ADA, topic="door")["conflicts"]
    assert tht.refused("conflicts", "resolve", other["id"], "--merge", "the door code is 3", *ADA) == "Refused"


def test_taking_a_merge_back_takes_back_what_it_made(tht: Tht) -> None:
    propose(tht, "the limit is 10 GB", *ADA)
    second = propose(tht, "the limit is 20 GB", *ADA)["fact_id"]
    (row,) = tht.json("conflicts", "list", "--all")["conflicts"]
    tht.json("conflicts", "resolve", row["id"], "--merge", "the limit was raised from 10 to 20 GB", *ADA)
    tht.json("conflicts", "resolve", row["id"], "--keep", second, *ADA)
    assert listed(tht) == ["the limit is 20 GB"]
    tht.json("conflicts", "resolve", row["id"], "--merge", "15 GB is the limit that holds", *ADA)
    tht.json("conflicts", "resolve", row["id"], "--reopen", *ADA)
    assert set(listed(tht)) == {"the limit is 10 GB", "the limit is 20 GB"}
    assert tht.json("verify")["ok"]


def test_a_decision_brings_nothing_back_that_it_did_not_end(tht: Tht) -> None:
    first = propose(tht, "the limit is 10 GB", *ADA)["fact_id"]
    propose(tht, "the limit is 20 GB", *ADA, "--on-conflict", "ask")
    (row,) = tht.json("conflicts", "list")["conflicts"]
    tht.json("fact", "correct", first, "the quota of the build farm is twelve gigabytes", *ADA)
    assert tht.refused("conflicts", "resolve", row["id"], "--keep", first, *ADA) == "FactNotLive"
    assert tht.json("conflicts", "list")["conflicts"] == []
    assert tht.json("conflicts", "list", "--state", "moot")["total"] == 1


def test_who_decides_a_conflict_shows_a_token_where_the_workspace_asks_for_one(tht: Tht) -> None:
    propose(tht, "Ada works at Acme", *ADA)
    propose(tht, "Ada works at Beta", *ADA)
    (row,) = tht.json("conflicts", "list", "--all")["conflicts"]
    tht.json("config", "set", "review.require_token", "true")
    assert tht.refused("conflicts", "resolve", row["id"], "--both", *ADA) == "ReviewerNeeded"
