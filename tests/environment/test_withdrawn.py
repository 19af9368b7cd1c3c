"""What was taken back is found by no voice, at once and for ever: the registry decides, whatever an index holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.indexing import Indexing
from adapters.recalling import Answer
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from domain.session import NewDecision
from projections.record import Record
from tests.crash import soundness
from tests.crash.soundness import ADA, BEA, CODER, assert_index_follows, make_home, open_home, open_session, promote_all

OLD, NEW = "ventricular ablation by catheter", "radiofrequency treatment of atrial flutter"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


def found(answer: Answer) -> list[str]:
    return [hit.record.subject for hit in answer.hits if isinstance(hit.record, Record)]


def search(workspace: Workspace, question: str) -> list[str]:
    """By vector and words, and by words alone: what one of them finds."""
    both = soundness.search(workspace, question, limit=50)
    assert both.voices["vector"] == "ran", both
    workspace.config.set("embedder.model", "none")
    words = soundness.search(workspace, question, limit=50)
    workspace.config.set("embedder.model", "hash:64")
    return sorted({*found(both), *found(words)})


def test_retired_in_the_same_process(home: Path) -> None:
    """S-01, S-10: promoted, found, retired, not found by the same object; no orphan in the index; restored."""
    with open_home(home) as workspace:
        open_session(workspace, "s", [OLD])
        (memory_id,) = promote_all(workspace, "s")
        indexing = Indexing(workspace)
        assert found(soundness.search(workspace, OLD, indexing=indexing)) == [OLD]
        Curation(workspace).retire(memory_id, ADA)
        assert found(soundness.search(workspace, OLD, indexing=indexing)) == []
        assert search(workspace, OLD) == []
        assert_index_follows(workspace)
        status = indexing.status()
        assert status.drift is not None
        assert status.drift.live == 0
        Curation(workspace).restore(memory_id, ADA)
        assert search(workspace, OLD) == [OLD]


def test_retired_while_the_index_is_behind(home: Path) -> None:
    """S-01: not found even when the index still holds its point."""
    with open_home(home) as workspace:
        workspace.config.set("index.budget", 0.0)
        open_session(workspace, "s", [OLD, NEW])
        first, _ = promote_all(workspace, "s")
        Indexing(workspace).catch_up()
        Curation(workspace).retire(first, ADA)
        answer = soundness.search(workspace, OLD)
        assert answer.index_position < answer.ledger_position
        assert OLD not in found(answer)


def test_declined_and_waiting_candidates(home: Path) -> None:
    """S-06: a candidate that is waiting, deferred or declined is in no answer, and in no index."""
    with open_home(home) as workspace:
        open_session(workspace, "s", [OLD, f"{OLD} declined", f"{OLD} deferred", f"{OLD} waiting"])
        review = Review(workspace)
        review.save_one("s", 1, review.preview("s").candidates[0].candidate.revision, ADA)
        review.decline("s", 2, ADA)
        review.defer("s", 3, ADA)
        assert search(workspace, OLD) == [OLD]
        assert_index_follows(workspace)


def test_replaced_by_an_edit(home: Path) -> None:
    """S-17: said differently and promoted in the place of the old one, only the new wording is found."""
    with open_home(home) as workspace:
        open_session(workspace, "s", [OLD])
        (old,) = promote_all(workspace, "s")
        assert search(workspace, OLD) == [OLD]
        sessions, review = Sessions(workspace), Review(workspace)
        sessions.open("t", "what is it really?", CODER)
        sessions.record("t", NewDecision("concept_clarified", NEW, "current through a tip", source_memory=old), ADA)
        sessions.enter("t", "F8", CODER)
        candidate = review.preview("t").candidates[0].candidate
        assert candidate.decision.source_memory == old
        review.save_one("t", 1, candidate.revision, BEA, replaces=old)
        assert search(workspace, OLD) in ([], [NEW])
        assert search(workspace, NEW) == [NEW]
        assert Curation(workspace).get(old).status == "superseded"
        assert_index_follows(workspace)
