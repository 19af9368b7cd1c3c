"""The pull loop: exactly once, whoever is killed or overtaken where; poison is parked, never skipped (ledger.md)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent

from adapters.ledger import Ledger
from domain.errors import HomeNotWritable, LedgerDamaged, OtherHistory, PoisonEvent
from domain.event import Envelope
from projections.loop import PAGE, Broken, catch_up
from projections.view import Standing, ViewsFile
from tests.projections.ledgers import Lines, Others, append, fill, new_ledger, open_views, positions, rows


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with new_ledger(tmp_path / "ledger") as made:
        yield made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "views.sqlite3"


def failing_at(position: int, error: BaseException) -> Lines:
    """A view that fails after it has written the row of that position, the first time."""
    left = [error]

    def fail(envelope: Envelope) -> None:
        if envelope.position == position and left:
            raise left.pop()

    return Lines(fail)


def always_failing_at(*wanted: int) -> Lines:
    def fail(envelope: Envelope) -> None:
        if envelope.position in wanted:
            raise KeyError(f"poison {envelope.position}")

    return Lines(fail)


# -- exactly once ------------------------------------------------------------------------------------------------------


def test_every_event_is_applied_once_in_order(ledger: Ledger, path: Path) -> None:
    fill(ledger, PAGE + 7)
    view = Lines()
    file = open_views(ledger, path, view)
    assert catch_up(ledger, file) == PAGE + 7
    assert catch_up(ledger, file) == PAGE + 7
    assert rows(file) == list(range(1, PAGE + 8))
    assert file.standing(view) == Standing(PAGE + 7, ledger.head().chain)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), sqlite3.OperationalError("disk I/O error")])
def test_a_page_that_stops_in_the_middle_leaves_neither_rows_nor_position(
    ledger: Ledger, path: Path, error: BaseException
) -> None:
    """S-51: killed between the projection's write and the position's: replay gives the same rows."""
    fill(ledger, PAGE + 20)
    view = failing_at(PAGE + 10, error)
    file = open_views(ledger, path, view)
    with pytest.raises((KeyboardInterrupt, SystemExit, HomeNotWritable)):
        catch_up(ledger, file)
    assert rows(file) == list(range(1, PAGE + 1))
    assert file.standing(view) == Standing(PAGE, ledger.chain_at(PAGE) or "")
    file.close()
    again = open_views(ledger, path, view)
    catch_up(ledger, again)
    assert rows(again) == list(range(1, PAGE + 21))
    assert again.parked() == []


def test_a_page_that_another_process_applied_meanwhile_is_not_applied_again(ledger: Ledger, path: Path) -> None:
    """The claim is overtaken between reading the positions and writing."""
    fill(ledger, 10)
    view = Lines()
    mine, theirs = open_views(ledger, path, view), open_views(ledger, path, Lines())
    overtaken: list[int] = []

    class Slow(Ledger):
        def read(self, after: int, limit: int = PAGE, until: int | None = None) -> list[Envelope | Broken]:
            page = super().read(after, limit, until)
            if not overtaken:
                overtaken.append(catch_up(ledger, theirs, until=6))
            return page

    slow = Slow(ledger.recorder, ledger.clock)
    assert catch_up(slow, mine) == 10
    slow.close()
    assert overtaken == [6]
    assert rows(mine) == list(range(1, 11))


def test_catching_up_stops_where_it_is_told(ledger: Ledger, path: Path) -> None:
    fill(ledger, 10)
    view = Lines()
    file = open_views(ledger, path, view)
    assert catch_up(ledger, file, until=4) == 4
    assert rows(file) == [1, 2, 3, 4]
    assert file.standing(view).chain == ledger.chain_at(4)
    assert catch_up(ledger, file) == 10
    assert rows(file) == list(range(1, 11))


def test_an_empty_ledger_is_caught_up_at_once(ledger: Ledger, path: Path) -> None:
    assert catch_up(ledger, open_views(ledger, path, Lines())) == 0


def test_progress_is_told_after_every_page(ledger: Ledger, path: Path) -> None:
    fill(ledger, PAGE + 7)
    told: list[tuple[int, int]] = []
    catch_up(ledger, open_views(ledger, path, Lines()), progress=lambda at, to: told.append((at, to)))
    assert told == [(PAGE, PAGE + 7), (PAGE + 7, PAGE + 7)]


# -- several views in one file -----------------------------------------------------------------------------------------


def test_two_views_in_one_file_keep_their_own_positions(ledger: Ledger, path: Path) -> None:
    """ledger.md, fact 2: with a shared position the second would believe that it has seen everything."""
    fill(ledger, 10)
    one, other = Lines(), Others()
    file = open_views(ledger, path, one, other)
    catch_up(ledger, file, [one], until=7)
    assert positions(file, (one, other)) == [7, 0]
    catch_up(ledger, file)
    assert positions(file, (one, other)) == [10, 10]
    assert rows(file) == rows(file, "others_v1_rows") == list(range(1, 11))


def test_a_view_that_is_new_in_a_file_begins_at_the_first_event(ledger: Ledger, path: Path) -> None:
    fill(ledger, 5)
    first = open_views(ledger, path, Lines())
    catch_up(ledger, first)
    first.close()
    file = open_views(ledger, path, Lines(), Others())
    catch_up(ledger, file)
    assert rows(file) == rows(file, "others_v1_rows") == [1, 2, 3, 4, 5]


# -- poison ------------------------------------------------------------------------------------------------------------


def test_poison_parks_its_stream_in_this_view_and_the_others_go_on(ledger: Ledger, path: Path) -> None:
    fill(ledger, 4)
    append(ledger, "session/1", *[event.event for event in ledger.load("session/0")])  # position 5, a parked stream
    append(ledger, "session/2", *[event.event for event in ledger.load("session/0")])
    poisoned, other = always_failing_at(2), Others()
    file = open_views(ledger, path, poisoned, other)
    assert catch_up(ledger, file) == 6
    assert rows(file) == [1, 3, 4, 6]
    assert rows(file, "others_v1_rows") == [1, 2, 3, 4, 5, 6]
    (parked,) = file.parked()
    assert (parked.name, parked.version, parked.stream, parked.position) == ("lines", 1, "session/1", 2)
    assert "KeyError: 'poison 2'" in parked.error


def test_a_parked_stream_stays_parked_in_later_pages(ledger: Ledger, path: Path) -> None:
    fill(ledger, 3)
    poisoned = always_failing_at(2)
    file = open_views(ledger, path, poisoned)
    catch_up(ledger, file)
    append(ledger, "session/1", *[event.event for event in ledger.load("session/0")])
    append(ledger, "session/0", *[event.event for event in ledger.load("session/0")])
    catch_up(ledger, file)
    assert rows(file) == [1, 3, 5]
    assert [one.position for one in file.parked(poisoned)] == [2]


def test_several_poisoned_streams_of_one_page_are_each_parked_once(ledger: Ledger, path: Path) -> None:
    fill(ledger, 6)
    file = open_views(ledger, path, always_failing_at(2, 5))
    catch_up(ledger, file)
    assert rows(file) == [1, 3, 4, 6]
    assert [(one.stream, one.position) for one in file.parked()] == [("session/1", 2), ("session/4", 5)]


def test_an_event_that_does_not_decode_is_parked_too(ledger: Ledger, path: Path) -> None:
    fill(ledger, 2)
    stored = ledger.mapper.to_stored_event(ledger.load("session/1")[0])
    newer = stored.state.replace(b'"v":1', b'"v":9')
    ledger.recorder.insert_events([StoredEvent(stored.originator_id, 2, stored.topic, newer)])
    fill_more = append(ledger, "session/9", *[event.event for event in ledger.load("session/0")])
    file = open_views(ledger, path, Lines())
    assert catch_up(ledger, file) == fill_more == 4
    assert rows(file) == [1, 2, 4]
    assert [(one.stream, one.position) for one in file.parked()] == [("session/1", 3)]


def test_fail_fast_names_the_event_and_applies_nothing_of_its_page(ledger: Ledger, path: Path) -> None:
    fill(ledger, PAGE + 5)
    file = open_views(ledger, path, always_failing_at(PAGE + 3))
    with pytest.raises(
        PoisonEvent, match=rf"lines cannot apply the event at position {PAGE + 3} \(session/{PAGE + 2}\)"
    ):
        catch_up(ledger, file, fail_fast=True)
    assert rows(file) == list(range(1, PAGE + 1))
    assert file.parked() == []


# -- whose history -----------------------------------------------------------------------------------------------------


def caught_up(ledger: Ledger, path: Path) -> ViewsFile:
    file = open_views(ledger, path, Lines())
    catch_up(ledger, file)
    return file


def test_a_view_ahead_of_its_ledger_is_refused(tmp_path: Path, ledger: Ledger, path: Path) -> None:
    """A backup was restored: the ledger is shorter now."""
    fill(ledger, 5)
    file = caught_up(ledger, path)
    with new_ledger(tmp_path / "restored") as restored:
        fill(restored, 3)
        with pytest.raises(OtherHistory, match="at position 5, ahead of its ledger at 3") as caught:
            catch_up(restored, file)
    assert caught.value.hint.endswith("tht projection rebuild")
    assert rows(file) == [1, 2, 3, 4, 5]


def test_a_view_of_another_history_is_refused_however_long_that_is(tmp_path: Path, ledger: Ledger, path: Path) -> None:
    fill(ledger, 5)
    file = caught_up(ledger, path)
    with new_ledger(tmp_path / "other") as other:
        append(other, "session/x", *[event.event for event in ledger.load("session/1")])
        fill(other, 9)
        with pytest.raises(OtherHistory, match="another history"):
            catch_up(other, file)
    assert rows(file) == [1, 2, 3, 4, 5]


def test_a_ledger_whose_tail_was_cut_does_not_keep_the_loop_waiting(ledger: Ledger, path: Path) -> None:
    fill(ledger, 3)
    with sqlite3.connect(ledger.recorder.place) as db:
        db.execute("DROP TRIGGER events_last")
        db.execute("DELETE FROM events WHERE position = 3")
    db.close()
    file = open_views(ledger, path, Lines())
    with pytest.raises(LedgerDamaged, match="event 3"):
        catch_up(ledger, file)
    assert rows(file) == [1, 2]
