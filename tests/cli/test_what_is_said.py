"""What the command line says of workspace knowledge to a person who meets it for the first time."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import click
import pytest

from cli.main import COMMANDS
from cli.main import tht as command_tree
from tests.cli.conftest import Tht

TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?![\d.])")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("THT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("THT_ACTOR", "human:ada")
    monkeypatch.setenv("COLUMNS", "80")


def propose(tht: Tht, content: str, topic: str, *more: str, domain: str = "release") -> str:
    told = tht.json("fact", "propose", content, "--domain", domain, "--topic", topic, *more)
    return str(told["fact_id"])


@pytest.fixture(name="wide")
def wide_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line on which nothing has to be broken."""
    monkeypatch.setenv("COLUMNS", "200")


def flat(text: str) -> str:
    """What was printed, however it was broken into lines."""
    return " ".join(text.split())


# -- the audit


def test_s29_the_log_of_a_fact_shows_the_events_that_name_it(tht: Tht) -> None:
    """What it replaced and the conflict that it won are events of others."""
    old = propose(tht, "The owner of the release is Ada", "owner")
    new = propose(tht, "The owner of the release is Bo", "owner")
    propose(tht, "Deploys run every Friday", "deploy day")
    events = tht.json("audit", "log", "--record", new)["events"]
    assert [(one["kind"], one["record"]) for one in events] == [
        ("fact_proposed", new),
        ("fact_superseded", old),
        ("conflict_found", ""),
    ]
    assert f"by {new}" in events[1]["what"]
    assert f"winner {new}" in events[2]["what"]
    kinds = [one["kind"] for one in tht.json("audit", "log", "--record", old)["events"]]
    assert kinds == ["fact_proposed", "fact_superseded", "conflict_found"]


def test_s29_a_grant_and_a_run_say_in_the_log_what_was_done(tht: Tht) -> None:
    """Role, domain and permission; kind of run and its id."""
    propose(tht, "Backups run nightly", "backups", "--actor", "agent:a1")
    propose(tht, "backups run nightly.", "backup", "--actor", "agent:a2")
    for permission in ("none", "default"):
        tht.json("grant", "set", "--role", "qa", "--domain", "release", "--permission", permission)
    told = [one["what"] for one in tht.json("audit", "log", "--kind", "grant_changed")["events"]]
    assert told == [
        "domain release, role qa, permission none, was write",
        "domain release, role qa, was none, permission default",
    ]
    run_id = tht.json("consolidate")["run_id"]
    (run,) = tht.json("audit", "log", "--kind", "upkeep_run")["events"]
    assert (run["record"], run["what"]) == (run_id, "what consolidate, merged 1")
    assert f"{run_id} what consolidate" in flat(tht("audit", "log", "--kind", "upkeep_run").out)


def test_the_log_says_no_word_of_a_text_that_can_be_erased(tht: Tht) -> None:
    """S-65: content of facts, rules, notes and items are read from their own stream."""
    propose(tht, "zebras graze", "zebras")
    tht.json("policy", "propose", "never feed zebras", "--domain", "release")
    tht.json("notes", "update", "a zebra came by")
    tht.json("remember", "zebra at the gate")
    whats = [str(one["what"]) for one in tht.json("audit", "log")["events"]]
    assert any("topic zebras" in what for what in whats)
    assert not any(text in what for what in whats for text in ("graze", "never feed", "came by", "at the gate"))


@pytest.mark.usefixtures("wide")
def test_s29_the_history_of_a_fact_says_which_one_gave_way_to_it(tht: Tht) -> None:
    old = propose(tht, "The owner of the release is Ada", "owner")
    new = propose(tht, "The owner of the release is Bo", "owner")
    said = tht("fact", "history", new).out
    assert old in said
    assert "superseded by this" in said
    assert "superseded by this" not in flat(tht("fact", "history", old).out)
    listed = flat(tht("fact", "list", "--status", "superseded").out)
    assert "superseded by" in listed
    assert new in listed


@pytest.mark.usefixtures("wide")
def test_the_audit_of_a_fact_says_who_decided_its_conflict_and_why(tht: Tht) -> None:
    old = propose(tht, "Releases need a sign-off by Ada before Friday", "sign-off")
    propose(tht, "Before Friday a sign-off by Ada is what releases need", "sign-off")
    (conflict,) = tht.json("conflicts", "list")["conflicts"]
    tht.json("conflicts", "resolve", conflict["id"], "--keep", old, "--reason", "shorter")
    said = tht("audit", "fact", old).out
    assert "decided by, why" in said
    assert f"kept {old}" in flat(said)
    assert "shorter" in said
    assert "; from" not in said
    assert re.search(r"^recorded \d{4}-", said, re.MULTILINE)


# -- nothing, and times


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("fact search zebra", "nothing found"),
        ("fact list", "nothing found"),
        ("conflicts list", "none"),
        ("policy list", "none"),
        ("harmonize --list", "none"),
        ("audit reads", "none"),
        ("notes show", "none"),
    ],
)
def test_nothing_is_said_in_words(tht: Tht, command: str, says: str) -> None:
    tht.json("init")
    said = tht(*command.split())
    assert (said.code, said.out.strip().splitlines()[-1].endswith(says)) == (0, True), said
    assert "─" not in said.out


def test_nothing_stands_beside_denied(tht: Tht) -> None:
    propose(tht, "zebras graze", "zebras")
    tht.json("grant", "set", "--role", "qa", "--domain", "release", "--permission", "none")
    said = tht("fact", "search", "zebra", "--actor", "agent:q", "--role", "qa")
    assert "nothing found" in said.out
    assert "denied" in said.err


@pytest.mark.parametrize(
    "command",
    ["domain list", "grant list", "policy show POLICY", "fact show FACT", "notes show", "remember --list", "audit log"],
)
def test_times_are_shown_in_one_piece_and_without_microseconds(tht: Tht, command: str) -> None:
    fact = propose(tht, "Deploys run every Friday", "deploy day", "--valid-until", "2090-01-01T00:00:00Z")
    policy = tht.json("policy", "propose", "ask first", "--domain", "release")["policy_id"]
    tht.json("notes", "observe", "seen " * 40)
    tht.json("remember", "thing " * 40, "--ttl", "6h")
    said = tht(*command.replace("POLICY", policy).replace("FACT", fact).split()).out
    assert TIME.search(said), said
    assert not re.search(r"T\d\d:\d\d|:\d\d\.\d", said), said


# -- proposing


def test_a_line_of_a_file_is_refused_in_our_words_with_what_to_do(tht: Tht) -> None:
    lines: list[dict[str, Any]] = [
        {"content": "Backups run nightly", "topic": "backups"},
        {"content": "x", "topic": "y", "colour": "red"},
        {"content": "z"},
    ]
    given = "\n".join(json.dumps(line) for line in lines)
    said = tht("fact", "propose", "--file", "-", "--domain", "ops", "--veracity", "stated", stdin=given)
    assert said.code == 1
    assert "line 2: unknown key 'colour'; known: content, topic, domain" in said.out
    assert "line 3: the key 'topic' is missing" in said.out
    assert said.out.count("  → ") == 2
    assert "1 proposed, 2 refused" in said.out
    (fact,) = tht.json("fact", "list")["facts"]
    assert (fact["content"], fact["veracity"]) == ("Backups run nightly", "stated")


def test_the_help_names_every_key_of_a_line(tht: Tht) -> None:
    from adapters.fact_files import ProposalForm

    said = tht("fact", "propose", "--help").out
    page = (Path(__file__).parents[2] / "docs" / "knowledge.md").read_text("utf-8")
    assert not [key for key in ProposalForm.model_fields if key not in said or f"`{key}`" not in page]


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("fact propose x", "give --domain DOMAIN"),
        ("fact propose x --domain d", "give --topic TOPIC"),
        ("fact propose --domain d --topic t", "give CONTENT"),
        ("harvest a --meeting m", "give --title TITLE"),
        ("remember", "give what to keep in mind, or - and the text on stdin"),
    ],
)
def test_what_is_missing_is_named_as_it_is_given(tht: Tht, command: str, hint: str) -> None:
    said = tht(*command.split(), "--json")
    assert (said.code, said.error["type"], said.error["hint"]) == (2, "InvalidInput", hint)


def test_a_dry_run_says_what_would_be(tht: Tht) -> None:
    propose(tht, "Releases need a sign-off by Ada before Friday", "sign-off")
    words = ("--domain", "release", "--topic", "sign-off", "--dry-run")
    said = tht("fact", "propose", "Before Friday a sign-off by Ada is what releases need", *words).out
    assert "would be open" in said
    assert "is open" not in said
    said = tht("policy", "propose", "ask first", "--domain", "release", "--dry-run").out
    assert re.fullmatch(r"policy-\w+ would be active", said.strip())
    policy = tht.json("policy", "propose", "ask first", "--domain", "release")["policy_id"]
    said = tht("policy", "supersede", policy, "ask twice", "--dry-run").out
    assert said.strip().endswith(f"would take {policy}'s place")


# -- upkeep


def test_a_run_shows_the_words_beside_the_ids(tht: Tht) -> None:
    """S-43: what was merged and believed can be judged without looking each id up."""
    propose(tht, "Backups run nightly", "backups", "--actor", "agent:a1")
    propose(tht, "backups run nightly.", "backup", "--actor", "agent:a2")
    said = tht("consolidate").out
    assert "1 merged" in said
    assert "merged into" not in said
    assert "Backups run nightly" in said
    assert "ackups run nightly" in tht("harmonize").out
    assert "ackups run nightly" in flat(tht("harmonize", "--list").out)
    said = tht("harvest", "--title", "Release", "--meeting", "m1", "We ship on Fridays").out
    assert "We ship on Fridays" in said


def test_a_run_of_a_closed_domain_lists_twenty(tht: Tht) -> None:
    for number in range(22):
        propose(tht, f"Port {number} belongs to service {number}", f"port {number}")
    said = tht("domain", "close", "release", "--as", "wrong", "--dry-run").out
    assert said.count("fact-") == 20
    assert "the first 20 are shown" in said


# -- grants, helps, checks


@pytest.mark.usefixtures("wide")
def test_grants_that_somebody_set_come_first_and_the_others_are_one_line(tht: Tht) -> None:
    propose(tht, "x", "x")
    tht.json("grant", "set", "--role", "security", "--domain", "release", "--permission", "read")
    said = flat(tht("grant", "list").out)
    assert said.count("write") == 1
    assert said.index("security") < said.index("ceo, coder")
    assert "with the domain" in said


def test_a_grant_for_a_role_that_nobody_knows_is_set_with_a_warning(tht: Tht) -> None:
    propose(tht, "x", "x", "--actor", "agent:w", "--role", "writer")
    grant = ("grant", "set", "--domain", "release", "--permission", "none", "--role")
    said = tht(*grant, "codr")
    assert (said.code, said.out.startswith("codr has none")) == (0, True)
    assert "did you mean coder" in said.err
    for known in ("coder", "writer", "codr"):
        words = grant if known != "codr" else (*grant[:5], "write", "--role")
        assert "is known here" not in tht(*words, known).err


def test_an_agent_is_told_to_ask_a_person(tht: Tht) -> None:
    propose(tht, "x", "x")
    for command in ("domain create d", "domain close release --as wrong", "erase fact-x --yes"):
        said = tht(*command.split(), "--actor", "agent:a", "--json")
        assert said.error["type"] == "ReviewerNeeded"
        assert "ask a person" in said.error["hint"]
        assert "--actor" not in said.error["hint"]


def test_a_preamble_has_one_form(tht: Tht) -> None:
    tht.json("init")
    assert tht.refused("preamble", "a task", "--text", code=2) == "InvalidInput"


def test_the_doctor_puts_what_is_well_in_one_line_after_the_rest(tht: Tht) -> None:
    tht.json("init")
    said = tht("doctor").out
    assert said.index("warn") < said.index("ok: python")
    assert said.count("ok") < 4


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_a_group_cuts_no_help(tht: Tht, name: str) -> None:
    """At 80 columns as well as at any other width."""
    command = command_tree.get_command(click.Context(command_tree), name)
    if isinstance(command, click.Group):
        assert "..." not in tht(name, "--help").out.partition("Commands:")[2]


@pytest.mark.parametrize(
    "field",
    [
        *('"valid_from": 5', '"valid_from": "1700000000"', '"confidence": true', '"confidence": "0.3"'),
        *('"valid_from": "0001-01-01T00:00:00+14:00"', '"valid_until": "9999-12-31T23:59:59-14:00"'),
    ],
)
def test_a_line_is_taken_as_it_is_written_or_not_at_all(tht: Tht, tmp_path: Path, field: str) -> None:
    """S-31: what has no zone is no time; nothing is guessed from another type."""
    file = tmp_path / "facts.jsonl"
    file.write_text('{"content": "x is y", "topic": "t", ' + field + '}\n{"content": "y is z", "topic": "t"}\n')
    told = tht("fact", "propose", "--file", str(file), "--domain", "d", "--actor", "human:ada", "--json")
    assert [one["outcome"] for one in told.json["lines"]] == ["refused", "proposed"]
    assert told.json["lines"][0]["error"]["type"] == "InvalidInput"
