"""A strange environment, clock, path or pipe changes nothing of what is recorded."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import create_workspace, open_workspace
from tests.contracts.ledgers import predictable
from tests.crash.soundness import ADA, CODER, assert_index_follows, assert_sound, clarification, open_home
from tests.environment.command import ROOT, tht, tht_process, worked

STRAY = {
    "CIPHER_KEY": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
    "CIPHER_TOPIC": "eventsourcing.cipher:AESCipher",
    "COMPRESSOR_TOPIC": "zlib",
    "MAPPER_TOPIC": "eventsourcing.persistence:Mapper",
    "TRANSCODER_TOPIC": "no.such:Transcoder",
    "PERSISTENCE_MODULE": "eventsourcing.popo",
    "SQLITE_DBNAME": ":memory:",
    "SQLITE_LOCK_TIMEOUT": "0",
    "IS_SNAPSHOTTING_ENABLED": "yes",
    "CREATE_TABLE": "no",
    "ORIGINATOR_ID_TYPE": "text",
    "PYTHONOPTIMIZE": "2",
    "TZ": "Pacific/Apia",
    "LC_ALL": "C",
    "COLUMNS": "7",
}
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def stored(home: Path) -> list[tuple[object, ...]]:
    with sqlite3.connect(home / "default" / "ledger.sqlite3") as db:
        rows = db.execute("SELECT position, originator_id, topic, state, chain FROM events ORDER BY 1").fetchall()
    db.close()
    return rows


def record(home: Path) -> None:
    with create_workspace(home, "default", lambda: NOON) as workspace:
        workspace.ledger.mapper.chance = predictable()
        Sessions(workspace).open("s", "che cos'è l'ablazione?", CODER)
        Sessions(workspace).record("s", clarification("ablazione", "Ἀφαίρεσις — «così»"), CODER)


@pytest.mark.parametrize("prefix", ["", "THT_LEDGER_", "LEDGER_"])
def test_stray_settings_of_the_library_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    record(tmp_path / "plain")
    for name, value in STRAY.items():
        monkeypatch.setenv(f"{prefix}{name}", value)
    record(tmp_path / "stray")
    assert stored(tmp_path / "stray") == stored(tmp_path / "plain")


def test_stray_settings_in_a_process(home: Path) -> None:
    before = stored(home)
    rows = worked(tht_process("session", "list", "--json", environment=STRAY)).json["sessions"]
    assert [row["session_id"] for row in rows] == ["done", "waiting"]
    worked(tht_process("session", "retract", "waiting", "1", "--actor", "human:ada", environment=STRAY))
    assert stored(home)[: len(before)] == before
    worked(tht("ledger", "verify"))


def test_clock_that_goes_backwards(tmp_path: Path) -> None:
    """Positions give the order, not times: a session recorded before its opening's time is read as it happened."""
    hours = iter(range(100, 0, -1))
    with create_workspace(tmp_path, "default", lambda: NOON + timedelta(hours=next(hours))) as workspace:
        workspace.config.set("embedder.model", "hash:64")
        Sessions(workspace).open("s", "when?", CODER)
        Sessions(workspace).record("s", clarification("first"), CODER)
        Sessions(workspace).record("s", clarification("second"), CODER)
        Sessions(workspace).enter("s", "F8", CODER)
        review = Review(workspace)
        for one in review.preview("s").candidates:
            review.save_one("s", one.candidate.seq, one.candidate.revision, ADA)
        assert_sound(workspace)
        assert_index_follows(workspace)
        times = [envelope.at for envelope in workspace.ledger.page(0)]
        assert times == sorted(times, reverse=True)
        subjects = [one.subject for one in Sessions(workspace).get("s").decisions]
        assert subjects == ["first", "second"]


@pytest.mark.parametrize("name", ["with space", "ἀρχή è 漢字", "a'b\"c;d", "percent%20?mode=memory", "-leading"])
def test_home_on_a_path_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    home = tmp_path / name / "home"
    monkeypatch.setenv("THT_HOME", str(home))
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    worked(tht("session", "open", "s", "--question", "where?", "--actor", "agent:coder-1"))
    worked(tht("projection", "rebuild"))
    worked(tht("index", "rebuild"))
    worked(tht("verify"))
    assert {one.name for one in home.iterdir()} == {"default"}
    assert (home / "default" / "ledger.sqlite3").stat().st_size > 4096
    with open_workspace(home, "default") as workspace:
        assert workspace.ledger.head().position == 1


def test_home_and_user_unset(home: Path, tmp_path: Path) -> None:
    """With THT_HOME all that matters is given; without it and without HOME there is a clear answer, too."""
    nobody = {"HOME": None, "USER": None, "LOGNAME": None, "USERNAME": None, "XDG_DATA_HOME": None}
    worked(tht_process("session", "list", environment=nobody))
    ran = tht_process("session", "list", environment={"HOME": str(tmp_path / "nowhere"), "THT_HOME": None})
    assert ran.code == 3
    assert "init" in ran.err


def shell(line: str) -> subprocess.CompletedProcess[str]:
    tht_line = f"{sys.executable} -c 'from cli.main import main; main()'"
    return subprocess.run(
        ["sh", "-c", line.replace("tht", tht_line)],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.posix
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_closed_streams(home: Path, closed: str) -> None:
    """What was recorded is recorded, whoever can still be told; and no traceback."""
    before = len(stored(home))
    ran = shell(f"tht session open another --question 'is anybody there?' --actor agent:coder-1 {closed}")
    assert "Traceback" not in ran.stdout + ran.stderr
    assert "Exception ignored" not in ran.stderr
    assert ran.returncode in (0, 1, 3), ran
    assert len(stored(home)) == before + 1
    shell(f"tht session list {closed}")
    with open_home(home) as workspace:
        assert_sound(workspace)


@pytest.mark.posix
def test_broken_pipe(home: Path) -> None:
    with open_home(home) as workspace:
        for number in range(300):
            Sessions(workspace).open(f"s-{number}", "a question " * 40, CODER)
    ran = shell("tht session list --limit 300 --json | head -c 10")
    assert ran.stdout.startswith('{"sessions')
    assert ran.stderr == ""
