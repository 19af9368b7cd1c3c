"""What a reviewer says is done as said, or not at all; and what is damaged is never called sound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from adapters.health import Health
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.review import Review, Verdict
from adapters.workspace import Workspace, create_workspace
from domain.errors import InvalidInput
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


def test_a_damaged_index_of_the_home_is_drift(one: Workspace) -> None:
    open_session(one, "s", ["ablation"])
    promote_all(one, "s")
    Indexing(one).rebuild()
    assert Health(one).verify().findings == ()
    (one.paths.index / "CURRENT").write_text("gen-9999\n")
    (found,) = Health(one).verify().findings
    assert (found.level, found.mend) == ("index", "tht index rebuild")
