"""`tht fact`: what is one fact and what another, how it ends and comes back, its history, times and links."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tht
from tests.cli.facts import ADA, listed, propose, searched

# -- S-03: nothing that changes nothing


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("retire", "fact-nobody"), "UnknownFact"),
        (("retire", "mem-0001"), "UnknownFact"),
        (("supersede", "FACT", "--by", "fact-nobody"), "UnknownFact"),
        (("supersede", "fact-nobody", "--by", "FACT"), "UnknownFact"),
        (("supersede", "FACT", "--by", "FACT"), "Refused"),
        (("restore", "FACT"), "NothingChanged"),
        (("correct", "fact-nobody", "text"), "UnknownFact"),
        (("link", "FACT", "fact-nobody"), "UnknownFact"),
        (("show", "fact-nobody"), "UnknownFact"),
        (("history", "fact-nobody"), "UnknownFact"),
    ],
)
def test_s03_a_command_without_effect_fails_and_records_nothing(
    tht: Tht, arguments: tuple[str, ...], error: str
) -> None:
    fact = propose(tht, "we use redis", *ADA)["fact_id"]
    before = tht.position()
    assert tht.refused("fact", *(one.replace("FACT", fact) for one in arguments)) == error
    assert (tht.position(), listed(tht)) == (before, ["we use redis"])


def test_a_correction_that_corrects_nothing_says_so_and_one_of_how_sure_it_is_does_not(tht: Tht) -> None:
    fact = propose(tht, "the port is 8080", *ADA)["fact_id"]
    assert tht.refused("fact", "correct", fact, "the port is 8080", *ADA) == "NothingChanged"
    told = tht.json("fact", "correct", fact, "the port is 8080", "--confidence", "0.4", *ADA)
    assert tht.json("fact", "show", told["fact_id"])["confidence"] == 0.4
    assert listed(tht) == ["the port is 8080"]


def test_supersession_across_topics_knows_no_loops(tht: Tht) -> None:
    one = propose(tht, "deploys happen on Monday", *ADA, topic="a")["fact_id"]
    other = propose(tht, "releases are weekly", *ADA, topic="b")["fact_id"]
    third = propose(tht, "trunk is always releasable", *ADA, topic="c")["fact_id"]
    tht.json("fact", "supersede", one, "--by", other)
    tht.json("fact", "supersede", other, "--by", third)
    assert tht.refused("fact", "supersede", third, "--by", one) == "SupersessionLoop"
    assert tht.refused("fact", "supersede", one, "--by", other) == "NothingChanged"
    tht.json("fact", "restore", one)
    assert set(listed(tht)) == {"deploys happen on Monday", "trunk is always releasable"}
    assert tht.json("verify")["ok"]


# -- S-29, S-31: history and times


def test_s29_what_it_was_before_is_one_command_away(tht: Tht) -> None:
    old = propose(tht, "the port is 8080", *ADA, "--reason", "seen in the config")["fact_id"]
    before = tht.position()
    tht.json("fact", "correct", old, "the port is 8081", *ADA, "--reason", "typing error")
    events = tht.json("fact", "history", old)["events"]
    assert [(one["kind"], one["actor"], one["reason"]) for one in events] == [
        ("fact_proposed", "human:ada", "seen in the config"),
        ("fact_superseded", "human:ada", "typing error"),
    ]
    assert listed(tht) == ["the port is 8081"]
    assert listed(tht, "--known-at", str(before)) == ["the port is 8080"]
    assert tht.json("fact", "show", old, "--known-at", str(before))["status"] == "live"


def test_s31_times_need_a_zone_and_are_kept_in_utc(tht: Tht) -> None:
    command = ("fact", "propose", "x is y", "--domain", "d", "--topic", "t", *ADA)
    assert tht.refused(*command, "--valid-from", "2026-03-29T02:30:00", code=2) == "InvalidInput"
    rome = propose(tht, "x is y", *ADA, "--valid-from", "2026-03-29T00:30:00+02:00")["fact_id"]
    zulu = propose(tht, "z is y", *ADA, "--valid-from", "2026-03-28T22:30:00Z")["fact_id"]
    times = {tht.json("fact", "show", one)["valid_from"] for one in (rome, zulu)}
    assert times == {"2026-03-28T22:30:00.000000Z"}
    found = {one["valid_from"] for one in tht.json("fact", "search", "y")["hits"]}
    assert found == times


# -- what is one, and what another


def test_a_topic_is_one_however_its_label_is_written(tht: Tht) -> None:
    propose(tht, "deploys run on Friday", *ADA, topic="Deploy Day")
    propose(tht, "deploys take an hour", *ADA, topic="deploy  day")
    propose(tht, "the day is long", *ADA, topic="day")
    assert len(listed(tht, "--topic", "DEPLOY DAY")) == 2
    assert len(listed(tht, "--topic", "day")) == 1


def test_the_same_words_about_another_person_are_another_fact(tht: Tht) -> None:
    text = "has an allergy to nuts"
    first = propose(tht, text, "--about", "person:ann", *ADA)
    other = propose(tht, text, "--about", "person:bob", *ADA)
    nobody = propose(tht, text, *ADA)
    assert len({one["fact_id"] for one in (first, other, nobody)}) == 3
    assert propose(tht, text, "--about", "person:bob", *ADA)["fact_id"] == other["fact_id"]


def test_the_same_words_for_another_time_are_another_fact(tht: Tht) -> None:
    first = propose(tht, "the server room is closed", *ADA)
    until = propose(tht, "the server room is closed", *ADA, "--valid-until", "2090-01-01T00:00:00Z")
    assert (until["outcome"], until["fact_id"] == first["fact_id"]) == ("proposed", False)
    assert propose(tht, "the server room is closed", *ADA)["outcome"] == "mentioned"


def test_the_same_domain_of_a_repository_is_a_store_of_its_own(tht: Tht) -> None:
    propose(tht, "we deploy on Monday", *ADA, domain="architecture")
    command = ("fact", "propose", "we deploy on Friday", "--domain", "architecture", "--topic", "t", *ADA)
    assert tht.refused(*command, "--repo", "acme/shop") == "UnknownRepoScope"
    tht.json("domain", "create", "architecture", "--repo", "acme/shop", *ADA)
    near = tht(*command, "--repo", "acme/shp", "--json")
    assert "acme/shop" in near.error["hint"]
    told = propose(tht, "we deploy on Friday", *ADA, "--repo", "acme/shop", domain="Architecture")
    assert (told["domain"], told["superseded"]) == ("repo:shop/architecture", [])
    assert searched(tht, "deploy", "--repo", "shop") == ["we deploy on Friday", "we deploy on Monday"]
    assert set(searched(tht, "deploy")) == {"we deploy on Friday", "we deploy on Monday"}


def test_a_repository_is_one_however_it_is_written_and_never_a_blank(tht: Tht) -> None:
    tht.json("domain", "create", "arch", "--repo", "My_Repo", *ADA)
    propose(tht, "x is y", *ADA, "--repo", "my repo", domain="arch")
    propose(tht, "y is z", *ADA, domain="arch")
    assert listed(tht, "--domain", "arch", "--repo", "MY-REPO") == listed(tht, "--repo", "my_repo") == ["x is y"]
    assert searched(tht, "x", "--domain", "arch", "--repo", "my-repo") == ["x is y"]
    for repo, code in ((" ", 2), ("nonsense", 1)):
        for command in (("fact", "list"), ("fact", "search", "x")):
            assert tht.refused(*command, "--repo", repo, code=code) in ("InvalidInput", "UnknownRepoScope")
    assert tht.refused("fact", "list", "--domain", "nosuch") == "UnknownDomain"


# -- links


def test_a_surviving_fact_is_linked_with_what_is_near_and_with_what_it_names(tht: Tht) -> None:
    first = propose(tht, "the orders service stores carts in redis", *ADA, topic="a")["fact_id"]
    propose(tht, "the moon is far away", *ADA, topic="b")
    near = propose(tht, "the orders service stores carts for a day, see " + first, *ADA, topic="c")["fact_id"]
    links = {(one["id"], one["kind"]) for one in tht.json("fact", "show", near)["links"]}
    assert links == {(first, "related_to"), (first, "references")}
    assert {one["direction"] for one in tht.json("fact", "show", first)["links"]} == {"in"}
    tht.json("fact", "link", near, first, "--kind", "related_to", "--remove")
    tht.json("fact", "retire", first)
    assert tht.json("fact", "show", near)["links"] == []
