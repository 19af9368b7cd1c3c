"""S-13: what goes with a fact, policy or item that is erased, and what is named because it may say something alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.conflicts import Conflicts
from adapters.consolidate import Consolidate
from adapters.erasing import Erasing
from adapters.facts import Facts
from adapters.ledger import By, Ledger
from adapters.notes import Notes
from adapters.policies import Policies
from adapters.undo import Undo
from adapters.workspace import Workspace
from domain.errors import UnknownRecord
from domain.propose import NewFact, OnConflict
from projections.scope import Reader
from projections.tables.facts import FACTS
from tests.adapters.test_erasing import erase, told, workspace_in

ADA, CODER, QA = By("human:ada"), By("agent:coder"), By("agent:qa")
TEXT = "Mario Quux lives in Bologna"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Workspace]:
    with workspace_in(tmp_path / "one") as made:
        yield made


def fact(
    workspace: Workspace,
    content: str,
    topic: str = "mario",
    by: By = CODER,
    *,
    sources: tuple[str, ...] = (),
    about: str = "",
    confidence: float | None = None,
    on_conflict: OnConflict = "decide",
) -> str:
    new = NewFact(content, topic, by.actor, "", confidence, source_observation_ids=sources, about=about)
    return Facts(workspace).propose("people", new, by, on_conflict=on_conflict)[0].fact_id


def item(workspace: Workspace, content: str, by: By = CODER) -> str:
    return Notes(workspace).remember(content, by, importance=0.9)[0].item_id


def raised_to(workspace: Workspace, item_id: str) -> str:
    db = workspace.caught_up()
    return str(db.execute("SELECT fact_id FROM notes_v1_items WHERE id = ?", (item_id,)).fetchone()[0])


# -- what goes along ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["fact", "item"])
def test_a_fact_and_the_item_that_it_was_raised_from_go_together(one: Workspace, named: str) -> None:
    item_id = item(one, TEXT)
    Consolidate(one).run(ADA)
    fact_id = raised_to(one, item_id)
    done = erase(one, fact_id if named == "fact" else item_id)
    assert set(done.records) == {fact_id, item_id}
    assert done.near == ()
    assert "Quux" not in told(one)


def test_everybodys_item_of_the_same_words_goes_with_the_fact(one: Workspace) -> None:
    """The second was raised to a mention of the first one's fact."""
    items = [item(one, TEXT), item(one, f"{TEXT}.", QA)]
    Consolidate(one).run(ADA)
    (fact_id,) = {raised_to(one, each) for each in items}
    assert set(erase(one, items[1]).records) == {fact_id, *items}
    assert "Quux" not in told(one)


def test_what_was_merged_into_a_fact_goes_with_it_and_so_does_what_was_merged_into_that(one: Workspace) -> None:
    first = fact(one, TEXT, confidence=0.6)
    merged = fact(one, f"{TEXT}.", "lives", confidence=0.5)
    Consolidate(one).run(ADA)
    keeper = fact(one, f"{TEXT} !", "Bologna")
    Consolidate(one).run(ADA)
    rows = one.caught_up().execute(f"SELECT id, superseded_by FROM {FACTS} WHERE ended_for = 'merge'").fetchall()
    assert {(row[0], row[1]) for row in rows} == {(merged, first), (first, keeper)}
    assert set(erase(one, keeper).records) == {first, merged, keeper}
    assert "Quux" not in told(one)


def test_a_merge_of_two_wordings_by_hand_leaves_them_and_names_them(one: Workspace) -> None:
    first = fact(one, "the port of Quux is 8080", on_conflict="ask")
    second = fact(one, "the port of Quux is 9090", on_conflict="ask")
    (found,), _, _ = Conflicts(one).list(Reader(ADA.actor))
    merged, _ = Conflicts(one).merge(found.id, "Quux listens on 8080 and on 9090", ADA)
    done = erase(one, merged)
    assert done.records == (merged,)
    assert set(done.near) == {first, second}


def test_a_raising_that_was_undone_leaves_the_item_and_names_it(one: Workspace) -> None:
    item_id = item(one, TEXT)
    ran = Consolidate(one).run(ADA)
    fact_id = raised_to(one, item_id)
    Undo(one).run(ran.run_id, ADA)
    done = erase(one, fact_id)
    assert (done.records, done.near) == ((fact_id,), (item_id,))


# -- what is named -----------------------------------------------------------------------------------------------------


def test_the_wordings_before_and_after_a_correction_are_named(one: Workspace) -> None:
    first = fact(one, TEXT)
    second = Facts(one).correct(first, NewFact("Mario Quux lives in Fano", "mario", "agent:coder"), CODER)[0].fact_id
    third = Facts(one).correct(second, NewFact("Mario Quux lives in Jena", "mario", "agent:coder"), CODER)[0].fact_id
    done = Erasing(one).erase((second,), By("human:ada", dry_run=True))
    assert (done.records, set(done.near)) == ((second,), {first, third})
    erase(one, second, first)
    assert set(erase(one, third).near) == set()


def test_what_cites_it_and_what_it_cites_is_named(one: Workspace) -> None:
    """By id alone, whoever it belongs to, also where it was cited when the fact was said again."""
    seen, _ = Notes(one).observe("he said where he lives", CODER)
    again, _ = Notes(one).observe("he said it again", QA)
    item_id = item(one, "ask him")
    source = fact(one, "Quux is in the register", "register")
    fact_id = fact(one, TEXT, sources=(seen, item_id, source, "an-old-letter"))
    assert fact(one, f"{TEXT}.", by=QA, sources=(again,)) == fact_id
    citing = fact(one, "letters go south", "letters", sources=(fact_id,))
    rule, _ = Policies(one).propose("people", "send letters to the south", ADA, derived_from=(fact_id,))
    done = erase(one, fact_id)
    assert set(done.near) == {seen, again, item_id, source, citing, rule}
    assert set(erase(one, source).near) == set(), "what is erased says nothing any more"


def test_facts_of_its_topic_that_repeat_refine_or_deny_it_are_named(one: Workspace) -> None:
    """Those that were superseded or retired too, and the same text under another topic; not what is of other things."""
    lost = fact(one, "the port of Quux is 8080")
    fact_id = fact(one, "the port of Quux is 9090")
    finer = fact(one, "the port of Quux is 9090 in the ward")
    retired = fact(one, "the port of Quux is 7070", on_conflict="keep_both")
    Facts(one).retire(retired, ADA)
    elsewhere = fact(one, "the port of Quux is 9090", "elsewhere")
    fact(one, "tea is served at noon")
    done = erase(one, fact_id)
    assert done.records == (fact_id,)
    assert set(done.near) == {lost, finer, retired, elsewhere}


def test_the_rule_that_a_policy_replaced_is_named(one: Workspace) -> None:
    old, _ = Policies(one).propose("people", "write to Mario", ADA)
    new, _ = Policies(one).supersede(old, "write to Mario Quux", ADA)
    assert erase(one, new).near == (old,)


def test_all_about_a_subject_takes_along_and_names_as_well(one: Workspace) -> None:
    """S-02: what does not say whom it is about is found by what it was made of."""
    item_id = item(one, TEXT)
    Consolidate(one).run(ADA)
    raised = raised_to(one, item_id)
    about = fact(one, f"{TEXT} since May", about="person:mario", sources=(raised,))
    done = erase(one, about="person:mario")
    assert (done.records, done.near) == ((about,), (raised,))


@pytest.mark.parametrize("written", ["person:marioo", "mario", "person:Mario", "Mario"])
def test_an_unknown_subject_names_those_that_are_written_alike(one: Workspace, written: str) -> None:
    fact(one, TEXT, about="person:mario")
    with pytest.raises(UnknownRecord) as raised:
        Erasing(one).erase((), ADA, about=written)
    assert raised.value.hint.startswith("did you mean person:mario?")
    with pytest.raises(UnknownRecord) as raised:
        Erasing(one).erase((), ADA, about="ward:7")
    assert "mario" not in raised.value.hint


# -- how much is read --------------------------------------------------------------------------------------------------


def test_many_facts_of_one_topic_are_erased_in_one_reading(one: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-13: the work grows with the facts, not with their square: a stream is decoded once, the erasures are read once,
    the whole ledger at most once."""
    facts = [
        fact(one, f"gate {number} is {number}", f"gate {number % 2}", on_conflict="keep_both") for number in range(12)
    ]
    erase(one, facts[0])
    read: list[str] = []
    for name in ("load", "unsealed", "erasures", "everything"):
        _note_calls(monkeypatch, name, read)
    done = Erasing(one).erase(tuple(facts), By("human:ada", dry_run=True))
    assert (len(done.records), done.already) == (11, (facts[0],))
    streams = ("topic/people/gate-0", "topic/people/gate-1")
    assert sorted(read) == [
        "erasures",
        *(f"load {stream}" for stream in streams),
        *(f"unsealed {one}" for one in streams),
    ]


def _note_calls(monkeypatch: pytest.MonkeyPatch, name: str, calls: list[str]) -> None:
    original = getattr(Ledger, name)

    def noted(self: Ledger, *arguments: str) -> object:
        calls.append(" ".join((name, *arguments)))
        return original(self, *arguments)

    monkeypatch.setattr(Ledger, name, noted)
