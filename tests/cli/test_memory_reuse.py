"""`tht memory search`, `decide`, `history` and what is shown of a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.approving import GREEK, ITALIAN

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


def test_the_search_answers_as_programs_expect(tht: Tht) -> None:
    tht.session("s1", ("Κολπική μαρμαρυγή", GREEK), ("Paziente anziano", ITALIAN))
    tht.json("memory", "promote", "--session", "s1", "--all", "--reviewer", "ada")
    tht.session("s2")
    answer = tht.json("memory", "search", "τι σημαίνει κολπική μαρμαρυγή", "--session", "s2")
    hit = answer["hits"][0]
    assert (hit["id"], hit["detail"], hit["session_id"], hit["decision_seq"]) == ("mem-0001", GREEK, "s1", 1)
    assert hit["score"] > 0
    assert answer["index"]["position"] <= answer["index"]["ledger"]
    assert set(answer["voices"]) == {"lexical", "vector", "temporal", "graph"}
    assert len(tht.json("memory", "search", "anziano", "--limit", "1")["hits"]) == 1
    assert "mem-0002" in tht("memory", "search", "paziente anziano").out
    assert tht.refused("memory", "search", "x", "--session", "nope") == "UnknownSession"
    assert tht.refused("memory", "search", "  ", code=2) == "InvalidInput"
    assert tht.refused("memory", "search", "x\x00y", code=2) == "InvalidInput"
    assert tht("memory", "search", "x", "--limit", "0").code == 2


def test_s21_nothing_pending_is_found(tht: Tht) -> None:
    """S-21: waiting, deferred and declined candidates are in the queue only, never in a search."""
    tht.session("s1", ("waiting", "ablation wave"), ("deferred", "ablation tide"), ("declined", "ablation storm"))
    tht.json("memory", "defer", "--session", "s1", "--seq", "2", "--reviewer", "ada")
    tht.json("memory", "decline", "--session", "s1", "--seq", "3", "--reviewer", "ada")
    assert tht.json("memory", "search", "ablation wave tide storm")["hits"] == []
    assert tht.json("memory", "list")["memories"] == []
    assert "no memory fits" in tht("memory", "search", "ablation").out
    assert [one["seq"] for one in tht.json("review", "s1")["queue"][0]["candidates"]] == [1, 2]


def test_an_index_behind_does_not_hide_what_the_words_find(tht: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors fill every list; a memory that has none yet must still come in by its words."""
    tht.session("s1", *((f"filler {number}", f"nothing much {number}") for number in range(8)))
    for seq in range(1, 9):
        tht.promote("s1", seq)
    tht.json("memory", "search", "filler")
    tht.session("s2", ("June of 2013", "date between the first and the last of June"))
    late = tht.promote("s2", 1)
    monkeypatch.setenv("THT_INDEX_BUDGET", "0")
    answer = tht.json("memory", "search", "June of 2013", "--limit", "3")
    assert answer["index"]["position"] < answer["index"]["ledger"]
    assert late in [hit["id"] for hit in answer["hits"]]
    assert "wait for it" in answer["notice"]


def test_s26_the_choice_of_f2_is_recorded_once_and_may_be_offered_again(tht: Tht) -> None:
    """S-26: deselected in F2 is set aside, not deleted: after F2 is opened again it is offered again."""
    tht.session("s1", ("a", "the rule of ablation"), ("b", "the rule of relapse"))
    tht.json("memory", "promote", "--session", "s1", "--all", "--reviewer", "ada")
    tht.session("s2")
    chosen = tht.json("memory", "decide", "--session", "s2", "--offered", "mem-0001,mem-0002", "--select", "mem-0002")
    assert [event["type"] for event in chosen["events"]] == ["phase_entered", "concept_clarified", "memory_set_aside"]
    (applied,) = tht.json("session", "show", "s2")["decisions"]
    assert (applied["source_memory"], applied["detail"]) == ("mem-0002", "the rule of relapse")
    assert "mem-0002" in applied["rationale"]
    assert tht.json("memory", "search", "rule", "--session", "s2")["hits"] == []
    assert tht.candidates("s2") == [], "reused unchanged, it is no new candidate"
    tht.json("session", "reopen", "s2", "--phase", "F2")
    assert [hit["id"] for hit in tht.json("memory", "search", "rule", "--session", "s2")["hits"]] == ["mem-0001"]
    before = tht.position()
    decide = ("memory", "decide", "--session", "s2")
    assert tht.refused(*decide, "--offered", "mem-0001", "--select", "mem-0009", code=2) == "InvalidInput"
    assert tht.refused(*decide, "--offered", "mem-0404") == "UnknownMemory"
    assert tht.refused(*decide, "--offered", "mem-0002", "--select", "mem-0002") == "NothingChanged"
    assert tht(*decide, "--offered", " , ").code == 2
    assert tht.position() == before


def test_the_history_of_a_memory_names_everyone(tht: Tht) -> None:
    tht.session("s1", ("a", "b"))
    tht.promote("s1", 1, "--reason", "as agreed")
    tht.json("registry", "retire", "mem-0001", "--actor", "human:bea", "--reason", "wrong")
    tht.json("registry", "restore", "mem-0001", "--actor", "human:cia", "--reason", "right after all")
    history = tht.json("memory", "history", "mem-0001")
    assert [(event["kind"], event["actor"], event["reason"]) for event in history["events"] if event["reason"]][
        -2:
    ] == [
        ("memory_retired", "human:bea", "wrong"),
        ("memory_restored", "human:cia", "right after all"),
    ]
    assert {"memory_promoted", "memory_recorded", "number_taken"} <= {event["kind"] for event in history["events"]}
    assert "memory_retired" in tht("memory", "history", "mem-0001").out
    assert tht.refused("memory", "history", "mem-0404") == "UnknownMemory"


def test_what_html_there_is_in_a_summary_is_shown_as_text(tht: Tht) -> None:
    tht.session("s1", ("tag", "first <div>hidden</div>\nsecond **bold**"))
    tht.promote("s1", 1)
    for command in (("session", "summary", "s1"), ("registry", "show", "mem-0001")):
        lines = [line.strip() for line in tht(*command).out.splitlines()]
        assert "first <div>hidden</div>" in lines
        assert "second bold" in lines
