"""What may give trouble where the ledger is kept: the file and its disk, or the server and what it promises."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from adapters.checks import Check
from adapters.recorder import Recorder
from adapters.sqlite import LedgerRecorder

if TYPE_CHECKING:
    from adapters.postgres import PostgresRecorder


def check_ledger(recorder: Recorder) -> Iterator[Check]:
    """What the engine says about the tables; the chain is verify's business."""
    verify = "tht ledger verify says where; tht --workspace NAME restore FILE brings a backup back"
    found = recorder.integrity()
    if found:
        yield Check("ledger", "broken", found[0], verify)
    elif isinstance(recorder, LedgerRecorder):
        yield Check("ledger", "ok", "SQLite finds the file sound; tht ledger verify checks its chain")
    else:
        yield Check("ledger", "ok", f"{recorder.place}; tht ledger verify checks its chain")


def check_lock(recorder: Recorder) -> Iterator[Check]:
    """Whether somebody holds the ledger, and whether it keeps what it acknowledges."""
    if isinstance(recorder, LedgerRecorder):
        if gone := recorder.moved_to():
            mend = "open the workspace there; a move that was stopped goes on: tht ledger copy --to URL --move"
            yield Check("ledger lock", "broken", _closed(gone), mend)
        else:
            yield _file_lock(recorder.path)
    else:
        from adapters.postgres import PostgresRecorder

        assert isinstance(recorder, PostgresRecorder)
        yield from _server(recorder)


def _closed(gone: str) -> str:
    return f"closed for good: it has moved to {gone}, and what is recorded there is not seen here"


def _file_lock(path: Path) -> Check:
    """WAL lets readers and a writer work at the same time; some network disks refuse it. Also: who holds a lock."""
    db = sqlite3.connect(path, timeout=0.2, isolation_level=None)
    try:
        mode = str(db.execute("PRAGMA journal_mode").fetchone()[0])
        db.execute("BEGIN IMMEDIATE")
        db.execute("ROLLBACK")
    except sqlite3.Error as error:
        mend = "wait for the other process, or find out why it hangs; no lock outlives its process"
        return Check("ledger lock", "warn", f"{path.name}: {error}", mend)
    finally:
        db.close()
    if mode != "wal":
        return Check("ledger lock", "warn", f"journal mode {mode}, not WAL", "keep the home on a local disk")
    return Check("ledger lock", "ok", "nobody holds the ledger; WAL")


def _server(recorder: PostgresRecorder) -> Iterator[Check]:
    settings = recorder.settings()
    off = [name for name in ("fsync", "full_page_writes") if settings[name] == "off"]
    if off:
        what = f"{' and '.join(off)} off on the server: what it acknowledges may not survive a power cut"
        yield Check("ledger server", "warn", what, f"ALTER SYSTEM SET {off[0]} = on, then reload")
    else:
        yield Check("ledger server", "ok", f"PostgreSQL {settings['server_version']}")
    if gone := recorder.moved_to():
        yield Check("ledger lock", "broken", _closed(gone), "open the workspace there")
    elif recorder.is_held():
        mend = "wait for the other process, or find out why it hangs; no lock outlives its connection"
        yield Check("ledger lock", "warn", "another process holds the ledger", mend)
    else:
        yield Check("ledger lock", "ok", "nobody holds the ledger")
