"""The ledger's tables on SQLite, and the triggers that make it append-only.

The keys of sealed text are the one thing that may be deleted, and never changed: that is what erasing is.
"""

from __future__ import annotations

from adapters.recorder import MOVED

BEFORE_SEALING = (
    """CREATE TABLE IF NOT EXISTS events (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        originator_id TEXT NOT NULL,
        originator_version INTEGER NOT NULL,
        topic TEXT NOT NULL,
        state BLOB NOT NULL,
        chain BLOB NOT NULL,
        UNIQUE (originator_id, originator_version)
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS head (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        position INTEGER NOT NULL,
        chain BLOB NOT NULL
    ) STRICT""",
    """CREATE TABLE IF NOT EXISTS idempotency (
        key TEXT PRIMARY KEY,
        first INTEGER NOT NULL,
        last INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS about (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        ledger_id TEXT NOT NULL
    ) STRICT""",
    """CREATE TRIGGER IF NOT EXISTS events_stay BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    """CREATE TRIGGER IF NOT EXISTS events_last BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    # INSERT OR REPLACE deletes without firing the trigger above
    """CREATE TRIGGER IF NOT EXISTS events_new BEFORE INSERT ON events WHEN EXISTS (
            SELECT 1 FROM events WHERE position = NEW.position
            UNION ALL SELECT 1 FROM events
                WHERE originator_id = NEW.originator_id AND originator_version = NEW.originator_version
        ) BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: this place is taken'); END""",
    """CREATE TRIGGER IF NOT EXISTS keys_new BEFORE INSERT ON idempotency
        WHEN EXISTS (SELECT 1 FROM idempotency WHERE key = NEW.key)
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: this key is taken'); END""",
    """CREATE TRIGGER IF NOT EXISTS keys_stay BEFORE UPDATE ON idempotency
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
    """CREATE TRIGGER IF NOT EXISTS keys_last BEFORE DELETE ON idempotency
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END""",
)

SEALS = (
    """CREATE TABLE IF NOT EXISTS seals (
        position INTEGER PRIMARY KEY,
        record TEXT NOT NULL,
        about TEXT NOT NULL,
        key BLOB NOT NULL
    ) STRICT""",
    "CREATE INDEX IF NOT EXISTS seals_record ON seals (record)",
    "CREATE INDEX IF NOT EXISTS seals_about ON seals (about) WHERE about <> ''",
    """CREATE TRIGGER IF NOT EXISTS seals_new BEFORE INSERT ON seals
        WHEN EXISTS (SELECT 1 FROM seals WHERE position = NEW.position)
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: this event is sealed'); END""",
    """CREATE TRIGGER IF NOT EXISTS seals_stay BEFORE UPDATE ON seals
        BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: a key is kept or destroyed'); END""",
)

SCHEMA = (*BEFORE_SEALING, *SEALS)

CLOSING = "events_moved"  # the trigger that closes a ledger for good


def closing_trigger(to: str) -> str:
    """What closes a ledger that has moved `to`. Not a sign of it changes: what is closed is compared with it."""
    said = f"{MOVED}{to}".replace("'", "''")
    return f"""CREATE TRIGGER {CLOSING} BEFORE INSERT ON events
                    BEGIN SELECT RAISE(ABORT, '{said}'); END"""
