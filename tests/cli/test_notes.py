"""`tht notes` and `tht remember`: an agent's own, and nobody else's by any path."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tht

ONE, OTHER = ("--actor", "agent:one"), ("--actor", "agent:other")
SECRET = "halfway through the migration of the ledger"


def test_notes_are_replaced_and_their_history_is_kept(tht: Tht) -> None:
    """S-05, S-29: who, when, why."""
    tht.json("notes", "update", "first", *ONE)
    tht.json("notes", "update", "second\n\n  indented ", "--reason", "further on", *ONE)
    found = tht.json("notes", "show", "--history", *ONE)
    assert found["text"] == "second\n\n  indented "
    assert [(one["text"], one["by"], one["reason"]) for one in found["history"]] == [
        ("second\n\n  indented ", "agent:one", "further on"),
        ("first", "agent:one", ""),
    ]
    assert tht.refused("notes", "update", "second\n\n  indented ", *ONE) == "NothingChanged"
    tht.json("notes", "update", "", *ONE)
    assert tht.json("notes", "show", *ONE)["text"] == ""


def test_a_fact_can_cite_an_observation(tht: Tht) -> None:
    observed = tht.json("notes", "observe", "the test fails one time in ten", *ONE)["observation_id"]
    words = ("--domain", "testing", "--topic", "flaky", "--source", observed)
    fact = tht.json("fact", "propose", "The login test is flaky", *words, *ONE)["fact_id"]
    assert tht.json("fact", "show", fact)["source_observation_ids"] == [observed]
    (shown,) = tht.json("notes", "show", *ONE)["observations"]
    assert (shown["id"], shown["text"]) == (observed, "the test fails one time in ten")


def test_the_same_observation_twice_is_two(tht: Tht) -> None:
    """But a retry with its key is one."""
    ids = [tht.json("notes", "observe", "again", *ONE)["observation_id"] for _ in range(2)]
    retried = [tht.json("notes", "observe", "again", "--idempotency-key", "k", *ONE) for _ in range(2)]
    assert len({*ids, retried[0]["observation_id"]}) == 3
    assert retried[1]["observation_id"] == retried[0]["observation_id"]
    assert tht.json("notes", "show", "--limit", "2", *ONE)["total"] == 3


def test_text_may_come_from_stdin(tht: Tht) -> None:
    tht.json("notes", "update", "-", *ONE, stdin="- a list\n- of two\n")
    assert tht.json("notes", "show", *ONE)["text"] == "- a list\n- of two"
    assert tht.refused("notes", "update", "-", *ONE, stdin=b"\xff\xfe", code=2) == "InvalidInput"


# -- private -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(tht: Tht) -> Tht:
    """agent:one has notes, an observation and an item, all with the same words in them."""
    tht.json("notes", "update", SECRET, "--reason", "lunch", *ONE)
    tht.json("notes", "observe", SECRET, *ONE)
    tht.json("remember", SECRET, *ONE)
    return tht


@pytest.mark.parametrize("who", [OTHER, ("--actor", "human:ada"), ("--actor", "agent:x", "--role", "ceo")])
def test_nobody_elses_notes_are_read(kept: Tht, who: tuple[str, ...]) -> None:
    for command in (("notes", "show"), ("remember", "--list")):
        assert kept.refused(*command, "--agent", "agent:one", *who) == "AccessDenied"
        assert kept.refused(*command, "--agent", "agent:nobody", *who) == "AccessDenied"
        assert SECRET in kept(*command, "--agent", "agent:ONE", *ONE, "--json").out
        assert SECRET not in kept(*command, *who).out


def test_no_other_path_shows_them(kept: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    """Audit and ledger log say who, when and why, never what."""
    monkeypatch.setenv("THT_ACTOR", "agent:other")
    commands = (
        ("audit", "log"),
        ("audit", "actor", "agent:one"),
        ("ledger", "log"),
        ("fact", "search", SECRET),
        ("preamble", SECRET),
        ("status",),
        ("doctor",),
    )
    for command in commands:
        for form in ((), ("--json",)):
            said = kept(*command, *form)
            assert said.code == 0, said
            assert SECRET not in said.out, command
    told = kept.json("audit", "log")
    assert "lunch" in json.dumps(told)
    assert "notes_updated" in json.dumps(told)


def test_only_its_own_agent_gets_them_in_its_preamble(kept: Tht) -> None:
    assert SECRET in kept.json("preamble", "short", *ONE)["text"]
    assert kept.json("preamble", "short", *OTHER)["notes"] == ""


# -- in mind -----------------------------------------------------------------------------------------------------------


def test_what_is_remembered_is_typed_and_bound_to_its_session(tht: Tht) -> None:
    item = tht.json("remember", "We decided to ship on Monday", "--session", "s1", "--importance", "0.9", *ONE)
    assert (item["memory_type"], item["expires_at"]) == ("decision", None)
    tht.json("remember", "a side note", "--type", "context", "--ttl", "6h", *ONE)
    found = tht.json("remember", "--list", *ONE)["items"]
    assert [(one["content"], one["importance"]) for one in found] == [
        ("We decided to ship on Monday", 0.9),
        ("a side note", 0.5),
    ]
    assert found[1]["expires_at"] > found[1]["at"]
    (only,) = tht.json("remember", "--list", "--session", "s1", *ONE)["items"]
    assert only["id"] == item["item_id"]
    assert tht.json("remember", "--list", *OTHER)["items"] == []


@pytest.mark.parametrize(
    "words",
    [("",), ("x", "--ttl", "soon"), ("x", "--importance", "2"), ("x", "--agent", "agent:other"), ("x", "--list")],
)
def test_what_cannot_be_remembered_is_refused(tht: Tht, words: tuple[str, ...]) -> None:
    tht.json("init")
    assert tht.refused("remember", *words, *ONE, code=2) == "InvalidInput"
    assert tht.position() == 0


# -- erase -------------------------------------------------------------------------------------------------------------


def test_erased_notes_are_nowhere_and_may_be_written_anew(kept: Tht) -> None:
    """S-13: every version of the text, an observation and an item; the rest stays and all of it verifies."""
    kept.json("notes", "update", f"{SECRET}, nearly done", *ONE)
    (observed,) = kept.json("notes", "show", *ONE)["observations"]
    (item,) = kept.json("remember", "--list", *ONE)["items"]
    kept.json("erase", "notes:agent:one", observed["id"], item["id"], "--yes", "--actor", "human:ada")
    found = kept.json("notes", "show", "--history", *ONE)
    assert SECRET not in json.dumps(found)
    assert found["erased"] is True
    assert kept.json("remember", "--list", *ONE)["items"] == []
    assert kept.json("preamble", "short", *ONE)["notes"] == ""
    assert kept("verify").code == 0
    kept.json("notes", "update", "a new page", *ONE)
    assert kept.json("notes", "show", *ONE)["text"] == "a new page"
    assert kept.json("projection", "rebuild")
    assert kept.json("notes", "show", *ONE)["text"] == "a new page"
    assert kept("verify").code == 0


@pytest.mark.parametrize("command", ["export", "backup"])
def test_an_agent_makes_no_copy_that_holds_the_notes_of_others(kept: Tht, tmp_path: Path, command: str) -> None:
    target = tmp_path / "copy"
    assert kept.refused(command, str(target), "--actor", "agent:other") == "AccessDenied"
    assert not target.exists()
    kept.json(command, str(target), "--actor", "human:ada")
