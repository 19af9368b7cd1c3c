"""What the processes of the concurrency suite do in a round."""

from __future__ import annotations

from pathlib import Path

from adapters.indexing import Indexing
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import create_workspace
from domain.errors import LostRace
from domain.session_events import Decided
from tests.crash.soundness import ADA, BEA, CODER, clarification, open_home, open_session, promote_all, search, standing

REVIEWERS = (ADA, BEA)


def approve_the_same(home: Path, number: int, turn: int) -> tuple[str, bool, str]:
    """Both reviewers approve the one candidate of the round's session."""
    return _approve(home, f"s-{turn}", number)


def approve_the_same_content(home: Path, number: int, turn: int) -> tuple[str, bool, str]:
    """Each reviewer approves in a session of the round that is their own; both sessions say the same."""
    return _approve(home, f"s-{turn}-{number}", number)


def _approve(home: Path, session_id: str, number: int) -> tuple[str, bool, str]:
    with open_home(home) as workspace:
        review = Review(workspace)
        revision = workspace.config.path.with_name(f"revision-{session_id}").read_text()
        saved = review.save_one(session_id, 1, revision, REVIEWERS[number])
        return saved.memory_id, saved.already, saved.reviewer


def record_into_one_session(home: Path, number: int, turn: int) -> int:
    """Records one decision; its seq, or 0 after an honest LostRace."""
    with open_home(home) as workspace:
        try:
            done = Sessions(workspace).record("shared", clarification(f"concept {number}-{turn}"), CODER)
        except LostRace:
            return 0
        recorded = done.envelopes[0].event
        assert isinstance(recorded, Decided)
        return recorded.seq


def write_or_read(home: Path, number: int, turn: int) -> list[tuple[int, str]]:
    """The first eight write a whole session of their own, the others read all that there is; promises, or nothing."""
    with open_home(home) as workspace:
        if number < 8:
            open_session(workspace, f"s-{number}-{turn}", [f"concept {number} of round {turn}", "what all agree on"])
            promises = [standing(workspace)]
            promote_all(workspace, f"s-{number}-{turn}")
            return [*promises, standing(workspace)]
        known = Sessions(workspace).list(limit=1)[1]
        Review(workspace).queue()
        answer = search(workspace, "what all agree on")
        assert all(hit.as_json()["subject"].startswith(("what all", "concept")) for hit in answer.hits)
        assert Sessions(workspace).list(limit=1)[1] >= known
        return []


def open_views(home: Path, number: int, turn: int) -> int:
    with open_home(home / f"round-{turn}") as workspace:
        return Sessions(workspace).list(limit=1)[1]


def create(home: Path, number: int, turn: int) -> str:
    with create_workspace(home / f"round-{turn}", "default") as workspace:
        Sessions(workspace).open(f"of-{number}", "whose workspace is it?", CODER)
        return workspace.ledger.recorder.ledger_id()


def rebuild_or_write(home: Path, number: int, turn: int) -> str:
    """Three rebuild the views of one workspace at once, two write meanwhile."""
    with open_home(home) as workspace:
        if number < 3:
            workspace.rebuild_views()
            return "rebuilt"
        open_session(workspace, f"w-{number}-{turn}", [f"concept {number} {turn}"])
        promote_all(workspace, f"w-{number}-{turn}")
        return "written"


def rebuild_index_or_search(home: Path, number: int, turn: int) -> str:
    """Two rebuild the index at once, two search; nobody is told anything but what is so."""
    with open_home(home) as workspace:
        indexing = Indexing(workspace)
        if number < 2:
            indexing.rebuild()
            return "rebuilt"
        answer = search(workspace, "ablation", indexing=indexing)
        assert [hit.as_json()["subject"] for hit in answer.hits][:1] == ["ablation"], answer
        return "found"
