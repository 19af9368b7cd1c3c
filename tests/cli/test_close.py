"""S-12: one command closes a domain or all of them, and says whether it was wrong, was true, or must not be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Tht

ADA = ("--actor", "human:ada")


@pytest.fixture
def two(tht: Tht) -> Tht:
    """Two domains with two facts and a policy each."""
    for domain in ("north", "south"):
        for number in (1, 2):
            words = (f"{domain} gate {number} is Quuxified", "--domain", domain, "--topic", f"gate {number}")
            tht.json("fact", "propose", *words, *ADA)
        tht.json("policy", "propose", f"Keep the {domain} gates shut", "--domain", domain, *ADA)
    return tht


def live(tht: Tht, *more: str) -> list[str]:
    return [str(one["content"]) for one in tht.json("fact", "list", *more)["facts"]]


def rules(tht: Tht) -> list[str]:
    return [str(one["rule"]) for one in tht.json("policy", "list")["policies"]]


@pytest.mark.parametrize(("way", "cause", "held"), [("wrong", "wrong", False), ("was-true", "ended", True)])
def test_one_domain_is_closed_whole_and_opened_again(two: Tht, way: str, cause: str, held: bool) -> None:
    before = two.json("fact", "list", "--domain", "north")["facts"]
    done = two.json("domain", "close", "north", "--as", way, *ADA, "--reason", "moved")
    assert (len(done["retired"]), len(done["deactivated"])) == (2, 1)
    assert (len(live(two)), rules(two)) == (2, ["Keep the south gates shut"])
    ended = two.json("fact", "list", "--status", "retired")["facts"]
    assert {(one["ended_for"], one["ended_by"], one["ended_reason"]) for one in ended} == {
        (cause, "human:ada", "moved")
    }
    then = before[-1]["recorded_at"]
    assert (len(live(two, "--at", then, "--domain", "north")) == 2) == held
    assert two.refused("domain", "close", "north", "--as", way, *ADA) == "NothingChanged"
    two.json("domain", "close", "--undo", done["run_id"], *ADA)
    assert (len(live(two)), len(rules(two))) == (4, 2)
    assert two.json("verify")["ok"]


def test_the_whole_workspace_is_closed_with_one_command(two: Tht) -> None:
    done = two.json("domain", "close", "--all", "--as", "was-true", *ADA)
    assert (len(done["retired"]), live(two), rules(two)) == (4, [], [])


def test_a_domain_is_erased_whole(two: Tht) -> None:
    two.json("fact", "retire", two.json("fact", "list")["facts"][0]["id"])
    command = ("domain", "close", "north", "--as", "erased", *ADA)
    assert two.refused(*command) == "Refused"
    two.json(*command, "--yes")
    assert [one["status"] for one in two.json("fact", "list", "--status", "all")["facts"]] == ["erased"] * 2 + [
        "live"
    ] * 2
    home = Path(os.environ["THT_HOME"])
    assert not [path for path in home.rglob("*") if path.is_file() and b"north gate" in path.read_bytes()]
    assert two.json("verify")["ok"]


def test_only_people_close_and_only_what_is_there(two: Tht) -> None:
    assert two.refused("domain", "close", "north", "--as", "wrong", "--actor", "agent:a") == "ReviewerNeeded"
    assert two.refused("domain", "close", "nowhere", "--as", "wrong", *ADA) == "UnknownDomain"
    assert two.refused("domain", "close", "north", *ADA, code=2) == "InvalidInput"
    assert two.refused("domain", "close", "--as", "wrong", *ADA, code=2) == "InvalidInput"
    assert two.refused("domain", "close", "--undo", "run-nobody", *ADA) == "UnknownRun"
    before = two.position()
    assert two.json("domain", "close", "--all", "--as", "wrong", *ADA, "--dry-run")
    assert two.position() == before


def test_what_a_person_closed_a_person_opens_and_grants_bind_both(two: Tht) -> None:
    run = two.json("domain", "close", "north", "--as", "wrong", *ADA)["run_id"]
    assert two.refused("domain", "close", "--undo", run, "--actor", "agent:a") == "ReviewerNeeded"
    two("grant", "set", "--role", "intern", "--domain", "south", "--permission", "none", "--json", *ADA)
    intern = ("--actor", "human:zed", "--role", "intern")
    assert two.refused("domain", "close", "south", "--as", "wrong", *intern) == "AccessDenied"
    assert two.refused("domain", "close", "--all", "--as", "wrong", *intern) == "AccessDenied"
    two("grant", "set", "--role", "intern", "--domain", "south", "--permission", "read", "--json", *ADA)
    assert two.refused("domain", "close", "south", "--as", "wrong", *intern) == "InsufficientMemoryPermission"
    assert two.json("verify")["ok"]
