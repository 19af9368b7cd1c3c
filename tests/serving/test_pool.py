"""Workspaces for threads: one each, few in all, none stale; and the followers, who wait longer each time they fail."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import pytest

from adapters.indexing import Indexing
from adapters.notes import Notes
from adapters.serving import pool as pools
from adapters.serving.follow import FIRST_WAIT, LONGEST_WAIT, Follower, Reached
from adapters.serving.pool import Busy, Pool
from adapters.workspace import Workspace, open_workspace
from domain.errors import HomeNotWritable, NothingChanged
from projections.scope import Reader

if TYPE_CHECKING:
    from tests.serving.conftest import Server


@pytest.fixture
def pool(home: Path) -> Iterator[Pool]:
    made = Pool(home, "default", size=2)
    yield made
    made.close()


def test_a_workspace_is_used_by_one_thread_at_a_time_and_then_again(pool: Pool) -> None:
    used: list[Workspace] = []
    inside: set[int] = set()
    crossed: list[int] = []

    def work(workspace: Workspace) -> None:
        if id(workspace) in inside:
            crossed.append(id(workspace))
        inside.add(id(workspace))
        workspace.caught_up()
        threading.Event().wait(0.005)
        inside.discard(id(workspace))
        used.append(workspace)

    async def many() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(pool.run, work)

    anyio.run(many)
    assert len(used) == 40
    assert not crossed
    assert len({id(one) for one in used}) <= 2


def failing(pool: Pool, error: Exception) -> Workspace:
    """The workspace in which it failed."""
    used: list[Workspace] = []

    def work() -> None:
        with pool.borrowed() as workspace:
            used.append(workspace)
            raise error

    with pytest.raises(type(error)):
        work()
    return used[0]


def test_an_error_of_the_domain_keeps_a_workspace_and_another_does_not(pool: Pool) -> None:
    first = failing(pool, NothingChanged("so it is"))
    assert failing(pool, ZeroDivisionError()) is first
    second = failing(pool, HomeNotWritable("full"))
    assert second is not first
    with pool.borrowed() as third:
        assert third is not second


def test_settings_that_changed_and_views_that_were_replaced_are_seen(pool: Pool, home: Path) -> None:
    with pool.borrowed() as first:
        assert first.config.value("recall.log") is True
    with open_workspace(home, "default") as workspace:
        workspace.config.set("recall.log", False)
    with pool.borrowed() as second:
        assert second.config.value("recall.log") is False
    with open_workspace(home, "default") as workspace:
        workspace.caught_up()
        workspace.forget_views()
        workspace.caught_up()
    with pool.borrowed() as third:
        assert third is not second
        assert Notes(third).in_mind(Reader("agent:coder-1", "coder")) == []


def test_who_waits_too_long_is_told_so(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "PATIENCE", 0.05)
    release = threading.Event()

    async def crowd() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(pool.run, lambda workspace: release.wait(10))
            await anyio.sleep(0.3)
            with pytest.raises(Busy):
                await pool.run(lambda workspace: None)
            monkeypatch.setattr(pools, "WAITING", 0)
            with pytest.raises(Busy):
                await pool.run(lambda workspace: None)
            release.set()

    anyio.run(crowd)


def test_a_model_is_loaded_once_for_all_of_them(pool: Pool) -> None:
    with pool.borrowed() as one, pool.borrowed() as other:
        first = Indexing(one).embedder
        to_close = len(one.closers)
        assert Indexing(one).embedder is first
        assert len(one.closers) == to_close  # nothing piles up
        assert Indexing(other).embedder is not first
        assert Indexing(other).embedder._inner is first._inner


def test_a_follower_waits_longer_each_time_bounded_and_recovers() -> None:
    now, fails = [0.0], [True]

    def work() -> Reached:
        if fails[0]:
            raise HomeNotWritable("the disk is full")
        return Reached(7, 7)

    follower = Follower("views", work, lambda: now[0], 0.25, threading.Event())
    waits = [follower.step() for _ in range(12)]
    assert waits[:4] == [FIRST_WAIT, 2 * FIRST_WAIT, 4 * FIRST_WAIT, 8 * FIRST_WAIT]
    assert waits[-1] == LONGEST_WAIT
    assert follower.standing.problem == "the disk is full"
    fails[0], now[0] = False, 100.0
    assert follower.step() == 0.25
    assert (follower.standing.reached, follower.standing.failures, follower.standing.problem) == (7, 0, "")
    assert follower.standing.since == 100.0


def test_a_follower_that_works_and_is_behind_was_not_at_the_head() -> None:
    now, reached = 0.0, Reached(7, 9)
    follower = Follower("index", lambda: reached, lambda: now, 1.0, threading.Event())
    now = 50.0
    follower.step()
    assert (follower.standing.reached, follower.standing.since, follower.standing.problem) == (7, 0.0, "")
    reached = Reached(9, 9)
    follower.step()
    assert (follower.standing.reached, follower.standing.since) == (9, 50.0)


def test_a_fault_in_a_follower_stops_it_no_more_than_an_error() -> None:
    follower = Follower("views", lambda: Reached(1 // 0, 0), lambda: 0.0, 0.25, threading.Event())
    assert follower.step() == FIRST_WAIT
    assert "ZeroDivisionError" in follower.standing.problem


def test_views_that_cannot_follow_for_long_make_the_server_broken(server: Server) -> None:
    standing = server.services.following.views.standing
    server.services.following.stop()
    standing.problem, standing.failures = "the disk is full", 3
    standing.since = server.services.clock() - 5
    told = server.client.get("/healthz")
    assert (told.status_code, told.json()["status"]) == (200, "degraded")
    assert told.json()["followers"]["views"]["stale_seconds"] >= 5
    standing.since = server.services.clock() - 100
    told = server.client.get("/healthz")
    assert (told.status_code, told.json()["status"]) == (503, "broken")
    assert "disk" not in told.text


def test_asking_only_for_the_head_of_a_stream_takes_no_place(server: Server) -> None:
    coder = server.caller("agent:coder-1")
    for _ in range(3):
        assert server.client.head("/watch?from=0", headers=coder.headers).status_code == 200
    assert server.services.watchers.count == 0
