"""Several nodes share one ledger on PostgreSQL and one index on Qdrant: one writes to it at a time, every one searches,
and whatever becomes of writer or server, the index is again what the ledger says."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.facts import Facts
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import Answer, Recalling
from adapters.serving.feed import Feed
from adapters.serving.follow import LONGEST_WAIT, Follower, Following
from adapters.serving.pool import Pool
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import IndexBusy, IndexUnavailable
from domain.propose import NewFact
from projections.index.follow import BATCH, VERSION
from projections.scope import Reader
from tests.contracts.engines import remove_collections, server_for_tests
from tests.crash.soundness import CODER, assert_index_follows
from tests.postgres import connect
from tests.server.shared_qdrant import Line, local

ONLOOKER = By("agent:onlooker", dry_run=True)
Node = Callable[[str], Workspace]


@pytest.fixture(params=["local mode", "server"])
def line(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """What every node reaches under `index.url`."""
    if request.param == "local mode":
        made = local(tmp_path / "qdrant")
    else:
        from qdrant_client import QdrantClient

        url, key, _ = server_for_tests()
        made = Line(QdrantClient(url=url, api_key=key, check_compatibility=False))
    monkeypatch.setattr("adapters.qdrant_connection.connect", lambda *_: made)
    before = set(made.collections())
    yield made
    if request.param == "server":
        for name in set(made.collections()) - before:
            remove_collections(url, key, name.rpartition("-")[0])
    made.client.close()


@pytest.fixture(params=["", "tht-test-shared"], ids=["a collection of its own", "a shared one"])
def shared(request: pytest.FixtureRequest, node: Node, line: Line) -> Node:
    """`shared("one")`: a node whose index is on the Qdrant at the other end of `line`."""

    def join(name: str) -> Workspace:
        made = node(name)
        made.config.stored |= {
            "index.url": os.environ.get("QDRANT_URL", "http://127.0.0.1:6333"),
            "index.collection": request.param,
            "index.wait": 0.0,
        }
        made.config.save()
        return made

    return join


def fact(workspace: Workspace, number: int, text: str = "") -> str:
    content = text or f"Gate {number} opens to corridor {number}"
    return Facts(workspace).propose("people", NewFact(content, f"gate {number}", CODER.actor), CODER)[0].fact_id


def search(workspace: Workspace, number: int) -> Answer:
    question = f"Gate {number} opens to corridor {number}"
    return Recalling(workspace, Reader("human:ada")).search(question, ONLOOKER, mode="semantic")


def position(workspace: Workspace) -> int:
    return workspace.ledger.head().position


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
    following = Following(pool, Feed(), lambda: 0.0, lambda: None)
    with Indexing(one).writing():
        following.index.step()
        assert (following.index.standing.reached, following.index.standing.problem) == (reached, "")
    following.index.step()
    assert following.index.standing.reached == position(one)
    pool.close()


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


# -- a writer that lost its turn ---------------------------------------------------------------------------------------


def cut_turns(workspace: Workspace) -> int:
    """End the sessions that hold a turn, as the network might."""
    with connect(str(workspace.config.value("ledger.url"))) as db:
        found = db.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name LIKE 'tht index%' AND datname = current_database()"""
        )
        return len(found.fetchall())


WRITES = ("upsert", "delete", "set_payload")  # in this order: points, what they leave behind, the checkpoint


@pytest.mark.parametrize("held_up_before", WRITES)
def test_a_writer_that_was_held_up_and_overtaken_spoils_nothing(shared: Node, line: Line, held_up_before: str) -> None:
    """Its lock is gone, another has indexed a later state, and only then do its own writes arrive."""
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    kept, gone, changed = (fact(one, number) for number in range(3))
    done: list[int] = []

    def meanwhile() -> None:
        assert cut_turns(one) == 1
        Facts(other).retire(gone, CODER)
        new = fact(other, 2, "Gate 2 is walled up")
        Facts(other).supersede(changed, new, CODER)
        done.append(Indexing(other).catch_up().position)

    line.before[held_up_before] = meanwhile
    with pytest.raises(IndexBusy, match="is lost"):
        Indexing(one).catch_up()
    assert done == [position(other)]
    assert Indexing(other).reached() < done[0], "set back to where the late one had begun"
    assert_index_follows(other)
    assert search(one, 0).hits[0].id == kept
    assert_index_follows(one)


@pytest.mark.parametrize("held_up_before", WRITES)
def test_two_that_write_the_same_state_do_each_other_no_harm(shared: Node, line: Line, held_up_before: str) -> None:
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    known = fact(one, 0)
    Facts(one).retire(fact(one, 1), CODER)

    def meanwhile() -> None:
        assert cut_turns(one) == 1
        assert Indexing(other).catch_up().position == position(one)

    line.before[held_up_before] = meanwhile
    assert Indexing(one).catch_up().position == position(one)
    assert search(one, 0).hits[0].id == known
    assert_index_follows(other)


def test_a_search_that_loses_its_turn_answers_all_the_same(shared: Node, line: Line) -> None:
    one = shared("one")
    Indexing(one).catch_up()
    known = [fact(one, number) for number in range(BATCH + 3)]
    line.before["set_payload"] = lambda: cut_turns(one) and None
    answer = search(one, 3)
    assert (answer.hits[0].id, answer.voices["vector"]) == (known[3], "ran")
    assert 0 < answer.index_position < position(one)
    assert "index at" in answer.notice


def test_many_batches_are_given_up_at_the_first_after_the_turn_was_lost(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    Indexing(one).catch_up()
    for number in range(BATCH + 3):
        fact(one, number)
    line.before["set_payload"] = lambda: cut_turns(one) and None
    with pytest.raises(IndexBusy, match="is lost"):
        Indexing(one).catch_up()
    assert 0 < Indexing(other).reached() < position(one), "what was written before is kept"
    assert_index_follows(other)


# -- a server that goes and comes back ---------------------------------------------------------------------------------


def test_away_for_an_hour_searches_go_by_words_and_the_index_goes_on_from_its_checkpoint(
    shared: Node, line: Line
) -> None:
    one = shared("one")
    known = [fact(one, number) for number in range(3)]
    pool = Pool(one.paths.folder.parent, "default")
    now = 0.0
    following = Following(pool, Feed(), lambda: now, lambda: None)
    follower: Follower = following.index
    follower.step()
    reached, generation = follower.standing.reached, Indexing(one).store.describe()["current"]
    assert reached == position(one)
    with line.cut():
        late = fact(one, 7)
        before, tries = line.calls, 0
        while now < 3600.0:
            now += follower.step()
            tries += 1
        assert follower.standing.wait == LONGEST_WAIT
        assert follower.standing.reached == reached
        assert "Connection refused" in follower.standing.problem
        assert tries < 80
        assert line.calls - before < 3 * tries, "nothing is hammered"
        answer = search(one, 7)
        assert answer.hits[0].id == late
        assert "answered without vectors" in answer.notice
        assert "Connection refused" in answer.notice
    follower.step()
    assert (follower.standing.reached, follower.standing.failures, follower.standing.problem) == (position(one), 0, "")
    assert Indexing(one).store.describe()["current"] == generation, "caught up, not rebuilt"
    answer = search(one, 1)
    assert (answer.hits[0].id, answer.voices["vector"], answer.notice) == (known[1], "ran", "")
    assert_index_follows(one)
    pool.close()


def test_cut_off_in_the_middle_it_goes_on_from_the_last_batch(shared: Node, line: Line) -> None:
    one = shared("one")
    Indexing(one).catch_up()
    for number in range(BATCH + 3):
        fact(one, number)

    def second_batch() -> None:
        line.before["upsert"] = lambda: setattr(line, "is_cut", True)

    line.before["set_payload"] = second_batch
    with pytest.raises(IndexUnavailable, match="Connection refused"):
        Indexing(one).catch_up()
    line.is_cut = False
    assert 0 < Indexing(one).reached() < position(one)
    assert_index_follows(one)


def test_back_and_empty_it_is_filled_again_from_the_cache_and_says_how_far_it_is(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    known = [fact(one, number) for number in range(3)]
    Indexing(one).catch_up()
    for name in line.collections():
        line.client.delete_collection(name)
    other.config.stored["index.budget"] = 0.0
    answer = search(other, 1)
    assert (answer.hits[0].id, answer.index_position) == (known[1], 0)
    assert f"index at 0 of {position(one):,}" in answer.notice
    embedder = Indexing(one).embedder
    assert_index_follows(one)
    assert embedder.misses == 0
    assert search(other, 1).notice == ""


def test_back_with_its_collections_and_without_its_points_it_is_made_anew(shared: Node, line: Line) -> None:
    one = shared("one")
    known = [fact(one, number) for number in range(3)]
    Indexing(one).catch_up()
    line.restore({name: [] for name in line.collections()})
    answer = search(one, 1)
    assert answer.hits[0].id == known[1]
    assert_index_follows(one)
    assert search(one, 1).voices["vector"] == "ran"


def test_back_at_an_older_snapshot_it_is_caught_up_from_there(shared: Node, line: Line) -> None:
    one = shared("one")
    gone, changed = fact(one, 0), fact(one, 1)
    before = Indexing(one).catch_up().position
    snapshot = line.snapshot()
    Facts(one).retire(gone, CODER)
    new = fact(one, 1, "Gate 1 is walled up")
    Facts(one).supersede(changed, new, CODER)
    Indexing(one).catch_up()
    line.restore(snapshot)
    assert Indexing(one).reached() == before
    one.config.stored["index.budget"] = 0.0
    assert f"index at {before:,} of {position(one):,}" in search(one, 1).notice
    one.config.stored["index.budget"] = 2.0
    assert search(one, 1).notice == ""
    assert_index_follows(one)


# -- without PostgreSQL ------------------------------------------------------------------------------------------------


def test_processes_of_one_home_share_a_server_by_a_lock_file(tmp_path: Path, line: Line) -> None:
    with create_workspace(tmp_path / "home", "default") as one:
        one.config.stored |= {"embedder.model": "hash:64", "index.url": "http://127.0.0.1:6333", "index.wait": 0.0}
        one.config.save()
        known = fact(one, 1)
        reached = Indexing(one).catch_up().position
        fact(one, 2)
        with Indexing(one).writing(), open_workspace(tmp_path / "home", "default") as other:
            answer = search(other, 1)
            assert (answer.hits[0].id, answer.index_position) == (known, reached)
            with pytest.raises(IndexBusy, match="another process of this home"):
                Indexing(other).rebuild()
        assert_index_follows(one)


def test_a_port_where_nobody_listens_leaves_searches_to_words(tmp_path: Path) -> None:
    """No stand-in: a real client, and a port of this machine that refuses."""
    with create_workspace(tmp_path / "home", "default") as one:
        one.config.stored |= {"embedder.model": "hash:64", "index.url": "http://127.0.0.1:9"}
        known = fact(one, 1)
        answer = search(one, 1)
        assert answer.hits[0].id == known
        assert answer.voices["vector"].startswith("unavailable: the vector index at http://127.0.0.1:9 failed")
        assert "is Qdrant running" in answer.notice
        status = Indexing(one).status()
        assert "127.0.0.1:9" in status.problem
