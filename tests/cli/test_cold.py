"""What people run all day starts quickly: a command loads what it shows, and the folding of events only for events."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from projections.declared import declared_tables
from tests.cli.workbench import Bench, modules_of

if TYPE_CHECKING:
    from tests.cli.conftest import Tht

FOLDING = {one.folded_by.rpartition(".")[0] for one in declared_tables()}
GATE = {"adapters.sessions", "adapters.review", "adapters.curation", "domain.promotion"}
COMPARING = {"adapters.facts", "domain.propose", "domain.conflict", "domain.opposites"}
RECALL = {"adapters.recalling", "projections.recall.engine", "projections.recall.named_times"}
GUIDANCE = {"domain.policy_events", "domain.notes", "domain.hot", "domain.belief"}
NEAR_WORDS = {"difflib"}

# command, the views that it reads, what it has no use for
COMMANDS = [
    (("audit", "session", "s1"), {"timeline"}, GATE | COMPARING | RECALL | GUIDANCE | {"domain.memory"}),
    (("session", "show", "s1"), set(), GATE | COMPARING | RECALL | GUIDANCE | {"domain.memory"}),
    (("registry", "list"), {"registry"}, GATE | COMPARING | RECALL | GUIDANCE),
    (("memory", "list"), {"registry"}, GATE | COMPARING | RECALL | GUIDANCE),
    (("fact", "list"), {"counters", "access", "notes"}, GATE | COMPARING | RECALL | {"domain.belief"}),
    (("fact", "search", "ablazione", "--mode", "keyword"), None, GATE | COMPARING),
    (("memory", "search", "ablazione", "--mode", "keyword"), None, GATE | COMPARING),
    (("status",), {"registry"}, GATE | COMPARING | RECALL | GUIDANCE | {"projections.invariants"}),
]


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    made = Bench(tmp_path / "home", tht)
    made.one_memory()
    made.ok("registry", "list")  # brings the views to the ledger's head
    return made


@pytest.mark.parametrize(("command", "views", "useless"), COMMANDS, ids=[" ".join(one[0]) for one in COMMANDS])
def test_a_command_loads_no_more_than_it_shows(
    bench: Bench, command: tuple[str, ...], views: set[str] | None, useless: set[str]
) -> None:
    loaded = modules_of(*command)
    assert "rich" in loaded
    assert not loaded & (useless | NEAR_WORDS)
    if views is not None:
        assert FOLDING & loaded == {f"projections.{name}" for name in views}


def test_json_needs_no_terminal(bench: Bench) -> None:
    assert "rich" not in modules_of("audit", "session", "s1", "--json")


NOSY = """
class Plugin:
    def new_schema_validator(self, *_, **__):
        return None, None, None
plugin = Plugin()
"""


def test_plugins_of_pydantic_are_looked_for_only_on_request(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "site" / "nosy-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: nosy\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text("[pydantic]\nnosy = nosy:plugin\n", "utf-8")
    (metadata.parent / "nosy.py").write_text(NOSY, "utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(metadata.parent), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYDANTIC_DISABLE_PLUGINS", raising=False)
    assert "nosy" not in modules_of("session", "show", "s1")
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "others")
    assert "nosy" in modules_of("session", "show", "s1")
