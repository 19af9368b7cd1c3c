"""What is recorded stays as it is: the chain finds a change, and the database refuses one (ledger.md)."""

from __future__ import annotations

import hashlib
import json

import pytest
from eventsourcing.persistence import IntegrityError, Notification, StoredEvent

from adapters.chain import Link
from adapters.ledger import Ledger
from adapters.ledger_batches import batches_of
from adapters.ledger_files import export_lines
from domain.errors import LedgerDamaged
from projections.loop import Broken
from tests.contracts.ledgers import (
    KEYED,
    Backend,
    append,
    entered,
    opened,
)

GENESIS = hashlib.sha256(b"tht ledger").digest()


def positions(ledger: Ledger) -> list[int]:
    return [envelope.position for envelope in ledger.page(0)]


# -- the chain ---------------------------------------------------------------------------------------------------------


def chained(chain: bytes, *parts: bytes) -> bytes:
    """The chain hash, made here a second time from ledger.md and hashlib alone."""
    return hashlib.sha256(chain + b"".join(len(part).to_bytes(8, "big") + part for part in parts)).digest()


def test_the_chain_is_over_the_stored_bytes(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")), ("session/b", opened("b")))
    append(ledger, ("session/a", entered()))
    chain = GENESIS
    assert ledger.chain_at(0) == chain.hex()
    for row in backend.execute(
        "SELECT originator_id, originator_version, topic, state, position FROM events ORDER BY position"
    ):
        originator, version, topic, state, position = row
        chain = chained(chain, originator.encode(), str(version).encode(), topic.encode(), bytes(state))
        assert ledger.chain_at(position) == chain.hex()
    assert ledger.head().chain == chain.hex()
    assert ledger.chain_at(4) is None


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        ("UPDATE events SET state = ? WHERE position = 2", 2),
        ("UPDATE events SET topic = 'session.session-closed' WHERE position = 2", 2),
        ("UPDATE events SET originator_version = 7 WHERE position = 2", 2),
        ("UPDATE events SET chain = x'00' WHERE position = 2", 2),
        ("DELETE FROM events WHERE position = 2", 3),
    ],
)
def test_a_changed_event_is_found_and_never_projected(
    backend: Backend, ledger: Ledger, statement: str, where: int
) -> None:
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    state = backend.execute("SELECT state FROM events WHERE position = 2")[0][0].replace(b"human:ada", b"human:eve")
    backend.tamper(statement, (state,) if "?" in statement else ())
    with pytest.raises(LedgerDamaged, match=f"position {where}"):
        ledger.read(0)
    assert f"position {where}" in [finding.where for finding in ledger.find_damage()]


def test_a_page_that_begins_after_the_change_is_refused_too_where_the_hash_is_gone(
    backend: Backend, ledger: Ledger
) -> None:
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    backend.tamper("DELETE FROM events WHERE position = 2")
    with pytest.raises(LedgerDamaged, match="position 3"):
        ledger.read(2)


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM events WHERE position = 3", "UPDATE head SET position = 2", "UPDATE head SET position = 0"],
)
def test_less_than_was_recorded_is_neither_exported_nor_copied_as_if_it_were_all(
    backend: Backend, ledger: Ledger, statement: str
) -> None:
    append(ledger, ("session/a", opened("a")), ("session/b", opened("b")), ("session/c", opened("c")))
    assert len(list(export_lines(ledger))) == 4
    backend.tamper(statement)
    for taken in (export_lines(ledger), batches_of(ledger.recorder)):
        with pytest.raises(LedgerDamaged, match="the recorded head is"):
            list(taken)


@pytest.mark.parametrize("table", ["head", "about"])
def test_a_table_of_one_row_that_has_none_is_damage_and_no_fault_of_the_program(
    backend: Backend, ledger: Ledger, table: str
) -> None:
    append(ledger, ("session/a", opened("a")))
    backend.tamper(f"DELETE FROM {table}")
    with pytest.raises(LedgerDamaged, match=f"its table {table} is not one row"):
        ledger.head() if table == "head" else ledger.recorder.ledger_id()
    if table == "head":
        with pytest.raises(LedgerDamaged, match="its table head is not one row"):
            append(ledger, ("session/b", opened("b")))
    assert [finding.what for finding in ledger.find_damage()] == [f"its table {table} is not one row"]


@pytest.mark.parametrize("away", [-1, 1], ids=["before the end", "beyond the end"])
def test_what_comes_from_elsewhere_begins_where_the_ledger_ends(ledger: Ledger, away: int) -> None:
    append(ledger, ("session/a", opened("a")))
    before = ledger.head()
    (link,) = ledger.links()
    stored = link.notification
    moved = Notification(
        originator_id=stored.originator_id, originator_version=2, topic=stored.topic, state=stored.state, id=2 + away
    )
    with pytest.raises(IntegrityError):
        ledger.recorder.insert_chained([Link(moved, link.chain)], [])
    assert ledger.head() == before
    assert list(ledger.find_damage()) == []
    assert append(ledger, ("session/a", entered())).position == 2


def test_a_cut_tail_is_found(backend: Backend, ledger: Ledger) -> None:
    for _ in range(3):
        append(ledger, ("session/a", entered()))
    backend.tamper("DELETE FROM events WHERE position = 3")
    assert ["cut tail" in finding.what for finding in ledger.find_damage()] == [True]


def test_an_event_of_a_newer_program_is_handed_on_as_broken_and_the_chain_still_holds(
    backend: Backend, ledger: Ledger
) -> None:
    append(ledger, ("session/a", opened("a")))
    stored = ledger.mapper.to_stored_event(ledger.load("session/a")[0])
    newer = json.loads(stored.state) | {"v": 99}
    ledger.recorder.insert_events([StoredEvent(stored.originator_id, 2, stored.topic, json.dumps(newer).encode())])
    append(ledger, ("session/b", opened("b")))
    first, broken, last = ledger.read(0)
    assert isinstance(broken, Broken)
    assert (broken.stream, broken.position) == ("session/a", 2)
    assert "version 99" in broken.error
    assert (first.position, last.position) == (1, 3)
    with pytest.raises(LedgerDamaged, match="position 2"):
        ledger.page(0)
    assert [finding.where for finding in ledger.find_damage()] == ["position 2"]


# -- append-only -------------------------------------------------------------------------------------------------------


def test_the_database_itself_refuses_to_change_what_is_recorded(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("session/a", opened("a")), by=KEYED)
    for statement in backend.forbidden:
        with pytest.raises(Exception, match="append-only") as refused:
            backend.execute(statement)
        kinds = {f"{kind.__module__}.{kind.__qualname__}" for kind in type(refused.value).__mro__}
        assert backend.refusal in kinds, statement
        assert positions(ledger) == [1]
    assert list(ledger.find_damage()) == []
