"""The views' transactions: the real error is told, nothing stays open, and a swap is one for all views."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.ledger import Ledger
from domain.errors import HomeNotWritable
from domain.event import Envelope
from projections.loop import catch_up, rebuild
from projections.view import ViewsFile
from tests.projections.ledgers import Lines, Others, fill, new_ledger, open_views, rows


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path / "ledger") as made:
        fill(made, 12)
        yield made


@pytest.fixture
def file(ledger: Ledger, tmp_path: Path) -> Iterator[ViewsFile]:
    made = open_views(ledger, tmp_path / "views.sqlite3", Lines(), Others())
    catch_up(ledger, made)
    yield made
    made.close()


def failing(error: BaseException) -> Callable[[Envelope], None]:
    def fail(envelope: Envelope) -> None:
        if envelope.position == 7:
            raise error

    return fail


@pytest.mark.parametrize("fail_fast", [False, True])
@pytest.mark.parametrize("error", [sqlite3.DatabaseError("database disk image is malformed"), MemoryError()])
def test_a_damaged_file_or_full_memory_is_not_the_events_fault(
    ledger: Ledger, tmp_path: Path, error: Exception, fail_fast: bool
) -> None:
    file = open_views(ledger, tmp_path / "views.sqlite3", Lines(failing(error)))
    with pytest.raises((HomeNotWritable, MemoryError)) as caught:
        catch_up(ledger, file, fail_fast=fail_fast)
    assert error in (caught.value, caught.value.__cause__)
    assert file.parked() == []
    assert rows(file) == []
    assert not file.db.in_transaction
    file.close()


@pytest.mark.parametrize("error", [sqlite3.IntegrityError("UNIQUE"), sqlite3.DataError("too big"), KeyError("x")])
def test_what_only_one_event_does_is_its_fault(ledger: Ledger, tmp_path: Path, error: Exception) -> None:
    file = open_views(ledger, tmp_path / "views.sqlite3", Lines(failing(error)))
    catch_up(ledger, file)
    assert [one.position for one in file.parked()] == [7]
    file.close()


@pytest.mark.parametrize("kind", ["transaction", "reading"])
def test_where_sqlite_has_rolled_back_by_itself_the_reason_is_told(file: ViewsFile, kind: str) -> None:
    used = file.transaction if kind == "transaction" else file.reading
    with pytest.raises(HomeNotWritable, match="UNIQUE"), used() as db:
        db.executemany("INSERT OR ROLLBACK INTO parked VALUES ('lines', 1, ?, 1, '')", [("s",), ("s",)])
    assert file.parked() == []
    with file.transaction():
        pass


def test_a_commit_that_fails_leaves_no_transaction_open(file: ViewsFile) -> None:
    file.db.execute("PRAGMA foreign_keys = ON")
    file.db.execute("CREATE TEMP TABLE one (id INTEGER PRIMARY KEY)")
    file.db.execute("CREATE TEMP TABLE two (id REFERENCES one DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(HomeNotWritable, match="FOREIGN KEY"), file.transaction() as db:
        db.execute("INSERT INTO two VALUES (1)")
    assert not file.db.in_transaction
    with file.transaction() as db:
        assert db.execute("SELECT count(*) FROM two").fetchone()[0] == 0


def test_all_views_of_a_rebuild_are_swapped_in_together_or_none(
    ledger: Ledger, tmp_path: Path, file: ViewsFile
) -> None:
    class Torn(Others):
        def refresh_derived(self, db: sqlite3.Connection) -> None:
            seen.append(rows(file))
            raise sqlite3.OperationalError("disk I/O error")

    seen: list[list[int]] = []
    file.db.execute("DELETE FROM lines_v1_rows WHERE position > 3")
    with pytest.raises(HomeNotWritable, match="disk I/O error"):
        rebuild(ledger, file, [Lines(), Torn()], tmp_path / "scratch.sqlite3")
    assert seen == [list(range(1, 13))]  # inside the swap the first one had its rows
    assert rows(file) == [1, 2, 3]
    rebuild(ledger, file, [Lines(), Others()], tmp_path / "scratch.sqlite3")
    assert rows(file) == rows(file, "others_v1_rows") == list(range(1, 13))
