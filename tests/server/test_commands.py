"""The `tht` command on a workspace whose ledger is on PostgreSQL: the same commands, the same answers."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.cli.conftest import Tht, hash_embedder, tht
from tests.postgres import connect

__all__ = ["hash_embedder", "tht"]  # fixtures
SECRET = "s3cret-pässword"


@pytest.fixture
def url(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """THT_LEDGER_URL with a password, which this server does not ask for."""
    parts = urlsplit(database)
    with_password = urlunsplit(parts._replace(netloc=f"postgres:{SECRET}@"))
    monkeypatch.setenv("THT_LEDGER_URL", with_password)
    return with_password


@pytest.fixture
def folder() -> Path:
    return Path(os.environ["THT_HOME"]) / "default"


def worked(tht: Tht) -> None:
    """Two memories, one declined candidate."""
    tht.session("s1", ("ablation", "counted once a patient"), ("cardioversion", "never with ablation"), ("ward", "x"))
    tht.promote("s1", 1)
    tht.promote("s1", 2)
    tht.json("memory", "decline", "--session", "s1", "--seq", "3", "--reviewer", "human:ada")


def test_a_workspace_is_made_with_its_ledger_on_the_server(tht: Tht, url: str, folder: Path) -> None:
    assert not tht.json("init")["already"]
    assert tht.json("init")["already"]
    assert not (folder / "ledger.sqlite3").exists()
    config = (folder / "config.toml").read_text("utf-8")
    assert "postgresql://postgres@/" in config
    assert SECRET not in config
    assert stat.S_IMODE((folder / "config.toml").stat().st_mode) == 0o600
    worked(tht)
    assert [one["id"] for one in tht.json("registry", "list")["memories"]] == ["mem-0001", "mem-0002"]
    assert (folder / "views.sqlite3").exists()


def test_everything_that_looks_at_it_works_and_tells_no_password(tht: Tht, url: str) -> None:
    worked(tht)
    tht.json("index", "rebuild")
    said = [
        tht("status"),
        tht("status", "--json"),
        tht("doctor"),
        tht("doctor", "--json"),
        tht("verify"),
        tht("ledger", "verify"),
        tht("ledger", "head"),
        tht("ledger", "log"),
        tht("projection", "status"),
        tht("projection", "rebuild"),
        tht("projection", "verify"),
        tht("index", "verify"),
        tht("audit", "session", "s1"),
        tht("memory", "search", "ablation"),
        tht("config", "list"),
        tht("config", "get", "ledger.url"),
    ]
    for one in said:
        assert one.code == 0, one
        assert SECRET not in one.out + one.err
    status = tht.json("status")
    assert status["ledger"]["place"].startswith("postgresql://***@/")
    assert status["ledger"]["place"].endswith("schema tht_default")
    checks = {check["name"]: check for check in tht.json("doctor")["checks"]}
    assert checks["ledger"]["state"] == checks["ledger lock"]["state"] == "ok"
    assert checks["ledger server"]["state"] == "warn"  # the tests' server does without fsync
    assert "fsync" in checks["ledger server"]["what"]


def test_init_tells_where_the_ledger_is_and_refuses_another_one(
    tht: Tht, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """To say "it is there already" of another place than the one asked for would split a team in two."""
    worked(tht)
    position = tht.json("ledger", "head")["position"]
    joined = tht("--home", str(tmp_path / "second"), "init")
    assert f"schema tht_default, at position {position}" in " ".join(joined.out.split())
    assert SECRET not in joined.out
    assert "is there already" in tht("init", "--ledger-url", url).out
    monkeypatch.delenv("THT_LEDGER_URL")
    tht.json("--home", str(tmp_path / "own"), "init")
    refused = tht("--home", str(tmp_path / "own"), "init", "--ledger-url", url, "--json")
    assert (refused.code, refused.error["type"]) == (1, "Refused")
    assert "ledger copy --to URL --move" in refused.error["hint"]


def test_without_the_variable_the_kept_setting_leads_to_the_same_ledger(
    tht: Tht, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(tht)
    head = tht.json("ledger", "head")
    monkeypatch.delenv("THT_LEDGER_URL")
    assert tht.json("ledger", "head") == head
    monkeypatch.setenv("PGHOST", "/nowhere")  # libpq's own variables fill in what the URL leaves open
    monkeypatch.setenv("PGPASSWORD", "not asked for")
    assert tht.json("ledger", "head") == head


def test_a_second_home_joins_the_ledger_that_is_there(
    tht: Tht, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(tht)
    head = tht.json("ledger", "head")
    monkeypatch.setenv("THT_HOME", str(tmp_path / "second"))
    assert tht.refused("registry", "list", code=3) == "NoHome"
    monkeypatch.delenv("THT_LEDGER_URL")
    assert tht.json("init", "--ledger-url", url)["ledger_id"] == head["ledger_id"]
    assert tht.json("ledger", "head") == head
    assert len(tht.json("registry", "list")["memories"]) == 2


def test_a_dry_run_makes_nothing_on_the_server(tht: Tht, url: str) -> None:
    said = tht("session", "open", "s1", "--question", "why?", "--dry-run", "--actor", "agent:coder-1")
    assert said.code == 0, said
    with connect(url) as db:
        assert db.execute("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'tht%'").fetchall() == []


def test_a_home_keeps_to_its_ledger(tht: Tht, url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a setting nor a file that comes to lie there leads it to another one."""
    worked(tht)
    person = ("--actor", "human:ada")
    assert tht.refused("config", "set", "ledger.url", "postgresql:///elsewhere", *person, code=3)
    assert tht.refused("config", "set", "ledger.url", "http://localhost", *person, code=2) == "InvalidInput"
    assert tht.refused("config", "unset", "ledger.url", *person) == "Refused"
    assert tht.refused("config", "set", "ledger.url", url, "--actor", "agent:coder-1") == "ReviewerNeeded"
    assert tht.json("config", "set", "ledger.url", url, *person)["origin"] == "environment"
    with connect(url) as db:
        db.execute("UPDATE tht_default.about SET ledger_id = 'another'")
    assert tht.refused("ledger", "head") == "OtherHistory"
    (folder / "ledger.sqlite3").touch()
    assert tht.refused("ledger", "head") == "Refused"


def test_a_file_and_the_variable_are_not_mixed_up(tht: Tht, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worked(tht)
    head = tht.json("ledger", "head")
    monkeypatch.setenv("THT_LEDGER_URL", database)
    said = tht("ledger", "head")
    assert said.code == 1
    assert "tht ledger copy" in said.err
    monkeypatch.delenv("THT_LEDGER_URL")
    assert tht.json("ledger", "head") == head


def test_a_schema_that_is_gone_is_damage_and_no_new_ledger(tht: Tht, url: str) -> None:
    worked(tht)
    with connect(url) as db:
        db.execute("DROP SCHEMA tht_default CASCADE")
    for command in (["ledger", "head"], ["registry", "list"], ["init"]):
        assert tht.refused(*command, code=3) == "LedgerDamaged"


def test_export_and_import_between_the_engines(
    tht: Tht, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-27: byte-equal both ways."""
    worked(tht)
    tht.json("export", tmp_path / "one.jsonl")
    monkeypatch.delenv("THT_LEDGER_URL")
    monkeypatch.setenv("THT_HOME", str(tmp_path / "second"))
    tht.json("import", tmp_path / "one.jsonl", "--actor", "human:ada")
    tht.json("export", tmp_path / "two.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    monkeypatch.setenv("THT_HOME", str(tmp_path / "third"))
    tht.json("--workspace", "third", "init", "--ledger-url", url)
    tht.json("--workspace", "third", "import", tmp_path / "two.jsonl", "--actor", "human:ada")
    tht.json("--workspace", "third", "export", tmp_path / "three.jsonl")
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "three.jsonl").read_bytes()
    assert tht("--workspace", "third", "verify").code == 0


def test_backup_and_restore(tht: Tht, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A backup is a file on every engine, tells nothing of the server, and comes back on either."""
    worked(tht)
    tht.json("config", "set", "ledger.url", url, "--actor", "human:ada")
    made = tht.json("backup", tmp_path / "one.zip")
    assert SECRET.encode() not in (tmp_path / "one.zip").read_bytes()
    assert b"postgresql" not in (tmp_path / "one.zip").read_bytes()
    tht.json("session", "open", "s2", "--question", "more?", "--actor", "agent:coder-1")
    assert tht.refused("restore", tmp_path / "one.zip") == "LongerHistory"
    tht.json("backup", tmp_path / "two.zip")
    assert tht.json("restore", tmp_path / "two.zip")["appended"] == 0

    monkeypatch.delenv("THT_LEDGER_URL")
    monkeypatch.setenv("THT_HOME", str(tmp_path / "file"))
    assert tht.json("restore", tmp_path / "one.zip")["made"]
    assert tht.json("ledger", "head")["head"] == made["chain"]
    assert tht.json("restore", tmp_path / "two.zip")["appended"] == 1
    assert tht("verify").code == 0

    monkeypatch.setenv("THT_LEDGER_URL", url)
    monkeypatch.setenv("THT_HOME", str(tmp_path / "server"))
    monkeypatch.setenv("THT_WORKSPACE", "again")
    assert tht.json("restore", tmp_path / "one.zip", "--dry-run")["made"]
    assert tht.refused("ledger", "head", code=3) == "NoHome"
    assert tht.json("restore", tmp_path / "one.zip")["made"]
    assert tht.json("ledger", "head")["head"] == made["chain"]
    assert tht.json("restore", tmp_path / "two.zip")["appended"] == 1
    assert tht("verify").code == 0
    monkeypatch.setenv("THT_HOME", str(tmp_path / "stopped"))  # as if it had been killed before the home had joined
    assert "tht init joins it" in tht("restore", tmp_path / "two.zip").err
    tht.json("init")
    assert tht.json("restore", tmp_path / "two.zip")["appended"] == 0
    tht.json("session", "open", "s3", "--question", "more?", "--actor", "agent:coder-1")
    assert tht.refused("restore", tmp_path / "two.zip") == "LongerHistory"


def test_a_node_follows_what_others_write(tht: Tht, url: str, tmp_path: Path) -> None:
    """`tht projection follow` in a process of its own says each position; an interrupt ends it without a fault."""
    worked(tht)
    head = tht.json("ledger", "head")["position"]
    assert tht.json("projection", "wait", head)["position"] == head
    assert tht.refused("projection", "wait", head + 1, "--timeout", "0.2", code=3) == "LedgerUnavailable"
    follower = subprocess.Popen(
        [sys.executable, "-c", "from cli.main import main; main()", "projection", "follow", "--json"],
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert follower.stdout is not None
        assert json.loads(follower.stdout.readline()) == {"position": head}
        tht.json("session", "open", "s2", "--question", "more?", "--actor", "agent:coder-1")
        assert json.loads(follower.stdout.readline()) == {"position": head + 1}
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=30)
    finally:
        follower.kill()
        follower.wait()
    assert (follower.returncode, said) == (0, "")


def test_erased_text_is_readable_nowhere(tht: Tht, url: str, tmp_path: Path) -> None:
    """S-13 on this engine: the key is gone from the server, positions and chain stay."""
    worked(tht)
    tht.json("index", "rebuild")
    before = tht.json("ledger", "head")
    with connect(url) as db:
        keys = dict(db.execute("SELECT position, key FROM tht_default.seals").fetchall())
    tht.json("erase", "mem-0001", "--actor", "human:ada", "--reason", "asked for", "--yes")
    with connect(url) as db:
        left = dict(db.execute("SELECT position, key FROM tht_default.seals").fetchall())
    assert 0 < len(keys) - len(left) <= 3
    assert tht.json("ledger", "head")["position"] > before["position"]
    tht.json("export", tmp_path / "after.jsonl")
    assert "counted once a patient" not in (tmp_path / "after.jsonl").read_text("utf-8")
    assert "counted once a patient" not in json.dumps(tht.json("ledger", "log", "--limit", "500"))
    assert tht("verify").code == 0
    kept = f"{before['position']}:{before['head']}"
    assert tht("ledger", "verify", "--head", kept).code == 0


def test_a_server_that_goes_away_is_said_to_be_in_every_command(
    tht: Tht, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worked(tht)
    monkeypatch.setenv("THT_LEDGER_URL", urlunsplit(urlsplit(url)._replace(query="host=/nowhere/at/all")))
    for command in (["registry", "list"], ["status"], ["session", "open", "s9", "--question", "why?"]):
        said = tht(*command, "--json")
        assert said.code == 3, said
        assert said.error["type"] == "LedgerUnavailable"
        assert SECRET not in said.err
    said = tht("doctor", "--json")
    told = {one["name"]: one for one in json.loads(said.out)["checks"]}
    assert (said.code, told["ledger"]["state"], told["home"]["state"]) == (1, "broken", "ok"), said
    assert "does not answer" in told["ledger"]["what"]


def test_settings_are_looked_at_and_mended_while_the_ledger_is_out_of_reach(
    tht: Tht, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the one way to mend an address would be an editor."""
    worked(tht)
    monkeypatch.delenv("THT_LEDGER_URL")
    config = Path(os.environ["THT_HOME"]) / "default" / "config.toml"
    right = tht.json("config", "get", "ledger.url")["value"]
    wrong = urlunsplit(urlsplit(url)._replace(path="/nowhere"))
    config.write_text(re.sub(r'"postgresql:[^"]*"', f'"{wrong}"', config.read_text()))
    assert tht.refused("status", code=3) == "LedgerUnavailable"
    assert tht.json("config", "list")["settings"]
    assert "/nowhere" in tht.json("config", "get", "ledger.url")["value"]
    assert tht.json("config", "set", "index.wait", "1")["value"] == 1
    assert tht.refused("config", "set", "ledger.url", f"{wrong}-either", code=3) == "LedgerUnavailable"
    assert tht.json("config", "set", "ledger.url", url)["value"] == right
    assert tht.json("status")["ledger"]["position"] > 0
