"""The way to the server: lost in the worst moment, refused, held by others, and never telling a password."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import OperationalError
from psycopg import OperationalError as ConnectionLost

from adapters import postgres_connection
from adapters.config import Config, without_password
from adapters.ledger import Ledger
from adapters.ledger_place import postgres_recorder
from adapters.postgres import PostgresRecorder
from adapters.postgres_connection import Connections
from adapters.postgres_schema import schema_of
from domain.errors import HomeNotWritable, InvalidInput, LedgerUnavailable, Refused
from tests.contracts.ledgers import Postgres, append, entered, opened, ticking
from tests.postgres import connect


@pytest.fixture
def backend(tmp_path: Path, postgres: str) -> Iterator[Postgres]:
    made = Postgres(tmp_path)
    yield made
    made.drop()


@pytest.fixture
def ledger(backend: Postgres) -> Iterator[Ledger]:
    made = backend.create()
    append(made, ("session/a", opened("a")))
    yield made
    made.close()


def lost() -> OperationalError:
    """As the library raises it when the connection is gone."""
    error = OperationalError("the connection is closed")
    error.__cause__ = ConnectionLost("the connection is closed")
    return error


def test_a_commit_whose_answer_was_lost_is_recorded_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is asked what became of the transaction; the command is neither done again nor doubted."""
    real: Callable[..., None] = Connections._write_once
    losses = [1]

    def answer_lost(self: Connections, *given: Any) -> None:
        real(self, *given)
        if losses:
            losses.pop()
            raise lost()

    monkeypatch.setattr(Connections, "_write_once", answer_lost)
    assert append(ledger, ("session/a", entered())).position == 2
    assert losses == []
    assert append(ledger, ("session/a", entered())).position == 3
    assert [one.version for one in ledger.load("session/a")] == [1, 2, 3]
    assert list(ledger.find_damage()) == []


def test_a_server_that_takes_over_without_what_was_written_is_not_believed(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transaction of the same number was somebody else's, and was committed."""
    real = Connections._write_once
    losses = [1]

    def cut_off(self: Connections, work: Callable[[Any], Any], number: list[str], done: list[Any]) -> None:
        def lost_then(cursor: Any) -> None:
            done.append(work(cursor))
            losses.pop()
            raise lost()

        real(self, lost_then if losses else work, number, [] if losses else done)

    monkeypatch.setattr(Connections, "_write_once", cut_off)
    monkeypatch.setattr(postgres_connection, "_status_of", lambda *_: "committed")
    assert append(ledger, ("session/a", entered())).position == 2
    assert losses == []
    assert [one.version for one in ledger.load("session/a")] == [1, 2]
    assert list(ledger.find_damage()) == []


def test_a_connection_that_is_lost_inside_a_transaction_is_a_transaction_more(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends it after the events are written and before they are committed."""
    real = PostgresRecorder._put
    losses = [1, 1]

    def ended(self: PostgresRecorder, cursor: Any, rows: Any) -> None:
        real(self, cursor, rows)
        if losses:
            losses.pop()
            with connect() as db:
                db.execute("SELECT pg_terminate_backend(%s)", (cursor.connection.info.backend_pid,))

    monkeypatch.setattr(PostgresRecorder, "_put", ended)
    assert append(ledger, ("session/a", entered()), ("session/b", opened("b"))).position == 3
    assert losses == []
    assert ledger.head().position == 3
    assert list(ledger.find_damage()) == []


@pytest.mark.parametrize(("status", "told"), [(None, "may have been recorded"), ("aborted", "")])
def test_what_the_server_does_not_know_any_more_is_said_and_what_it_never_had_is_done_again(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, status: str | None, told: str
) -> None:
    """A server that was killed recovers without the numbers of transactions that had not come to its log."""
    recorder = ledger.recorder
    assert isinstance(recorder, PostgresRecorder)
    assert not recorder.connections._was_committed("99999999", lambda: True)
    monkeypatch.setattr(postgres_connection, "_status_of", lambda *_: status)
    if told:
        with pytest.raises(LedgerUnavailable, match="does not know any more") as unsure:
            recorder.connections._was_committed("7", lambda: True)
        assert told in unsure.value.hint
    else:
        assert not recorder.connections._was_committed("7", lambda: True)


def test_when_nobody_can_say_what_became_of_a_command_that_is_said(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    real: Callable[..., None] = Connections._write_once

    def answer_lost(self: Connections, *given: Any) -> None:
        real(self, *given)
        raise lost()

    def away(*_: object) -> str:
        raise LedgerUnavailable("the server does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(Connections, "_write_once", answer_lost)
        patched.setattr(PostgresRecorder, "select_events", lambda *_, **__: [])
        patched.setattr(postgres_connection, "_status_of", away)
        with pytest.raises(LedgerUnavailable, match="the connection was lost while") as told:
            append(ledger, ("session/b", opened("b")))
        assert "--idempotency-key" in told.value.hint
    assert ledger.head().position == 2


def test_a_server_that_is_away_is_said_to_be() -> None:
    with socket.socket() as nobody:  # bound, and not listening
        nobody.bind(("127.0.0.1", 0))
        url = f"postgresql://ada:s3cret@127.0.0.1:{nobody.getsockname()[1]}/tht"
        recorder = postgres_recorder("default", url, {})
        begun = time.monotonic()
        with pytest.raises(LedgerUnavailable, match=r"does not answer.*refused") as told:
            recorder.head()
        assert time.monotonic() - begun < postgres_connection.FIRST_PATIENCE
        assert "s3cret" not in told.value.message + told.value.hint
        assert told.value.exit_code == 3
        recorder.close()


def test_a_ledger_that_is_held_for_too_long_is_said_to_be(
    backend: Postgres, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "LOCK_TIMEOUT", 1)
    impatient = backend.reopen()
    recorder = ledger.recorder
    assert isinstance(recorder, PostgresRecorder)
    assert not recorder.is_held()
    with recorder.held():
        assert recorder.is_held()
        with pytest.raises(HomeNotWritable, match="stayed locked"):
            append(impatient, ("session/b", opened("b")))
        assert len(impatient.page(0)) == 1
    assert append(impatient, ("session/b", opened("b"))).position == 2
    impatient.close()


def test_without_the_extra_a_file_works_and_a_url_says_what_is_missing() -> None:
    script = "import sys; sys.modules['psycopg'] = None; from cli.main import main; main(['init'])"
    for url, code, said in (("", 0, "ledger"), ("postgresql:///tht", 3, "thoth-memory[postgres]")):
        home = f"{os.environ['THT_HOME']}-{code}"
        environment = os.environ | {"THT_HOME": home} | ({"THT_LEDGER_URL": url} if url else {})
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == code, done.stderr
        assert said in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["POSTGRES_ENABLE_DB_FUNCTIONS", "THT_POSTGRES_ENABLE_DB_FUNCTIONS"])
def test_the_librarys_way_without_the_table_lock_is_refused(name: str) -> None:
    """ledger.md, fact 3: with it, whoever follows the ledger loses events."""
    for value in ("y", "1", "true"):
        with pytest.raises(Refused, match=f"{name} is set"):
            postgres_recorder("default", "postgresql://localhost/tht", {name: value})
    for value in ("", "n", "no", "false", "0"):
        postgres_recorder("default", "postgresql://localhost/tht", {name: value}).close()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CIPHER_KEY", "YmJiYmJiYmJiYmJiYmJiYg=="),
        ("COMPRESSOR_TOPIC", "eventsourcing.compressor:ZlibCompressor"),
        ("MAPPER_TOPIC", "eventsourcing.persistence:Mapper"),
        ("POSTGRES_SCHEMA", "elsewhere"),
        ("POSTGRES_DBNAME", "elsewhere"),
        ("POSTGRES_ORIGINATOR_ID_TYPE", "uuid"),
        ("CREATE_TABLE", "no"),
    ],
)
def test_the_environment_does_not_change_what_is_stored(
    tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """ledger.md, fact 9."""
    stored = []
    for folder, change in (("plain", False), ("stray", True)):
        if change:
            monkeypatch.setenv(name, value)
        made = Postgres(tmp_path / folder)
        one = made.create()
        append(one, ("session/a", opened("a")), ("session/b", opened("b")))
        one.close()
        stored.append(made.execute("SELECT * FROM events ORDER BY position"))
        made.drop()
    assert stored[0] == stored[1]
    assert len(stored[0]) == 2


def test_what_was_acknowledged_is_on_the_servers_disk_however_the_database_is_set_up(
    backend: Postgres, ledger: Ledger
) -> None:
    (name,) = backend.execute("SELECT current_database()")[0]
    backend.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    backend.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
    try:
        assert backend.execute("SHOW synchronous_commit") == [("off",)]
        other = backend.reopen()
        recorder = other.recorder
        assert isinstance(recorder, PostgresRecorder)
        attempt = recorder.connections.attempt
        assert attempt(lambda cursor: cursor.execute("SHOW synchronous_commit").fetchone()) == ("on",)
        assert attempt(lambda cursor: cursor.execute("SHOW transaction_isolation").fetchone()) == ("read committed",)
        other.close()
    finally:
        backend.execute(f"ALTER DATABASE {name} RESET synchronous_commit")
        backend.execute(f"ALTER DATABASE {name} RESET default_transaction_isolation")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("standard_conforming_strings", "off"),  # spoils bytes on their way, without a word
        ("bytea_output", "escape"),
        ("search_path", "evil, pg_catalog"),
        ("idle_in_transaction_session_timeout", "1"),
        ("idle_session_timeout", "300"),
        ("statement_timeout", "300"),
        ("default_transaction_isolation", "'repeatable read'"),
    ],
)
def test_however_server_and_role_are_set_up_what_is_recorded_is_sound(
    backend: Postgres, ledger: Ledger, name: str, value: str
) -> None:
    (database,) = backend.execute("SELECT current_database()")[0]
    backend.execute("CREATE SCHEMA evil")
    backend.execute("CREATE FUNCTION evil.max(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 7::bigint'")
    backend.execute("CREATE FUNCTION evil.pg_current_xact_id() RETURNS text LANGUAGE sql AS $$SELECT '1'$$")
    backend.execute(f"ALTER DATABASE {database} SET {name} = {value}")
    try:
        other = backend.reopen()
        append(other, ("session/b", opened("b")))
        if name == "statement_timeout":
            assert isinstance(other.recorder, PostgresRecorder)
            other.recorder.connections.attempt(lambda cursor: cursor.execute("SELECT pg_sleep(0.6)"))
        time.sleep(0.6)
        append(other, ("session/c", opened("c")))
        other.close()
    finally:
        backend.execute(f"ALTER DATABASE {database} RESET {name}")
        backend.execute("DROP SCHEMA evil CASCADE")
    assert list(ledger.find_damage()) == []
    assert ledger.head().position == 3


def test_a_writer_that_stands_still_in_the_middle_lets_the_others_in(
    backend: Postgres, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a process that was stopped, or a machine that sleeps: its session ends, and it goes on once it is awake."""
    assert postgres_connection.STILL < postgres_connection.LOCK_TIMEOUT, "the others would give up waiting"
    monkeypatch.setattr(postgres_connection, "STILL", 2)
    monkeypatch.setattr(postgres_connection, "PATIENCE", 1.0)  # being stopped for longer uses none of it up
    slow, other = backend.reopen(), backend.reopen()
    tries: list[int] = []

    def late() -> int:
        tries.append(slow.recorder.max_notification_id())
        if len(tries) == 1:
            append(other, ("session/b", opened("b")))
        return slow.recorder.max_notification_id()

    begun = time.monotonic()
    assert slow.recorder.undisturbed(late) == 2
    assert time.monotonic() - begun > postgres_connection.PATIENCE
    assert tries == [1, 2]
    append(slow, ("session/c", opened("c")))
    assert list(ledger.find_damage()) == []
    slow.close()
    other.close()


def test_a_schema_that_somebody_else_uses_is_left_alone(database: str) -> None:
    with connect(database) as db:
        db.execute("CREATE SCHEMA tht_default CREATE TABLE notes (x int)")
    recorder = postgres_recorder("default", database, {})
    with pytest.raises(Refused, match="schema tht_default is not empty: it has the table notes"):
        recorder.create("an id")
    recorder.close()


def test_a_workspace_has_a_schema_of_its_own() -> None:
    names = ["default", "Default", "a.b", "a-b", "a_b", "Ärzte", "ärzte", "x" * 100, "x" * 99]
    schemas = [schema_of(name) for name in names]
    assert len(set(schemas)) == len(names)
    assert schemas[0] == "tht_default"
    assert all(len(schema.encode()) <= 63 and schema.isascii() and schema == schema.lower() for schema in schemas)


def test_the_clock_is_passed_in(backend: Postgres) -> None:
    made = backend.create()
    made.clock = ticking()
    assert append(made, ("session/z", opened("z"))).envelopes[0].at == ticking()()
    made.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ada:s3cret@db.example:5433/tht?sslmode=require", "postgresql://***@db.example:5433/tht?***"),
        ("postgresql://db.example/tht", "postgresql://db.example/tht"),
        ("postgresql:///tht?host=/run/pg&password=s3cret", "postgresql:///tht?***"),
        ("postgres://ada:s3cret@/tht", "postgres://***@/tht"),
        ("postgresql://", "postgresql://"),
        ("postgresql://ada:s3#cr?et[1]@db.example/tht", "postgresql://***@db.example/tht"),
        ("postgresql://ada:s3cret@a.example:1,[::1]:2,%2Frun/tht", "postgresql://***@a.example:1,[::1]:2,%2Frun/tht"),
        ("postgresql://?service=s3cret", "postgresql://?***"),
    ],
)
def test_a_setting_is_shown_without_its_secrets(tmp_path: Path, url: str, shown: str) -> None:
    config = Config.load(tmp_path / "config.toml", {"THT_LEDGER_URL": url})
    assert config.value("ledger.url") == url
    assert config.shown("ledger.url").value == shown
    assert config.shown("ledger.url").origin == "environment"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ada:s3cr/et@db.example/tht",
        "postgresql://ada:s3cr@et@db.example/tht",
        "postgresql://ada:s3/cr?et@db.example/tht",
        "postgresql://ada:s3cr%zz@db.example/tht",
        "postgresql://ada:s3cr%00@db.example/tht",
        "postgresql://ada:s3cr et@db.example/tht",
        " postgresql://ada:s3cret@db.example/tht",
        "postgresql://ada:s3cret@db.example/tht\n",
        "POSTGRESQL://ada:s3cret@db.example/tht",
        "postgresql://ada:s3cret@[::1/tht",
        "host=db.example user=ada password=s3cret",
    ],
)
def test_a_url_that_libpq_would_read_otherwise_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    config = Config.load(tmp_path / "config.toml", {"THT_LEDGER_URL": url})
    with pytest.raises(InvalidInput) as refused:
        config.value("ledger.url")
    said = f"{refused.value.message} {refused.value.hint}"
    assert not [piece for piece in ("s3", "cret", "et@") if piece in said]


def test_a_password_with_odd_signs_is_not_kept() -> None:
    kept = without_password("postgresql://ada:s3#cr?et@db.example/tht?sslmode=require&password=s3cret&%70assword=a")
    assert kept == "postgresql://ada@db.example/tht?sslmode=require"
