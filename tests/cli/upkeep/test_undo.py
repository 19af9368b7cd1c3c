"""Undoing a run: what somebody changed since is left, and a run that died half-way is undone with its end. S-43."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.consolidate import Consolidate
from adapters.ledger import By
from adapters.undo import Undo
from domain.errors import Refused
from domain.upkeep import UpkeepRun
from projections.beliefs import list_runs
from tests.cli.conftest import Tht
from tests.cli.knowledge import live_facts
from tests.cli.upkeep.conftest import A1, A2, A3, ADA, FRANKFURT, opened, propose, sound, status


def test_what_somebody_changed_since_is_left_and_named(tht: Tht) -> None:
    keeper = propose(tht, FRANKFURT, "staging cluster", A1)
    loser = propose(tht, FRANKFURT, "staging", A2)
    tht.json("remember", "The orders table is partitioned", "--importance", "0.9", "--actor", A1)
    ran = tht.json("consolidate")
    ((item, raised),) = ran["raised"]
    tht.json("fact", "restore", loser)
    tht.json("fact", "supersede", loser, "--by", propose(tht, "Staging is gone", "staging", A3))
    propose(
        tht, "the orders table is partitioned", tht.json("fact", "show", raised)["topic"], A2, domain="working-memory"
    )
    undone = tht.json("consolidate", "--undo", ran["run_id"])
    assert set(undone["left"]) == {loser, raised, item}
    assert status(tht, loser) == "superseded"
    assert status(tht, raised) == status(tht, keeper) == "live"
    sound(tht)


def test_a_killed_run_is_finished_by_the_next_and_both_are_undone(
    tht: Tht, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that dies between two transactions leaves what it did recorded, and nothing half done."""
    for number in range(6):
        propose(tht, f"Service s{number} listens on port {9000 + number}", f"service s{number}", A1)
        propose(tht, f"service S{number} listens on port {9000 + number}", f"s{number}", A2)
    monkeypatch.setattr("adapters.upkeep.BATCH", 2)
    with opened(home) as workspace:
        before = live_facts(workspace)
        acts = Consolidate(workspace).plan()
        assert len(acts) == 6

        def dies(part: object) -> None:
            raise Refused("killed")

        monkeypatch.setattr(Consolidate, "plan", lambda self: [*acts[:4], dies])
        with pytest.raises(Refused):
            Consolidate(workspace).run(By(ADA, idempotency_key="k"))
    monkeypatch.undo()
    monkeypatch.setenv("THT_HOME", str(home))
    with opened(home) as workspace:
        ran = Consolidate(workspace).run(By(ADA, idempotency_key="k"))
        assert len(ran.did["merged"]) == 6
        events = [one.event for one in workspace.ledger.page(0, 1000)]
        assert [len(event.merged) for event in events if isinstance(event, UpkeepRun)] == [2, 2, 2]
        assert Undo(workspace).run(ran.run_id, By(ADA)).left == ()
        assert live_facts(workspace) == before
        (row,) = list_runs(workspace.caught_up())
        assert (row.finished, row.did, row.undone_by) == (True, {"merged": 6}, ADA)
    sound(tht)
