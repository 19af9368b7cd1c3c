"""Many candidates: none is lost between pages, none comes back, and each content becomes one memory."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cli.approving import CJK, GREEK, ITALIAN, save

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


def test_every_candidate_of_every_session_at_once(tht: Tht) -> None:
    tht.session("s1", ("a", GREEK), ("b", ITALIAN), ("fact_x", "a table"))
    tht.session("s2", ("A", f"{GREEK}."), ("c", CJK))
    tht.session("s3")
    tht.clarify("s3", "own", "words", actor="human:ada")
    dry = tht("memory", "promote", "--all-sessions", "--reviewer", "ada", "--dry-run", "--json")
    assert dry.json["counts"]["promoted"] == 4
    assert {one["memory_id"] for one in dry.json["outcomes"]} == {None}
    assert tht.json("registry", "list")["total"] == 0
    said = tht("memory", "promote", "--all-sessions", "--reviewer", "ada", "--json")
    assert said.code == 1
    assert said.json["counts"] == {"promoted": 4, "already": 0, "failed": 1, "memories": 3}
    outcomes = [(one["session_id"], one["seq"], one["memory_id"]) for one in said.json["outcomes"]]
    assert outcomes == [("s1", 1, "mem-0001"), ("s1", 2, "mem-0002"), ("s2", 1, "mem-0001"), ("s2", 2, "mem-0003"),
                        ("s3", 1, None)]  # fmt: skip
    assert said.json["outcomes"][-1]["error"]["type"] == "SelfReview"
    only = tht("memory", "promote", "--session", "s3", "--all", "--reviewer", "bea")
    assert (only.code, "s3 seq 1: promoted, mem-0004" in only.out) == (0, True)
    assert tht.refused("memory", "promote", "--all-sessions", "--reviewer", "ada") == "NothingChanged"


def test_s25_no_candidate_beyond_the_page_is_lost(tht: Tht) -> None:
    """S-25: nine clarifications, five a page: the session closes only when all nine are decided or deferred."""
    tht.session("s1", *((f"concept {number}", f"means {number}") for number in range(1, 10)))
    first = tht.json("memory", "promote", "--session", "s1", "--preview")
    assert ([one["seq"] for one in first["candidates"]], first["remaining"]) == ([1, 2, 3, 4, 5], 4)
    second = tht.json("memory", "promote", "--session", "s1", "--preview", "--after", "5")
    assert ([one["seq"] for one in second["candidates"]], second["remaining"]) == ([6, 7, 8, 9], 0)
    assert "4 more: --after 5 shows them" in tht("memory", "promote", "--session", "s1", "--preview").out
    for seq in range(1, 9):
        tht.promote("s1", seq)
    assert tht.refused("session", "close", "s1") == "UndecidedCandidates"
    tht.json("memory", "defer", "--session", "s1", "--seq", "9", "--reviewer", "ada", "--reason", "ask")
    tht.json("session", "close", "s1")
    assert tht.candidates("s1") == []
    assert [one["seq"] for one in tht.candidates("s1", "--deferred")] == [9]
    queue = tht.json("review")["queue"]
    assert [(one["session_id"], one["candidates"][0]["seq"]) for one in queue] == [("s1", 9)]
    assert tht.promote("s1", 9) == "mem-0009"
    assert tht.refused("memory", "defer", "--session", "s1", "--seq", "9", "--reviewer", "ada") == "NotACandidate"


def test_s26_declined_stays_declined_and_withdrawn_sources_are_flagged(tht: Tht) -> None:
    """S-26: declined in F8: not proposed again; retracted: not promotable; promoted and then retracted: flagged."""
    tht.session("s1", ("a", "declined"), ("b", "retracted"), ("c", "promoted first"))
    retracted = save(tht, "s1", 2, "--reviewer", "ada")
    tht.json("memory", "decline", "--session", "s1", "--seq", "1", "--reviewer", "ada")
    tht.json("session", "retract", "s1", "2")
    assert tht.promote("s1", 3) == "mem-0001"
    tht.json("session", "retract", "s1", "3")
    tht.clarify("s1", "A", "declined!")
    assert tht.candidates("s1", "--deferred") == []
    assert tht.refused("memory", "decline", "--session", "s1", "--seq", "1", "--reviewer", "bea") == "NothingChanged"
    assert tht.refused(*retracted) == "NotACandidate"
    assert tht.json("registry", "show", "mem-0001")["flag"] == "source no longer effective"
    assert tht.json("session", "summary", "s1")["memories"][0]["flag"] == "source no longer effective"
    assert "source no longer effective" in " ".join(tht("registry", "show", "mem-0001").out.split())


def test_every_real_candidate_becomes_one_memory_for_each_distinct_content(tht: Tht, shared_data: Path) -> None:
    """The 762 expert sessions: one memory per content, each with all its sources, counted straight from the file."""
    file = shared_data / "bird" / "sessions.jsonl"
    tht.json("import", file, "--actor", "tool:importer")
    expected: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for line in file.read_text("utf-8").splitlines():
        session = json.loads(line)
        linked = {plain(one["subject"]) for one in session["decisions"] if one["type"] != "concept_clarified"}
        for seq, one in enumerate(session["decisions"], 1):
            if one["type"] == "concept_clarified" and plain(one["subject"]) not in linked:
                content = (plain(one["subject"]), plain(one["detail"]))
                expected.setdefault(content, set()).add((session["session_id"], seq))
    outcome = tht.json("memory", "promote", "--all-sessions", "--reviewer", "ada")
    assert outcome["counts"]["failed"] == 0
    memories = [json.loads(line) for line in tht("registry", "export", "--all").out.splitlines()]
    found = {
        (plain(one["subject"]), plain(one["detail"])): {(each["session_id"], each["seq"]) for each in one["sources"]}
        for one in memories
    }
    assert len(memories) == len(found)
    assert found == expected
    assert tht.json("review")["candidates"] == 0


def plain(text: str) -> str:
    """Equivalent content made equal, written without the program's own rule for it."""
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    before = ""
    while before != text:
        before, text = text, text.strip().rstrip(".,;:!?…").strip()
        if len(text) > 1 and text[0] in "\"'`«“‘" and text[-1] in "\"'`»”’":
            text = text[1:-1]
    return text
