"""A writer to a shared index that lost its turn: held up, overtaken, late, it spoils nothing of what others wrote."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from adapters.erasing import Erasing
from adapters.facts import Facts
from adapters.indexing import Indexing
from adapters.qdrant_collection import ServerIndex
from adapters.qdrant_points import CHECKPOINT_ID
from adapters.workspace import Workspace, open_workspace
from domain.errors import IndexNotWritable, IndexUnavailable
from projections.index.follow import BATCH
from tests.contracts.engines import point
from tests.crash.soundness import ADA, CODER, assert_index_follows
from tests.postgres import cut_turns
from tests.server.shared_qdrant import Line, fact, position, search

Node = Callable[[str], Workspace]


def ledger_of(workspace: Workspace) -> str:
    return str(workspace.config.value("ledger.url"))


WRITES = ("upsert", "delete", "set_payload")  # in this order: points, what they leave behind, the checkpoint


@pytest.mark.parametrize("held_up_before", WRITES)
def test_a_writer_that_was_held_up_and_overtaken_spoils_nothing(shared: Node, line: Line, held_up_before: str) -> None:
    """Its lock is gone, another has indexed a later state, and only then do its own writes arrive."""
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    kept, gone, changed = (fact(one, number) for number in range(3))
    done: list[int] = []

    def meanwhile() -> None:
        assert cut_turns(ledger_of(one)) == 1
        Facts(other).retire(gone, CODER)
        new = fact(other, 2, "Gate 2 is walled up")
        Facts(other).supersede(changed, new, CODER)
        done.append(Indexing(other).catch_up().position)

    line.before[held_up_before] = meanwhile
    with pytest.raises(IndexNotWritable, match="is lost"):
        Indexing(one).catch_up()
    assert done == [position(other)]
    assert Indexing(other).reached() < done[0], "set back to where the late one had begun"
    assert_index_follows(other)
    assert search(one, 0).hits[0].id == kept
    assert_index_follows(one)


@pytest.mark.parametrize("held_up_before", WRITES)
def test_two_that_write_the_same_state_do_each_other_no_harm(shared: Node, line: Line, held_up_before: str) -> None:
    """They cannot know that it was the same: the late one sets the index back, and the next one does it once more."""
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    known = fact(one, 0)
    Facts(one).retire(fact(one, 1), CODER)

    def meanwhile() -> None:
        assert cut_turns(ledger_of(one)) == 1
        assert Indexing(other).catch_up().position == position(one)

    line.before[held_up_before] = meanwhile
    with pytest.raises(IndexNotWritable, match="is lost"):
        Indexing(one).catch_up()
    assert search(one, 0).hits[0].id == known
    assert_index_follows(other)


def test_two_late_writers_and_one_that_was_set_back_in_between_leave_no_retired_record(
    shared: Node, line: Line
) -> None:
    """One late writer has cleared the record and not moved yet; the other writes it late, is found out, and sets the
    index back to where both had begun: there the first must not find what it knows."""
    late, later, live = shared("late"), shared("later"), shared("live")
    begun = Indexing(live).catch_up().position
    gone = fact(live, 1)
    arrives = threading.Event()
    with held_up(line, "upsert", arrives) as waits:
        other = threading.Thread(target=lost_turn, args=(later,))
        other.start()
        assert waits.wait(60), "from a state in which it is live"
        Facts(live).retire(gone, CODER)

        def meanwhile() -> None:
            assert cut_turns(ledger_of(live)) == 1
            fact(live, 2)
            assert Indexing(live).catch_up().position == position(live)
            arrives.set()
            other.join(60)
            assert Indexing(live).reached() == begun

        assert cut_turns(ledger_of(live)) == 1
        line.before["set_payload"] = meanwhile
        lost_turn(late)
    assert Indexing(live).reached() == begun, "what both have written is written again"
    assert_index_follows(live)


def test_whoever_goes_on_from_where_a_late_writer_finds_the_index_is_told_too(shared: Node, line: Line) -> None:
    """It was set back already, and somebody has cleared from there what the late one then wrote."""
    late, live = shared("late"), shared("live")
    first = Indexing(live).catch_up()
    gone = fact(live, 1)
    arrives = threading.Event()
    with held_up(line, "upsert", arrives) as waits:
        other = threading.Thread(target=lost_turn, args=(late,))
        other.start()
        assert waits.wait(60)
        assert cut_turns(ledger_of(live)) == 1
        Facts(live).retire(gone, CODER)
        with live.open_index.use(Indexing(live).store) as index:
            assert index is not None
            index.save_checkpoint(replace(first, token="set back"), after=first)

        def meanwhile() -> None:
            arrives.set()
            other.join(60)

        line.before["set_payload"] = meanwhile
        Indexing(live).catch_up()
    assert_index_follows(live)


@contextmanager
def held_up(line: Line, call: str, arrives: threading.Event) -> Iterator[threading.Event]:
    """The next call of this name comes to the server when `arrives` is set. What is given is set when it waits."""
    waits = threading.Event()

    def wait() -> None:
        waits.set()
        assert arrives.wait(60)

    line.before[call] = wait
    try:
        yield waits
    finally:
        arrives.set()


def lost_turn(workspace: Workspace) -> None:
    with (
        open_workspace(workspace.paths.folder.parent, "default") as mine,
        pytest.raises(IndexNotWritable, match="is lost"),
    ):
        Indexing(mine).catch_up()


def test_a_rebuild_that_was_held_up_anywhere_removes_nothing_that_has_become_current(shared: Node, line: Line) -> None:
    """At each of its calls in turn its lock is gone, and another has rebuilt the index, before the call arrives."""
    one, other = shared("one"), shared("other")
    known = fact(one, 0)
    Indexing(one).rebuild()
    overtaken = 0
    for step in range(1, 100):
        Indexing(one).store.begin(64)  # left behind by one that was killed
        done: list[str] = []

        def meanwhile(done: list[str] = done) -> None:
            assert cut_turns(ledger_of(one)) == 1
            Indexing(other).rebuild()
            done.append(Indexing(other).store.describe()["current"])

        line.at = {line.calls + step: meanwhile}
        with suppress(IndexUnavailable):
            Indexing(one).rebuild()
        line.at = {}
        current = Indexing(other).store.current()
        assert current is not None, step
        assert current.count() == 1, step
        assert search(other, 0).hits[0].id == known
        assert search(other, 0).voices["vector"] == "ran"
        if not done:
            break
        overtaken += Indexing(other).store.describe()["current"] == done[0]
    assert overtaken > 8
    Indexing(one).rebuild()
    assert Indexing(one).store.describe()["leftovers"] == "none"
    assert_index_follows(one)


def test_a_search_that_loses_its_turn_answers_all_the_same(shared: Node, line: Line) -> None:
    one = shared("one")
    Indexing(one).catch_up()
    known = [fact(one, number) for number in range(BATCH + 3)]
    line.before["set_payload"] = lambda: cut_turns(ledger_of(one))
    answer = search(one, 3)
    assert (answer.hits[0].id, answer.voices["vector"]) == (known[3], "ran")
    assert 0 < answer.index_position < position(one)
    assert "index at" in answer.notice


def test_many_batches_are_given_up_at_the_first_after_the_turn_was_lost(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    for number in range(BATCH + 3):
        fact(one, number)
    line.before["set_payload"] = lambda: cut_turns(ledger_of(one))
    with pytest.raises(IndexNotWritable, match="is lost"):
        Indexing(one).catch_up()
    assert 0 < Indexing(other).reached() < position(one), "what was written before is kept"
    assert_index_follows(other)


def test_an_erasure_without_a_current_index_or_a_model_makes_no_collection(shared: Node, line: Line) -> None:
    """One of a single number a vector would stay, for all tenants, on a server that is short of collections."""
    one = shared("one")
    gone = fact(one, 1)
    Indexing(one).store.begin(64).upsert([point("fact:left", [1.0] * 64)])
    before = line.collections()
    assert Erasing(one).erase((gone,), ADA).index == "none"
    assert Indexing(one).store.describe()["leftovers"] == "none"
    assert set(line.collections()) <= set(before)
    gone = fact(one, 2)
    Indexing(one).catch_up()
    with one.open_index.use(Indexing(one).store) as index:
        assert isinstance(index, ServerIndex)
        with index._way.open() as client:  # its checkpoint is lost, and so is what tells its model
            client.delete(index.part.collection, [index.part.id(CHECKPOINT_ID)])
    one.config.stored["embedder.model"] = "none"
    one.indexing = None
    assert Erasing(one).erase((gone,), ADA).index == "emptied"
    shares = bool(one.config.value("index.collection"))
    assert (len(line.collections()), line.collections()[0][-3:] == "-64") == (1, shares)
