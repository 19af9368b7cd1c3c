"""S-13: a text has a key of its own, opens in its place only, and is gone with its key (ledger.md, "Erase")."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from eventsourcing.persistence import IntegrityError, StoredEvent

from adapters import sqlite as adapter
from adapters.ledger import Ledger
from adapters.ledger_schema import SEALS
from adapters.mapper import EnvelopeMapper
from adapters.sealing import KEY, SealedEvent, SealedNotification, open_text, place, seal_text
from domain.erasure import TextErased
from domain.errors import HomeNotWritable, LedgerDamaged
from domain.event import ERASED, Envelope, Event, stream_id
from projections.loop import Broken
from tests.contracts.ledgers import Backend, Postgres, Sqlite, append, entered, opened, predictable, ticking
from tests.golden.samples import samples

HERE, THERE = place(stream_id("session/a"), 1), place(stream_id("session/a"), 2)
TEXT = {"subject": "Μαρία", "concepts": ["ward", "ab\u0301"]}


class NoteTaken(Event, name="test.note-taken"):
    """As the events of facts, policies and notes are made."""

    sealed: ClassVar[tuple[str, ...]] = ("text", "tags")
    note_id: str
    text: str
    tags: tuple[str, ...] = ()
    about: str = ""

    @property
    def record(self) -> str:
        return self.note_id


def note(number: int, text: str = "Mario is ill", about: str = "person:mario") -> NoteTaken:
    return NoteTaken(note_id=f"note-{number}", text=text, tags=("ill", "ward"), about=about)


# -- a text ------------------------------------------------------------------------------------------------------------


def test_what_was_sealed_opens_with_its_key_in_its_place() -> None:
    sealed, key = seal_text(TEXT, HERE, predictable())
    assert open_text(sealed, key, HERE) == TEXT
    assert len(key) == KEY
    assert "Μαρία" not in sealed


def test_the_sealed_form_is_the_same_for_ever() -> None:
    """AES-256-GCM, nonce first, canonical JSON: worked out once, with the bytes 0, 1, 2 … as key and as nonce."""
    sealed, _ = seal_text({"b": 1, "a": "è"}, b"place", lambda count: bytes(range(count)))
    assert sealed == GOLDEN


GOLDEN = "AAECAwQFBgcICQoLPCC3Of/HAbOvbbXpk9NJEIwCAjOn5jwTNijLtqLlYRg="


def test_every_text_has_a_key_and_a_nonce_of_its_own() -> None:
    mapper = EnvelopeMapper()
    envelope = _envelope()
    one, other = mapper.to_stored_event(envelope), mapper.to_stored_event(envelope)
    assert isinstance(one, SealedEvent)
    assert isinstance(other, SealedEvent)
    assert one.seal.key != other.seal.key
    assert one.state != other.state


@pytest.mark.parametrize("change", ["key", "place", "nonce", "text", "tag", "short", "no base64", "no text"])
def test_what_was_changed_does_not_open(change: str) -> None:
    sealed, key = seal_text(TEXT, HERE, predictable())
    turned = {"nonce": 2, "text": 30, "tag": len(sealed) - 4}
    if change in turned:
        at = turned[change]
        sealed = sealed[:at] + ("A" if sealed[at] != "A" else "B") + sealed[at + 1 :]
    sealed = {"short": sealed[:8], "no base64": "no text!", "no text": ""}.get(change, sealed)
    key = bytes(KEY) if change == "key" else key
    with pytest.raises(LedgerDamaged):
        open_text(sealed, key, THERE if change == "place" else HERE)


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 33])
def test_what_is_no_key_is_damage_and_no_crash(key: bytes) -> None:
    sealed, _ = seal_text(TEXT, HERE, predictable())
    with pytest.raises(LedgerDamaged):
        open_text(sealed, key, HERE)


# -- an event ----------------------------------------------------------------------------------------------------------


def _envelope() -> Envelope:
    return next(one for one in samples() if one.event.name == "session.concept-clarified")


def test_the_stored_state_holds_the_sealed_fields_only_sealed() -> None:
    stored = EnvelopeMapper().to_stored_event(_envelope())
    state = json.loads(stored.state)
    assert set(state["data"]) == {
        "seq",
        "phase",
        "tables",
        "occurred_at",
        "source_memory",
        "source_changed",
        "supersedes",
    }
    assert isinstance(state["sealed"], str)


def test_a_text_from_another_event_does_not_open(ledger: Ledger) -> None:
    """The key of one event does not open another, and a sealed text moved into another event does not open at all."""
    append(ledger, ("notes/a", note(1, "one")), ("notes/a", note(2, "two")))
    first, second = ledger.recorder.select_events(stream_id("notes/a"))
    moved = json.loads(second.state) | {"sealed": json.loads(first.state)["sealed"]}
    assert isinstance(first, SealedEvent | SealedNotification)
    for state in (json.dumps(moved).encode(), second.state):
        with pytest.raises(LedgerDamaged, match="does not open"):
            ledger.mapper.to_domain_event(
                SealedEvent(second.originator_id, second.originator_version, second.topic, state, first.seal)
            )


# -- a ledger ----------------------------------------------------------------------------------------------------------


def rows(backend: Backend) -> list[tuple[object, ...]]:
    return backend.execute("SELECT position, record, about FROM seals ORDER BY position")


def erased(record: str) -> TextErased:
    return TextErased(record=record, about="person:mario")


def test_keys_are_kept_with_their_events_and_read_with_them(backend: Backend, ledger: Ledger) -> None:
    written = append(ledger, ("session/a", opened("a")), ("session/a", entered()), ("notes/a", note(1))).envelopes
    assert rows(backend) == [(1, "session:a", ""), (3, "note-1", "person:mario")]
    other = backend.reopen()
    assert tuple(other.page(0)) == tuple(other.read(0)) == written
    assert not any(one.erased for one in written)
    assert list(other.find_damage()) == []
    other.close()


def test_with_its_key_a_text_is_gone_and_nothing_else(backend: Backend, ledger: Ledger) -> None:
    """S-13: positions, counts and chain stay; only this record on this stream, before the erasure, is unreadable."""
    append(ledger, ("notes/a", note(1)), ("notes/a", note(2)), ("notes/b", note(1, "on another stream")))
    before = [ledger.chain_at(position) for position in (1, 2, 3)]
    append(ledger, ("notes/a", erased("note-1")), ("notes/a", note(1, "said again")))
    one, two, elsewhere, _, again = ledger.page(0)
    assert one.erased
    assert one.event == NoteTaken(note_id="note-1", text=ERASED, tags=(), about="person:mario")
    assert [two.event, elsewhere.event, again.event] == [note(2), note(1, "on another stream"), note(1, "said again")]
    assert [ledger.chain_at(position) for position in (1, 2, 3)] == before
    assert [row[0] for row in rows(backend)] == [2, 3, 5]
    assert list(ledger.find_damage()) == []


def test_an_erasure_that_is_not_recorded_destroys_nothing(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("notes/a", note(1)))
    taken = ledger.mapper.to_stored_event(append(ledger, ("notes/a", note(2))).envelopes[0])
    erasing = ledger.mapper.to_stored_event(_replaced(ledger, erased("note-1")))
    with pytest.raises(IntegrityError, match=r"append-only|already exists"):
        ledger.recorder.insert_events([erasing, taken])
    assert [row[0] for row in rows(backend)] == [1, 2]
    assert ledger.head().position == 2


def _replaced(ledger: Ledger, event: Event) -> Envelope:
    last = ledger.last("notes/a")
    assert last is not None
    return replace(last, version=last.version + 1, event=event)


REPLACED = {
    Sqlite: "INSERT OR REPLACE INTO seals SELECT * FROM seals",
    Postgres: "INSERT INTO seals SELECT * FROM seals ON CONFLICT (position) DO UPDATE SET record = 'x'",
}


@pytest.mark.parametrize("statement", ["UPDATE seals SET key = x'00'", "UPDATE seals SET record = 'x'", REPLACED])
def test_the_database_keeps_a_key_as_it_is(
    backend: Backend, ledger: Ledger, statement: str | dict[type[Backend], str]
) -> None:
    append(ledger, ("notes/a", note(1)))
    with pytest.raises(Exception, match="append-only"):
        backend.execute(statement if isinstance(statement, str) else statement[type(backend)])


def test_a_wrong_key_is_damage_and_is_handed_on_as_broken(backend: Backend, ledger: Ledger) -> None:
    append(ledger, ("notes/a", note(1)), ("session/a", opened("a")))
    backend.tamper("UPDATE seals SET key = x'" + "00" * 32 + "' WHERE position = 1")
    with pytest.raises(LedgerDamaged, match="position 1"):
        ledger.page(0)
    broken, fine = ledger.read(0)
    assert isinstance(broken, Broken)
    assert not isinstance(fine, Broken)
    assert [one.where for one in ledger.find_damage()] == ["position 1"]


NOT_ITS = "not kept as that of its record"
DAMAGE = {
    "DELETE FROM seals WHERE position = 1": (1, "its key is gone, and no erasure says why", "tht erase note-1"),
    "INSERT INTO seals VALUES (99, 'note-9', '', x'" + "00" * 32 + "')": (
        99,
        "a key to a sealed text and no event",
        "",
    ),
    "INSERT INTO seals VALUES (2, 's', '', x'" + "00" * 32 + "')": (2, NOT_ITS, "tht export"),
    "UPDATE seals SET record = 'note-2' WHERE position = 1": (1, NOT_ITS, "tht export"),
    "UPDATE seals SET about = '' WHERE position = 1": (1, NOT_ITS, "tht export"),
    "INSERT INTO seals VALUES (3, 'note-3', 'person:mario', x'{key}')": (3, "its key is still there", "note-3"),
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_verify_finds_keys_and_erasures_that_do_not_agree(backend: Backend, ledger: Ledger, statement: str) -> None:
    append(ledger, ("notes/a", note(1)), ("session/a", entered()), ("notes/a", note(3)))
    key = backend.execute("SELECT key FROM seals WHERE position = 3")[0][0].hex()
    append(ledger, ("notes/a", erased("note-3")))
    assert list(ledger.find_damage()) == []
    where, what, mend = DAMAGE[statement]
    backend.tamper(statement.format(key=key))
    (found,) = ledger.find_damage()
    assert found.where == f"position {where}"
    assert what in found.what
    assert mend in found.mend


def test_a_ledger_from_before_sealing_is_sound_and_goes_on(tmp_path: Path) -> None:
    """What was recorded in the clear still decodes; the table of keys is made with the first sealed event."""
    backend = Sqlite(tmp_path)
    backend.create().close()
    backend.execute("DROP TABLE seals")
    old = Ledger(backend.path, ticking())
    data = {"note_id": "note-1", "text": "in the clear", "tags": [], "about": ""}
    named = {"actor": "human:ada", "corr": "c", "key": "", "reason": "", "role": "", "stream": "notes/a"}
    plain = json.dumps(named | {"at": "2026-03-02T12:00:00.000000Z", "data": data, "v": 1}, sort_keys=True)
    old.recorder.insert_events([StoredEvent(stream_id("notes/a"), 1, "test.note-taken", plain.encode())])
    assert list(old.find_damage()) == []
    assert old.unsealed("notes/a") == {"note-1": [1]}
    assert backend.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'seals%'") == []
    append(old, ("notes/a", note(2)))
    assert [one.event for one in old.page(0)] == [NoteTaken(note_id="note-1", text="in the clear"), note(2)]
    assert list(old.find_damage()) == []
    assert len(backend.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'seals%'")) == len(SEALS)
    old.close()


def test_a_key_that_was_destroyed_is_in_no_file_any_more(tmp_path: Path) -> None:
    """Nor its copies: pages that SQLite had moved or freed, and the write-ahead log."""
    backend = Sqlite(tmp_path)
    ledger = backend.create()
    for first in range(0, 400, 50):
        append(ledger, *(("notes/a", note(number)) for number in range(first, first + 50)))
    keys = {row[0]: bytes(row[1]) for row in backend.execute("SELECT record, key FROM seals")}
    gone = [f"note-{number}" for number in range(400) if number % 3 or number > 200]
    for first in range(0, len(gone), 7):
        append(ledger, *(("notes/a", erased(record)) for record in gone[first : first + 7]))
    ledger.recorder.purge()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [record for record in keys if keys[record] in content] == [record for record in keys if record not in gone]
    assert list(ledger.find_damage()) == []
    assert [one.erased for one in ledger.page(0, 400)] == [f"note-{number}" in gone for number in range(400)]
    ledger.close()


def test_a_key_that_was_destroyed_is_not_in_the_servers_table_any_more(tmp_path: Path, postgres: str) -> None:
    """Read from the file in which the server keeps the table. Its log is another matter: docs/postgres.md."""
    backend = Postgres(tmp_path)
    ledger = backend.create()
    append(ledger, *(("notes/a", note(number)) for number in range(100)))
    keys = {row[0]: bytes(row[1]) for row in backend.execute("SELECT record, key FROM seals")}
    gone = [f"note-{number}" for number in range(0, 100, 3)]
    append(ledger, *(("notes/a", erased(record)) for record in gone))
    ledger.recorder.purge()
    backend.execute("CHECKPOINT")
    ((file,),) = backend.execute("SELECT current_setting('data_directory') || '/' || pg_relation_filepath('seals')")
    content = Path(file).read_bytes()
    assert [record for record in keys if keys[record] in content] == [record for record in keys if record not in gone]
    assert list(ledger.find_damage()) == []
    ledger.close()
    backend.drop()


def test_a_purge_says_when_others_go_on_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Sqlite(tmp_path)
    ledger = backend.create()
    append(ledger, ("notes/a", note(1)))
    monkeypatch.setattr(adapter, "LOCK_TIMEOUT", 0.1)
    reader = sqlite3.connect(backend.path)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM events").fetchone()
    append(ledger, ("notes/a", erased("note-1")))
    with pytest.raises(HomeNotWritable, match="another process"):
        ledger.recorder.purge()
    reader.close()
    ledger.recorder.purge()
    ledger.close()


def test_without_sealed_text_nothing_is_opened(tmp_path: Path) -> None:
    """A ledger that has no sealed event never needs the cipher."""
    script = (
        "import sys; from pathlib import Path; from datetime import UTC, datetime\n"
        "from adapters.ledger import Ledger, By\n"
        "from domain.session_events import PhaseEntered\n"
        "ledger = Ledger(Path(sys.argv[1]), lambda: datetime.now(UTC)); ledger.recorder.create('one')\n"
        "def work(draft): draft.load('session/a'), draft.append('session/a', (PhaseEntered(phase='F2'),))\n"
        "ledger.transact(work, By('human:ada'), ('test',))\n"
        "assert len(ledger.page(0)) == 1\n"
        "assert 'cryptography' not in sys.modules, 'imported'"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "ledger.sqlite3")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
