"""tht index: status, rebuild, verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adapters.hash_embedder import HashEmbedder
from projections.index.points import point_id
from projections.index.port import Point
from projections.tables.registry import MEMORIES
from tests.cli.workbench import Bench

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def add_orphan(bench: Bench) -> None:
    """A point whose memory is not in the ledger, as a fault elsewhere would leave it."""
    from adapters.qdrant_edge import EdgeStore

    index = EdgeStore(bench.folder / "index").current()
    assert index is not None
    with index:
        vector = HashEmbedder().embed_query("orfano")
        payload = {"ref": "memory:mem-0099", "kind": "memory", "content_hash": "x", "chunk": 0, "position": 1}
        index.upsert([Point(point_id("memory:mem-0099", 0), vector, payload)])


def test_status_before_and_after_a_rebuild(bench: Bench) -> None:
    bench.one_memory()
    before = bench.json("index", "status")
    assert before["coverage"] is None
    assert "tht index rebuild" in before["problem"]
    assert bench.json("index", "rebuild") == {"points": 1, "embedded": 1, "cached": 0, "notice": ""}
    after = bench.json("index", "status")
    one, none = {"covered": 1, "live": 1}, {"covered": 0, "live": 0}
    assert after["coverage"] == {**one, "memories": one, "facts": none}
    assert (after["lag"], after["problem"]) == (0, "")


def test_a_second_rebuild_embeds_nothing(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("index", "rebuild")
    assert bench.json("index", "rebuild") == {"points": 1, "embedded": 0, "cached": 1, "notice": ""}


def test_another_model_is_said_and_a_rebuild_makes_the_index_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-14: a changed model neither stops anything nor loses anything."""
    bench.one_memory()
    bench.ok("index", "rebuild")
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash:64")
    assert "another model" in bench.json("index", "status")["problem"]
    assert bench.json("verify")["ok"]
    assert bench.json("index", "rebuild")["embedded"] == 1
    assert bench.json("index", "status")["model"] == "hash:64"
    assert bench.json("index", "status")["problem"] == ""


def test_s01_an_index_point_without_a_record_is_found_and_a_rebuild_removes_it(bench: Bench) -> None:
    """S-01, S-06: verify, index verify and doctor all name the orphan."""
    bench.one_memory()
    bench.ok("index", "rebuild")
    add_orphan(bench)
    for command in (("index", "verify"), ("verify",)):
        (found,) = bench.json(*command, code=1)["findings"]
        assert (found["level"], found["where"], found["mend"]) == ("index", "orphan", "tht index rebuild")
        assert "mem-0099" in found["what"]
    assert bench.json("verify", "--no-index")["ok"]
    checks = bench.json("doctor", code=1)["checks"]
    assert any(check["state"] == "broken" and "mem-0099" in check["what"] for check in checks)
    bench.ok("index", "rebuild")
    assert bench.json("verify")["ok"]
    checks = bench.json("doctor")["checks"]
    assert any(check["what"] == "zero index points without a live record" for check in checks)


def test_the_index_is_compared_with_the_ledger_not_with_a_drifted_view(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("index", "rebuild")
    bench.tamper(bench.views, f"DELETE FROM {MEMORIES}")
    assert bench.json("index", "verify")["ok"]
    told = bench.json("verify", code=1)
    assert {finding["level"] for finding in told["findings"]} == {"view"}


def test_an_index_that_is_merely_behind_is_no_drift(bench: Bench) -> None:
    bench.one_memory()
    bench.ok("index", "rebuild")
    bench.clarify("s1", "cardioversione", "ripristino del ritmo sinusale")
    bench.promote("s1", 2)
    told = bench.json("verify")
    assert told["ok"]
    assert any("waiting for it: 1 memory" in note for note in told["notes"])


def test_s46_a_locked_index_is_a_note_and_no_drift(bench: Bench) -> None:
    """S-46: another process holds the embedded index."""
    from adapters.qdrant_edge import EdgeStore

    bench.one_memory()
    bench.ok("index", "rebuild")
    bench.ok("config", "set", "index.wait", "0")
    held = EdgeStore(bench.folder / "index").current()
    assert held is not None
    with held:
        told = bench.json("verify")
        assert told["ok"]
        assert any("in use" in note for note in told["notes"])
        assert "in use" in bench.json("status")["index"]["problem"]
        assert bench.json("doctor")["ok"]
