"""Several nodes follow one ledger on PostgreSQL, each with its own local views (ledger.md, "Projections")."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from adapters import recorder
from adapters.curation import Curation
from adapters.doctor import Doctor
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.following import Following
from adapters.health import Health
from adapters.ledger import By
from adapters.postgres_connection import CONNECTIONS
from adapters.recalling import Recalling
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, open_workspace
from domain.errors import LedgerUnavailable, OtherHistory
from domain.propose import NewFact
from projections import registry
from projections.loop import remove_database
from projections.scope import Reader
from tests.concurrency.together import together
from tests.contracts.ledgers import append, entered
from tests.crash.soundness import ADA, BEA, CODER, assert_goes_on, assert_sound, open_session, promote_all, told
from tests.postgres import connect, cut_connections

Node = Callable[[str], Workspace]
WRITERS = 16
SECONDS = 60.0 if os.environ.get("CRASH_EVERY_STEP") else 3.0  # that each writes, once all are ready


def test_what_one_node_writes_another_reads(node: Node) -> None:
    one, other = node("one"), node("other")
    open_session(one, "s1", ["ablation", "cardioversion"])
    assert promote_all(other, "s1") == ["mem-0001", "mem-0002"]
    assert [entry.id for entry in Curation(one).list()[0]] == ["mem-0001", "mem-0002"]
    for each in (one, other):
        assert_sound(each)
        assert Health(each).verify(with_index=False).ok
    assert one.paths.views.exists()
    assert other.paths.views.exists()
    assert not one.paths.ledger.exists()


def test_reviewers_on_two_nodes_race_for_one_candidate(node: Node) -> None:
    """One memory; who comes second is told that it was approved already, and by whom."""
    one, other = node("one"), node("other")
    open_session(one, "s1", ["ablation"])
    revision = Review(one).preview("s1").candidates[0].candidate.revision
    barrier, answers = threading.Barrier(2), {}

    def approve(workspace: Workspace, by: By) -> None:
        with open_workspace(workspace.paths.folder.parent, "default") as mine:
            barrier.wait(30)
            saved = Review(mine).save_one("s1", 1, revision, by)
            answers[by.actor] = (saved.memory_id, saved.already, saved.reviewer)

    racers = [threading.Thread(target=approve, args=each) for each in ((one, ADA), (other, BEA))]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(60)
    assert {answer[0] for answer in answers.values()} == {"mem-0001"}
    assert sorted(answer[1] for answer in answers.values()) == [False, True]
    assert len({answer[2] for answer in answers.values()}) == 1
    assert_sound(one)
    assert len(told(one).memories) == 1


def test_a_position_that_one_node_was_told_can_be_waited_for_on_another(node: Node) -> None:
    one, other = node("one"), node("other")
    done = Sessions(one).open("s1", "how many?", CODER)
    assert Following(other).wait_for(done.position, 10) == done.position
    threading.Timer(0.3, lambda: Sessions(one).open("s2", "how many more?", CODER)).start()
    assert Following(other).wait_for(done.position + 1, 10) == done.position + 1
    with pytest.raises(LedgerUnavailable, match=r"did not come within 0\.2 s"):
        Following(other).wait_for(done.position + 5, 0.2)


def test_a_follower_is_woken_and_does_not_depend_on_it(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """NOTIFY makes it look at once; with its listening connection cut it looks again by itself."""
    one, other = node("one"), node("other")
    seen: list[tuple[int, float]] = []
    stop = threading.Event()

    def follow() -> None:
        with open_workspace(other.paths.folder.parent, "default") as mine:
            Following(mine).follow(stop.is_set, lambda position: seen.append((position, time.monotonic())))

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        for number in range(1, 9):
            Sessions(one).open(f"s{number}", "how many?", CODER)
            if number == 4:
                assert cut_connections(str(one.config.value("ledger.url"))) > 0
            until = time.monotonic() + 20
            while (not seen or seen[-1][0] < number) and time.monotonic() < until:
                time.sleep(0.01)
            assert seen[-1][0] == number
    finally:
        stop.set()
        follower.join(30)
    assert not follower.is_alive()


def test_whoever_waits_is_woken_at_once(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a look every 0.2 s nobody could tell."""
    monkeypatch.setattr(recorder, "POLL", 60.0)
    one, other = node("one"), node("other")
    with other.ledger.recorder.waiting() as waiting, ThreadPoolExecutor(1) as threads:
        for number in range(1, 4):
            waited = threads.submit(waiting.wait, number - 1, 60.0)
            time.sleep(0.3)  # it listens by now, or finds the event there
            begun = time.monotonic()
            Sessions(one).open(f"s{number}", "how many?", CODER)
            assert waited.result(60)
            assert time.monotonic() - begun < 20


@pytest.mark.parametrize("ahead", [timedelta(minutes=5), timedelta(days=400)])
def test_what_a_node_with_a_fast_clock_says_holds_on_the_others_at_once(
    node: Node, tmp_path: Path, ahead: timedelta
) -> None:
    """And what it supersedes is gone there: order is by position. What somebody says of a time is by the clock."""
    node("one").close()
    slow = node("other")
    with open_workspace(tmp_path / "one", "default", lambda: datetime.now(UTC) + ahead) as fast:
        held, _ = Facts(slow).propose("ops", NewFact("The pump pressure is 4 bar", "pump", CODER.actor), CODER)
        new = NewFact("The pump pressure is 5 bar", "pump", CODER.actor)
        told, _ = Facts(fast).propose("ops", new, CODER, on_conflict="supersede")
        later = datetime.now(UTC) + timedelta(days=800)
        Facts(fast).propose("ops", NewFact("The valve is new", "valve", CODER.actor, valid_from=later), CODER)
    for workspace in (slow, node("one")):
        workspace.caught_up()
        listed = FactReading(workspace, Reader(ADA.actor)).list()
        assert [row.id for row in listed.facts] == [told.fact_id] != [held.fact_id]
        answer = Recalling(workspace, Reader(ADA.actor)).search("pump pressure valve", ADA, mode="keyword")
        assert [hit.id for hit in answer.hits] == [told.fact_id]
    Facts(slow).propose("ops", NewFact("The room is cold", "room", CODER.actor), CODER)
    slow.caught_up()
    checks = {one.name: one for one in Doctor(slow, os.environ, Reader(ADA.actor)).checks()}
    assert (checks["clock"].state, "the event at position" in checks["clock"].what) == ("warn", True)


def test_a_new_node_may_start_from_a_copy_of_anothers_views(node: Node, tmp_path: Path) -> None:
    """Instead of replaying everything (ADR 24): it goes on from where the copy stands."""
    one, other = node("one"), node("other")
    open_session(one, "s1", ["ablation", "cardioversion"])
    promote_all(one, "s1")
    one.caught_up()
    reached = one.ledger.head().position
    other.close()
    with closing(sqlite3.connect(one.paths.views)) as source, closing(sqlite3.connect(other.paths.views)) as copy:
        source.backup(copy)
    open_session(one, "s2", ["recurrence"])
    with open_workspace(tmp_path / "other", "default") as started:
        standing = {started.file.standing(view).position for view in started.file.views}
        assert standing == {reached}
        assert_sound(started)
        assert promote_all(started, "s2") == ["mem-0003"]
    assert_sound(one)


def write_bursts(home: Path, writer: int, turn: int) -> int:
    """Sixteen of these at once: commands of one to five events on a stream of its own and on one that all share."""
    until, written = time.monotonic() + SECONDS, 0
    with open_workspace(home, "default") as workspace:
        for number in count():
            placed = [(f"session/w{writer}", entered())] * (1 + number % 5)
            if number % 20 == 0:
                placed.append(("session/shared", entered()))
            append(workspace.ledger, *placed, by=By(f"agent:w{writer}"))
            written += len(placed)
            if time.monotonic() > until:
                break
    return written


def test_sixteen_writers_and_a_projection_that_misses_nothing(node: Node, tmp_path: Path) -> None:
    """ledger.md, fact 3: every page that a tailing reader gets goes on exactly where the one before it ended."""
    home = node("one").paths.folder.parent
    other = node("other")
    tailed: list[int] = []
    stop = threading.Event()

    def tail() -> None:
        """What a projection reads, page by page, as it comes."""
        with open_workspace(other.paths.folder.parent, "default") as mine:
            position = 0
            while not stop.is_set() or position < mine.ledger.head().position:
                for event in mine.ledger.read(position):
                    tailed.append(event.position)
                    position = event.position

    reader = threading.Thread(target=tail)
    reader.start()
    try:
        written = [one for (one,) in together(write_bursts, home, processes=WRITERS)]
    finally:
        stop.set()
        reader.join(60)
    assert not reader.is_alive()
    assert len(written) == WRITERS
    assert min(written) > 0
    assert tailed == list(range(1, sum(written) + 1))
    assert other.ledger.head().position == len(tailed)
    assert list(other.ledger.find_damage()) == []


def test_connections_that_are_cut_are_found_again_and_nothing_is_recorded_twice(node: Node) -> None:
    """The server ends every connection, again and again, while two nodes write: each command once, in its order."""
    nodes = [node("one"), node("other")]
    url = str(nodes[0].config.value("ledger.url"))
    told_to: dict[int, list[int]] = {0: [], 1: []}
    stop = threading.Event()

    def write(number: int) -> None:
        with open_workspace(nodes[number].paths.folder.parent, "default") as mine:
            while not stop.is_set():
                done = append(mine.ledger, (f"session/w{number}", entered()))
                told_to[number].append(done.position)

    writers = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
    for writer in writers:
        writer.start()
    cut = []
    for _ in range(20):
        cut.append(cut_connections(url))
        time.sleep(0.15)
    stop.set()
    for writer in writers:
        writer.join(60)
    assert not any(writer.is_alive() for writer in writers)
    assert sum(cut) > 10
    head = nodes[0].ledger.head().position
    assert sorted(told_to[0] + told_to[1]) == list(range(1, head + 1))
    assert min(len(told_to[0]), len(told_to[1])) > 10
    assert list(nodes[1].ledger.find_damage()) == []


def test_more_threads_than_connections_that_all_keep_losing(node: Node) -> None:
    """Whoever decides while the others wait needs no connection that one of them holds."""
    one = node("one")
    threads, told_to = 4 * CONNECTIONS, list[int]()

    def write(number: int) -> None:
        for _ in range(5):
            told_to.append(append(one.ledger, ("session/shared", entered()), by=By(f"agent:w{number}")).position)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(threads)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert sorted(told_to) == list(range(1, 5 * threads + 1))
    assert list(one.ledger.find_damage()) == []


def test_an_older_state_of_the_server_under_newer_views_is_refused(node: Node) -> None:
    """As when the server's own backup is brought back: the node says so, and a rebuild mends it."""
    one = node("one")
    open_session(one, "s1", ["ablation"])
    one.caught_up()
    position, chain = one.ledger.recorder.head()
    with connect(str(one.config.value("ledger.url"))) as db:
        db.execute("SET search_path = tht_default")
        db.execute("ALTER TABLE events DISABLE TRIGGER ALL")
        db.execute("DELETE FROM events WHERE position = %s", (position,))
        db.execute("ALTER TABLE events ENABLE ALWAYS TRIGGER events_stay")
        db.execute("DELETE FROM seals WHERE position = %s", (position,))
        db.execute("UPDATE head SET (position, chain) = (SELECT position, chain FROM events ORDER BY 1 DESC LIMIT 1)")
    with open_workspace(one.paths.folder.parent, "default") as again:
        with pytest.raises(OtherHistory, match="ahead of its ledger") as refused:
            again.caught_up()
        assert "tht projection rebuild" in refused.value.hint
        again.rebuild_views()
        assert_sound(again)
        assert_goes_on(again)
    assert chain != one.ledger.recorder.head()[1]


def test_views_are_thrown_away_and_replayed_on_one_node(node: Node) -> None:
    one, other = node("one"), node("other")
    open_session(one, "s1", ["ablation"])
    promote_all(one, "s1")
    before = registry.list_entries(one.caught_up())
    one.file.close()
    remove_database(one.paths.views)
    with open_workspace(one.paths.folder.parent, "default") as again:
        assert registry.list_entries(again.caught_up()) == before == registry.list_entries(other.caught_up())
