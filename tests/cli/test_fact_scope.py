"""Facts within a scope: a closed domain shows nothing by any path, says denied, and what was erased is nowhere."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tht

ADA = ("--actor", "human:ada")
QA = ("--actor", "agent:q", "--role", "qa")
SECRET = "the salary of the captain is 9000"


def propose(tht: Tht, content: str, domain: str, *more: str) -> str:
    told = tht.json("fact", "propose", content, "--domain", domain, "--topic", "t", *(more or ADA))
    return str(told["fact_id"])


@pytest.fixture
def closed(tht: Tht) -> dict[str, str]:
    """Two domains, one closed to qa; two facts that contradict each other in each."""
    ids = {
        "secret": propose(tht, SECRET, "payroll"),
        "later": propose(tht, "the salary of the captain is 9500", "payroll"),
        "open": propose(tht, "the captain sails on Monday", "rota"),
    }
    told = tht.json("fact", "propose", "the captain earns well", "--domain", "payroll", "--topic", "other", *ADA)
    tht.json("fact", "link", told["fact_id"], ids["open"], *ADA)
    tht("grant", "set", "--role", "qa", "--domain", "payroll", "--permission", "none", "--json", "--actor", "human:ada")
    return ids | {"linked": str(told["fact_id"])}


def texts(answer: Any) -> str:
    return str(answer)


def test_s54_a_closed_domain_shows_nothing_by_any_path(tht: Tht, closed: dict[str, str]) -> None:
    lists = (
        ("fact", "list", "--status", "all"),
        ("fact", "search", "salary of the captain"),
        ("conflicts", "list", "--all"),
        ("preamble", "what is the salary of the captain on Monday"),
        ("fact", "show", closed["open"]),
        ("domain", "list"),
        ("policy", "list"),
    )
    for command in lists:
        answer = texts(tht.json(*command, *QA))
        assert "salary" not in answer, command
        assert "payroll" not in answer, command
        assert closed["linked"] not in answer, command
    for at in ("1", "6"):
        assert "salary" not in texts(tht.json("fact", "list", "--known-at", at, "--status", "all", *QA))


def test_s55_a_denial_is_told_apart_from_finding_nothing_and_counts_nothing(tht: Tht, closed: dict[str, str]) -> None:
    words = ("--mode", "keyword")
    denied = tht.json("fact", "search", "salary", *words, *QA)
    nothing = tht.json("fact", "search", "submarine", *words, *QA)
    other = tht.json("fact", "search", "submarine", *words, "--actor", "agent:q", "--role", "coder")
    assert denied == nothing
    assert denied["hits"] == []
    assert denied["denied"].startswith("denied")
    for mode in ("semantic", "hybrid"):  # the nearest of what is open, whatever is asked
        found = [tht.json("fact", "search", question, "--mode", mode, *QA) for question in ("salary", "submarine")]
        assert [[one["id"] for one in answer["hits"]] for answer in found] == [[closed["open"]]] * 2
        assert {answer["denied"] for answer in found} == {denied["denied"]}
    assert other["denied"] is None
    for command in ("show", "history"):
        assert tht.refused("fact", command, closed["secret"], *QA) == "AccessDenied"
    assert tht.refused("fact", "list", "--domain", "payroll", *QA) == "AccessDenied"
    assert tht.refused("fact", "search", "x", "--domain", "payroll", *QA) == "AccessDenied"
    assert tht.refused("audit", "fact", closed["secret"], *QA) == "AccessDenied"
    (conflict,) = tht.json("conflicts", "list", "--all", *ADA)["conflicts"]
    assert tht.refused("conflicts", "show", conflict["id"], *QA) == "AccessDenied"


def test_a_proposal_to_a_closed_domain_is_taken_and_answers_no_guess(tht: Tht, closed: dict[str, str]) -> None:
    """`mentioned` would say that a guess is right, `superseded_by_conflict` that it is wrong."""
    place = ("--domain", "payroll", "--topic", "t", *QA)
    answers = []
    for guess in ("the salary of the captain is 9500", "the salary of the captain is 7000", "the mast is of oak"):
        head = tht.json("ledger", "head", *ADA)["position"]
        told = tht.json("fact", "propose", guess, *place)
        assert told.pop("position") == head + 1, "a position that moves further tells of a conflict"
        answers.append(told)
        assert tht.refused("fact", "propose", guess, *place, "--dry-run") == "AccessDenied"
    assert answers[0] == answers[1] == answers[2]
    assert (answers[0]["outcome"], answers[0]["fact_id"], answers[0]["conflicts"]) == ("recorded", "", [])
    contents = [one["content"] for one in tht.json("fact", "list", "--domain", "payroll", *ADA)["facts"]]
    assert len(contents) == 3
    for command in (("retire", closed["later"]), ("correct", closed["secret"], "x"), ("restore", closed["secret"])):
        assert tht.refused("fact", *command, *QA) == "AccessDenied"
    assert tht.refused("fact", "link", closed["open"], closed["later"], *QA) == "AccessDenied"


@pytest.mark.parametrize("domain", ["rota", "payroll"])
def test_what_is_proposed_is_linked_with_nothing_that_its_author_may_not_read(
    tht: Tht, closed: dict[str, str], domain: str
) -> None:
    """A link to a closed fact would say, by an event more, that a guess in another domain is right: a dry run too."""
    guess = ("fact", "propose", "Captain earns well", "--domain", domain, "--topic", "gossip")
    if domain == "rota":
        dry = tht.json(*guess, *QA, "--dry-run")
        assert [one["type"] for one in dry["events"]] == ["fact_proposed"]
    head = tht.json("ledger", "head", *ADA)["position"]
    tht.json(*guess, *QA)
    assert tht.json("ledger", "head", *ADA)["position"] == head + 1
    kinds = [one["type"] for one in tht.json(*guess[:-1], "gossip of a person", *ADA)["events"]]
    assert kinds == ["fact_proposed", "fact_linked"]


def test_near_names_of_closed_repositories_are_told_by_no_command(tht: Tht) -> None:
    tht.json("domain", "create", "plans", "--repo", "acme/merger-with-globex", *ADA)
    grant = ("--role", "qa", "--domain", "repo:merger-with-globex/plans", "--permission", "none", "--json")
    assert tht("grant", "set", *grant, "--actor", "human:ada").code == 0
    place = ("--domain", "plans", "--repo", "acme/merger-with-globe")
    for command in (
        ("fact", "propose", "x is y", "--topic", "t", *place),
        ("fact", "list", *place),
        ("fact", "search", "x", *place),
        ("preamble", "what are the plans for next year", *place[2:]),
    ):
        said = tht(*command, *QA, "--json")
        assert said.error["type"] == "UnknownRepoScope"
        assert "globex" not in said.err


def test_a_role_without_a_row_reads_and_a_fail_closed_workspace_shows_nothing(tht: Tht, closed: dict[str, str]) -> None:
    auditor = ("--actor", "agent:x", "--role", "auditor")
    assert len(tht.json("fact", "list", *auditor)["facts"]) == 3
    tht.json("config", "set", "access.default", "none")
    answer = tht.json("fact", "list", *auditor)
    assert (answer["facts"], answer["total"]) == ([], 0)
    assert answer["denied"].startswith("denied")
    assert len(tht.json("fact", "list", *ADA)["facts"]) == 3


# -- S-02, S-13: forgetting one leaves the other


def test_s02_erasing_all_about_one_leaves_the_other_unchanged(tht: Tht) -> None:
    for person in ("mario", "lucia"):
        for number, thing in enumerate(("address", "allergy", "doctor")):
            topic = f"{person} {thing}"
            words = (f"{person.title()} has the {thing} Xyzzy{number}{person}", "--domain", "people", "--topic", topic)
            tht.json("fact", "propose", *words, "--about", f"person:{person}", *ADA)
    before = tht.json("fact", "list", "--author", "human:ada")["facts"]
    positions = tht.position()
    tht.json("erase", "--about", "person:mario", "--yes", *ADA, "--reason", "asked for it")
    after = tht.json("fact", "list", "--status", "all")["facts"]
    assert [one["status"] for one in after] == ["erased"] * 3 + ["live"] * 3
    assert [one["content"] for one in after[:3]] == ["[erased]"] * 3
    kept = ("content", "confidence", "status", "position", "about")
    assert [[one[name] for name in kept] for one in after[3:]] == [[one[name] for name in kept] for one in before[3:]]
    for mode in ("keyword", "semantic", "hybrid"):
        found = tht.json("fact", "search", "Xyzzy0mario", "--mode", mode)["hits"]
        assert all("mario" not in json.dumps(one).lower() for one in found), mode
    assert tht.json("fact", "search", "Xyzzy0mario", "--mode", "keyword")["hits"] == []
    assert len(tht.json("fact", "search", "Xyzzy0lucia", "--mode", "keyword")["hits"]) == 1
    assert tht.position() > positions
    assert tht.json("verify")["ok"]
    assert holding(b"Xyzzy1mario") == []
    assert holding(b"Xyzzy1lucia") == ["views.sqlite3"]
    tht.json("projection", "rebuild")
    assert [one["content"] for one in tht.json("fact", "list", "--status", "erased")["facts"]] == ["[erased]"] * 3
    assert holding(b"Xyzzy1mario") == []


def test_s13_an_erased_fact_is_readable_nowhere_and_can_be_said_anew(tht: Tht, tmp_path: Path) -> None:
    fact = propose(tht, "Quuxophone is the password hint", "d")
    tht.json("fact", "search", "quuxophone")
    tht.json("erase", fact, "--yes", *ADA)
    assert holding(b"uuxophone") == []
    for command in (("fact", "show", fact), ("fact", "history", fact), ("audit", "fact", fact), ("audit", "log")):
        assert "uuxophone" not in texts(tht.json(*command))
    assert tht.refused("fact", "restore", fact) == "FactNotLive"
    tht("export", str(tmp_path / "all.jsonl"))
    tht("backup", str(tmp_path / "b.zip"))
    assert b"uuxophone" not in (tmp_path / "all.jsonl").read_bytes()
    assert tht.json("verify")["ok"]
    again = propose(tht, "Quuxophone is the password hint", "d")
    assert again != fact


def holding(text: bytes) -> list[str]:
    """The files of the home that hold these bytes."""
    home = Path(os.environ["THT_HOME"])
    return sorted(path.name for path in home.rglob("*") if path.is_file() and text in path.read_bytes())


def test_no_id_of_a_closed_fact_is_told_by_what_names_it(tht: Tht, closed: dict[str, str]) -> None:
    """S-54: as source, successor or end of a link, in lists, pages, histories and policies."""
    tht.json("fact", "link", closed["open"], closed["linked"], *ADA)
    cited = propose(tht, "the rota follows the pay", "rota", "--source", closed["later"], *ADA)
    tht.json("fact", "supersede", closed["open"], "--by", closed["linked"], *ADA)
    derived = ("--domain", "rota", "--from", closed["later"], *ADA)
    policy = str(tht.json("policy", "propose", "Read the rota before you sail.", *derived)["policy_id"])
    against = ("--domain", "rota", "--topic", "t", "--on-conflict", "keep_both", *ADA)
    met = tht.json("fact", "propose", "the rota does not follow the pay", *against)["conflicts"]
    conflict = str(met[0]["id"])
    for command in (
        ("fact", "list", "--status", "all"),
        ("fact", "show", closed["open"]),
        ("fact", "show", cited),
        ("fact", "history", closed["open"]),
        ("fact", "history", cited),
        ("fact", "search", "rota pay", "--mode", "keyword"),
        ("policy", "list"),
        ("policy", "show", policy),
        ("conflicts", "show", conflict),
    ):
        told = texts(tht.json(*command, *QA))
        assert not [name for name in ("later", "linked") if closed[name] in told], (command, told)
        whole = texts(tht.json(*command, *ADA))
        assert closed["later"] in whole or closed["linked"] in whole, command


def test_a_weight_that_is_no_number_is_refused(tht: Tht, closed: dict[str, str]) -> None:
    link = ("fact", "link", closed["later"], closed["open"], "--weight", "nan", *ADA)
    assert tht.refused(*link, code=2) == "InvalidInput"
