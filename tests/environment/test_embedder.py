"""The model is away, late, failing or another one: writing never waits for it, and every vector comes in the end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from adapters.hash_embedder import HashEmbedder
from adapters.indexing import Indexing
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from domain.errors import ModelUnavailable
from projections.record import Record
from tests.crash.soundness import (
    ADA,
    CODER,
    assert_index_follows,
    make_home,
    open_home,
    open_session,
    promote_all,
    search,
)
from tests.environment.command import tht, worked

ABSENT = "no-such-organisation/no-such-model"


def promote_concepts(workspace: Workspace, session_id: str, count: int) -> list[str]:
    open_session(workspace, session_id, [f"concept {session_id} {number}" for number in range(count)])
    return promote_all(workspace, session_id)


@pytest.fixture
def home() -> Path:
    return make_home(Path(os.environ["THT_HOME"]))


def test_model_that_is_not_there(home: Path) -> None:
    """S-19: no network and no model: everything else works, a search answers by words with one clear notice."""
    with open_home(home) as workspace:
        workspace.config.set("embedder.model", ABSENT)
        promote_concepts(workspace, "s", 3)
    worked(tht("session", "list"))
    ran = worked(tht("memory", "search", "concept s 1", "--json"))
    assert len(ran.json["hits"]) == 3
    assert ran.json["voices"]["lexical"] == "ran"
    assert ran.json["voices"]["vector"] != "ran"
    ran = worked(tht("memory", "search", "concept s 1"))
    assert ABSENT in ran.err
    assert ran.err.count("\n") == ran.err.count("without vectors") == 1, ran.err
    assert tht("index", "rebuild").code == 3
    worked(tht("status"))


def test_twenty_memories_without_a_model_get_their_vectors_later(home: Path) -> None:
    """S-15: all writes succeed and are pending; coverage says so; afterwards it is complete, and no vector is zero."""
    with open_home(home) as workspace:
        promote_concepts(workspace, "before", 2)
        Indexing(workspace).catch_up()
        workspace.config.set("embedder.model", ABSENT)
    with open_home(home) as workspace:
        assert len(promote_concepts(workspace, "meanwhile", 20)) == 20
    assert coverage() == (2, 22)
    with open_home(home) as workspace:
        workspace.config.set("embedder.model", "hash:64")
        assert_index_follows(workspace)
        indexing = Indexing(workspace)
        for number in range(20):
            hit = search(workspace, f"concept meanwhile {number}", indexing=indexing).hits[0]
            cosine = hit.hit.why.heard.cosine
            assert cosine is not None
            assert cosine > 0.1
            assert isinstance(hit.record, Record)
            assert hit.record.subject == f"concept meanwhile {number}"
    assert coverage() == (22, 22)


def coverage() -> tuple[int, int]:
    found = worked(tht("status", "--json")).json["index"]["coverage"]
    return found["covered"], found["live"]


class Failing(HashEmbedder):
    """Works for some texts, then its model is gone."""

    def __init__(self, texts: int) -> None:
        super().__init__(64)
        self.left = texts

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        self.left -= len(texts)
        if self.left < 0:
            raise ModelUnavailable("the model went away in the middle")
        return super().embed_documents(texts)


def test_model_that_fails_midway(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was embedded before is kept, the old index stays when a rebuild fails, and the rest comes later."""
    with open_home(home) as workspace:
        promote_concepts(workspace, "s", 70)
        with monkeypatch.context() as patched:
            patched.setattr("projections.index.follow.BATCH", 64)
            patched.setattr("adapters.embedding.embedder_from", lambda model: Failing(64))
            indexing = Indexing(workspace)
            with pytest.raises(ModelUnavailable):
                indexing.catch_up()
            patched.setattr("adapters.embedding.embedder_from", lambda model: Failing(0))
            answer = search(workspace, "concept s 69")
            assert answer.voices["lexical"] == "ran"
            assert answer.voices["vector"].startswith("unavailable: the model went away")
            assert isinstance(answer.hits[0].record, Record)
            assert answer.hits[0].record.subject == "concept s 69"
            with pytest.raises(ModelUnavailable):
                Indexing(workspace).rebuild()
        status = Indexing(workspace).status()
        assert status.drift is not None
        assert (status.drift.covered, status.drift.live) == (64, 70)
        assert_index_follows(workspace)
        assert Indexing(workspace).store.describe()["leftovers"] == "none"


def test_change_of_model(home: Path) -> None:
    """S-14: starts, says which index is stale, the old one answers until the new one is swapped in; switching back
    embeds nothing again."""
    with open_home(home) as workspace:
        promote_concepts(workspace, "s", 30)
        first = Indexing(workspace)
        first.rebuild()
        assert first.embedder.misses == 30
        workspace.config.set("embedder.model", "hash:128")
    with open_home(home) as workspace:
        promote_concepts(workspace, "later", 1)
        indexing = Indexing(workspace)
        assert "hash:64" in indexing.status().problem
        assert "tht index rebuild" in indexing.status().problem
        answer = search(workspace, "concept later 0", indexing=indexing)
        assert set(answer.voices.values()) == {"ran"}
        assert isinstance(answer.hits[0].record, Record)
        assert answer.hits[0].record.subject == "concept later 0"
        indexing.rebuild()
        assert indexing.status().problem == ""
        workspace.config.set("embedder.model", "hash:64")
    with open_home(home) as workspace:
        back = Indexing(workspace)
        back.rebuild()
        assert (back.embedder.misses, back.embedder.hits) == (0, 31)
        assert_index_follows(workspace)


def test_deferred_candidate_needs_no_model(home: Path) -> None:
    with open_home(home) as workspace:
        workspace.config.set("embedder.model", ABSENT)
        open_session(workspace, "s", ["ablation"])
        Review(workspace).defer("s", 1, ADA)
        Sessions(workspace).close("s", CODER)
