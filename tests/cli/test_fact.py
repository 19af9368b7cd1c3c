"""`tht fact` and `tht conflicts` through the public commands: what users of other systems reported, and its kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tht

ADA = ("--actor", "human:ada")


def propose(tht: Tht, content: str, *more: str, topic: str = "t", domain: str = "d") -> dict[str, Any]:
    told: dict[str, Any] = tht.json("fact", "propose", content, "--domain", domain, "--topic", topic, *more)
    return told


def listed(tht: Tht, *more: str) -> list[str]:
    return [str(one["content"]) for one in tht.json("fact", "list", *more)["facts"]]


def searched(tht: Tht, question: str, *more: str) -> list[str]:
    return [str(one["content"]) for one in tht.json("fact", "search", question, *more)["hits"]]


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


# -- S-41: what an echo is worth


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


# -- S-61, S-63: every script


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("Η κατάλυση μετράται ανά έτος", ("κατάλυση", "καταλυση", "ΚΑΤΑΛΥΣΗ", "ΚΑΤΆΛΥΣΗ", "ετος")),
        ("Ο ασθενής λαμβάνει αγωγή κάθε ημέρα ως εξωτερικός", ("ΑΣΘΕΝΗΣ", "ασθενησ", "εξωτερικοσ")),
        ("Il ricovero è ordinario perché dura più notti", ("perche", "PERCHÉ", "piu notti", "perchè")),
        ("L'età del paziente all'ingresso", ("eta", "età", "l'età", "ingresso")),
        ("Москва — столица проекта", ("москва", "МОСКВА")),
        ("支付服务商是 Stripe", ("支付", "stripe", "服务商")),
        ("orders_v2 reads maxRetryCount from api.config", ("orders_v2", "orders", "maxretrycount", "retry", "config")),
    ],
)
def test_s61_texts_are_found_whatever_accents_case_and_script(tht: Tht, text: str, questions: tuple[str, ...]) -> None:
    propose(tht, text, *ADA)
    propose(tht, "something else entirely", *ADA, topic="other")
    for question in questions:
        assert searched(tht, question, "--mode", "keyword") == [text], question
        assert searched(tht, question)[0] == text, question


def test_s63_texts_are_kept_verbatim(tht: Tht) -> None:
    texts = ["Il dott. Rossi è a Χανιά", "Η Μαρία Παπαδοπούλου δουλεύει στην Acme", "王小明在北京工作"]
    for number, text in enumerate(texts):
        propose(tht, text, *ADA, topic=f"t{number}")
    assert listed(tht) == texts


@pytest.mark.parametrize(
    "question", ['"', "*", "NOT", "a'b", "C:\\x", "-", "😀", "AND OR NEAR(", "x" * 100_000, "^a", "{}"]
)
def test_any_text_is_a_question(tht: Tht, question: str) -> None:
    propose(tht, "we use redis", *ADA)
    for mode in ("keyword", "semantic", "hybrid"):
        assert isinstance(searched(tht, question, "--mode", mode), list)


# -- conflicts: a person decides, and may take it back


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


def test_a_restored_fact_that_contradicts_a_live_one_opens_a_conflict(tht: Tht) -> None:
    old = propose(tht, "Ada works at Acme", *ADA)["fact_id"]
    tht.json("fact", "retire", old, *ADA)
    propose(tht, "Ada works at Beta", *ADA)
    tht.json("fact", "restore", old, *ADA)
    (row,) = tht.json("conflicts", "list")["conflicts"]
    assert (row["found"], row["state"], len(listed(tht))) == ("contradiction", "open", 2)


# -- many at once


def test_a_file_of_facts_has_an_outcome_for_each_line(tht: Tht, tmp_path: Path) -> None:
    lines = [
        '{"content": "the port is 80", "topic": "web"}',
        '{"content": "the port is 81", "topic": "web"}',
        '{"content": "the port is 81.", "topic": "web"}',
        '{"content": "", "topic": "web"}',
        '{"content": "torn", "topic',
        '{"content": "x", "topic": "web", "colour": "red"}',
        '{"content": 5, "topic": "web"}',
        '{"content": "from a fact", "topic": "web", "source_observation_ids": ["fact-nobody"]}',
        '{"content": "in a repo", "topic": "web", "repo": "nobody/nothing"}',
    ]
    file = tmp_path / "facts.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    command = ("fact", "propose", "--file", str(file), "--domain", "d", *ADA, "--json")
    dry = tht(*command, "--dry-run")
    said = tht(*command)
    assert (dry.code, said.code) == (1, 1)
    outcomes = [one["outcome"] for one in said.json["lines"]]
    assert outcomes == ["proposed", "proposed", "mentioned", *["refused"] * 6]
    assert [one["outcome"] for one in dry.json["lines"]] == outcomes
    errors = {one["line"]: one["error"]["type"] for one in said.json["lines"] if one["outcome"] == "refused"}
    assert errors == dict.fromkeys((4, 5, 6, 7), "InvalidInput") | {8: "UnknownFact", 9: "UnknownRepoScope"}
    assert listed(tht) == ["the port is 81"]


def test_a_retried_file_with_the_same_key_says_the_same_and_records_nothing_twice(tht: Tht, tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_text("\n".join(json.dumps({"content": f"port {n} is open", "topic": f"{n}"}) for n in range(5)), "utf-8")
    command = ("fact", "propose", "--file", str(file), "--domain", "d", *ADA, "--idempotency-key", "once", "--json")
    first, position = tht(*command).json, tht.position()
    again = tht(*command).json
    assert tht.position() == position
    assert [one["fact_id"] for one in again["lines"]] == [one["fact_id"] for one in first["lines"]]
    assert again["counts"] == {"proposed": 5}


def test_a_retry_of_one_proposal_tells_its_outcome_again(tht: Tht) -> None:
    propose(tht, "Ada works at Acme", *ADA)
    first = propose(tht, "Ada works at Beta", *ADA, "--idempotency-key", "k")
    again = propose(tht, "Ada works at Beta", *ADA, "--idempotency-key", "k")
    for field in ("outcome", "fact_id", "superseded", "conflicts", "position"):
        assert again[field] == first[field]
    assert again["already"] is True


def test_a_dry_run_tells_the_outcome_and_records_nothing(tht: Tht) -> None:
    propose(tht, "Ada works at Acme", *ADA)
    before = tht.position()
    told = propose(tht, "Ada works at Beta", *ADA, "--dry-run")
    assert (told["outcome"], told["dry_run"], len(told["superseded"])) == ("proposed", True, 1)
    assert (tht.position(), listed(tht)) == (before, ["Ada works at Acme"])


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


# -- domains of repositories


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


# -- the hot tier


def test_what_an_agent_keeps_in_mind_is_found_by_that_agent_alone(tht: Tht) -> None:
    propose(tht, "the release is on Friday", *ADA)
    tht.json("remember", "the release needs a rollback plan", "--actor", "agent:a")
    own = tht.json("fact", "search", "release", "--actor", "agent:a")
    assert [one["content"] for one in own["remembered"]] == ["the release needs a rollback plan"]
    assert "remembered" not in tht.json("fact", "search", "release", "--actor", "agent:b")
    assert "remembered" not in tht.json("fact", "search", "submarine", "--actor", "agent:a")


def test_a_topic_is_one_however_its_label_is_written(tht: Tht) -> None:
    propose(tht, "deploys run on Friday", *ADA, topic="Deploy Day")
    propose(tht, "deploys take an hour", *ADA, topic="deploy  day")
    propose(tht, "the day is long", *ADA, topic="day")
    assert len(listed(tht, "--topic", "DEPLOY DAY")) == 2
    assert len(listed(tht, "--topic", "day")) == 1


# -- what the first readers of this code found


def test_a_fact_that_comes_back_opens_the_conflict_that_it_had_lost(tht: Tht) -> None:
    old = propose(tht, "the port is 8080", *ADA)["fact_id"]
    propose(tht, "the port is 9090", *ADA)
    tht.json("fact", "restore", old, *ADA)
    (row,) = tht.json("conflicts", "list")["conflicts"]
    assert (row["state"], row["winner"], len(listed(tht))) == ("open", None, 2)


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


def test_whoever_takes_a_fact_out_is_told_what_rests_on_it(tht: Tht) -> None:
    fact = propose(tht, "the owner of the release is Bo", *ADA)["fact_id"]
    policy = tht.json("policy", "propose", "Ask Bo before a release", "--domain", "d", "--from", fact, *ADA)
    citing = propose(tht, "Bo may stop a release", "--source", fact, *ADA, topic="other")["fact_id"]
    done = tht.json("fact", "retire", fact, *ADA, "--reason", "Bo left")
    assert done["look_again"] == [policy["policy_id"], citing]
    assert tht.json("fact", "retire", citing, *ADA)["look_again"] == []


def test_a_correction_that_corrects_nothing_says_so_and_one_of_how_sure_it_is_does_not(tht: Tht) -> None:
    fact = propose(tht, "the port is 8080", *ADA)["fact_id"]
    assert tht.refused("fact", "correct", fact, "the port is 8080", *ADA) == "NothingChanged"
    told = tht.json("fact", "correct", fact, "the port is 8080", "--confidence", "0.4", *ADA)
    assert tht.json("fact", "show", told["fact_id"])["confidence"] == 0.4
    assert listed(tht) == ["the port is 8080"]


def test_a_small_domain_is_searched_by_its_common_words_where_the_rare_ones_stand_elsewhere(
    tht: Tht, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.lexical.MATCHES", 3)  # as if there were thousands
    for number, thing in enumerate(("gateway", "mailer", "cache", "indexer", "ledger")):
        propose(tht, f"deploys of the {thing} are watched", *ADA, topic=f"t{number}", domain="large")
    propose(tht, "a rollback takes a minute", *ADA, topic="rollback", domain="large")
    propose(tht, "deploys are announced", *ADA, domain="small")
    assert searched(tht, "deploys and rollback", "--domain", "small") == ["deploys are announced"]
    assert searched(tht, "deploys and rollback")[0] == "a rollback takes a minute"
