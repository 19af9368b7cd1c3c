"""Homes whose ledger is on a real PostgreSQL, in a database of the test's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.workspace import Workspace, create_workspace
from tests.postgres import new_database


@pytest.fixture
def database(postgres: str) -> Iterator[str]:
    """The URL of an empty database, gone with the test."""
    with new_database(postgres) as url:
        yield url


@pytest.fixture
def node(tmp_path: Path, database: str) -> Iterator[Callable[[str], Workspace]]:
    """`node("a")`: the workspace `default` in a home of its own, whose ledger all nodes share."""
    opened: list[Workspace] = []

    def join(name: str) -> Workspace:
        made = create_workspace(tmp_path / name, "default", settings={"ledger.url": database})
        made.config.stored["embedder.model"] = "hash:64"
        made.config.save()
        opened.append(made)
        return made

    yield join
    for one in opened:
        one.close()
