"""`tht session` through the real command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

GREEK = "Κολπική μαρμαρυγή"
ITALIAN = "Per ablazione si intende una procedura con `ablazione_transcatetere = TRUE`, perché l'età è ≥ 18"
CJK = "成功率 🎉 の定義"


def test_a_session_from_opening_to_close(tht: Tht) -> None:
    opened = tht.json("session", "open", "s1", "--question", ITALIAN, "--database", "cardio", "--actor", "agent:a")
    assert (opened["session_id"], opened["position"], opened["already"]) == ("s1", 1, False)
    assert [event["type"] for event in opened["events"]] == ["session_opened"]
    seq = tht.clarify("s1", GREEK, CJK, "--rationale", ITALIAN, "--concept", CJK, "--concept", GREEK, "--table", "t_α")
    assert seq == 1
    assert tht.json("session", "enter", "s1", "--phase", "F3")["phase"] == "F3"
    link = ("--type", "table_promoted", "--subject", "fact_x", "--detail", "")
    assert tht.json("session", "record", "s1", *link)["seq"] == 2
    shown = tht.json("session", "show", "s1")
    assert (shown["question"], shown["database"], shown["phase"], shown["status"]) == (ITALIAN, "cardio", "F3", "open")
    first, second = shown["decisions"]
    assert (first["subject"], first["detail"], first["rationale"]) == (GREEK, CJK, ITALIAN)
    assert (first["concepts"], first["tables"], first["author"]) == ([CJK, GREEK], ["t_α"], "agent:coder-1")
    assert (second["type"], second["phase"], second["standing"]) == ("table_promoted", "F3", "effective")
    assert tht.refused("session", "close", "s1") == "UndecidedCandidates"
    assert tht.json("memory", "decline", "--session", "s1", "--seq", "1", "--reviewer", "ada")["already"] is False
    tht.json("session", "close", "s1")
    assert tht.json("session", "show", "s1")["status"] == "closed"
    assert tht.refused("session", "close", "s1") == "NothingChanged"
    assert tht.refused("session", "enter", "s1", "--phase", "F8") == "SessionIsClosed"


def test_people_see_every_field(tht: Tht) -> None:
    tht.session("s1", (GREEK, CJK))
    page = tht("session", "show", "s1")
    assert page.code == 0
    for text in ("How many ablations?", GREEK, "effective", "agent:coder-1", "open, in F1"):
        assert text in page.out
    assert "s1" in tht("session", "list").out


def test_lists_page_and_say_when_they_are_cut(tht: Tht) -> None:
    for number in range(3):
        tht.session(f"s{number}")
    listed = tht.json("session", "list", "--limit", "2")
    assert [one["session_id"] for one in listed["sessions"]] == ["s0", "s1"]
    assert listed["total"] == 3
    assert "go on with --offset 2" in tht("session", "list", "--limit", "2").out
    assert [one["session_id"] for one in tht.json("session", "list", "--offset", "2")["sessions"]] == ["s2"]
    assert tht.json("session", "list", "--status", "closed")["sessions"] == []


@pytest.mark.parametrize(
    "command",
    [
        ("session", "show", "s1"),
        ("session", "list"),
        ("session", "summary", "s1"),
        ("session", "retract", "s1", "1"),
        ("memory", "promote", "--session", "s1", "--preview"),
        ("memory", "list"),
        ("memory", "search", "x"),
        ("registry", "list"),
        ("registry", "export"),
        ("review", "s1"),
    ],
)
def test_without_a_workspace_it_says_how_to_make_one(tht: Tht, command: tuple[str, ...]) -> None:
    said = tht(*command, "--json")
    assert (said.code, said.error["type"]) == (3, "NoHome")
    assert "init" in said.error["hint"]


def test_a_phase_is_walked_reopened_and_rolled_back(tht: Tht) -> None:
    tht.session("s1", ("a", "first"))
    assert tht.refused("session", "record", "s1", "--type", "concept_clarified", "--subject", "x", "--detail", "y",
                       "--phase", "F2") == "WrongPhase"  # fmt: skip
    tht.json("session", "enter", "s1", "--phase", "f3")
    tht.clarify("s1", "b", "second")
    tht.json("session", "reopen", "s1", "--phase", "F1")
    assert [one["standing"] for one in tht.json("session", "show", "s1")["decisions"]] == ["effective", "stale"]
    assert [one["seq"] for one in tht.candidates("s1")] == [1]
    tht.json("session", "rollback", "s1", "--phase", "F1")
    assert [one["standing"] for one in tht.json("session", "show", "s1")["decisions"]] == ["stale", "stale"]
    assert tht.candidates("s1") == []
    assert tht.refused("session", "enter", "s1", "--phase", "F1") == "NothingChanged"
    assert tht.refused("session", "reopen", "s1", "--phase", "F9", code=2) == "InvalidInput"
    assert tht.refused("session", "reopen", "s1", "--phase", "F8") == "WrongPhase"


def test_show_and_summary_as_they_were(tht: Tht) -> None:
    tht.session("s1", ("a", "first"))
    before = tht.position()
    tht.json("session", "retract", "s1", "1", "--reason", "wrong")
    then = tht.json("session", "show", "s1", "--at", before)
    assert [one["standing"] for one in then["decisions"]] == ["effective"]
    assert then["at"] == before
    assert [one["standing"] for one in tht.json("session", "show", "s1")["decisions"]] == ["retracted"]
    assert tht.json("session", "summary", "s1", "--at", before)["pending"] == 1
    assert tht.json("session", "summary", "s1")["pending"] == 0
    assert tht.json("session", "show", "s1", "--at", "2999-01-01T00:00:00Z")["decisions"][0]["standing"] == "retracted"
    assert tht.refused("session", "show", "s1", "--at", "0") == "UnknownSession"
    for wrong in (before + 99, "yesterday", "2026-03-02T10:00:00", "9" * 101):
        assert tht.refused("session", "show", "s1", "--at", wrong, code=2) == "InvalidInput"


def test_an_edit_is_a_new_clarification_that_supersedes(tht: Tht) -> None:
    tht.session("s1")
    tht.clarify("s1", "a", "first", "--rationale", "why", "--concept", "c", "--question-context", "q")
    edited = tht.json("session", "edit", "s1", "1", "--detail", "second", "--actor", "human:ada", "--reason", "typo")
    assert (edited["seq"], edited["supersedes"]) == (2, 1)
    old, new = tht.json("session", "show", "s1")["decisions"]
    assert old["standing"] == "retracted"
    assert (new["subject"], new["detail"], new["rationale"], new["supersedes"]) == ("a", "second", "why", 1)
    assert (new["concepts"], new["question_context"], new["author"]) == (["c"], "q", "human:ada")
    assert tht.refused("session", "edit", "s1", "2", "--detail", "second") == "NothingChanged"
    assert tht.refused("session", "edit", "s1", "9", "--detail", "x") == "UnknownDecision"
    assert tht("session", "edit", "s1", "2").code == 2


# -- decisions from a file


def test_each_line_of_a_file_has_its_own_outcome(tht: Tht, tmp_path: Path) -> None:
    tht.session("s1")
    lines = (
        json.dumps({"type": "concept_clarified", "subject": GREEK, "detail": CJK, "concepts": [ITALIAN]}),
        '{"type": "concept_clarified", "subject": "torn',
        "",
        json.dumps({"type": "concept_clarified", "subject": 7, "detail": "x"}),
        json.dumps({"type": "concept_clarified", "subject": "a", "detail": "x", "colour": "red"}),
        json.dumps({"type": "table_promoted", "subject": "t", "detail": "", "concepts": "no list"}),
        json.dumps({"type": "memory_promoted", "subject": "t", "detail": "d"}),
        json.dumps(["no", "object"]),
        json.dumps({"type": "concept_clarified", "subject": "\ud800", "detail": "d"}),
        json.dumps({"type": "concept_clarified", "subject": "s", "detail": "d", "phase": "F7"}),
        "[" * 100_000,
        json.dumps({"type": "table_excluded", "subject": "t2", "detail": "last"}),
    )
    file = tmp_path / "decisions.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    said = tht("session", "record", "s1", "--file", file, "--json")
    assert said.code == 1
    assert said.json["counts"] == {"recorded": 2, "failed": 9}
    outcomes = {one["line"]: one for one in said.json["outcomes"]}
    assert (outcomes[1]["seq"], outcomes[12]["seq"]) == (1, 2)
    assert all(outcomes[line]["error"]["type"] == "InvalidInput" for line in (2, 4, 5, 6, 7, 8, 9, 11))
    assert outcomes[10]["error"]["type"] == "WrongPhase"
    assert 3 not in outcomes
    first, second = tht.json("session", "show", "s1")["decisions"]
    assert (first["subject"], first["detail"], first["concepts"]) == (GREEK, CJK, [ITALIAN])
    assert second["subject"] == "t2"
    assert "line 2: InvalidInput" in tht("session", "record", "s1", "--file", file).err


def test_a_file_may_come_from_stdin_and_hold_one_object(tht: Tht) -> None:
    tht.session("s1")
    one = json.dumps({"type": "concept_clarified", "subject": "a", "detail": "b"}, indent=2)
    assert tht.json("session", "record", "s1", "--file", "-", stdin=one)["counts"] == {"recorded": 1, "failed": 0}
    again = ("session", "record", "s1", "--file", "-", "--idempotency-key", "k1")
    two = '{"type":"table_promoted","subject":"t","detail":""}\n{"type":"table_excluded","subject":"u","detail":""}\n'
    assert [line["already"] for line in tht.json(*again, stdin=two)["outcomes"]] == [False, False]
    assert [line["already"] for line in tht.json(*again, stdin=two)["outcomes"]] == [True, True]
    assert len(tht.json("session", "show", "s1")["decisions"]) == 3
    assert tht.json("session", "record", "s1", "--file", "-", "--dry-run", stdin=two)["outcomes"][0]["seq"] is None
    assert len(tht.json("session", "show", "s1")["decisions"]) == 3
    assert tht.refused("session", "record", "s1", "--file", "-", stdin="\n", code=2) == "InvalidInput"
    assert tht.refused("session", "record", "nope", "--file", "-", stdin=two) == "UnknownSession"
    assert tht.refused("session", "record", "s1", "--file", "/does/not/exist", code=2) == "InvalidInput"
    assert tht("session", "record", "s1", "--file", "-", "--subject", "x", stdin=two).code == 2


# -- what is refused


def test_s03_nothing_is_recorded_for_a_command_that_changes_nothing(tht: Tht) -> None:
    """S-03: unknown ids, another session's seq, a second retraction: a typed error, exit 1, no event."""
    tht.session("s1", ("a", "first"))
    tht.session("s2")
    tht.json("session", "retract", "s1", "1")
    before = tht.position()
    assert tht.refused("session", "retract", "nope", "1") == "UnknownSession"
    assert tht.refused("session", "retract", "s1", "7") == "UnknownDecision"
    assert tht.refused("session", "retract", "s1", "0") == "UnknownDecision"
    assert tht.refused("session", "retract", "s2", "1") == "UnknownDecision"
    assert tht.refused("session", "retract", "s1", "9" * 40) == "UnknownDecision"
    assert tht.refused("session", "retract", "s1", "1") == "NothingChanged"
    assert tht.refused("session", "open", "s1", "--question", "How many ablations?") == "NothingChanged"
    assert tht.refused("session", "open", "s1", "--question", "Another") == "SessionExists"
    assert tht.position() == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("--subject", "x" * 1_000_000),
        ("--detail", "x" * 1_000_000),
        ("--detail", "bell \x07"),
        ("--subject", "escape \x1b[2J"),
        ("--rationale", "null \x00"),
        ("--concept", "\x9b31m"),
        ("--detail", "   "),
        ("--type", "memory_promoted"),
    ],
)
def test_text_that_cannot_be_kept_is_refused_and_named(tht: Tht, field: str, value: str) -> None:
    tht.session("s1")
    before = tht.position()
    words = {"--type": "concept_clarified", "--subject": "s", "--detail": "d"} | {field: value}
    said = tht("session", "record", "s1", *(part for pair in words.items() for part in pair), "--json")
    assert (said.code, said.error["type"]) == (2, "InvalidInput")
    assert tht.position() == before


def test_bytes_that_are_no_text_are_refused_wherever_they_stand(tht: Tht, tht_process: Tht) -> None:
    tht.session("s1")
    bad = "caf\udce9"
    for command in (
        ("session", "show", bad),
        ("session", "open", "s2", "--question", bad),
        ("session", "record", "s1", "--type", "concept_clarified", "--subject", bad, "--detail", "d"),
        ("session", "retract", "s1", "1", "--reason", bad),
        ("memory", "search", bad),
        ("registry", "show", bad),
        ("registry", "list", "--actor", bad),
        ("session", "close", "s1", "--idempotency-key", bad),
        ("session", "close", "s1", "--actor", bad),
    ):
        said = tht_process(*command)
        assert said.code in (0 if command[:2] == ("registry", "list") else 2, 2), said
    assert tht.json("session", "show", "s1")["decisions"] == []


def test_a_dry_run_records_nothing_and_a_key_comes_back_once(tht: Tht) -> None:
    tht.session("s1", ("a", "b"))
    before = tht.position()
    dry = tht.json("session", "retract", "s1", "1", "--dry-run")
    assert (dry["dry_run"], [event["type"] for event in dry["events"]]) == (True, ["decision_retracted"])
    assert "would record: decision_retracted" in tht("session", "retract", "s1", "1", "--dry-run").out
    assert tht.position() == before
    first = tht.json("session", "retract", "s1", "1", "--idempotency-key", "k")
    again = tht.json("session", "retract", "s1", "1", "--idempotency-key", "k")
    assert (first["already"], again["already"], again["position"]) == (False, True, first["position"])
    assert tht.refused("session", "enter", "s1", "--phase", "F2", "--idempotency-key", "k") == "KeyReused"


# -- summary


def test_the_summary_shows_approved_then_declined(tht: Tht) -> None:
    tht.session("s1", ("No", "declined one"), ("Ablazione", "- una\n- due"), ("fact_x", "a table"))
    tht.json("memory", "decline", "--session", "s1", "--seq", "1", "--reviewer", "ada", "--reason", "vague")
    tht.promote("s1", 2)
    summary = tht.json("session", "summary", "s1")
    assert summary["session_id"] == "s1"
    keys = ("state", "subject", "detail", "rationale", "memory_id", "seq")
    assert [tuple(one[key] for key in keys) for one in summary["memories"]] == [
        ("approved", "Ablazione", "- una\n- due", "", "mem-0001", 2),
        ("declined", "No", "declined one", "", None, 1),
    ]
    rendered = tht("session", "summary", "s1").out
    assert "• una" in rendered
    assert "- una" not in rendered
    written = tht("session", "summary", "s1", "--markdown").out
    assert "### Ablazione — mem-0001\n\n- una\n- due" in written
    assert written.index("Ablazione") < written.index("declined one")
    assert "fact_x" not in written
