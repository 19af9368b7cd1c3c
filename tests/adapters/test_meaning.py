"""The index is asked in a thread of its own while words are looked up: what fails there is said, and nothing of it
outlives the search."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.facts import Facts
from adapters.ledger import By
from adapters.qdrant_edge import EdgeIndex
from adapters.recalling import Answer, Recalling
from adapters.workspace import Workspace, create_workspace
from domain.errors import IndexUnavailable
from domain.propose import NewFact
from projections.index.port import Found, Vector, Within
from projections.recall import engine
from projections.scope import Reader

ADA = By("human:ada")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path / "home", "default") as made:
        made.config.set("embedder.model", "hash:64")
        Facts(made).propose("people", NewFact("Gate 3 opens to corridor 3", "gate 3", ADA.actor), ADA)
        assert search(made).voices["vector"] == "ran"
        yield made


def search(workspace: Workspace) -> Answer:
    return Recalling(workspace, Reader(ADA.actor)).search("which gate opens to corridor 3?", ADA)


def voices() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name.startswith("vector voice")]


def test_an_index_that_fails_in_its_thread_leaves_the_words(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: EdgeIndex, vector: Vector, within: Within, *, limit: int) -> list[Found]:
        assert threading.current_thread() in voices()
        raise IndexUnavailable("the index cannot be read", "tht index rebuild")

    monkeypatch.setattr(EdgeIndex, "search", fails)
    answer = search(workspace)
    assert [hit.hit.candidate.words for hit in answer.hits] != []
    assert "the index cannot be read" in answer.voices["vector"]
    monkeypatch.undo()
    assert search(workspace).voices["vector"] == "ran"


def test_a_search_that_fails_meanwhile_waits_for_the_index_before_it_is_closed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    look, close = EdgeIndex.search, EdgeIndex.close

    def slow(self: EdgeIndex, vector: Vector, within: Within, *, limit: int) -> list[Found]:
        time.sleep(0.2)
        found = look(self, vector, within, limit=limit)
        told.append("searched")
        return found

    def closed(self: EdgeIndex) -> None:
        told.append("closed")
        close(self)

    def broken(*_: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(EdgeIndex, "search", slow)
    monkeypatch.setattr(EdgeIndex, "close", closed)
    monkeypatch.setattr(engine, "by_words", broken)
    with pytest.raises(ZeroDivisionError):
        search(workspace)
    assert told[-2:] == ["searched", "closed"]  # before, it was opened to see what it is made with
    assert voices() == []
