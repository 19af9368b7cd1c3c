"""The tables of a view stand apart from what folds events into them, and are the same."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from adapters.ledger import By
from adapters.sessions import Sessions
from adapters.workspace import create_workspace
from domain.event import AREAS, registered_events
from projections.declared import declared_tables, make_views
from projections.view import Tables

FOLDING = [one.folded_by.rpartition(".")[0] for one in declared_tables()]

OPENING = """
import sys
from pathlib import Path
from adapters.workspace import open_workspace
from domain.errors import HomeNotWritable
error = ""
try:
    with open_workspace(Path(sys.argv[1]), "default") as workspace:
        workspace.caught_up()
except HomeNotWritable as found:
    error = found.message
print(*sys.modules)
print(error)
"""


@pytest.mark.parametrize("tables", declared_tables(), ids=lambda tables: tables.name)
def test_a_view_has_the_tables_that_are_declared(tables: Tables) -> None:
    view = tables.loaded()
    assert isinstance(view, type(tables))
    assert view.loaded() is view
    for what in ("name", "version", "tables", "schema", "derived"):
        assert getattr(view, what) == getattr(tables, what), what
    assert all(name.startswith(f"{tables.name}_v{tables.version}_") for name in (*tables.tables, *tables.derived))


@pytest.mark.parametrize("tables", declared_tables(), ids=lambda tables: tables.name)
def test_the_areas_of_a_view_are_those_of_the_events_that_it_declares(tables: Tables) -> None:
    own = {name: cls for name, cls in registered_events().items() if cls.__module__.startswith("domain.")}
    areas = {name.partition(".")[0] for name, cls in own.items() if issubclass(cls, tables.loaded().concerned)}
    assert {area for area in AREAS if tables.follows({area})} == areas


def test_every_view_is_declared_once() -> None:
    assert len({one.name for one in declared_tables()}) == len({type(one) for one in make_views()}) == len(FOLDING)


def test_what_folds_events_is_loaded_when_there_are_some(tmp_path: Path) -> None:
    with create_workspace(tmp_path, "default") as workspace:
        workspace.caught_up()
        assert not opened(tmp_path).loaded & {*FOLDING}
        Sessions(workspace).open("s1", "Quante ablazioni?", By("human:anna"))
    assert opened(tmp_path).loaded & {*FOLDING} == {"projections.decisions", "projections.timeline"}
    assert not opened(tmp_path).loaded & {*FOLDING}


def test_the_file_is_checked_without_what_folds_events(tmp_path: Path) -> None:
    with create_workspace(tmp_path, "default") as workspace:
        workspace.caught_up()
        path = workspace.paths.views
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("DROP INDEX facts_v2_facts_topic")
    found = opened(tmp_path)
    assert not found.loaded & {*FOLDING}
    assert "the index facts_v2_facts_topic is missing" in found.error


@dataclass(frozen=True)
class Opened:
    loaded: set[str]
    error: str


def opened(home: Path) -> Opened:
    """What a process of its own loads to bring the views to the ledger's head, and how that failed."""
    command = [sys.executable, "-c", OPENING, str(home)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded, _, error = done.stdout.partition("\n")
    return Opened(set(loaded.split()), error.strip())
