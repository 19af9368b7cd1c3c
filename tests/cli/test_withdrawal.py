"""What is taken out goes alone, and its history stays."""

from __future__ import annotations

import sqlite3

import pytest

from adapters.indexing import Indexing
from adapters.workspace import open_workspace
from cli.options import Run
from tests.cli.conftest import Tht

BOTH = ("mine", "theirs")


def indexed() -> dict[str, str]:
    """Ref and content hash of every point in the index."""
    run = Run()
    with open_workspace(run.home_path, run.workspace_name) as workspace:
        indexing = Indexing(workspace)
        indexing.catch_up()
        index = indexing.store.current()
        assert index is not None
        with index:
            return {str(payload["ref"]): str(payload["content_hash"]) for payload in index.scan()}


def test_s02_taking_out_all_of_one_user_leaves_the_other_as_it_was(tht: Tht) -> None:
    """S-02: two users, three memories each; all of the first retired: the second unchanged in log, registry, index."""
    memories = {}
    for user in BOTH:
        tht.session(user, *((f"{user} {number}", f"the {number}. of {user}") for number in (1, 2, 3)))
        memories[user] = [tht.promote(user, seq) for seq in (1, 2, 3)]

    def theirs() -> tuple[object, ...]:
        log = tht.json("audit", "session", "theirs")["events"]
        shown = [tht.json("registry", "show", memory) for memory in memories["theirs"]]
        points = {ref: content for ref, content in indexed().items() if ref[7:] in memories["theirs"]}
        return log, shown, points

    before = theirs()
    assert len(indexed()) == 6
    for memory in memories["mine"]:
        tht.json("registry", "retire", memory, "--actor", "human:ada", "--reason", "the user left")
    assert theirs() == before
    assert sorted(indexed()) == [f"memory:{memory}" for memory in memories["theirs"]]
    found = {hit["id"] for hit in tht.json("memory", "search", "mine 1 the 1. of mine", "--limit", "10")["hits"]}
    assert found <= set(memories["theirs"])
    assert tht.json("verify")["ok"]


def test_s05_added_edited_taken_out_are_three_rows_of_history(tht: Tht) -> None:
    """S-05: each with its own time, actor and reason, in the order in which it happened."""
    tht.session("s1", ("Ablation", "a catheter procedure"))
    first = tht.promote("s1", 1, "--reason", "the ward counts so", reviewer="human:ada")
    tht.json("session", "edit", "s1", 1, "--detail", "a catheter procedure with an outcome", "--actor", "human:cai")
    second = tht.promote("s1", 2, "--replace", first, "--reason", "now with an outcome", reviewer="human:bea")
    tht.json("registry", "retire", second, "--actor", "human:dan", "--reason", "the definition was wrong")
    rows = [
        row
        for memory in (first, second)
        for row in tht.json("memory", "history", memory)["events"]
        if row["kind"] in ("memory_recorded", "memory_superseded", "memory_retired")
    ]
    told = sorted({(row["position"], row["kind"], row["actor"], row["reason"]) for row in rows})
    assert [row[1:] for row in told] == [
        ("memory_recorded", "human:ada", "the ward counts so"),
        ("memory_recorded", "human:bea", "now with an outcome"),
        ("memory_superseded", "human:bea", "now with an outcome"),
        ("memory_retired", "human:dan", "the definition was wrong"),
    ]
    times = {row["position"]: row["at"] for row in rows}
    assert len({times[told[0][0]], times[told[1][0]], times[told[3][0]]}) == 3
    assert sorted(times.values()) == [times[position] for position in sorted(times)]


def test_an_edit_of_form_alone_does_not_take_the_author_away(tht: Tht) -> None:
    """Who proposes does not approve, whoever added a space in between."""
    tht.session("s1")
    tht.clarify("s1", "A", "D", actor="human:ada")
    tht.json("session", "edit", "s1", 1, "--detail", "D ", "--actor", "human:bea")
    which = ("--session", "s1", "--seq", 2, "--revision", tht.revision("s1", 2))
    for writer in ("human:ada", "human:bea"):
        assert tht.refused("memory", "save-one", *which, "--reviewer", writer) == "SelfReview"
    assert tht.json("memory", "save-one", *which, "--reviewer", "human:cai")["memory_id"] == "mem-0001"


def test_neither_a_retraction_nor_a_repetition_takes_the_author_away(tht: Tht) -> None:
    tht.session("s1")
    tht.clarify("s1", "A", "D", actor="human:ada")
    tht.json("session", "retract", "s1", 1, "--actor", "agent:coder-1")
    tht.clarify("s1", "A", "D", actor="agent:coder-1")
    which = ("--session", "s1", "--seq", 2, "--revision", tht.revision("s1", 2))
    assert tht.refused("memory", "save-one", *which, "--reviewer", "human:ada") == "SelfReview"
    position = tht.position()
    assert tht.refused("memory", "save-one", *which, "--reviewer", "human:ada") == "SelfReview"
    assert tht.position() == position, "the same attempt again adds nothing to the ledger"


@pytest.mark.parametrize(
    "actor", ["human:ada\ufe0f", "human:ada\u3164", "human:\u0430da", "human:ada:", "human:human:ada"]
)
def test_no_name_that_only_looks_like_another(tht: Tht, actor: str) -> None:
    assert tht.refused("session", "open", "s1", "--question", "q", "--actor", actor, code=2) == "InvalidInput"


def test_approving_again_otherwise_is_no_retry(tht: Tht) -> None:
    tht.session("s1", ("one", "1"), ("two", "2"))
    first, which = tht.promote("s1", 1), ("--session", "s1", "--seq", 2, "--revision", tht.revision("s1", 2))
    tht.json("memory", "save-one", *which, "--reviewer", "human:ada")
    assert tht.refused("memory", "save-one", *which, "--reviewer", "human:bea", "--into", first) == "NotACandidate"
    assert tht.refused("memory", "save-one", *which, "--reviewer", "human:bea", "--replace", first) == "NotACandidate"
    assert tht.refused("memory", "save-one", *which, "--reviewer", "agent:coder-1") == "ReviewerNeeded"


def test_nothing_is_written_on_the_word_of_a_tampered_view(tht: Tht) -> None:
    tht.session("s1", ("one", "1"), ("two", "2"))
    one, two = tht.promote("s1", 1), tht.promote("s1", 2)
    tht.json("registry", "list")
    run = Run()
    db = sqlite3.connect(run.home_path / run.workspace_name / "views.sqlite3")
    with db:
        streams = dict(db.execute("SELECT id, stream FROM registry_v2_memories"))
        for memory, stream in ((one, "memory/none"), (two, streams[one]), (one, streams[two])):
            db.execute("UPDATE registry_v2_memories SET stream = ? WHERE id = ?", (stream, memory))
    db.close()
    before = tht.position()
    assert tht.refused("registry", "retire", one, "--actor", "human:ada", code=3) == "HomeNotWritable"
    assert tht.position() == before
    tht.json("projection", "rebuild")
    tht.json("registry", "retire", one, "--actor", "human:ada")
    assert tht.json("registry", "show", one)["status"] == "retired"


def test_a_reason_stands_with_the_act_that_it_was_given_for(tht: Tht) -> None:
    tht.session("s1", ("one", "1"))
    tht.promote("s1", 1, "--reason", "checked with the lab")
    reasons = {line["kind"]: line["reason"] for line in tht.json("audit", "log")["events"]}
    assert reasons["memory_promoted"] == reasons["memory_recorded"] == "checked with the lab"
    assert reasons["promotion_review_closed"] == reasons["number_taken"] == ""
