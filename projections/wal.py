"""Write-ahead logging for a SQLite file that several processes may open for the first time at once."""

from __future__ import annotations

import sqlite3
import time


def use_wal(db: sqlite3.Connection, wait: float) -> None:
    """Switch to WAL, trying for `wait` seconds: SQLite itself does not wait for another process that does the same."""
    deadline = time.monotonic() + wait
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
        time.sleep(0.01)
