"""A workspace with a clock of the test's, and what is said and asked there."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapters.facts import Facts
from adapters.ledger import By
from adapters.recalling import Answer, Recalling
from adapters.workspace import Workspace, create_workspace
from domain.propose import NewFact
from projections.scope import Reader

ADA, CODER = By("human:ada"), By("agent:coder-1")
ONLOOKER = By("agent:onlooker", dry_run=True)
QUESTION = "which gate opens to corridor 3?"


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def one(tmp_path: Path, clock: Clock) -> Iterator[Workspace]:
    with create_workspace(tmp_path / "home", "default", clock) as workspace:
        workspace.config.set("embedder.model", "hash:64")
        workspace.config.set("index.wait", "0")
        yield workspace


def fact(workspace: Workspace, content: str, topic: str, domain: str = "people") -> str:
    return Facts(workspace).propose(domain, NewFact(content, topic, CODER.actor), CODER)[0].fact_id


def gates(workspace: Workspace, count: int = 6) -> list[str]:
    return [fact(workspace, f"Gate {number} opens to corridor {number}", f"gate {number}") for number in range(count)]


def search(workspace: Workspace, question: str = QUESTION, mode: str = "hybrid", **more: Any) -> Answer:
    return Recalling(workspace, Reader(ADA.actor)).search(question, ONLOOKER, mode=mode, **more)


def ids(answer: Answer) -> list[str]:
    return [hit.id for hit in answer.hits]
