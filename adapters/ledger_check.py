"""Whether a SQLite file from elsewhere is a ledger of tht and nothing but that."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from adapters.ledger import Ledger
from adapters.ledger_import import keys_of
from adapters.sqlite import SCHEMA, translated
from domain.errors import LedgerDamaged

_SHAPE = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"


def first_fault(path: Path) -> str | None:
    """What is wrong with it first; None when it is sound. Leaves no file beside it."""
    try:
        with translated(path), closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA trusted_schema = OFF")
            fault = _odd_shape(db)
        return fault or next(_faults(path), None)
    except LedgerDamaged as error:
        return error.message


def _odd_shape(db: sqlite3.Connection) -> str | None:
    """Tables, indexes and triggers must be those of a new ledger: a trigger of somebody else's would act on ours."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for statement in SCHEMA:
            fresh.execute(statement)
        expected = fresh.execute(_SHAPE).fetchall()
    if db.execute(_SHAPE).fetchall() != expected:
        return "its tables and triggers are not those of a ledger"
    for table in ("head", "about"):
        if db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] != 1:
            return f"its table {table} is not one row"
    return None


def _faults(path: Path) -> Iterator[str]:
    ledger = Ledger(path, lambda: datetime.now(UTC))
    try:
        for finding in ledger.find_damage():
            yield f"{finding.where}: {finding.what}"
        with translated(path), closing(sqlite3.connect(path)) as db:
            kept = db.execute("SELECT key, first, last FROM idempotency ORDER BY key").fetchall()
        if kept != sorted(keys_of((link, ledger.decode(link)) for link in ledger.links())):
            yield "its idempotency keys are not those of its events"
    finally:
        ledger.close()
        with translated(path), closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = DELETE")
