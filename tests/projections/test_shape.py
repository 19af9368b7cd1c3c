"""The views' file holds what its views declare and nothing else: what is foreign is found, and no rebuild keeps it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapters.health import Health
from adapters.ledger import By, Ledger
from adapters.projecting import Projecting
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import HomeNotWritable
from projections.loop import catch_up
from tests.projections.ledgers import Lines, Lines2, Others, fill, new_ledger, open_views, rows

FOREIGN = {
    "a trigger": (
        "CREATE TRIGGER zz AFTER INSERT ON registry_v2_memories BEGIN DELETE FROM registry_v2_memories; END",
        "the trigger zz is not one of its own",
    ),
    "a view": ("CREATE VIEW zz AS SELECT * FROM registry_v2_memories", "the view zz is not one of its own"),
    "a table": ("CREATE TABLE zz (x)", "the table zz is not one of its own"),
    "an index": ("CREATE UNIQUE INDEX zz ON parked (position)", "the index zz is not one of its own"),
    "an unknown view's row": ("INSERT INTO projections VALUES ('zz', 1, 0, '')", "the projection zz v1 is not one"),
    "a version without tables": (
        "INSERT INTO projections VALUES ('registry', 9, 0, '')",
        "the projection registry v9 is not one of its own",
    ),
    "a table of no known version": ("CREATE TABLE registry_v9_x (x)", "the table registry_v9_x is not one of its own"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default") as made:
        Sessions(made).open("s1", "Quante ablazioni?", By("human:anna"))
        made.caught_up()
        yield made


def tampered(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_foreign_is_found_and_gone_after_a_rebuild(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    """By a process that had the file open, and by one that opens it."""
    statement, said = FOREIGN[kind]
    tampered(workspace.paths.views, statement)
    (found,) = Health(workspace).verify(with_index=False).findings
    assert (found.level, found.where, found.mend) == ("view", "views.sqlite3", "tht projection rebuild")
    assert said in found.what
    with open_workspace(tmp_path, "default") as later:
        (found,) = Health(later).verify(with_index=False).findings
        assert said in found.what
        assert found.mend == "tht projection rebuild"
        Projecting(later).rebuild()
        assert Health(later).verify(with_index=False).findings == ()
        assert later.file.odd_shape() == []


def test_a_process_that_has_the_file_open_makes_it_anew_too(workspace: Workspace) -> None:
    tampered(workspace.paths.views, FOREIGN["a trigger"][0])
    Projecting(workspace).rebuild(("registry",))
    assert workspace.file.odd_shape() == []
    workspace.caught_up()
    assert Health(workspace).verify(with_index=False).findings == ()


def test_a_view_that_lost_its_position_is_not_replayed_onto_its_rows(workspace: Workspace, tmp_path: Path) -> None:
    tampered(workspace.paths.views, "DELETE FROM projections WHERE name = 'timeline'")
    assert workspace.file.odd_shape() == ["the projection timeline v5 is missing"]
    with open_workspace(tmp_path, "default") as later:
        for one in (workspace, later):
            (found,) = Health(one).verify(with_index=False).findings
            assert "does not say how far the view timeline has come" in found.what
            with pytest.raises(HomeNotWritable, match="timeline"):
                one.caught_up()
        Projecting(later).rebuild()
        assert Health(later).verify(with_index=False).findings == ()


# -- versions ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path / "ledger") as made:
        fill(made, 3)
        yield made


def test_another_version_of_a_known_view_may_stand_beside_it(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "views.sqlite3"
    for views in ((Lines(), Others()), (Lines2(), Others()), (Lines(), Others())):
        file = open_views(ledger, path, *views)
        catch_up(ledger, file)
        assert file.odd_shape() == []
        file.close()


def test_a_trigger_on_an_older_version_is_foreign_all_the_same(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "views.sqlite3"
    open_views(ledger, path, Lines()).close()
    file = open_views(ledger, path, Lines2())
    tampered(path, "CREATE TRIGGER lines_v1_t AFTER INSERT ON lines_v1_rows BEGIN DELETE FROM lines_v2_rows; END")
    assert file.odd_shape() == ["the trigger lines_v1_t is not one of its own"]
    with pytest.raises(HomeNotWritable, match="lines_v1_t"):
        open_views(ledger, path, Lines2())
    file.close()


def test_another_process_that_upgrades_meanwhile_is_no_damage(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "views.sqlite3"
    old = open_views(ledger, path, Lines())
    new = open_views(ledger, path, Lines2())
    catch_up(ledger, old)
    assert old.odd_shape() == new.odd_shape() == []
    assert rows(old) == [1, 2, 3]
    old.close()
    new.close()
