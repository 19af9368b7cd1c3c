"""Rebuilding fills a copy beside the old view, checks it, then swaps: readers never see a half-built one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import Ledger
from domain.errors import OtherHistory, PoisonEvent
from domain.event import Envelope
from projections.loop import PAGE, catch_up, rebuild
from projections.verify import verify_views
from projections.view import ViewsFile
from tests.projections.ledgers import (
    Lines,
    Lines2,
    Lines3,
    Others,
    append,
    fill,
    new_ledger,
    open_views,
    positions,
    rows,
    tables_of,
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path / "ledger") as made:
        fill(made, 12)
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "views.sqlite3"


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch.sqlite3"


def caught_up(ledger: Ledger, path: Path, *views: Lines) -> ViewsFile:
    file = open_views(ledger, path, *views)
    catch_up(ledger, file)
    return file


def leftovers(scratch: Path) -> list[Path]:
    return sorted(scratch.parent.glob(f"{scratch.name}*"))


def test_a_rebuild_gives_the_ledgers_rows_back(ledger: Ledger, path: Path, scratch: Path) -> None:
    view = Lines()
    file = caught_up(ledger, path, view)
    before = view.digests(file.db)
    file.db.execute("DELETE FROM lines_v1_rows WHERE position > 3")
    file.db.execute("INSERT INTO lines_v1_rows VALUES (99, 'invented')")
    rebuild(ledger, file, [view], scratch)
    assert view.digests(file.db) == before
    assert rows(file) == list(range(1, 13))
    assert leftovers(scratch) == []


def test_readers_see_the_old_rows_until_the_swap(ledger: Ledger, path: Path, scratch: Path) -> None:
    seen: list[int] = []

    def look(_: Envelope) -> None:
        seen.append(reader.execute("SELECT count(*) FROM lines_v1_rows").fetchone()[0])

    file = caught_up(ledger, path, Lines())
    file.db.execute("DELETE FROM lines_v1_rows WHERE position > 3")
    reader = sqlite3.connect(path)
    rebuild(ledger, file, [Lines(look)], scratch)
    assert seen == [3] * 12
    assert reader.execute("SELECT count(*) FROM lines_v1_rows").fetchone()[0] == 12
    reader.close()


def test_a_reader_in_a_transaction_keeps_its_rows_over_the_swap(ledger: Ledger, path: Path, scratch: Path) -> None:
    view = Lines()
    file = caught_up(ledger, path, view)
    file.db.execute("DELETE FROM lines_v1_rows WHERE position > 3")
    reading = open_views(ledger, path, view)
    with reading.reading():
        assert rows(reading) == [1, 2, 3]
        rebuild(ledger, file, [view], scratch)
        assert rows(reading) == [1, 2, 3]
    assert rows(reading) == list(range(1, 13))


@pytest.mark.parametrize("error", [KeyError("poison"), KeyboardInterrupt()])
def test_a_rebuild_that_fails_or_is_stopped_leaves_the_old_rows(
    ledger: Ledger, path: Path, scratch: Path, error: BaseException
) -> None:
    def fail(envelope: Envelope) -> None:
        if envelope.position == 7:
            raise error

    file = caught_up(ledger, path, Lines())
    with pytest.raises((PoisonEvent, KeyboardInterrupt)) as caught:
        rebuild(ledger, file, [Lines(fail)], scratch)
    if isinstance(caught.value, PoisonEvent):
        assert "position 7 (session/6)" in caught.value.message
    assert rows(file) == list(range(1, 13))
    assert file.parked() == []
    assert leftovers(scratch) == []


def test_a_copy_that_breaks_an_invariant_is_not_swapped_in(ledger: Ledger, path: Path, scratch: Path) -> None:
    class Odd(Lines):
        def broken_invariants(self, db: sqlite3.Connection) -> list[str]:
            return ["session/3 is odd"]

    file = caught_up(ledger, path, Lines())
    file.db.execute("DELETE FROM lines_v1_rows WHERE position > 3")
    with pytest.raises(PoisonEvent, match="session/3 is odd"):
        rebuild(ledger, file, [Odd()], scratch)
    assert rows(file) == [1, 2, 3]


def test_what_a_killed_rebuild_left_behind_does_not_matter(ledger: Ledger, path: Path, scratch: Path) -> None:
    view = Lines()
    file = caught_up(ledger, path, view)
    half = open_views(ledger, scratch, view)
    catch_up(ledger, half, until=5)
    half.close()
    rebuild(ledger, file, [view], scratch)
    assert rows(file) == list(range(1, 13))
    scratch.write_bytes(b"not a database at all, torn")
    rebuild(ledger, file, [view], scratch)
    assert rows(file) == list(range(1, 13))


def test_a_rebuild_takes_parked_streams_back_in(ledger: Ledger, path: Path, scratch: Path) -> None:
    def fail(envelope: Envelope) -> None:
        if envelope.position == 7:
            raise KeyError("poison")

    file = caught_up(ledger, path, Lines(fail))
    assert [one.position for one in file.parked()] == [7]
    rebuild(ledger, file, [Lines()], scratch)
    assert rows(file) == list(range(1, 13))
    assert file.parked() == []


def test_progress_is_told_and_ends_at_the_head(tmp_path: Path, path: Path, scratch: Path) -> None:
    with new_ledger(tmp_path / "long") as long:
        fill(long, 2 * PAGE + 1)
        file = caught_up(long, path, Lines())
        told: list[tuple[int, int]] = []
        rebuild(long, file, [Lines()], scratch, lambda at, to: told.append((at, to)))
    assert told == [(PAGE, 2 * PAGE + 1), (2 * PAGE, 2 * PAGE + 1), (2 * PAGE + 1, 2 * PAGE + 1)]


def test_a_rebuild_leaves_the_other_views_where_they_are(ledger: Ledger, path: Path, scratch: Path) -> None:
    one, other = Lines(), Others()
    file = open_views(ledger, path, one, other)
    catch_up(ledger, file, [other], until=4)
    rebuild(ledger, file, [one], scratch)
    assert positions(file, (one, other)) == [12, 4]
    assert rows(file, "others_v1_rows") == [1, 2, 3, 4]


def test_a_view_of_another_history_is_mended_by_a_rebuild(
    tmp_path: Path, ledger: Ledger, path: Path, scratch: Path
) -> None:
    file = caught_up(ledger, path, Lines())
    with new_ledger(tmp_path / "restored") as restored:
        fill(restored, 3)
        with pytest.raises(OtherHistory):
            catch_up(restored, file)
        rebuild(restored, file, [Lines()], scratch)
        assert catch_up(restored, file) == 3
    assert rows(file) == [1, 2, 3]


# -- a new version of a view -------------------------------------------------------------------------------------------


def test_a_new_version_fills_beside_the_old_one_which_goes_on_answering(
    ledger: Ledger, path: Path, scratch: Path
) -> None:
    old_program = caught_up(ledger, path, Lines())
    new_program = open_views(ledger, path, Lines2())
    append(ledger, "session/new", *[event.event for event in ledger.load("session/0")])
    catch_up(ledger, old_program)
    assert rows(old_program) == list(range(1, 14))
    assert rows(new_program, "lines_v2_rows") == []
    assert catch_up(ledger, new_program) == 13
    assert rows(new_program, "lines_v2_rows") == list(range(1, 14))
    append(ledger, "session/new", *[event.event for event in ledger.load("session/0")])
    assert catch_up(ledger, old_program) == 14
    assert rows(old_program) == list(range(1, 15))
    assert rows(new_program, "lines_v2_rows") == list(range(1, 14))


def test_after_its_rebuild_the_older_versions_are_dropped_with_their_text_tables(
    ledger: Ledger, path: Path, scratch: Path
) -> None:
    caught_up(ledger, path, Lines()).close()
    caught_up(ledger, path, Lines2(), Others()).close()
    file = open_views(ledger, path, Lines3(), Others())
    rebuild(ledger, file, [file.views[0]], scratch)
    assert tables_of(file) == {"projections", "parked", "lines_v3_rows", "others_v1_rows"}
    known = file.db.execute("SELECT name, version FROM projections ORDER BY name, version").fetchall()
    assert [tuple(row) for row in known] == [("lines", 3), ("others", 1)]
    assert rows(file, "lines_v3_rows") == rows(file, "others_v1_rows") == list(range(1, 13))


def test_a_rebuilt_text_table_finds_what_the_rows_say(ledger: Ledger, path: Path, scratch: Path) -> None:
    file = open_views(ledger, path, Lines2())
    rebuild(ledger, file, file.views, scratch)
    found = file.db.execute("SELECT rowid FROM lines_v2_text WHERE lines_v2_text MATCH '\"session/7\"'").fetchall()
    assert [row[0] for row in found] == [8]


# -- verify ------------------------------------------------------------------------------------------------------------


def findings(ledger: Ledger, file: ViewsFile, *fresh: Lines) -> list[tuple[str, str, str]]:
    scratch = open_views(ledger, None, *fresh)
    found = [(one.level, one.where, one.mend) for one in verify_views(ledger, file, scratch)]
    scratch.close()
    return found


def test_sound_views_have_no_findings_also_when_they_lag(ledger: Ledger, path: Path) -> None:
    one, other = Lines(), Others()
    file = open_views(ledger, path, one, other)
    catch_up(ledger, file, [one])
    catch_up(ledger, file, [other], until=4)
    assert findings(ledger, file, Lines(), Others()) == []


@pytest.mark.parametrize(
    "drift",
    [
        "DELETE FROM lines_v1_rows WHERE position = 5",
        "INSERT INTO lines_v1_rows SELECT * FROM lines_v1_rows WHERE position = 5",
        "UPDATE lines_v1_rows SET stream = 'session/x' WHERE position = 5",
    ],
)
def test_a_row_lost_doubled_or_changed_is_found_and_the_mending_command_named(
    ledger: Ledger, path: Path, drift: str
) -> None:
    """S-51: applied twice."""
    file = caught_up(ledger, path, Lines(), Others())
    file.db.execute(drift)
    expected = [("view", "lines, lines_v1_rows", "tht projection rebuild lines")]
    assert findings(ledger, file, Lines(), Others()) == expected
