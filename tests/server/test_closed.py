"""A ledger that is closed for good says where it has gone, to the letter, on either engine; nobody writes into it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from adapters.ledger import Ledger
from adapters.recorder import MOVED
from domain.errors import Refused
from tests.contracts.ledgers import Backend, Postgres, Sqlite, append, entered, opened
from tests.postgres import URL, connect

PIECES = st.sampled_from(["'", "''", "\\", "\\'", "$moved$", "$", "%", "%%", "{", "}", "{s}", "\n", '"', ";", "--"])
PLACES = st.lists(
    PIECES | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=8),
    min_size=1,
    max_size=8,
).map("".join)
REOPEN = {Sqlite: "DROP TRIGGER events_moved", Postgres: "DROP TRIGGER events_moved ON events; DROP FUNCTION moved()"}

# as earlier versions closed them, word by word
_SAID = r"E'this ledger has moved to /srv/it''s 100%% C:\\x'"
BEFORE = {
    Sqlite: """CREATE TRIGGER events_moved BEFORE INSERT ON events
                    BEGIN SELECT RAISE(ABORT, 'this ledger has moved to /srv/it''s 100% C:\\x'); END""",
    Postgres: f"""CREATE OR REPLACE FUNCTION moved() RETURNS trigger LANGUAGE plpgsql AS $moved$ BEGIN
                    RAISE EXCEPTION  {_SAID} USING ERRCODE = 'integrity_constraint_violation'; END $moved$;
                    CREATE TRIGGER events_moved BEFORE INSERT ON events EXECUTE FUNCTION moved()""",
}


@pytest.fixture(params=[Sqlite, Postgres])
def backend(request: pytest.FixtureRequest, tmp_path: Path, postgres: str) -> Iterator[Backend]:
    made: Backend = request.param(tmp_path)
    with_one = made.create()
    append(with_one, ("session/a", opened("a")))
    with_one.close()
    yield made
    made.drop()


@pytest.fixture
def ledger(backend: Backend) -> Iterator[Ledger]:
    made = backend.reopen()
    yield made
    made.close()


def run(backend: Backend, script: str) -> None:
    for statement in [script] if isinstance(backend, Sqlite) else re.split(r";\s+(?=DROP|CREATE)", script):
        backend.execute(statement)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(to=PLACES)
@example(to="C:\\Users\\Ada\\home\\default\\ledger.sqlite3")
@example(to="/srv/$moved$/it's 100% {s}\nbelow/$function$/default/ledger.sqlite3")
@example(to="postgresql://***@db.example:5432/memory%20of%2Fall?***")
def test_it_says_where_it_has_gone_to_the_letter(backend: Backend, ledger: Ledger, to: str) -> None:
    with ledger.recorder.held() as close_for_good:
        close_for_good(to)
    try:
        assert ledger.recorder.moved_to() == to
        assert list(ledger.find_damage()) == []
        with pytest.raises(Refused) as refused:
            append(ledger, ("session/a", entered()))
        assert refused.value.message == f"{MOVED}{to}; nothing was written"
    finally:
        run(backend, REOPEN[type(backend)])
    assert ledger.recorder.moved_to() == ""


def test_a_place_with_the_name_of_the_schema_in_it_is_no_finding(backend: Backend, ledger: Ledger) -> None:
    named = getattr(backend, "schema", "main")
    with ledger.recorder.held() as close_for_good:
        close_for_good(f"/srv/{named}.old/pg_temp.d/default/ledger.sqlite3")
    assert list(ledger.find_damage()) == []


def test_what_an_earlier_version_closed_is_closed_sound_and_says_its_place(backend: Backend, ledger: Ledger) -> None:
    run(backend, BEFORE[type(backend)])
    assert ledger.recorder.moved_to() == "/srv/it's 100% C:\\x"
    assert list(ledger.find_damage()) == []
    with pytest.raises(Refused, match="has moved to"):
        append(ledger, ("session/a", entered()))


def test_what_was_closed_twice_says_the_later_place(backend: Backend, ledger: Ledger) -> None:
    run(backend, BEFORE[type(backend)])
    with ledger.recorder.held() as close_for_good:
        close_for_good("/srv/elsewhere")
    assert ledger.recorder.moved_to() == "/srv/elsewhere"
    assert list(ledger.find_damage()) == []


def test_who_plays_a_replicas_part_writes_nothing_into_it(tmp_path: Path, postgres: str) -> None:
    """As a superuser may: only triggers that are ENABLE ALWAYS fire for such a session. No reader is waited on."""
    backend = Postgres(tmp_path)
    ledger = backend.create()
    append(ledger, ("session/a", opened("a")))
    try:
        with connect(os.environ[URL]) as reader:
            reader.execute(f"BEGIN; SELECT * FROM {backend.schema}.events")
            with ledger.recorder.held() as close_for_good:
                close_for_good("/srv/elsewhere")
        with pytest.raises(Exception, match="has moved to /srv/elsewhere"):
            backend.execute(
                "SET session_replication_role = replica;"
                " INSERT INTO events SELECT 2, 'x', 1, topic, state, chain FROM events"
            )
        assert backend.execute("SELECT count(*) FROM events") == [(1,)]
    finally:
        ledger.close()
        backend.drop()
