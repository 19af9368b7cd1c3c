"""Several nodes share one ledger on PostgreSQL and one index on Qdrant: one writes to it at a time, every one searches,
and whatever becomes of writer or server, the index is again what the ledger says."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from adapters.doctor import Doctor
from adapters.erasing import Erasing
from adapters.facts import Facts
from adapters.health import Health
from adapters.index_turn import PostgresTurn
from adapters.indexing import Indexing
from adapters.serving.feed import Feed
from adapters.serving.follow import Following
from adapters.serving.pool import Pool
from adapters.workspace import Workspace, open_workspace
from domain.errors import IndexBusy, IndexUnavailable
from projections.index.follow import VERSION
from projections.scope import Reader
from tests.crash.soundness import ADA, CODER, assert_index_follows
from tests.postgres import cut_turns
from tests.server.shared_qdrant import Line, fact, position, search

Node = Callable[[str], Workspace]


def ledger_of(workspace: Workspace) -> str:
    return str(workspace.config.value("ledger.url"))


# -- one writer, many readers ------------------------------------------------------------------------------------------


def test_what_one_node_indexes_the_other_finds_and_does_not_index_again(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    known = [fact(one, number) for number in range(5)]
    assert Indexing(one).catch_up().position == position(one)
    before = line.snapshot()
    answer = search(other, 3)
    assert (answer.hits[0].id, answer.voices["vector"], answer.notice) == (known[3], "ran", "")
    assert Indexing(other).catch_up().position == position(other)
    assert {name: len(points) for name, points in line.snapshot().items()} == {
        name: len(points) for name, points in before.items()
    }
    assert Indexing(other).status().as_json(position(other))["lag"] == 0


def test_a_search_does_not_wait_for_who_writes_and_says_how_far_the_index_is(shared: Node) -> None:
    one, other = shared("one"), shared("other")
    known = [fact(one, number) for number in range(3)]
    reached = Indexing(one).catch_up().position
    late = fact(one, 7)
    other.config.stored["index.wait"] = 600.0  # a search waits for nobody, whatever a command is told
    with Indexing(one).writing():
        answer = search(other, 2)
        assert (answer.hits[0].id, answer.voices["vector"], answer.index_position) == (known[2], "ran", reached)
        assert f"index at {reached:,} of {position(one):,}" in answer.notice
        assert late in {hit.id for hit in search(other, 7).hits}, "by words"
    answer = search(other, 7)
    assert (answer.index_position, answer.notice) == (position(one), "")


def test_while_the_first_index_is_being_made_others_search_by_words(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    known = fact(one, 1)
    with Indexing(one).writing():
        answer = search(other, 1)
    assert answer.hits[0].id == known
    assert "another process writes to the index" in answer.notice
    assert line.collections() == []
    assert search(other, 1).voices["vector"] == "ran"


def test_a_search_whose_index_is_swapped_under_it_says_that_it_went_without(shared: Node, line: Line) -> None:
    """A part of a shared collection is cleared then, and would have found nothing without a word."""
    one, other = shared("one"), shared("other")
    known = [fact(one, number) for number in range(3)]
    Indexing(one).catch_up()
    line.before["query_points"] = lambda: Indexing(other).rebuild()
    answer = search(one, 1)
    assert (answer.hits[0].id, answer.voices["vector"].partition(":")[0]) == (known[1], "unavailable")
    assert "try again" in answer.notice or "not found" in answer.notice  # local mode has no status 404
    answer = search(one, 1)
    assert (answer.hits[0].id, answer.voices["vector"], answer.notice) == (known[1], "ran", "")


def test_a_late_writer_leaves_nothing_of_an_erased_text_behind(shared: Node, line: Line) -> None:
    """The erasure has swapped and cleared the generation that it goes on writing into."""
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    kept, gone = fact(one, 1), fact(one, 2)

    def meanwhile() -> None:
        assert cut_turns(ledger_of(one)) == 1
        Erasing(other).erase((gone,), ADA)

    line.before["upsert"] = meanwhile
    with pytest.raises(IndexUnavailable):
        Indexing(one).catch_up()
    held = [point.payload or {} for points in line.snapshot().values() for point in points]
    assert [payload["ref"] for payload in held if "ref" in payload] == [f"fact:{kept}"]
    assert Indexing(one).store.describe()["leftovers"] == "none"
    assert_index_follows(one)


def test_a_command_that_writes_is_told_who_does(shared: Node) -> None:
    one, other = shared("one"), shared("other")
    fact(one, 1)
    Indexing(one).catch_up()
    fact(one, 2)
    with Indexing(one).writing():
        for write in (Indexing(other).catch_up, Indexing(other).rebuild):
            with pytest.raises(IndexBusy, match=f"process {os.getpid()} on ") as busy:
                write()
            assert "searches go on" in busy.value.hint
    Indexing(other).rebuild()
    assert_index_follows(one)


def test_a_node_that_is_set_to_another_model_does_not_make_the_index_anew_until_it_is_told_to(shared: Node) -> None:
    one, other = shared("one"), shared("other")
    known = [fact(one, number) for number in range(3)]
    Indexing(one).catch_up()
    made = Indexing(one).store.describe()["current"]
    other.config.stored["embedder.model"] = "hash:128"
    late = fact(other, 7)
    checkpoint = Indexing(other).catch_up()
    assert (checkpoint.position, checkpoint.model) == (position(one), "hash:64")
    assert Indexing(one).store.describe()["current"] == made
    assert search(one, 7).hits[0].id == search(other, 7).hits[0].id == late
    Indexing(other).rebuild()
    assert Indexing(one).catch_up().model == "hash:128"
    answer = search(one, 1)
    assert (answer.hits[0].id, answer.voices["vector"]) == (known[1], "ran")


def test_an_older_node_leaves_the_index_of_a_newer_one_alone(shared: Node) -> None:
    one = shared("one")
    known = fact(one, 1)
    checkpoint = Indexing(one).catch_up()
    made = Indexing(one).store.describe()["current"]
    newer = replace(checkpoint, version=VERSION + 1)
    with one.open_index.use(Indexing(one).store) as index:
        assert index is not None
        index.save_checkpoint(newer)
    with pytest.raises(IndexUnavailable, match=f"of version {VERSION + 1}") as refused:
        Indexing(one).catch_up()
    assert "one version of this program" in refused.value.hint
    answer = search(one, 1)
    assert (answer.hits[0].id, answer.voices["vector"].partition(":")[0]) == (known, "unavailable")
    assert Indexing(one).store.describe()["current"] == made


def test_a_server_that_follows_leaves_it_to_who_writes(shared: Node, tmp_path: Path) -> None:
    one = shared("one")
    fact(one, 1)
    reached = Indexing(one).catch_up().position
    fact(one, 2)
    pool = Pool(shared("other").paths.folder.parent, "default")
    now = 0.0
    following = Following(pool, Feed(), lambda: now, lambda: None)
    with Indexing(one).writing():
        now = 7.0
        following.index.step()
        assert (following.index.standing.reached, following.index.standing.problem) == (reached, "")
        assert following.index.standing.since == 0.0, "behind, whoever has the turn"
    following.index.step()
    assert (following.index.standing.reached, following.index.standing.since) == (position(one), 7.0)
    pool.close()


def test_a_turn_that_nobody_has_and_that_cannot_be_had_is_a_problem_that_is_told(
    shared: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of PostgreSQL that lets in no further session: not another node that brings the index up."""
    one = shared("one")
    known = fact(one, 1)
    reached = Indexing(one).catch_up().position
    now = 1.0
    pool = Pool(one.paths.folder.parent, "default")
    following = Following(pool, Feed(), lambda: now, lambda: None)
    following.index.step()
    late = fact(one, 2)
    now = 5.0
    with monkeypatch.context() as full:
        full.setattr(PostgresTurn, "_connected", refused)
        following.index.step()
        assert "too many clients" in following.index.standing.problem
        assert (following.index.standing.reached, following.index.standing.since) == (reached, 1.0)
        told = {check.name: check for check in Doctor(one, {}, Reader("human:ada")).checks()}["index turn"]
        assert (told.state, "too many clients" in told.what) == ("broken", True)
        answer = search(one, 1)
        assert (answer.hits[0].id, answer.voices["vector"], answer.index_position) == (known, "ran", reached)
        assert f"index at {reached:,}" in answer.notice
    following.index.step()
    assert (following.index.standing.problem, following.index.standing.since) == ("", 5.0)
    assert search(one, 2).hits[0].id == late
    pool.close()


def refused(_: PostgresTurn) -> None:
    raise psycopg.OperationalError("FATAL:  sorry, too many clients already")


def test_nodes_that_write_and_follow_all_at_once_make_one_true_index(shared: Node) -> None:
    """Each writes facts, retires some, searches and catches up; the index ends as the ledger says."""
    nodes = [shared(name) for name in ("one", "other", "third")]
    Indexing(nodes[0]).catch_up()
    failures: list[BaseException] = []

    def live(number: int) -> None:
        try:
            with open_workspace(nodes[number].paths.folder.parent, "default") as mine:
                for turn in range(6):
                    known = fact(mine, 100 * number + turn)
                    if turn % 3 == 0:
                        Facts(mine).retire(known, CODER)
                    if turn % 2:
                        search(mine, 100 * number + turn)
                    else:
                        mine.config.stored["index.wait"] = 60.0
                        Indexing(mine).catch_up()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=live, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert failures == []
    assert_index_follows(nodes[0])


def test_what_another_writes_while_the_index_is_compared_is_no_drift(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    gone, changed = fact(one, 1), fact(one, 2)
    Indexing(one).catch_up()

    def meanwhile() -> None:
        Facts(other).retire(gone, CODER)
        Facts(other).supersede(changed, fact(other, 2, "Gate 2 is walled up"), CODER)
        Indexing(other).catch_up()

    line.before["scroll"] = meanwhile
    assert Health(one).verify_index().findings == ()
    gone, changed = fact(one, 3), fact(one, 4)
    Indexing(one).catch_up()
    line.before["scroll"] = meanwhile
    drift = Indexing(one).status().drift
    assert drift is not None
    assert not drift.found, drift
    lost = fact(one, 5)
    Indexing(one).catch_up()
    with one.open_index.use(Indexing(one).store) as index:
        assert index is not None
        index.delete_refs([f"fact:{lost}"])
    assert Health(one).verify_index().findings != (), "what nobody has changed since is drift as ever"


def test_an_index_that_is_swapped_while_it_is_compared_is_not_compared(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    fact(one, 1)
    Indexing(one).catch_up()
    line.before["scroll"] = lambda: Indexing(other).rebuild()
    assert not Health(one).verify().findings
