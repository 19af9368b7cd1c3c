"""A home with one workspace to back up, and all that can be read of one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import By
from adapters.ledger_files import export_lines
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.session import NewDecision

AGENT = By("agent:coder-1")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("template") / "home"
    with create_workspace(home, "one") as made:
        work(made, "s1")
    return home


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "home"))


@pytest.fixture
def one(home: Path) -> Iterator[Workspace]:
    with open_workspace(home, "one") as made:
        yield made


def work(workspace: Workspace, session_id: str) -> None:
    by = By(AGENT.actor, idempotency_key=f"open-{session_id}")
    Sessions(workspace).open(session_id, "What?", by)
    Sessions(workspace).record(session_id, NewDecision("concept_clarified", f"C {session_id}", "so"), AGENT)
    (candidate,) = Review(workspace).pending([session_id])
    Review(workspace).save_one(session_id, candidate.seq, candidate.revision, By("human:ada"))


def state(home: Path, name: str) -> tuple[str, list[str]]:
    """Ledger id and everything in the ledger; the ledger verifies and the home opens."""
    with open_workspace(home, name) as workspace:
        assert list(workspace.ledger.find_damage()) == []
        assert workspace.config.value("ledger.id") == workspace.ledger.recorder.ledger_id()
        return workspace.ledger.recorder.ledger_id(), list(export_lines(workspace.ledger))
