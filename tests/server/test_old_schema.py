"""Evolution: the schema that a release made on PostgreSQL, with what the release recorded, opens under this program."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from psycopg import sql

from adapters.health import Health
from adapters.ledger_files import export_lines
from adapters.workspace import Workspace, create_workspace, open_workspace
from tests.crash.soundness import assert_goes_on, assert_sound, standing
from tests.golden.test_homes import HOMES, OldHome, old
from tests.postgres import connect

__all__ = ["old"]  # fixture: the home of each release, in a file
SCHEMAS = sorted((HOMES.parent / "schemas").glob("*.postgres.sql"))
TABLES = ("events", "idempotency", "seals", "head", "about")


def lay_out(database: str, declarations: str, ledger: Path) -> None:
    """The schema `tht_default` as it was declared, with every row of a ledger in a file."""
    schema = sql.Identifier("tht_default")
    with connect(database) as db, closing(sqlite3.connect(ledger)) as source:
        db.execute(sql.SQL("CREATE SCHEMA {}").format(schema))
        db.execute(sql.SQL(declarations).format(s=schema))
        for table in TABLES:
            rows = source.execute(f"SELECT * FROM {table}").fetchall()
            marks = sql.SQL(", ").join(sql.Placeholder() for _ in rows[0]) if rows else sql.SQL("")
            put = sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier("tht_default", table), marks)
            for row in rows:
                db.execute(put, row)


@pytest.fixture(params=SCHEMAS, ids=lambda path: path.name.removesuffix(".postgres.sql"))
def joined(
    request: pytest.FixtureRequest, old: OldHome, database: str, tmp_path: Path
) -> Iterator[tuple[Workspace, list[str]]]:
    """A workspace of a new home whose ledger lies in the old schema, and what the old one exports."""
    lay_out(database, request.param.read_text(encoding="utf-8"), old.folder / "ledger.sqlite3")
    with open_workspace(old.path, "default") as before:
        told = list(export_lines(before.ledger))
    with create_workspace(tmp_path / "new", "default", settings={"ledger.url": database}) as made:
        made.config.set("embedder.model", "hash:64")
        yield made, told


def test_it_is_joined_verified_and_goes_on(joined: tuple[Workspace, list[str]], old: OldHome) -> None:
    workspace, told = joined
    promise = standing(workspace)
    assert promise == (old.events, old.noted["head"])
    assert list(export_lines(workspace.ledger)) == told
    report = Health(workspace).verify()
    assert (report.ok, report.findings) == (True, ())
    assert_sound(workspace, [promise])
    assert_goes_on(workspace)
    assert_sound(workspace, [promise])


def test_there_is_a_schema_of_a_release() -> None:
    assert SCHEMAS
