"""What somebody with access to the database may do to the ledger's schema, and that verify finds it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import Ledger
from domain.errors import LedgerDamaged, Unavailable
from tests.contracts.ledgers import KEYED, Postgres, append, entered, opened

DAMAGE = {
    "a trigger dropped": ("DROP TRIGGER events_stay ON events", "the trigger events_stay is missing"),
    "a trigger switched off": (
        "ALTER TABLE events DISABLE TRIGGER events_stay",
        "the trigger events_stay is not as it was declared",
    ),
    "a trigger that a replica would not fire": (
        "ALTER TABLE events ENABLE TRIGGER events_stay",
        "the trigger events_stay is not as it was declared",
    ),
    "a trigger weakened": (
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
        "the function refuse is not as it was declared",
    ),
    "a trigger added": (
        "CREATE TRIGGER evil BEFORE INSERT ON events EXECUTE FUNCTION refuse()",
        "the trigger evil is not one of its own",
    ),
    "a trigger that drops rows, under the name of the one that closes a ledger": (
        "CREATE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        "CREATE TRIGGER events_moved BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION moved()",
        "the trigger events_moved is not one of its own",
    ),
    "a rule added": (
        "CREATE RULE evil AS ON INSERT TO idempotency DO INSTEAD NOTHING",
        "the rule evil is not one of its own",
    ),
    "a view added": ("CREATE VIEW evil AS SELECT * FROM events", "the relation evil is not one of its own"),
    "a table added": ("CREATE TABLE evil (one int)", "the table evil is not one of its own"),
    "an index added": ("CREATE INDEX evil ON events (topic)", "the index evil is not one of its own"),
    "an index dropped": ("DROP INDEX seals_record", "the index seals_record is missing"),
    "a constraint dropped": (
        "ALTER TABLE events DROP CONSTRAINT events_originator_id_originator_version_key",
        "the constraint events_originator_id_originator_version_key is missing",
    ),
    "a column added": ("ALTER TABLE events ADD COLUMN evil text", "the table events is not as it was declared"),
    "rows that a crash would lose": ("ALTER TABLE events SET UNLOGGED", "the table events is not as it was declared"),
    "rows hidden": ("ALTER TABLE events ENABLE ROW LEVEL SECURITY", "the table events is not as it was declared"),
    "a table dropped": ("DROP TABLE idempotency", "the table idempotency is missing"),
    "the keys emptied": ("DELETE FROM idempotency", "keys are not those of its events: 'k#1'"),
    "a key moved": ("UPDATE idempotency SET first = 1", "keys are not those of its events: 'k#1'"),
    "a key renamed": ("UPDATE idempotency SET key = 'mine'", "keys are not those of its events: 'k#1', 'mine'"),
    "a key beyond the head": ("INSERT INTO idempotency VALUES ('mine', 8, 9)", "not those of its events: 'mine'"),
    "no head": ("DELETE FROM head", "its table head is not one row"),
    "the head moved back": (
        "UPDATE head SET (position, chain) = (SELECT position, chain FROM events WHERE position = 3)",
        "stands beyond the head, 3",
    ),
}


@pytest.fixture
def backend(tmp_path: Path, postgres: str) -> Iterator[Postgres]:
    made = Postgres(tmp_path)
    ledger = made.create()
    append(ledger, ("session/a", opened("a")))
    append(ledger, ("session/a", entered()), ("session/b", opened("b")), by=KEYED)
    append(ledger, ("session/b", entered()))
    ledger.close()
    yield made
    made.drop()


@pytest.fixture
def ledger(backend: Postgres) -> Iterator[Ledger]:
    made = backend.reopen()
    yield made
    made.close()


def test_a_sound_ledger_is_sound_and_verify_leaves_nothing_behind(backend: Postgres, ledger: Ledger) -> None:
    assert list(ledger.find_damage()) == []
    left = backend.execute("SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'")
    assert left == [(0,)]


@pytest.mark.parametrize("kind", DAMAGE)
def test_verify_finds_it_and_says_how_to_mend_it(backend: Postgres, ledger: Ledger, kind: str) -> None:
    statement, said = DAMAGE[kind]
    if statement.startswith(("DELETE", "UPDATE", "INSERT")):
        backend.tamper(statement)
    else:
        backend.execute(statement)
    findings = list(ledger.find_damage())
    assert [said in one.what for one in findings].count(True) == 1, findings
    assert all(one.level == "ledger" and "restore FILE" in one.mend for one in findings)


SHUT = {
    "rows dropped, and the place told all the same": (
        """CREATE OR REPLACE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS
        $evil$BEGIN RETURN NULL; RAISE EXCEPTION 'this ledger has moved to /srv/b'; END$evil$""",
        "the function moved is not as it was declared",
    ),
    "opened": ("ALTER TABLE events DISABLE TRIGGER events_moved", "the trigger events_moved is not as it was declared"),
    "opened for replicas": (
        "ALTER TABLE events ENABLE REPLICA TRIGGER events_moved",
        "the trigger events_moved is not as it was declared",
    ),
    "asked a row at a time": (
        "DROP TRIGGER events_moved ON events;"
        "CREATE TRIGGER events_moved BEFORE INSERT ON events FOR EACH ROW WHEN (false) EXECUTE FUNCTION moved();"
        "ALTER TABLE events ENABLE ALWAYS TRIGGER events_moved",
        "the trigger events_moved is not as it was declared",
    ),
    "half removed": ("DROP TRIGGER events_moved ON events", "the function moved is not one of its own"),
}


@pytest.mark.parametrize("kind", SHUT)
def test_what_closes_a_ledger_is_compared_as_well(backend: Postgres, ledger: Ledger, kind: str) -> None:
    statement, said = SHUT[kind]
    with ledger.recorder.held() as close_for_good:
        close_for_good("/srv/b")
    assert list(ledger.find_damage()) == []
    for one in statement.split(";\n") if "$evil$" in statement else statement.split(";"):
        backend.execute(one)
    assert [one.what for one in ledger.find_damage()] == [said]


def test_a_page_of_the_servers_file_that_was_overwritten_is_no_traceback(backend: Postgres, ledger: Ledger) -> None:
    """Flipped bytes below the database: the server says so where it has checksums, else the chain does."""
    backend.execute("CHECKPOINT")
    ((file,),) = backend.execute("SELECT current_setting('data_directory') || '/' || pg_relation_filepath('events')")
    content = Path(file).read_bytes()
    at = content.index(b"human:ada")
    Path(file).write_bytes(content[:at] + b"human:eve" + content[at + 9 :])
    backend.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tht'")
    _forget_cached_pages(backend)
    with pytest.raises(LedgerDamaged, match=r"damaged|chain") as told:
        raise next((LedgerDamaged(one.what, one.mend) for one in ledger.find_damage()), Unavailable("nothing found"))
    assert "restore" in told.value.hint
    with pytest.raises(LedgerDamaged):
        ledger.read(0)


def _forget_cached_pages(backend: Postgres) -> None:
    """PostgreSQL 18 can evict a table's pages, with the extension that looks into its buffers."""
    backend.execute("CREATE EXTENSION IF NOT EXISTS pg_buffercache SCHEMA public")
    backend.execute("SELECT public.pg_buffercache_evict_relation('events')")
