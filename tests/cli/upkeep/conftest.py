"""What upkeep's tests share: a home whose commands a person gives, and what a run must leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.workspace import Workspace, open_workspace
from tests.cli.conftest import Tht

A1, A2, A3, ADA = "agent:a1", "agent:a2", "agent:a3", "human:ada"
FRANKFURT = "The staging cluster runs in Frankfurt"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("THT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("THT_ACTOR", ADA)
    return tmp_path / "home"


@contextmanager
def opened(home: Path, later: timedelta = timedelta(0)) -> Iterator[Workspace]:
    """The workspace, with a clock that is ahead."""
    with open_workspace(home, "default", lambda: datetime.now(UTC) + later) as workspace:
        yield workspace


def propose(tht: Tht, content: str, topic: str, actor: str, *more: str, domain: str = "ops") -> str:
    where = ("--domain", domain, "--topic", topic, "--actor", actor)
    return str(tht.json("fact", "propose", content, *where, *more)["fact_id"])


def status(tht: Tht, fact_id: str) -> str:
    return str(tht.json("fact", "show", fact_id)["status"])


def sound(tht: Tht) -> None:
    said = tht("verify", "--no-index", "--json")
    assert said.code == 0, said


def idle(tht: Tht, what: str, *more: str) -> None:
    """A run that finds nothing to do: it says so, records nothing, and has not failed."""
    position = tht.position()
    told = tht.json(what, *more)
    assert (told["run_id"], told["what"], told["position"]) == (None, what, 0)
    said = tht(what, *more)
    assert (said.code, said.out.strip()) == (0, f"there is nothing to {what}")
    assert tht.position() == position
