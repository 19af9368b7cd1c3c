"""Races between real processes: one memory, every seq once, no lost write, nobody stopped without a reason."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from tests.concurrency import rounds
from tests.concurrency.together import together
from tests.crash.soundness import (
    CODER,
    assert_goes_on,
    assert_index_follows,
    assert_seqs_count,
    assert_sound,
    make_home,
    open_home,
    open_session,
    promote_all,
    told,
)

pytestmark = pytest.mark.posix
RACES = 25


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return make_home(tmp_path / "home")


def show_revisions(workspace: Workspace, session_ids: list[str]) -> None:
    """What the reviewers saw before they raced, in files, so that the race is about the approval alone."""
    for session_id in session_ids:
        revision = Review(workspace).preview(session_id).candidates[0].candidate.revision
        workspace.config.path.with_name(f"revision-{session_id}").write_text(revision)


def test_two_reviewers_race_for_one_candidate(home: Path) -> None:
    """One memory and one marker; who comes second is told `already`, and by whom it was approved."""
    with open_home(home) as workspace:
        for number in range(RACES):
            open_session(workspace, f"s-{number}", [f"concept {number}"])
        show_revisions(workspace, [f"s-{number}" for number in range(RACES)])
    ada, bea = together(rounds.approve_the_same, home, processes=2, rounds=RACES)
    for one, other in zip(ada, bea, strict=True):
        assert one[0] == other[0]
        assert sorted([one[1], other[1]]) == [False, True]
        assert one[2] == other[2] == ("human:bea" if one[1] else "human:ada")
    with open_home(home) as workspace:
        assert_sound(workspace)
        assert len(told(workspace).memories) == RACES
        assert_goes_on(workspace)


def test_two_sessions_race_with_the_same_content(home: Path) -> None:
    """One memory with two sources, whoever came first."""
    with open_home(home) as workspace:
        sessions = [f"s-{number}-{who}" for number in range(RACES) for who in (0, 1)]
        for session_id in sessions:
            open_session(workspace, session_id, [f"concept {session_id.split('-')[1]}"])
        show_revisions(workspace, sessions)
    ada, bea = together(rounds.approve_the_same_content, home, processes=2, rounds=RACES)
    with open_home(home) as workspace:
        for turn, (one, other) in enumerate(zip(ada, bea, strict=True)):
            assert one[0] == other[0]
            assert (one[1], other[1]) == (False, False)
            entry = Curation(workspace).get(one[0])
            assert {source.session_id for source in entry.sources} == {f"s-{turn}-0", f"s-{turn}-1"}
        assert_sound(workspace)
        assert len(told(workspace).memories) == RACES


def test_four_processes_record_into_one_session(home: Path) -> None:
    """Every seq from 1 to n is given out exactly once, to the process that was told it."""
    with open_home(home) as workspace:
        Sessions(workspace).open("shared", "who counts?", CODER)
    given = together(rounds.record_into_one_session, home, processes=4, rounds=12)
    seqs = sorted(seq for one in given for seq in one if seq)
    with open_home(home) as workspace:
        assert_seqs_count(workspace, "shared", len(seqs))
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) > 12
        assert_sound(workspace)


def test_eight_writers_and_four_readers(home: Path) -> None:
    """S-47: a bounded wait, no lost write, no error, the same memory for what all agree on."""
    answers = together(rounds.write_or_read, home, processes=12, rounds=4)
    assert [one for answer in answers for one in answer if isinstance(one, str)] == []
    promises = [promise for answer in answers for one in answer for promise in one]
    assert len(promises) == 8 * 4 * 2
    with open_home(home) as workspace:
        assert_sound(workspace, promises)
        assert len(told(workspace).memories) == 8 * 4 + 1
        assert Sessions(workspace).list(limit=1)[1] == 8 * 4
        assert_index_follows(workspace)


def test_views_that_are_not_there_yet_are_opened_by_all_at_once(home: Path, tmp_path: Path) -> None:
    """Fact 10 of the ledger's page: none of the openers crashes."""
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation"])
        promote_all(workspace, "done")
    for file in (home / "default").glob("views.*"):
        file.unlink()
    for turn in range(15):
        shutil.copytree(home, tmp_path / "copies" / f"round-{turn}")
    answers = together(rounds.open_views, tmp_path / "copies", processes=4, rounds=15)
    assert answers == [[1] * 15] * 4


def test_a_workspace_is_created_by_all_at_once(tmp_path: Path) -> None:
    """One ledger, which all of them opened, with everybody's event in it."""
    answers = together(rounds.create, tmp_path / "new", processes=4, rounds=15)
    for turn in range(15):
        assert len({one[turn] for one in answers}) == 1, [one[turn] for one in answers]
        with open_home(tmp_path / "new" / f"round-{turn}") as workspace:
            assert workspace.config.stored["ledger.id"] == answers[0][turn]
            assert workspace.ledger.head().position == 4
            assert_sound(workspace)


def test_rebuilds_of_the_views_at_once_while_writers_append(home: Path) -> None:
    """The scratch copy belongs to one rebuild at a time; the others wait for it, and no event is applied twice."""
    with open_home(home) as workspace:
        for number in range(5):
            open_session(workspace, f"s-{number}", [f"concept {number}"])
            promote_all(workspace, f"s-{number}")
    answers = together(rounds.rebuild_or_write, home, processes=5, rounds=8)
    assert answers == [["rebuilt"] * 8] * 3 + [["written"] * 8] * 2
    with open_home(home) as workspace:
        assert_sound(workspace)
        assert_goes_on(workspace)
    assert not list((home / "default").glob("views.rebuild.*"))


def test_rebuilds_of_the_index_at_once_while_others_search(home: Path) -> None:
    """Whoever rebuilds meanwhile, a search answers; a rebuild that cannot have the index says so."""
    with open_home(home) as workspace:
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        assert_index_follows(workspace)
    answers = together(rounds.rebuild_index_or_search, home, processes=4, rounds=5)
    assert answers[2:] == [["found"] * 5] * 2
    told_to_builders = {str(one).partition(":")[0] for answer in answers[:2] for one in answer}
    assert "rebuilt" in told_to_builders
    assert told_to_builders <= {"rebuilt", "IndexBusy", "IndexUnavailable"}
    with open_home(home) as workspace:
        assert_index_follows(workspace)
        assert_sound(workspace)
