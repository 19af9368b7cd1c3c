"""tht projection: list, status, replay, rebuild, verify; drift, parked streams, other histories."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import projections.loop
from projections.declared import make_views
from tests.cli.workbench import ANNA, HEAVY, Bench, imported_by

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def test_list_and_status_name_every_view(bench: Bench) -> None:
    bench.one_memory()
    listed = bench.json("projection", "list")["projections"]
    status = bench.json("projection", "status")["projections"]
    assert [one["name"] for one in listed] == [one["name"] for one in status]
    assert [one["name"] for one in listed] == [view.name for view in make_views()]
    assert all(one["about"] and one["tables"] for one in listed)
    assert bench.error("projection", "status", "regsitry")["type"] == "UnknownProjection"
    assert bench.error("projection", "verify", "regsitry")["type"] == "UnknownProjection"


def test_status_tells_the_lag_as_found_and_replay_ends_it(bench: Bench) -> None:
    bench.one_memory()
    position = bench.json("ledger", "head")["position"]
    bench.views.unlink()
    for _ in range(2):  # looking at it does not move it
        assert {one["lag"] for one in bench.json("projection", "status")["projections"]} == {position}
    planned = bench.json("projection", "replay", "registry", "--dry-run")
    assert planned["followed"] == ["registry"]
    assert planned["events"] == position
    bench.ok("projection", "replay", "registry")
    lags = {one["name"]: one["lag"] for one in bench.json("projection", "status")["projections"]}
    assert (lags.pop("registry"), set(lags.values())) == (0, {position})
    bench.ok("projection", "replay")
    assert {one["lag"] for one in bench.json("projection", "status")["projections"]} == {0}
    assert "at the head" in bench.ok("projection", "replay")


@pytest.mark.parametrize(
    ("statement", "view"),
    [
        ("UPDATE registry_v2_memories SET detail = 'altro'", "registry"),
        ("DELETE FROM timeline_v5_events WHERE position = 2", "timeline"),
        ("UPDATE decisions_v1_decisions SET standing = 'stale' WHERE seq = 1", "decisions"),
        ("INSERT INTO registry_v2_text (registry_v2_text, rowid, words, stems)"
         " SELECT 'delete', number, words, stems FROM registry_v2_memories",
         "registry"),
        ("INSERT INTO registry_v2_text (rowid, words) VALUES (77, 'una parola che nessuno ha detto')", "registry"),
    ],
)  # fmt: skip
def test_tampered_rows_are_found_and_a_rebuild_mends_them(bench: Bench, statement: str, view: str) -> None:
    bench.one_memory()
    bench.tamper(bench.views, statement)
    told = bench.json("verify", code=1)
    assert {finding["mend"] for finding in told["findings"]} == {f"tht projection rebuild {view}"}
    assert not bench.json("projection", "verify", view, code=1)["ok"]
    others = [one for one in ("decisions", "registry", "timeline") if one != view]
    assert bench.json("projection", "verify", *others)["ok"]
    bench.ok("projection", "rebuild", view)
    assert bench.json("verify")["ok"]


def test_a_view_of_another_history_is_refused_until_it_is_rebuilt(bench: Bench, tmp_path: Path) -> None:
    """A restored backup: the ledger is shorter than what the views have seen, then goes on differently."""
    bench.ok("session", "open", "s1", "--question", "q", "--actor", ANNA)
    shutil.copy(bench.ledger, tmp_path / "old.sqlite3")
    bench.clarify("s1", "ablazione", "una procedura")
    bench.ok("session", "list")
    for rest in ("-wal", "-shm"):
        bench.ledger.with_name(bench.ledger.name + rest).unlink(missing_ok=True)
    shutil.copy(tmp_path / "old.sqlite3", bench.ledger)
    said = bench.error("session", "list")
    assert said["type"] == "OtherHistory"
    assert "ahead of its ledger" in said["message"]
    assert said["hint"].endswith("tht projection rebuild")
    assert "ahead" in bench.json("status")["projections"][0]["problem"]
    bench.ok("session", "record", "s1", "--type", "table_promoted", "--subject", "t", "--detail", "d", "--actor", ANNA)
    assert "another history" in bench.error("session", "list")["message"]
    told = bench.json("verify", code=1)
    assert {one["mend"].rpartition(" ")[0] for one in told["findings"]} == {"tht projection rebuild"}
    bench.ok("projection", "rebuild")
    assert bench.json("verify")["ok"]
    assert bench.json("session", "list")["total"] == 1


def test_a_poison_event_parks_its_stream_and_no_other(bench: Bench) -> None:
    bench.one_memory()
    position = bench.poison("session/s1", 100)
    bench.ok("session", "open", "s2", "--question", "q2", "--actor", ANNA)
    assert [one["session_id"] for one in bench.json("session", "list")["sessions"]] == ["s1", "s2"]
    for one in bench.json("status")["projections"]:
        assert one["lag"] == 0
        assert [(parked["stream"], parked["position"]) for parked in one["parked"]] == [("session/s1", position)]
        assert "unknown event" in one["parked"][0]["error"]
    assert "session/s1" in bench.ok("status")
    told = bench.json("verify", code=1)
    assert {finding["level"] for finding in told["findings"]} == {"ledger", "view"}
    doctor = bench.json("doctor", code=1)
    assert any(check["state"] == "broken" and "parked" in check["what"] for check in doctor["checks"])


def test_a_rebuild_fails_fast_at_a_poison_event_and_keeps_the_old_view(bench: Bench) -> None:
    bench.one_memory()
    bench.poison("session/s1", 100)
    bench.ok("session", "open", "s2", "--question", "q2", "--actor", ANNA)
    before = bench.json("session", "list")
    for command in (("projection", "rebuild"), ("projection", "replay")):
        said = bench.error(*command)
        assert said["type"] == "PoisonEvent"
        assert "session.thing-unheard-of" in said["message"]
        assert "session/s1" in said["message"]
    assert bench.json("session", "list") == before


def test_replay_rebuilds_a_view_whose_parked_stream_can_be_applied_now(bench: Bench) -> None:
    """As after an upgrade: the view passed over a stream that this program understands."""
    bench.one_memory()
    bench.tamper(bench.views, "DELETE FROM decisions_v1_decisions")
    bench.tamper(bench.views, "INSERT INTO parked VALUES ('decisions', 1, 'session/s1', 2, 'what an older tht said')")
    assert bench.json("projection", "replay", "--dry-run")["rebuilt"] == ["decisions"]
    assert bench.json("projection", "replay")["rebuilt"] == ["decisions"]
    assert bench.json("verify")["ok"]


def test_a_stopped_rebuild_leaves_the_old_view(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.one_memory()
    before = bench.json("audit", "log")

    def stop(copy: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(projections.loop, "_check_copy", stop)
        result = bench.run("projection", "rebuild")
    assert result.code == 1
    assert "stopped" in result.err
    assert bench.json("audit", "log") == before
    assert bench.json("verify")["ok"]
    assert not list(bench.folder.glob("views.rebuild*"))


@pytest.mark.parametrize("page", ["all but the first", "one table's"])
def test_a_damaged_views_file_is_made_anew(bench: Bench, page: str) -> None:
    bench.one_memory()
    db = sqlite3.connect(bench.views)
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'registry_v2_memories'").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    content = bytearray(bench.views.read_bytes())
    spot = slice((root - 1) * size, root * size) if page == "one table's" else slice(size, len(content))
    content[spot] = b"\xa5" * len(content[spot])
    bench.views.write_bytes(bytes(content))
    assert "tht projection rebuild" in bench.error("registry", "list", code=3)["hint"]
    assert bench.json("verify", code=1)["findings"][0]["level"] == "view"
    bench.ok("projection", "rebuild")
    assert bench.json("verify")["ok"]


def test_dry_run_rebuilds_nothing(bench: Bench) -> None:
    bench.one_memory()
    bench.tamper(bench.views, "UPDATE registry_v2_memories SET detail = 'altro'")
    assert bench.json("projection", "rebuild", "--dry-run")["dry_run"]
    assert not bench.json("projection", "verify", code=1)["ok"]


def test_projection_loads_neither_model_nor_index(bench: Bench) -> None:
    bench.one_memory()
    for command in (("projection", "rebuild"), ("projection", "verify"), ("projection", "status")):
        assert not imported_by(*command) & HEAVY
