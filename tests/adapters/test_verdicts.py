"""What a reviewer says is done as said, or not at all; and what is damaged is never called sound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from adapters.ballot import submit_unseen
from adapters.health import Health
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.review import Review, Verdict
from adapters.workspace import Workspace, create_workspace
from domain.errors import InvalidInput, StaleCandidate
from tests.crash.soundness import open_session, promote_all

ADA = By("human:ada")


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default") as workspace:
        workspace.config.set("embedder.model", "hash:64")
        yield workspace


@pytest.mark.parametrize("action", ["merge", "replace"])
def test_a_merge_into_nothing_promotes_nothing(one: Workspace, action: Literal["merge", "replace"]) -> None:
    open_session(one, "s", ["ablation"])
    review = Review(one)
    (shown,) = review.preview("s").candidates
    head = one.ledger.head()
    (outcome,) = review.batch([Verdict("s", shown.candidate.seq, shown.candidate.revision, action)], ADA)
    assert isinstance(outcome.error, InvalidInput)
    assert one.ledger.head() == head


def test_what_changed_since_it_was_seen_is_not_deferred_unseen(one: Workspace) -> None:
    open_session(one, "s", ["ablation"])
    (outcome,) = Review(one).batch([Verdict("s", 1, "0" * 16, "defer")], ADA)
    assert isinstance(outcome.error, StaleCandidate)
    assert Review(one).preview("s").candidates[0].candidate.deferred is None


def test_nothing_is_edited_that_was_not_seen_as_it_is(one: Workspace) -> None:
    open_session(one, "s", ["ablation"])
    head = one.ledger.head()
    told = submit_unseen(one, "s", 1, "0" * 16, "edit", "", ADA, "")
    assert told.failed
    assert "StaleCandidate" in told.line
    assert one.ledger.head() == head


def test_a_damaged_index_of_the_home_is_drift(one: Workspace) -> None:
    open_session(one, "s", ["ablation"])
    promote_all(one, "s")
    Indexing(one).rebuild()
    assert Health(one).verify().findings == ()
    (one.paths.index / "CURRENT").write_text("gen-9999\n")
    (found,) = Health(one).verify().findings
    assert (found.level, found.mend) == ("index", "tht index rebuild")
