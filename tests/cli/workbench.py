"""A home of its own in which tests give real `tht` commands, and the means to damage what lies there."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eventsourcing.persistence import StoredEvent

from adapters.sqlite import LedgerRecorder
from domain.event import stream_id
from domain.text import canonical_json

if TYPE_CHECKING:
    from tests.cli.conftest import Said, Tht

ANNA, BRUNO = "human:anna", "human:bruno"


@dataclass
class Bench:
    """The commands of conftest's `tht`, and where their home is."""

    home: Path
    tht: Tht

    @property
    def folder(self) -> Path:
        return self.home / "default"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.sqlite3"

    @property
    def views(self) -> Path:
        return self.folder / "views.sqlite3"

    def run(self, *arguments: str) -> Said:
        return self.tht(*arguments)

    def ok(self, *arguments: str) -> str:
        result = self.run(*arguments)
        assert result.code == 0, f"{arguments}: {result}"
        return result.out

    def json(self, *arguments: str, code: int = 0) -> Any:
        result = self.run(*arguments, "--json")
        assert result.code == code, f"{arguments}: {result}"
        return result.json

    def error(self, *arguments: str, code: int = 1) -> dict[str, str]:
        result = self.run(*arguments, "--json")
        assert result.code == code, f"{arguments}: {result}"
        return result.error

    # -- stories

    def clarify(self, session_id: str, subject: str, detail: str, *more: str, by: str = ANNA) -> int:
        said = ("--type", "concept_clarified", "--subject", subject, "--detail", detail, *more)
        done = self.json("session", "record", session_id, *said, "--actor", by)
        seq: int = done["seq"]
        return seq

    def promote(self, session_id: str, seq: int, *more: str, by: str = BRUNO) -> str:
        page = self.json("memory", "promote", "--session", session_id, "--preview")
        revision = next(one["revision"] for one in page["candidates"] if one["seq"] == seq)
        chosen = ("--session", session_id, "--seq", str(seq), "--revision", revision)
        saved = self.json("memory", "save-one", *chosen, "--reviewer", by, *more)
        memory_id: str = saved["memory_id"]
        return memory_id

    def one_memory(self) -> str:
        """Session s1 of anna, with one clarification that bruno approved; the views are caught up."""
        self.ok("session", "open", "s1", "--question", "Quante ablazioni per anno?", "--actor", ANNA)
        self.clarify("s1", "ablazione", "procedura con ablazione_transcatetere = TRUE")
        memory_id = self.promote("s1", 1)
        self.ok("registry", "list")
        return memory_id

    # -- damage

    def tamper(self, path: Path, statement: str, *parameters: object) -> None:
        """Change a database as nobody should, its triggers out of the way."""
        db = sqlite3.connect(path)
        with db:
            triggers = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            assert db.execute(statement, parameters).rowcount > 0
            for _, sql in triggers:
                db.execute(sql)
        db.close()

    def poison(self, stream: str, version: int) -> int:
        """Record a soundly chained event that this program has never heard of; returns its position."""
        state = {
            "actor": "tool:future",
            "at": "2027-01-01T00:00:00.000000Z",
            "corr": "future",
            "data": {},
            "key": "",
            "reason": "",
            "role": "",
            "stream": stream,
            "v": 1,
        }
        event = StoredEvent(stream_id(stream), version, "session.thing-unheard-of", canonical_json(state).encode())
        recorder = LedgerRecorder(self.ledger)
        try:
            (position,) = recorder.insert_events([event]) or ()
        finally:
            recorder.close()
        return position


def imported_by(*arguments: str) -> set[str]:
    """The top-level modules that one command loads, in a process of its own."""
    return {name.partition(".")[0] for name in modules_of(*arguments)}


def modules_of(*arguments: str) -> set[str]:
    """Every module that one command loads, in a process of its own."""
    script = (
        "import sys\nfrom cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        "print()\nprint(' '.join(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


HEAVY = {"torch", "sentence_transformers", "transformers", "qdrant_client", "qdrant_edge", "numpy"}
