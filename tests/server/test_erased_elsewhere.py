"""S-13 across homes: what one home erases, the files of every other home of the ledger lose when they follow it."""

from __future__ import annotations

import logging
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from adapters.doctor import Doctor
from adapters.erasing import Erasing
from adapters.facts import Facts
from adapters.following import Following as Projections
from adapters.indexing import Indexing
from adapters.ledger_copy import copy_ledger_to
from adapters.locks import alone
from adapters.projecting import Projecting
from adapters.purged import RETRY, Purged
from adapters.purging import Purging
from adapters.serving.feed import Feed
from adapters.serving.follow import Following
from adapters.serving.owner import Owner
from adapters.serving.pool import Pool
from adapters.workspace import Workspace, open_workspace
from domain.errors import HomeNotWritable
from domain.propose import NewFact
from projections.scope import Reader
from tests.cli.conftest import Tht, hash_embedder, tht
from tests.crash.soundness import ADA, CODER, assert_index_follows, make_home
from tests.server.shared_qdrant import Line, fact, search

__all__ = ["hash_embedder", "tht"]  # fixtures
Node = Callable[[str], Workspace]
WORD = "quokkaspiegel"
TEXT = f"Mario keeps the {WORD} in gate 1"


def propose(workspace: Workspace) -> str:
    found = Facts(workspace).propose("people", NewFact(TEXT, "gate 1", CODER.actor, about="person:mario"), CODER)
    return found[0].fact_id


def home_of(workspace: Workspace) -> Path:
    return workspace.paths.folder.parent


def holding(workspace: Workspace, vector: list[float]) -> set[str]:
    """The files of a home that hold the text, or its vector."""
    asked = (WORD.encode(), struct.pack(f"<{len(vector)}f", *vector))
    files = [path for path in home_of(workspace).rglob("*") if path.is_file()]
    return {path.name for path in files if any(bytes_ in path.read_bytes() for bytes_ in asked)}


@pytest.fixture
def two(node: Node) -> tuple[Workspace, Workspace, str, list[float]]:
    """Two homes of one ledger, a fact about a person in views, index and cache of both, and its vector."""
    one, other = node("one"), node("other")
    known = propose(one)
    fact(other, 2)
    for each in (one, other):
        Indexing(each).catch_up()
        assert known in {hit.id for hit in search(each, 1).hits}
    vector = Indexing(other).embedder.known([TEXT])[TEXT]
    for each in (one, other):
        held = {name.removesuffix("-wal") for name in holding(each, vector)}
        assert held >= {"views.sqlite3", "vectors.sqlite3"}
        assert len(held) > 2, "the index"
    return one, other, known, vector


def let_go(workspace: Workspace) -> Path:
    """As between two commands."""
    workspace.close()
    return home_of(workspace)


def assert_clean(workspace: Workspace, vector: list[float]) -> None:
    assert holding(workspace, vector) == set()
    with open_workspace(home_of(workspace), "default") as again:
        again.caught_up()
        assert not Purging(again).due()
        assert_index_follows(again)
        assert search(again, 2).voices["vector"] == "ran"


Two = tuple[Workspace, Workspace, str, list[float]]


def test_verify_on_a_home_that_has_not_followed_finds_no_drift_and_cleans_it(
    two: Two, tht: Tht, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its views show a text that no replay gives any more."""
    one, other, known, vector = two
    home = let_go(other)
    Erasing(one).erase((known,), ADA)
    monkeypatch.setenv("THT_HOME", str(home))
    told = tht.json("verify")
    assert (told["ok"], told["findings"]) == (True, [])
    assert any("an erasure at position" in note for note in told["notes"])
    assert_clean(other, vector)


def test_the_file_that_a_ledger_left_behind_when_it_moved_goes_with_the_first_erasure(
    tmp_path: Path, database: str
) -> None:
    """It is closed, and has all keys: whoever opened it in a home of its own would read the text."""
    home = make_home(tmp_path / "home")
    with open_workspace(home, "default") as workspace:
        known = propose(workspace)
        copy_ledger_to(workspace, database, move=True)
    left = workspace.paths.moved
    with closing(sqlite3.connect(left)) as db:
        assert db.execute("SELECT count(*) FROM seals").fetchone() == (1,)
    whole = left.read_bytes()
    with closing(sqlite3.connect(left)) as db:  # as if the server had come back without the last event
        db.execute("UPDATE head SET position = position + 1")
        db.commit()
    with open_workspace(home, "default") as workspace:
        with pytest.raises(HomeNotWritable, match="has what the ledger on the server has not"):
            Erasing(workspace).erase((known,), ADA)
        assert left.exists()
        left.write_bytes(whole)
        Erasing(workspace).erase((known,), ADA)
    assert not left.exists()
    assert [path.name for path in home.rglob("ledger*")] == []


def test_the_next_command_of_another_home_leaves_nothing_of_it(
    two: Two, tht: Tht, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, known, vector = two
    home = let_go(other)
    Erasing(one).erase((known,), ADA)
    assert holding(one, vector) == set()
    assert holding(other, vector), "which nobody has told yet"
    monkeypatch.setenv("THT_HOME", str(home))
    assert tht("fact", "list", "--domain", "people").code == 0
    assert_clean(other, vector)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*.sqlite3")}
    assert tht("fact", "list", "--domain", "people").code == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before, "once"


def test_one_that_follows_in_the_foreground_cleans_while_it_runs(two: Two) -> None:
    one, other, known, vector = two
    Erasing(one).erase((known,), ADA)
    looks = iter([False, True])
    Projections(other).follow(lambda: next(looks))
    assert holding(other, vector) == set()
    let_go(other)
    assert_clean(other, vector)


@pytest.mark.parametrize("holds_index", [True, False], ids=["which holds the index", "beside one that holds it"])
def test_a_server_that_follows_cleans_while_it_runs(two: Two, holds_index: bool) -> None:
    one, other, known, vector = two
    home = let_go(other)
    owner = Owner(other.paths, other.config)
    owner.open()
    pool = Pool(home, "default")
    following = Following(pool, Feed(), lambda: 0.0, lambda: None)
    try:
        with pool.borrowed() as workspace:
            search(workspace, 2)
        following.index.step()
        Erasing(one).erase((known,), ADA)
        if holds_index:
            following.erasures.step()
            assert following.erasures.standing.problem == ""
        else:
            with asked_elsewhere(other), open_workspace(home, "default") as command:
                command.caught_up()
        assert holding(other, vector) == set()
        following.index.step()
        assert following.index.standing.problem == ""
    finally:
        pool.close()
        owner.close()
    assert_clean(other, vector)


@contextmanager
def asked_elsewhere(workspace: Workspace) -> Iterator[None]:
    """As in a process that does not hold the index itself, and asks at the socket."""
    from adapters.shared_index import held

    kept = held._HELD.pop(workspace.paths.index.resolve())
    try:
        yield
    finally:
        held._HELD[workspace.paths.index.resolve()] = kept


def test_views_that_are_thrown_away_before_lose_no_trace(two: Two) -> None:
    """What was followed is known from the ledger again; index and cache still hold it."""
    one, other, known, vector = two
    Erasing(one).erase((known,), ADA)
    Projecting(other).replay()
    assert Purging(other).due()
    other.forget_views()
    let_go(other)
    with open_workspace(home_of(other), "default") as again:
        again.caught_up()
    assert_clean(other, vector)


def test_a_new_home_of_the_ledger_is_clean_from_its_first_command(two: Two, node: Node) -> None:
    one, _, known, vector = two
    Erasing(one).erase((known,), ADA)
    third = node("third")
    third.caught_up()
    third.clean_after_erasures()
    assert Purged.load(third.paths.purged).reached == Purged.load(one.paths.purged).reached > 0
    assert holding(third, vector) == set()


def test_what_cannot_be_cleaned_is_told_and_tried_again_later_and_the_command_is_done(
    two: Two, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, known, vector = two
    home = let_go(other)
    Erasing(one).erase((known,), ADA)
    with monkeypatch.context() as away:
        away.setattr("adapters.purging.Purging._clean_index", refused)
        with caplog.at_level(logging.WARNING), open_workspace(home, "default") as command:
            command.caught_up()
        assert "traces may be left: the engine is not installed" in caplog.text
        assert holding(other, vector) != set()
        caplog.clear()
        with open_workspace(home, "default") as command:
            command.caught_up()
            (told,) = [one for one in Doctor(command, {}, Reader("human:ada")).checks() if one.name == "erasures"]
        assert (told.state, "engine is not installed" in told.what) == ("warn", True)
        assert caplog.text == "", "not by each command"
    with open_workspace(home, "default") as command:
        later = command.clock() + RETRY
        command.clock = lambda: later
        command.caught_up()
    assert_clean(other, vector)


def refused(*_: object) -> str:
    from domain.errors import IndexUnavailable

    raise IndexUnavailable("the engine is not installed")


def test_of_two_commands_of_a_home_one_cleans(two: Two) -> None:
    one, other, known, vector = two
    Erasing(one).erase((known,), ADA)
    other.caught_up()
    with alone(other.paths.purge_lock):
        other.clean_after_erasures()
        assert Purging(other).due()
    let_go(other)
    with open_workspace(home_of(other), "default") as again:
        again.caught_up()
    assert_clean(other, vector)


def test_an_index_that_nodes_share_is_made_anew_once(shared: Node, line: Line) -> None:
    one, other = shared("one"), shared("other")
    known = propose(one)
    fact(one, 2)
    Indexing(one).catch_up()
    vector = Indexing(one).embedder.known([TEXT])[TEXT]
    assert known in {hit.id for hit in search(other, 1).hits}
    Erasing(one).erase((known,), ADA)
    made = Indexing(one).store.describe()["current"]
    other.caught_up()
    other.clean_after_erasures()
    assert not Purging(other).due()
    assert Indexing(one).store.describe()["current"] == made
    assert holding(other, vector) == set()


def test_an_index_that_the_erasing_node_did_not_come_to_is_made_anew_by_the_next(
    shared: Node, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed after the erasure was recorded."""
    one, other = shared("one"), shared("other")
    known = propose(one)
    fact(one, 2)
    Indexing(one).catch_up()
    made = Indexing(one).store.describe()["current"]
    with monkeypatch.context() as killing:
        killing.setattr(Purging, "run", killed)
        with pytest.raises(KeyboardInterrupt):
            Erasing(one).erase((known,), ADA)
    other.caught_up()
    other.clean_after_erasures()
    assert not Purging(other).due()
    assert Indexing(other).store.describe()["current"] != made
    assert_index_follows(other)
    one.caught_up()
    one.clean_after_erasures()
    assert not Purging(one).due()


def killed(_: Purging) -> str:
    raise KeyboardInterrupt
