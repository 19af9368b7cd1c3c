"""A Qdrant that nodes share goes and comes back: after an hour, empty, at an older snapshot; and it is again what the
ledger says."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from adapters.facts import Facts
from adapters.health import Health
from adapters.indexing import Indexing
from adapters.serving.feed import Feed
from adapters.serving.follow import LONGEST_WAIT, Follower, Following
from adapters.serving.pool import Pool
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import IndexBusy, IndexUnavailable
from projections.index.follow import BATCH
from tests.crash.soundness import CODER, assert_index_follows
from tests.server.shared_qdrant import Line, fact, position, search

Node = Callable[[str], Workspace]


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


def test_a_rebuild_that_is_stopped_while_the_server_is_away_ends_by_what_stopped_it(shared: Node, line: Line) -> None:
    """What it had begun cannot be removed then: the next one does."""
    one = shared("one")
    fact(one, 1)

    def stopped(done: int, total: int) -> None:
        line.is_cut = True
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Indexing(one).rebuild(stopped)
    line.is_cut = False
    Indexing(one).rebuild()
    assert Indexing(one).store.describe()["leftovers"] == "none"
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


def test_one_that_takes_connections_and_never_answers_costs_one_search_its_timeout(tmp_path: Path) -> None:
    """Of four workspaces as `tht serve` has them, its follower, and a look at its health. A real client, and a socket
    that says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent, ExitStack() as lent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with create_workspace(tmp_path / "home", "default") as one:
            one.config.stored |= {"embedder.model": "hash:64", "index.url": url, "index.budget": 0.0}
            one.config.save()
            known = fact(one, 1)
        pool = Pool(tmp_path / "home", "default")
        following = Following(pool, Feed(), time.monotonic, lambda: None)
        following.index.step()
        assert "timed out" in following.index.standing.problem
        begun = time.monotonic()
        workspaces = [lent.enter_context(pool.borrowed()) for _ in range(4)]
        for workspace in workspaces:
            answer = search(workspace, 1)
            assert answer.hits[0].id == known
            assert answer.voices["vector"].startswith("unavailable")
            assert "timed out" in Health(workspace).status().index.problem
        for _ in range(3):
            following.index.step()
        assert following.index.standing.failures == 4
        assert time.monotonic() - begun < 9.0
        assert asked(silent) == 1
        lent.close()
        pool.close()


def asked(silent: socket.socket) -> int:
    """How many connections wait there to be taken."""
    silent.settimeout(0.0)
    taken = 0
    with suppress(BlockingIOError):
        while True:
            silent.accept()[0].close()
            taken += 1
    return taken


def test_a_workspace_that_is_closed_gives_its_connection_back(shared: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Line] = []
    monkeypatch.setattr(Line, "close", lambda self: closed.append(self))
    one = shared("one")
    fact(one, 1)
    pool = Pool(one.paths.folder.parent, "default")
    following = Following(pool, Feed(), lambda: 0.0, lambda: None)
    for number in range(3):
        following.index.step()
        with pool.borrowed() as workspace:
            Health(workspace).status()
        fact(one, 10 + number)
    assert closed == []
    pool.close()
    assert len(closed) == 1, "one connection, whatever was asked"


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
