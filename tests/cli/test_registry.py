"""`tht registry` through the real command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

BY_BEA = ("--actor", "human:bea")
RECORD = ["concepts", "decision_seq", "detail", "id", "question_context", "rationale", "session_id", "subject",
          "tables", "timestamp", "type"]  # fmt: skip


@pytest.fixture
def three(tht: Tht) -> Tht:
    """mem-0001 to mem-0003, one of each alphabet."""
    tht.session("s1", ("Ablazione", "è una procedura"), ("Μαρμαρυγή", "κολπική"), ("成功率 🎉", "成功 / 全件"))
    tht.json("memory", "promote", "--session", "s1", "--all", "--reviewer", "ada")
    return tht


def test_the_list_pages_and_filters(three: Tht) -> None:
    listed = three.json("registry", "list", "--limit", "2")
    assert ([one["id"] for one in listed["memories"]], listed["total"]) == (["mem-0001", "mem-0002"], 3)
    assert "go on with --offset 2" in three("registry", "list", "--limit", "2").out
    three.json("registry", "retire", "mem-0002", *BY_BEA, "--reason", "wrong")
    assert [one["id"] for one in three.json("registry", "list")["memories"]] == ["mem-0001", "mem-0003"]
    assert [one["id"] for one in three.json("registry", "list", "--status", "retired")["memories"]] == ["mem-0002"]
    assert three.json("registry", "list", "--status", "all")["total"] == 3
    assert [one["id"] for one in three.json("memory", "list")["memories"]] == ["mem-0001", "mem-0003"]
    assert three("registry", "list", "--status", "lost").code == 2
    assert three("registry", "list", "--limit", str(10**30)).code == 2


def test_a_memory_says_who_and_where_from(three: Tht) -> None:
    shown = three.json("registry", "show", "mem-0003")
    assert (shown["subject"], shown["detail"], shown["status"], shown["reviewer"]) == (
        "成功率 🎉",
        "成功 / 全件",
        "live",
        "human:ada",
    )
    assert shown["sources"] == [
        {"session_id": "s1", "seq": 3, "by": "human:ada", "withdrawn": False, "merged_from": None, "effective": True}
    ]
    page = three("registry", "show", "mem-0003").out
    assert "成功率 🎉" in page
    assert "approved by human:ada" in page
    assert three.refused("registry", "show", "mem-0404") == "UnknownMemory"
    assert three.refused("memory", "show", "../etc", code=1) == "UnknownMemory"


def test_as_it_was(three: Tht) -> None:
    before = three.position()
    three.json("registry", "retire", "mem-0001", *BY_BEA)
    then = three.json("registry", "show", "mem-0001", "--at", before)
    assert (then["status"], then["at"]) == ("live", before)
    assert three.json("registry", "list", "--at", before)["total"] == 3
    assert three.json("registry", "show", "mem-0001")["status"] == "retired"
    assert three.refused("registry", "show", "mem-0001", "--at", "1") == "UnknownMemory"
    assert three.refused("registry", "show", "mem-0001", "--at", before + 50, code=2) == "InvalidInput"


def test_the_export_has_exactly_the_record(three: Tht, tmp_path: Path) -> None:
    three.json("registry", "retire", "mem-0002", *BY_BEA)
    printed = three("registry", "export")
    lines = printed.out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["mem-0001", "mem-0003"]
    assert sorted(json.loads(lines[0])) == RECORD
    file = tmp_path / "registry.jsonl"
    assert three.json("registry", "export", file) == {"path": str(file), "memories": 2}
    assert file.read_text("utf-8") == printed.out
    everything = [json.loads(line) for line in three("registry", "export", "-", "--all").out.splitlines()]
    assert [(one["id"], one["status"]) for one in everything] == [
        ("mem-0001", "live"),
        ("mem-0002", "retired"),
        ("mem-0003", "live"),
    ]
    assert three.refused("registry", "export", tmp_path / "no" / "folder", code=3) == "HomeNotWritable"


def test_merge_supersede_retire_and_each_way_back(three: Tht) -> None:
    three.json("registry", "merge", "mem-0001", "--into", "mem-0002", *BY_BEA, "--reason", "same")
    merged = three.json("registry", "show", "mem-0001")
    assert (merged["status"], merged["successor"], merged["status_by"]) == ("merged", "mem-0002", "human:bea")
    assert merged["status_reason"] == "same"
    assert len(three.json("registry", "show", "mem-0002")["sources"]) == 2
    three.json("registry", "restore", "mem-0001", *BY_BEA)
    assert three.json("registry", "show", "mem-0001")["status"] == "live"
    assert [one["withdrawn"] for one in three.json("registry", "show", "mem-0002")["sources"]] == [False, True]
    three.json("registry", "supersede", "mem-0002", "--by", "mem-0003", *BY_BEA)
    assert three.json("registry", "show", "mem-0002")["successor"] == "mem-0003"
    three.json("registry", "restore", "mem-0002", *BY_BEA)
    assert three.json("registry", "list")["total"] == 3


def test_s08_shared_content_lives_with_its_other_source(tht: Tht) -> None:
    """S-08: promoted from A and B, A withdrawn: alive with B's provenance; it goes with the last source."""
    tht.session("A", ("Ablazione", "una procedura"))
    tht.session("B", ("ablazione", "Una procedura."))
    tht.json("memory", "promote", "--all-sessions", "--reviewer", "ada")
    assert tht.json("registry", "list")["total"] == 1
    tht.json("registry", "retire", "mem-0001", "--source", "A:1", *BY_BEA, "--reason", "A was wrong")
    shown = tht.json("registry", "show", "mem-0001")
    assert shown["status"] == "live"
    assert [(one["session_id"], one["withdrawn"]) for one in shown["sources"]] == [("A", True), ("B", False)]
    assert [hit["id"] for hit in tht.json("memory", "search", "ablazione")["hits"]] == ["mem-0001"]
    tht.json("registry", "retire", "mem-0001", "--source", "B:1", *BY_BEA)
    assert tht.json("registry", "show", "mem-0001")["status"] == "retired"
    assert tht.json("memory", "search", "ablazione")["hits"] == []


def test_s03_a_command_that_changes_nothing_is_refused(three: Tht) -> None:
    """S-03: unknown ids, an unknown replacement, another session's source, twice: typed, exit 1, no event."""
    three.json("registry", "retire", "mem-0003", *BY_BEA)
    before = three.position()
    for command, kind in (
        (("retire", "mem-0404"), "UnknownMemory"),
        (("retire", "mem-0003"), "NothingChanged"),
        (("retire", "mem-0001", "--source", "s2:1"), "UnknownDecision"),
        (("restore", "mem-0001"), "NothingChanged"),
        (("supersede", "mem-0001", "--by", "mem-0404"), "UnknownMemory"),
        (("supersede", "mem-0001", "--by", "mem-0001"), "Refused"),
        (("supersede", "mem-0001", "--by", "mem-0003"), "MemoryNotLive"),
        (("merge", "mem-0001", "--into", "mem-0404"), "UnknownMemory"),
        (("merge", "mem-0003", "--into", "mem-0001"), "MemoryNotLive"),
    ):
        assert three.refused("registry", *command, *BY_BEA) == kind, command
    assert three.refused("registry", "retire", "mem-0001", "--actor", "agent:coder-1") == "ReviewerNeeded"
    assert three.refused("registry", "retire", "mem-0001", "--source", "nonsense", *BY_BEA, code=2) == "InvalidInput"
    assert three.refused("registry", "retire", "mem 0001", *BY_BEA, code=2) == "InvalidInput"
    assert three.position() == before


def test_dry_runs_and_keys(three: Tht) -> None:
    before = three.position()
    dry = three.json("registry", "retire", "mem-0001", *BY_BEA, "--dry-run")
    assert [event["type"] for event in dry["events"]] == ["memory_retired"]
    assert three.position() == before
    keyed = ("registry", "retire", "mem-0001", *BY_BEA, "--idempotency-key", "k")
    assert three.json(*keyed)["already"] is False
    assert three.json(*keyed)["already"] is True
    assert three.position() == before + 1


def test_changing_the_registry_asks_for_the_token_too(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("Ablation", "a catheter procedure"))
    memory = tht.promote("s1", 1)
    token = tht.json("review", "token", "--for", "human:ada", "--actor", "human:ada")["token"]
    tht.json("config", "set", "review.require_token", "true")
    retire = ("registry", "retire", memory, "--actor", "human:ada")
    assert tht.refused(*retire) == "ReviewerNeeded"
    monkeypatch.setenv("THT_REVIEWER_TOKEN", token)
    tht.json(*retire)


def test_only_a_person_applies_a_memory(tht: Tht) -> None:
    tht.session("s1", ("Ablation", "a catheter procedure"))
    memory = tht.promote("s1", 1)
    tht.session("s2")
    before = tht.position()
    decide = ("memory", "decide", "--session", "s2", "--offered", memory, "--select", memory)
    assert tht.refused(*decide, "--actor", "agent:coder-1") == "ReviewerNeeded"
    said = ("--type", "concept_clarified", "--subject", "Ablation", "--detail", "else", "--source-memory", memory)
    assert tht.refused("session", "record", "s2", *said, "--actor", "agent:coder-1") == "ReviewerNeeded"
    assert tht.position() == before


def test_restoring_takes_sources_back_along_a_chain_of_merges(tht: Tht) -> None:
    tht.session("s1", ("one", "1"), ("two", "2"), ("three", "3"))
    one, two, three = (tht.promote("s1", seq) for seq in (1, 2, 3))
    tht.json("registry", "merge", one, "--into", two, "--actor", "human:ada")
    tht.json("registry", "merge", two, "--into", three, "--actor", "human:ada")

    def sources(memory: str) -> list[int]:
        shown = tht.json("registry", "show", memory)["sources"]
        return sorted(source["seq"] for source in shown if not source["withdrawn"])

    assert sources(three) == [1, 2, 3]
    tht.json("registry", "restore", one, "--actor", "human:ada")
    assert (sources(one), sources(three)) == ([1], [2, 3])
    tht.json("registry", "restore", two, "--actor", "human:ada")
    assert (sources(two), sources(three)) == ([2], [3])
    assert tht.json("verify")["ok"]
