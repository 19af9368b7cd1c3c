"""tht ledger: verify, head, log; and what other commands say about a damaged ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.workbench import ANNA, BRUNO, HEAVY, Bench, imported_by

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def test_a_sound_ledger_verifies(bench: Bench) -> None:
    bench.one_memory()
    told = bench.json("ledger", "verify")
    head = bench.json("ledger", "head")
    assert told == {"ok": True, "position": head["position"], "head": head["head"], "findings": []}


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("state = replace(state, 'human:anna', 'human:anne')", None),
        ("topic = ?", "session.table-promoted"),
        ("chain = ?", b"0" * 32),
        ("originator_id = ?", "not a stream id"),
        ("state = ?", b"\xff\xfe"),
    ],
)
def test_a_changed_event_is_found_at_its_position(bench: Bench, change: str, value: object) -> None:
    """Whatever is changed in the event at position 2: verify names it, and no command ends in a traceback."""
    bench.one_memory()
    column = (
        change
        if value is not None
        else "state = CAST(replace(CAST(state AS TEXT), 'human:anna', 'human:anne') AS BLOB)"
    )
    bench.tamper(bench.ledger, f"UPDATE events SET {column} WHERE position = 2", *([] if value is None else [value]))
    for command in (("ledger", "verify"), ("verify",), ("verify", "--ledger-only")):
        told = bench.json(*command, code=1)
        assert not told["ok"]
        assert any(finding["where"] == "position 2" for finding in told["findings"]), told
        assert all("restore FILE" in finding["mend"] for finding in told["findings"])
    bench.views.unlink()  # so that the views have to read the damaged part
    for command in (("session", "list"), ("registry", "list"), ("audit", "log"), ("projection", "rebuild")):
        assert bench.error(*command, code=3)["type"] == "LedgerDamaged"


def test_what_verify_says_mends_a_damaged_ledger_does(bench: Bench, tmp_path: Path) -> None:
    """And a restore does not say that all is there where what is there is damaged."""
    bench.one_memory()
    bench.ok("backup", str(tmp_path / "b.zip"))
    registry = bench.json("registry", "list")
    bench.tamper(bench.ledger, "UPDATE events SET chain = ? WHERE position = 2", b"0" * 32)
    (mend, *_) = {finding["mend"] for finding in bench.json("ledger", "verify", code=1)["findings"]}
    assert mend.startswith("tht --workspace NAME restore FILE ")
    said = bench.error("restore", str(tmp_path / "b.zip"), code=3)
    assert (said["type"], "position 2" in said["message"]) == ("LedgerDamaged", True)
    assert said["hint"] in mend
    bench.ok("--workspace", "name", "restore", str(tmp_path / "b.zip"))
    assert bench.json("--workspace", "name", "verify")["ok"]
    assert bench.json("--workspace", "name", "registry", "list") == registry


@pytest.mark.parametrize("table", ["head", "about"])
def test_a_table_that_lost_its_row_is_said_in_every_command(bench: Bench, table: str) -> None:
    bench.one_memory()
    bench.tamper(bench.ledger, f"DELETE FROM {table}")
    for command in (("ledger", "verify"), ("verify",), ("status",), ("registry", "list"), ("ledger", "head")):
        said = bench.error(*command, code=3)
        assert (said["type"], f"its table {table} is not one row" in said["message"]) == ("LedgerDamaged", True)
    opening = ("session", "open", "s9", "--question", "why?", "--actor", "agent:coder-1")
    assert bench.error(*opening, code=3)["type"] == "LedgerDamaged"


def test_a_byte_flipped_in_the_file_is_found(bench: Bench) -> None:
    bench.one_memory()
    bench.tamper(bench.ledger, "UPDATE head SET position = position")  # checkpoints the write-ahead log on close
    content = bytearray(bench.ledger.read_bytes())
    spot = content.index(b'"database":""')
    content[spot] ^= 0x01
    bench.ledger.write_bytes(bytes(content))
    told = bench.json("ledger", "verify", code=1)
    assert told["findings"][0]["where"] == "position 1"


def test_a_cut_tail_is_noticed_by_a_head_kept_elsewhere(bench: Bench) -> None:
    """What the chain alone cannot prove: the tail, its keys and the head's row are gone together."""
    bench.one_memory()
    kept = bench.ok("ledger", "head").strip()
    assert bench.json("ledger", "verify", "--head", kept)["ok"]
    bench.tamper(bench.ledger, "DELETE FROM events WHERE position > 2")
    told = bench.json("ledger", "verify", code=1)
    assert "cut tail" in told["findings"][0]["what"]
    bench.tamper(bench.ledger, "UPDATE head SET position = 2, chain = (SELECT chain FROM events WHERE position = 2)")
    (found,) = bench.json("ledger", "verify", code=1)["findings"]
    assert "a key to a sealed text and no event" in found["what"]
    bench.tamper(bench.ledger, "DELETE FROM seals WHERE position > 2")
    assert bench.json("ledger", "verify")["ok"]
    (found,) = bench.json("ledger", "verify", "--head", kept, code=1)["findings"]
    assert "cut tail" in found["what"]


def test_a_cut_tail_is_a_clear_error_for_the_views(bench: Bench) -> None:
    bench.one_memory()
    bench.tamper(bench.ledger, "DELETE FROM events WHERE position > 2")
    bench.views.unlink()
    said = bench.error("session", "list", code=3)
    assert said["type"] == "LedgerDamaged"
    assert "cut" in said["message"]


def test_a_rewrite_is_noticed_by_a_head_kept_elsewhere(bench: Bench) -> None:
    bench.one_memory()
    position, _, chain = bench.ok("ledger", "head").strip().partition(":")
    other = f"{position}:{'0' * 63}1"
    (found,) = bench.json("ledger", "verify", "--head", other, code=1)["findings"]
    assert "rewrite" in found["what"]
    assert bench.error("ledger", "verify", "--head", f"{position}:{chain[:8]}", code=2)["type"] == "InvalidInput"


def test_the_log_pages_and_filters_and_shows_whole_payloads(bench: Bench) -> None:
    bench.one_memory()
    told = bench.json("ledger", "log", "--limit", "1", "--offset", "1")
    assert told["total"] == bench.json("ledger", "head")["position"]
    (event,) = told["events"]
    assert (event["position"], event["stream"], event["version"]) == (2, "session/s1", 2)
    assert event["data"]["detail"] == "procedura con ablazione_transcatetere = TRUE"
    assert {one["stream"] for one in bench.json("ledger", "log", "--stream", "session")["events"]} == {"session/s1"}
    assert [one["name"] for one in bench.json("ledger", "log", "--kind", "memory_promoted")["events"]] == [
        "session.memory-promoted"
    ]
    assert {one["actor"] for one in bench.json("ledger", "log", "--by", BRUNO)["events"]} == {BRUNO}
    assert bench.json("ledger", "log", "--by", ANNA, "--after", "1")["events"][0]["position"] == 2
    assert "go on with --offset 2" in bench.ok("ledger", "log", "--limit", "2")


def test_the_log_shows_an_event_that_does_not_decode(bench: Bench) -> None:
    bench.one_memory()
    position = bench.poison("session/s9", 1)
    (event,) = bench.json("ledger", "log", "--after", str(position - 1))["events"]
    assert (event["name"], event["stream"]) == ("session.thing-unheard-of", "session/s9")
    assert "unknown event" in event["problem"]


def test_ledger_loads_neither_model_nor_index(bench: Bench) -> None:
    bench.one_memory()
    for command in (("ledger", "verify"), ("ledger", "log"), ("ledger", "head")):
        assert not imported_by(*command) & HEAVY


def test_ledger_export_is_tht_export(bench: Bench, tmp_path: Path) -> None:
    bench.one_memory()
    bench.ok("ledger", "export", str(tmp_path / "one.jsonl"))
    bench.ok("export", str(tmp_path / "two.jsonl"))
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert "export" in bench.ok("ledger", "--help")
