"""The invariants over forged ledgers: each history is honest up to one command that no decider would have written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.ledger import By
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from domain.session import NewDecision
from domain.session_events import SessionOpened
from projections.invariants import broken_invariants
from tests.oracle.histories import History, hasty_workspace, ops_of
from tests.projections.forged import (
    ADA,
    BO,
    CODER,
    FORGED,
    IMPORTED,
    IMPORTER,
    OLD,
    numbered,
    recorded,
    said,
    source_added,
    write,
)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """`s1` was held here: the agent said three things, of which bo approved the first. `old` was imported."""
    with create_workspace(tmp_path, "default") as made:
        Sessions(made).open("s1", "How many?", CODER)
        for subject in ("ablation", "stroke", "ward"):
            Sessions(made).record("s1", NewDecision("concept_clarified", subject, "one a year"), CODER)
        (first, *_) = Review(made).pending()
        Review(made).save_one("s1", 1, first.revision, BO)
        write(made, IMPORTER, ("session/old", SessionOpened(session_id="old", question="?")), said(1, "dose", "old"))
        assert findings(made) == []
        yield made


def findings(workspace: Workspace) -> list[str]:
    return [one.what for one in broken_invariants(workspace.ledger.page(0, 10_000))]


@pytest.mark.parametrize("forged", FORGED)
def test_what_no_decider_would_write_is_found(workspace: Workspace, forged: str) -> None:
    steps, expected = FORGED[forged]
    for by, written in steps:
        write(workspace, by, *written)
    assert [what for what in findings(workspace) if expected in what], findings(workspace)


@pytest.mark.parametrize("by", [IMPORTER, ADA], ids=lambda by: by.actor)
@pytest.mark.parametrize("history", IMPORTED)
def test_what_an_import_tells_breaks_nothing(workspace: Workspace, history: str, by: By) -> None:
    write(workspace, by, *IMPORTED[history])
    assert findings(workspace) == []


@pytest.mark.parametrize("by", [IMPORTER, ADA], ids=lambda by: by.actor)
def test_a_second_record_of_one_content_breaks_nothing(workspace: Workspace, by: By) -> None:
    write(workspace, by, recorded(1, session="lost", occurred_at=OLD), numbered())
    write(workspace, by, source_added(3, "mem-0009", "elsewhere"))
    assert findings(workspace) == []


def approve(workspace: Workspace, seq: int, by: By, *, into: str = "", replaces: str = "") -> str:
    candidates = Review(workspace).preview("s1", limit=-1).candidates
    (revision,) = (one.candidate.revision for one in candidates if one.candidate.seq == seq)
    return Review(workspace).save_one("s1", seq, revision, by, into=into, replaces=replaces).memory_id


def test_chains_of_merges_and_restorations_break_nothing(workspace: Workspace) -> None:
    curation = Curation(workspace)
    second, third = approve(workspace, 2, BO), approve(workspace, 3, BO)
    curation.merge("mem-0001", second, BO)
    curation.merge(second, third, BO)
    curation.restore("mem-0001", ADA)
    curation.restore(second, ADA)
    curation.retire(second, BO, source="s1:2")
    curation.restore(second, BO)
    curation.supersede(third, second, BO)
    assert findings(workspace) == []


Honest = Callable[[Workspace], object]


def said_by(by: By, subject: str) -> Honest:
    new = NewDecision("concept_clarified", subject, "one a year")
    return lambda workspace: Sessions(workspace).record("s1", new, by)


HONEST: dict[str, Sequence[Honest]] = {
    "retracted, said again, approved": [
        lambda workspace: Sessions(workspace).retract("s1", 2, CODER),
        said_by(CODER, "stroke"),
        lambda workspace: approve(workspace, 4, BO),
    ],
    "rolled back, said again, approved with what it covers": [
        lambda workspace: Sessions(workspace).roll_back("s1", "F1", CODER),
        said_by(CODER, "dose"),
        said_by(CODER, "Dose."),
        lambda workspace: approve(workspace, 4, BO),
    ],
    "a reopened phase keeps its own": [
        lambda workspace: Sessions(workspace).reopen("s1", "F1", CODER),
        lambda workspace: approve(workspace, 2, BO),
    ],
    "an edit that says something else has one author": [
        said_by(BO, "dose"),
        lambda workspace: Sessions(workspace).edit(
            "s1", 4, NewDecision("concept_clarified", "dose", "two a year"), CODER
        ),
        lambda workspace: approve(workspace, 5, BO),
    ],
    "merged into a known memory, and one replaced": [
        lambda workspace: approve(workspace, 2, BO, into="mem-0001"),
        lambda workspace: approve(workspace, 3, BO, replaces="mem-0001"),
    ],
    "reused by a person, others declined and deferred": [
        lambda workspace: Sessions(workspace).reopen("s1", "F2", ADA),
        lambda workspace: Sessions(workspace).choose("s1", ["mem-0001"], ["mem-0001"], ADA),
        lambda workspace: Sessions(workspace).enter("s1", "F8", CODER),
        lambda workspace: Review(workspace).decline("s1", 2, BO),
        lambda workspace: Review(workspace).defer("s1", 3, BO),
    ],
}


@pytest.mark.parametrize("history", HONEST)
def test_what_the_commands_write_breaks_nothing(workspace: Workspace, history: str) -> None:
    for command in HONEST[history]:
        command(workspace)
    assert findings(workspace) == []


@pytest.mark.parametrize("seed", range(4))
def test_random_histories_of_commands_break_nothing(tmp_path: Path, seed: int) -> None:
    with hasty_workspace(tmp_path) as workspace:
        history = History(workspace)
        history.run(ops_of(seed, 120))
        assert history.accepted["save"]
        assert findings(workspace) == []
