"""tht token: whom it stands for is fixed when it is made, and a person's is asked for as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture(autouse=True)
def made(tht: Tht) -> None:
    tht("init")


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(tht: Tht) -> None:
    made = tht.json("token", "create", "--actor", "agent:coder-1", "--role", "Coder")
    assert (made["actor"], made["role"], made["person"]) == ("agent:coder-1", "coder", False)
    said = tht("token", "list", "--json")
    assert made["token"].split("_", 2)[2] not in said.out
    (listed,) = said.json["tokens"]
    assert listed["id"] == made["id"]
    assert tht("token", "revoke", made["id"]).code == 0
    assert tht.json("token", "list")["tokens"] == []
    assert tht.refused("token", "revoke", made["id"]) == "UnknownToken"


@pytest.mark.parametrize(
    "arguments",
    [("--actor", "human:ada"), ("--actor", "agent:coder-1", "--person"), ("--actor", "robot:x"), ("--actor", "")],
)
def test_a_persons_token_is_made_only_when_it_is_asked_for_as_one(tht: Tht, arguments: tuple[str, ...]) -> None:
    assert tht.refused("token", "create", *arguments, code=2) == "InvalidInput"
    assert tht.json("token", "list")["tokens"] == []


def test_an_agent_makes_and_revokes_none(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tht.json("token", "create", "--actor", "human:ada", "--person")
    monkeypatch.setenv("THT_ACTOR", "agent:coder-1")
    assert tht.refused("token", "create", "--actor", "human:ada", "--person") == "ReviewerNeeded"
    assert tht.refused("token", "revoke", made["id"]) == "ReviewerNeeded"


def test_where_tokens_prove_people_nobody_takes_over_anothers_name(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = tht.json("token", "create", "--actor", "human:ada", "--person")
    assert tht("config", "set", "review.require_token", "true").code == 0
    assert tht.refused("token", "create", "--actor", "human:Ada", "--person") == "ReviewerNeeded"
    assert tht.refused("token", "revoke", ada["id"]) == "ReviewerNeeded"
    monkeypatch.setenv("THT_REVIEWER_TOKEN", ada["token"])
    again = tht.json("token", "create", "--actor", "human:ada", "--person")
    assert tht("token", "revoke", again["id"]).code == 0


def test_one_token_proves_a_person_to_the_server_and_at_the_gate(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("room", "a place"))
    ada = tht.json("token", "create", "--actor", "human:ada", "--person")
    coder = tht.json("token", "create", "--actor", "agent:coder-1")
    assert tht("config", "set", "review.require_token", "true").code == 0
    revision = tht.revision("s1", 1)
    save = ("memory", "save-one", "--session", "s1", "--seq", "1", "--revision", revision, "--reviewer", "human:ada")
    for wrong in ("", "no", coder["token"], ada["token"][:-1]):
        monkeypatch.setenv("THT_REVIEWER_TOKEN", wrong)
        assert tht.refused(*save) == "ReviewerNeeded"
    monkeypatch.setenv("THT_REVIEWER_TOKEN", ada["token"])
    assert tht.json(*save)["memory_id"] == "mem-0001"
