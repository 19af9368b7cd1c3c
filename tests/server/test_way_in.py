"""A server that is there and refuses is told from one that is away: at once, in whatever language it speaks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from adapters.ledger_copy import copy_ledger_to
from adapters.ledger_place import postgres_recorder
from adapters.postgres_errors import begins_or_ends, explain, was_refused
from adapters.workspace import create_workspace
from domain.errors import LedgerUnavailable
from tests.postgres import connect, cut_connections, server


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """The URL of a server, without login, at which `ada` needs her password and nobody else is asked for one."""
    with server() as url:
        with connect(url) as db:
            db.execute("CREATE ROLE ada LOGIN PASSWORD 's3cret'")
            db.execute("GRANT CREATE ON DATABASE postgres TO ada")
            rules = Path(db.execute("SHOW hba_file").fetchone()[0])
            rules.write_text(
                f"local all ada scram-sha-256\nhost all ada all scram-sha-256\n{rules.read_text()}", encoding="utf-8"
            )
            db.execute("SELECT pg_reload_conf()")
        yield url


def way(url: str, login: str, database: str = "postgres") -> str:
    """The same server by another way in."""
    parts, found = urlsplit(url), conninfo_to_dict(url)
    if parts.query:
        return f"postgresql://{login}@/{database}?{urlencode({'host': found['host']})}"
    return f"postgresql://{login}@{found['host']}:{found['port']}/{database}"


@pytest.mark.parametrize(
    ("login", "database"),
    [("ada:wrong", "postgres"), ("ada", "postgres"), ("ada:s3cret", "nowhere"), ("nobody", "postgres")],
    ids=["a wrong password", "no password", "no such database", "no such role"],
)
def test_who_is_refused_is_told_so_at_once(
    guarded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: str, database: str
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    url = way(guarded, login, database)
    begun = time.monotonic()
    recorder = postgres_recorder("default", url, {})
    for attempt in (recorder.head, lambda: recorder.held().__enter__()):
        with pytest.raises(LedgerUnavailable, match="does not let us in") as refused:
            attempt()
        assert "does not answer" not in refused.value.message
        assert all(one in refused.value.hint for one in ("THT_LEDGER_URL", "PGPASSWORD", "~/.pgpass", "postgres.md"))
        assert "wrong" not in refused.value.message.replace("password authentication", "")
        assert "s3cret" not in refused.value.message
    recorder.close()
    assert time.monotonic() - begun < 8
    with create_workspace(tmp_path / "home", "default") as workspace:
        with pytest.raises(LedgerUnavailable, match="does not let us in"):
            copy_ledger_to(workspace, url, move=True)
        assert workspace.ledger.recorder.moved_to() == ""


def test_who_has_the_password_is_let_in(guarded: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PGPASSWORD", "s3cret")
    recorder = postgres_recorder("way-in", way(guarded, "ada"), {})
    recorder.create("ledger-1")
    assert recorder.ledger_id() == "ledger-1"
    recorder.close()


def test_who_is_refused_after_it_was_let_in_is_not_kept_waiting(guarded: str) -> None:
    """As a process that serves, when the password is changed: 30 s of patience are for a server that is away."""
    recorder = postgres_recorder("way-in", way(guarded, "ada:s3cret"), {})
    recorder.create("ledger-1")
    with connect(guarded) as db:
        db.execute("ALTER ROLE ada PASSWORD 'another'")
    cut_connections(guarded)
    try:
        begun = time.monotonic()
        with pytest.raises(LedgerUnavailable, match="does not let us in"):
            recorder.head()
        assert time.monotonic() - begun < 15
    finally:
        with connect(guarded) as db:
            db.execute("ALTER ROLE ada PASSWORD 's3cret'")
    assert recorder.head()[0] == 0
    recorder.close()


def test_who_comes_for_the_first_time_while_connections_are_cut_is_let_in(database: str) -> None:
    """The server is there: what was lost right after it was made is made again, and is no server that is away."""
    postgres_recorder("default", database, {}).create("ledger-1")
    stop = threading.Event()

    def cut() -> None:
        while not stop.is_set():
            cut_connections(database)
            time.sleep(0.004)

    cutter = threading.Thread(target=cut)
    cutter.start()
    try:
        for _ in range(150):
            recorder = postgres_recorder("default", database, {})
            assert recorder.head()[0] == 0
            recorder.close()
    finally:
        stop.set()
        cutter.join()


def failure(url: str) -> psycopg.OperationalError:
    with pytest.raises(psycopg.OperationalError) as raised:
        psycopg.connect(url, connect_timeout=5)
    return raised.value


def test_it_is_no_matter_of_words(guarded: str) -> None:
    """A server says it in its own language."""
    translated = failure(way(guarded, "ada:wrong"))
    translated.args = ("FATAL:  Passwort-Authentifizierung für Benutzer »ada« fehlgeschlagen",)
    assert was_refused(translated)
    assert "does not let us in: FATAL: Passwort" in explain(translated, "the ledger").message


def test_a_failure_from_before_the_server_was_up_is_none(guarded: str) -> None:
    """Of one that starts, the failure may be older than what it says now: whoever is let in was not refused."""
    old = failure(way(guarded, "ada:wrong"))
    with connect(guarded) as db:
        db.execute("ALTER ROLE ada PASSWORD 'wrong'")
    try:
        assert not was_refused(old)
        assert "does not answer" in explain(old, "the ledger").message
    finally:
        with connect(guarded) as db:
            db.execute("ALTER ROLE ada PASSWORD 's3cret'")


def test_a_server_that_is_full_is_not_one_that_refuses(guarded: str) -> None:
    """Another try may get in."""
    with connect(guarded) as db:
        db.execute("ALTER ROLE ada CONNECTION LIMIT 0")
    try:
        full = failure(way(guarded, "ada:s3cret"))
        assert "too many connections" in str(full)
        assert begins_or_ends(full)
        assert not was_refused(full)
    finally:
        with connect(guarded) as db:
            db.execute("ALTER ROLE ada CONNECTION LIMIT -1")
