"""Ways around the review gate and around what the home keeps; each was open once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tht

ADA = ("--actor", "human:ada")


def own_words(tht: Tht) -> tuple[object, ...]:
    """A candidate of ada's, and the command by which she would approve it."""
    tht.session("s1")
    tht.clarify("s1", "A", "D", actor="human:ada")
    which = ("--session", "s1", "--seq", 1, "--revision", tht.revision("s1", 1))
    return ("memory", "save-one", *which, "--reviewer", "human:ada")


@pytest.mark.parametrize("variable", ["THT_REVIEW_ALLOW_SELF", "THT_REVIEW_REQUIRE_TOKEN"])
def test_the_environment_does_not_open_the_gate(tht: Tht, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    command = own_words(tht)
    monkeypatch.setenv(variable, "1")
    said = tht(*command, "--json")
    assert said.code in (1, 2)
    assert tht("registry", "list").out.count("mem-") == 0


@pytest.mark.parametrize("setting", [("review.allow_self", "true"), ("review.require_token", "false"), ("actor", "a")])
def test_an_agent_does_not_change_who_may_approve(tht: Tht, setting: tuple[str, str]) -> None:
    tht.session("s1")
    assert tht.refused("config", "set", *setting, "--actor", "agent:coder-1") == "ReviewerNeeded"


def test_an_agent_by_setting_is_an_agent(tht: Tht) -> None:
    command = own_words(tht)
    tht.json("config", "set", "actor", "agent:coder-1", *ADA)
    assert tht.refused(*command[:-1], "human:bea") == "ReviewerNeeded"


def test_nobody_takes_over_another_ones_token(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1")
    token = tht.json("review", "token", "--for", "human:ada", *ADA)["token"]
    assert tht.refused("review", "token", "--for", "human:ada", "--actor", "human:eve") == "ReviewerNeeded"
    monkeypatch.setenv("THT_REVIEWER_TOKEN", token)
    assert tht.json("review", "token", "--for", "human:ada", *ADA)["token"] != token


def test_a_refused_token_is_in_the_audit(tht: Tht) -> None:
    own_words(tht)
    tht.json("config", "set", "review.require_token", "true", *ADA)
    which = ("--session", "s1", "--seq", 1, "--revision", tht.revision("s1", 1))
    assert tht.refused("memory", "save-one", *which, "--reviewer", "human:bea") == "ReviewerNeeded"
    assert tht.json("audit", "log", "--kind", "promotion_refused")["total"] == 1


@pytest.mark.parametrize("command", [("export",), ("backup",), ("registry", "export")])
@pytest.mark.parametrize("name", ["ledger.sqlite3", "config.toml", "views.sqlite3", "index/new.jsonl", "new.jsonl"])
def test_nothing_is_written_over_what_a_workspace_keeps(tht: Tht, command: tuple[str, ...], name: str) -> None:
    tht.session("s1", ("A", "D"))
    tht.json("registry", "list")
    folder = Path(os.environ["THT_HOME"]) / "default"
    (folder / "index").mkdir(exist_ok=True)
    assert tht.refused(*command, folder / name, code=2) == "InvalidInput"
    assert tht.json("verify")["ok"]


@pytest.mark.posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_fault_and_nothing_is_lost(tht: Tht, closed: str) -> None:
    main = f"{sys.executable} -c 'from cli.main import main; main()'"
    for number, command in enumerate(("session open c1 --question q --actor human:z", "session list", "status")):
        done = subprocess.run(["bash", "-c", f"exec {main} {command} {closed}"], capture_output=True, check=False)
        assert b"InternalError" not in done.stderr + done.stdout
        assert b"NoneType" not in done.stderr + done.stdout
        assert done.returncode == 0, (number, done)
    assert [one["session_id"] for one in tht.json("session", "list")["sessions"]] == ["c1"]


def test_a_terminal_without_a_width_still_shows_something(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("A", "D"))
    monkeypatch.setenv("COLUMNS", "0")
    assert "s1" in tht("session", "list").out


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59", ""])
def test_times_out_of_reach_and_empty_ones_are_bad_input(tht: Tht, at: str) -> None:
    tht.session("s1", ("A", "D"))
    tht.refused("session", "show", "s1", "--at", at, code=2)


def test_a_second_as_the_audit_shows_it_is_a_time_to_ask_for(tht: Tht) -> None:
    tht.session("s1", ("A", "D"))
    last = tht.json("audit", "session", "s1")["events"][-1]["at"]
    shown = tht.json("session", "show", "s1", "--at", f"{last[:19]}Z")
    assert len(shown["decisions"]) == 1


def test_a_dry_run_makes_no_workspace(tht: Tht) -> None:
    tht.json("session", "open", "s1", "--question", "q", "--dry-run")
    assert not Path(os.environ["THT_HOME"]).exists()


def test_json_is_json_in_every_encoding(tht: Tht, tht_process: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("Μαρμαρυγή 🎉", "é"))
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    assert tht_process.json("session", "show", "s1")["decisions"][0]["subject"] == "Μαρμαρυγή 🎉"


@pytest.mark.parametrize(
    "line", ['reviewers = "x"', "reviewers = 3", '[index]\nurl = "http://[::1"', '[index]\nurl = "ftp://x"']
)
def test_a_misshapen_config_is_bad_input(tht: Tht, line: str) -> None:
    tht.session("s1")
    path = Path(os.environ["THT_HOME"]) / "default" / "config.toml"
    path.write_text(
        f"{line}\n{path.read_text('utf-8')}" if line.startswith("rev") else f"{path.read_text('utf-8')}\n{line}\n"
    )
    assert tht.refused("session", "list", code=2) == "InvalidInput"
