"""`tht review` on a terminal: what each key of the checklist does; nothing is written before it is submitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.reviewing import DOWN, ENTER, ESCAPE, ITALIAN, SAVE, TAB, Open, outcomes, promoted

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.mark.posix
def test_everything_is_preselected_and_one_is_deselected(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("Ablazione", ITALIAN), ("Μαρμαρυγή", "κολπική"), ("成功率 🎉", "成功 / 全件"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("Review of s1: 3 candidates", "human:ada", "❯ [x] promote    1  Ablazione", "promote 3")
    review.sees("**`ablazione_transcatetere =")  # the very words that will be approved
    review.press(DOWN, " ")
    review.sees("❯ [ ] decline    2  Μαρμαρυγή", "promote 2, decline 1")
    review.press("j")
    review.sees("❯ [x] promote    3", "成功 / 全件")
    review.press(ENTER)
    review.sees("Do this now? promote 2, decline 1")
    review.press(ENTER)
    assert review.ends() == 0
    review.sees(
        "s1 seq 1: promoted, mem-0001", "s1 seq 2: declined", "s1 seq 3: promoted, mem-0002", "3 done, 0 failed"
    )
    assert outcomes(tht, "s1") == ["promoted", "declined", "promoted"]
    assert promoted(tht) == ["Ablazione", "成功率 🎉"]
    assert tht.json("registry", "show", "mem-0001")["reviewer"] == "human:ada"


@pytest.mark.posix
@pytest.mark.parametrize("leave", ["q", ESCAPE, "\x03"])
def test_leaving_writes_nothing(tht: Tht, terminal: Open, leave: str) -> None:
    tht.session("s1", ("a", "one"), ("b", "two"))
    before = tht.position()
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 2")
    review.press(" ")
    review.sees("decline 1")
    review.press(leave)
    assert review.ends() == 1
    review.sees("nothing was written")
    assert tht.position() == before


@pytest.mark.posix
def test_the_question_before_writing_can_be_taken_back(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "one"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 1")
    review.press(ENTER)
    review.sees("Do this now? promote 1")
    review.press("n")
    review.sees("Enter submit", without="Do this now?")
    review.press("d", ENTER)
    review.sees("Do this now? defer 1")
    review.press("y")
    assert review.ends() == 0
    assert outcomes(tht, "s1") == ["deferred"]


@pytest.mark.posix
def test_merge_replace_and_a_note(tht: Tht, terminal: Open) -> None:
    tht.session("old", ("Recidiva", "un evento entro 12 mesi"), ("Anziano", "almeno 75 anni alla data della procedura"))
    tht.json("memory", "promote", "--session", "old", "--all", "--reviewer", "ada")
    tht.session("new", ("Recidiva", "un evento entro 6 mesi"), ("Anziano", "almeno 80 anni alla data della procedura"))
    review = terminal("review", "new", "--actor", "human:bea", columns=120, rows=40)
    review.sees("≈ mem-0001", "numbers differ")
    review.press("m")
    review.sees("Merge into", "1 mem-0001", "numbers differ: Recidiva — un evento entro 12 mesi")
    review.press("mem-0404", ENTER)
    review.sees("there is no memory 'mem-0404'")
    review.press(*["\x7f"] * 8, "1", ENTER)
    review.sees("[x] merge      1  Recidiva", "→ mem-0001")
    review.press("n", "stessa regola, città", ENTER)
    review.sees("Note: stessa regola, città")
    review.press("j", "r", "mem-0002", ENTER)
    review.sees("[x] replace    2  Anziano", "merge 1, replace 1")
    review.press(ENTER, "y")
    assert review.ends() == 0
    review.sees("new seq 1: merged into mem-0001", "new seq 2: promoted, mem-0003 replaces mem-0002")
    assert [one["session_id"] for one in tht.json("registry", "show", "mem-0001")["sources"]] == ["old", "new"]
    assert tht.json("registry", "show", "mem-0002")["successor"] == "mem-0003"
    reasons = {event["kind"]: event["reason"] for event in tht.json("memory", "history", "mem-0001")["events"]}
    assert reasons["source_added"] == "stessa regola, città"


@pytest.mark.posix
def test_an_edit_waits_for_somebody_else(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("Ablazione", "una procedura"), ("b", "two"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 2")
    review.press("e")
    review.sees("Subject", "Detail", "Rationale", "somebody else approves")
    review.press(TAB, " con 漢字 è", SAVE)
    review.sees("[e] edit", "una procedura con 漢字 è", "another reviewer has to promote them")
    review.press(ENTER, ENTER)
    assert review.ends() == 0
    review.sees("s1 seq 1: edited, now seq 3; it waits in the queue for another reviewer", "s1 seq 2: promoted")
    old, _, new = tht.json("session", "show", "s1")["decisions"]
    assert (old["standing"], new["detail"], new["author"]) == ("retracted", "una procedura con 漢字 è", "human:ada")
    assert promoted(tht) == ["b"]
    again = terminal("review", "s1", "--actor", "human:ada")
    again.sees("[-] leave      3  Ablazione", "not by you", "Your own words: another reviewer has to promote them.")
    again.press(" ")
    again.sees("[ ] decline")
    again.press(" ")
    again.sees("[-] leave")
    again.press(ENTER)
    again.sees("Nothing is marked")
    again.press("q")
    assert again.ends() == 1
    other = terminal("review", "s1", "--actor", "human:bea")
    other.sees("[x] promote    3  Ablazione")
    other.press(ENTER, ENTER)
    assert other.ends() == 0
    assert promoted(tht) == ["b", "Ablazione"]


@pytest.mark.posix
def test_a_solo_workspace_promotes_an_edit_at_once(tht: Tht, terminal: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    tht.session("s1", ("a", "one"))
    tht.json("config", "set", "review.allow_self", "true")
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 1")
    review.press("e", TAB, " two", SAVE)
    review.sees("promoted as self-reviewed")
    review.press(ENTER, ENTER)
    assert review.ends() == 0
    shown = tht.json("registry", "show", "mem-0001")
    assert (shown["detail"], shown["self_reviewed"]) == ("one two", True)


@pytest.mark.posix
def test_s25_pages_follow_each_other_and_sessions_too(tht: Tht, terminal: Open) -> None:
    """S-25: nine clarifications, five a page: all nine are put before the reviewer."""
    tht.session("s1", *((f"concept {number}", f"means {number}") for number in range(1, 10)))
    tht.session("s2", ("last", "one"))
    review = terminal("review", "--actor", "human:ada")
    review.sees("Review of s1: 5 candidates, 4 more after them", "concept 5")
    review.press(ENTER, ENTER)
    review.sees("Review of s1: 4 candidates", "concept 9")
    review.press("s", TAB)
    review.sees("Review of s2: 1 candidate (session 2 of 2)", "last")
    review.press(ENTER, ENTER)
    assert review.ends() == 0
    assert outcomes(tht, "s1") == ["promoted"] * 5 + [None] * 4, "Tab writes nothing"
    assert outcomes(tht, "s2") == ["promoted"]


@pytest.mark.posix
def test_the_gate_is_asked_again_for_each_item(tht: Tht, terminal: Open) -> None:
    """S-22: what changed while the checklist was open fails alone; the others are written; exit 1."""
    tht.session("s1", ("a", "one"), ("b", "two"))
    review = terminal("review", "s1", "--actor", "human:ada")
    review.sees("promote 2")
    tht.clarify("s1", "A", "one.")  # seq 1 now covers seq 3: another revision
    review.press(ENTER, ENTER)
    assert review.ends() == 1
    review.sees("s1 seq 1: FAILED, StaleCandidate", "s1 seq 2: promoted, mem-0001", "1 done, 1 failed")
    assert outcomes(tht, "s1") == [None, "promoted", None]


@pytest.mark.posix
def test_deferred_candidates_are_marked_and_not_preselected(tht: Tht, terminal: Open) -> None:
    tht.session("s1", ("a", "one"))
    tht.json("memory", "defer", "--session", "s1", "--seq", "1", "--reviewer", "ada", "--reason", "ask the ward")
    tht.json("session", "close", "s1")
    review = terminal("review", "s1", "--actor", "human:bea")
    review.sees("[-] leave      1  a", "deferred", "Deferred by human:ada: ask the ward")
    review.press("d")
    review.sees("It is deferred already")
    review.press(" ", ENTER, ENTER)
    assert review.ends() == 0
    assert promoted(tht) == ["a"]
