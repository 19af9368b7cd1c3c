"""`tht review` without a terminal: plain questions in a pipe, the queue for programs, tokens and closing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.reviewing import ITALIAN, outcomes, promoted

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

# -- plain questions


def test_plain_questions_take_every_answer(tht: Tht) -> None:
    tht.session("old", ("known", "one rule"), ("older", "another rule"))
    tht.json("memory", "promote", "--session", "old", "--all", "--reviewer", "ada")
    tht.session("s1", *((f"concept {number}", f"means thing {number}") for number in range(1, 8)))
    answers = "p\nd too vague\nwhat\nf\nm mem-0001 same rule, città\nr mem-0002\ns\nq\n"
    said = tht("review", "s1", "--actor", "human:bea", stdin=answers)
    assert said.code == 0, said
    assert "'what' is no answer" in said.out
    for line in ("s1 seq 1: promoted, mem-0003", "s1 seq 2: declined", "s1 seq 3: deferred", "merged into mem-0001",
                 "mem-0004 replaces mem-0002", "5 done, 0 failed"):  # fmt: skip
        assert line in said.out
    expected = ["promoted", "declined", "deferred", "promoted", "promoted", None, None]
    assert outcomes(tht, "s1") == expected
    summary = {one["seq"]: one["reason"] for one in tht.json("session", "summary", "s1")["memories"]}
    assert (summary[2], summary[4]) == ("too vague", "same rule, città")


def test_the_end_of_the_input_leaves_the_rest_untouched(tht: Tht) -> None:
    tht.session("s1", ("a", "one"), ("b", "two"), ("c", "three"))
    assert tht("review", "s1", "--actor", "human:ada", stdin="p").code == 0
    assert outcomes(tht, "s1") == ["promoted", None, None]
    before = tht.position()
    for nothing in ("", "q\n", "s\ns\n", "\n\n"):
        said = tht("review", "s1", "--actor", "human:ada", stdin=nothing)
        assert (said.code, "nothing was written" in said.err) == (1, True)
    assert tht.position() == before


def test_a_failed_item_does_not_touch_the_others(tht: Tht) -> None:
    tht.session("s1", ("a", "one"))
    tht.clarify("s1", "b", "two", actor="human:ada")
    tht.clarify("s1", "c", "three")
    said = tht("review", "s1", "--actor", "human:ada", stdin="m mem-0404\np\np\n")
    assert said.code == 1
    assert "Your own words" in said.out
    assert "s1 seq 1: FAILED, UnknownMemory" in said.err
    assert "s1 seq 2: FAILED, SelfReview" in said.err
    assert "s1 seq 3: promoted, mem-0001" in said.out
    assert outcomes(tht, "s1") == [None, None, "promoted"]


def test_answers_that_are_no_text_are_refused(tht: Tht) -> None:
    tht.session("s1", ("a", "one"))
    said = tht("review", "s1", "--actor", "human:ada", stdin=b"d caf\xe9\nd bell \x07\nd fine\n")
    assert said.code == 0
    assert "lone surrogate" in said.out
    assert "\x07" not in said.out
    assert tht.json("session", "summary", "s1")["memories"][0]["reason"] == "fine"


def test_a_dry_run_writes_nothing(tht: Tht) -> None:
    tht.session("s1", ("a", "one"), ("b", "two"))
    before = tht.position()
    said = tht("review", "s1", "--actor", "human:ada", "--dry-run", stdin="p\nd\n")
    assert "s1 seq 1: would promote" in said.out
    assert tht.position() == before


# -- the queue, tokens and closing


def test_the_queue_for_programs(tht: Tht) -> None:
    tht.session("s1", ("a", ITALIAN), ("fact_x", "a table"))
    tht.session("s2")
    tht.session("s3", ("b", "two"))
    tht.json("memory", "defer", "--session", "s3", "--seq", "1", "--reviewer", "ada")
    found = tht.json("review")
    assert found["candidates"] == 2
    first, second = found["queue"]
    assert (first["session_id"], first["candidates"][0]["detail"], first["refused"][0]["seq"]) == ("s1", ITALIAN, 2)
    assert (second["session_id"], second["candidates"][0]["deferred"]) == ("s3", True)
    assert [one["session_id"] for one in tht.json("review", "--session", "s3")["queue"]] == ["s3"]
    assert tht.refused("review", "nope") == "UnknownSession"
    assert tht("review", "s1", "--session", "s3").code == 2
    assert "nothing waits for review" in tht("review", "s2", "--actor", "human:ada").out


def test_a_session_named_like_a_command_is_meant_by_its_option(tht: Tht) -> None:
    tht.session("token", ("a", "one"))
    assert tht.json("review", "--session", "token")["queue"][0]["session_id"] == "token"
    assert tht.json("review", "queue", "token")["queue"][0]["session_id"] == "token"
    assert tht("review", "token").code == 2, "the command token needs --for"
    assert tht("--json", "review", "--actor", "human:ada", "--session", "token").json["candidates"] == 1


def test_the_help_names_queue_options_and_commands(tht: Tht) -> None:
    shown = tht("review", "--help")
    assert shown.code == 0
    for text in ("--session", "--reviewer", "token", "close", "is meant by"):
        assert text in shown.out


def test_a_reviewer_without_a_token_is_told_before_the_work(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("a", "one"))
    token = tht.json("review", "token", "--for", "ada", "--actor", "human:ada")["token"]
    tht.json("config", "set", "review.require_token", "true")
    said = tht("review", "s1", "--actor", "human:ada", stdin="p\n")
    assert (said.code, "has not shown a valid reviewer's token" in said.err, said.out) == (1, True, "")
    monkeypatch.setenv("THT_REVIEWER_TOKEN", token)
    assert tht("review", "s1", "--actor", "human:bea", stdin="p\n").code == 1
    assert tht("review", "s1", "--actor", "human:ada", stdin="p\n").code == 0
    assert promoted(tht) == ["a"]


def test_a_token_is_printed_once(tht: Tht) -> None:
    tht.session("s1")
    said = tht("review", "token", "--for", "human:ada", "--actor", "human:ada")
    assert said.code == 0
    assert len(said.out.strip()) >= 32
    assert "not shown again" in said.err
    assert tht.refused("review", "token", "--for", "agent:coder-1", "--actor", "human:ada") == "ReviewerNeeded"


def test_a_review_closes_when_everything_is_decided(tht: Tht) -> None:
    tht.session("s1", ("a", "one"))
    assert tht.refused("review", "close", "s1") == "UndecidedCandidates"
    assert tht("review", "s1", "--actor", "human:ada", stdin="d\n").code == 0
    assert tht.json("session", "show", "s1")["review"] == "closed"
    assert tht.refused("review", "close", "s1") == "NothingChanged"
    tht.session("s2")
    assert tht.json("review", "close", "s2")["session_id"] == "s2"
