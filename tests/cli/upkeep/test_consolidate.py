"""`tht consolidate` merges what says the same: told with its sources, and undone whole. S-39, S-43."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.consolidate import Consolidate
from adapters.facts import Facts
from adapters.ledger import By
from adapters.undo import Undo
from adapters.workspace import create_workspace
from domain.errors import NothingChanged
from domain.event import iso_utc
from domain.propose import NewFact
from tests.cli.conftest import Tht
from tests.cli.knowledge import answered, live_facts, planted, propose_all
from tests.cli.upkeep.conftest import A1, A2, A3, ADA, FRANKFURT, idle, opened, propose, sound, status


def test_a_merge_is_an_event_with_sources_and_is_undone(tht: Tht, home: Path) -> None:
    """S-43: consolidation destroys nothing."""
    keeper = propose(tht, FRANKFURT, "staging cluster", A1)
    loser = propose(tht, f"«{FRANKFURT.upper()}».", "staging", A2)
    other = propose(tht, "The staging cluster runs in Berlin", "cluster", A3)
    with opened(home) as workspace:
        before = live_facts(workspace)
    ran = tht.json("consolidate", "--reason", "weekly")
    assert ran["merged"] == [[loser, keeper]]
    shown = tht.json("fact", "show", loser)
    assert (shown["status"], shown["superseded_by"], shown["ended_for"]) == ("superseded", keeper, "merge")
    assert (shown["ended_by"], shown["ended_reason"]) == (ADA, "weekly")
    assert status(tht, keeper) == status(tht, other) == "live"
    idle(tht, "consolidate")
    undone = tht.json("consolidate", "--undo", ran["run_id"])
    assert undone["left"] == []
    with opened(home) as workspace:
        assert live_facts(workspace) == before
    assert tht.refused("consolidate", "--undo", ran["run_id"]) == "NothingChanged"
    assert tht.refused("consolidate", "--undo", "run-nobody") == "UnknownRun"
    assert tht.refused("harmonize", "--undo", ran["run_id"]) == "UnknownRun"
    sound(tht)


def test_what_only_looks_alike_is_not_merged(tht: Tht) -> None:
    """S-39: numbers, names and denials differ; S-37: so do topics of two subjects."""
    for text in ("The timeout is 30 seconds", "The timeout is 45 seconds", "The timeout is not 30 seconds"):
        propose(tht, text, f"timeouts {text[-9:]}", A1)
    propose(tht, "The port is 8080", "billing", A1)
    propose(tht, "The port is 8080", "search", A2)
    idle(tht, "consolidate")
    told = {check["name"]: check for check in tht.json("doctor")["checks"]}
    assert "fact supersede" in told["restated"]["mend"]


def test_a_dry_run_says_it_all_and_records_nothing(tht: Tht) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    position = tht.position()
    would = tht.json("consolidate", "--dry-run")
    assert would["dry_run"]
    assert len(would["merged"]) == 1
    assert tht.position() == position
    assert tht.json("consolidate")["merged"] == would["merged"]
    ran = tht.json("audit", "log", "--kind", "upkeep_run")
    position = tht.position()
    assert tht.json("consolidate", "--undo", run_id(ran), "--dry-run")["dry_run"]
    assert tht.position() == position


def run_id(log: Any) -> str:
    return str(log["events"][-1]["stream"]).removeprefix("upkeep/")


def test_a_retry_returns_the_run_that_was_recorded(tht: Tht) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    first = tht.json("consolidate", "--idempotency-key", "k1")
    propose(tht, "Backups run nightly", "backups", A1)
    propose(tht, "backups run nightly", "backup", A2)
    again = tht.json("consolidate", "--idempotency-key", "k1")
    assert again["already"]
    assert (again["run_id"], again["merged"]) == (first["run_id"], first["merged"])
    assert len(tht.json("consolidate")["merged"]) == 1
    undone = tht.json("consolidate", "--undo", first["run_id"], "--idempotency-key", "k2")
    assert tht.json("consolidate", "--undo", first["run_id"], "--idempotency-key", "k2") == undone | {"already": True}


def test_a_merge_takes_nothing_from_what_a_question_finds(tht: Tht, home: Path) -> None:
    """S-43: an old keeper is as fresh as what was merged into it, and found by the words of every label."""
    strong = ("--confidence", "0.9", "--type", "request")
    with opened(home_of(tht, home), timedelta(days=-20)) as workspace:
        new = NewFact(FRANKFURT, "cluster", A1, confidence=0.9, memory_type="request")
        keeper = Facts(workspace).propose("ops", new, By(A1))[0].fact_id
    loser = propose(tht, FRANKFURT, "cluster for rehearsals", A2, "--type", "request")
    others = [propose(tht, f"Rehearsals of talk {n} are held in room {n}", f"talk {n}", A3, *strong) for n in range(4)]
    before = found(tht, "Where do rehearsals run? Which cluster?")
    assert before[0] == loser
    ran = tht.json("consolidate")
    assert ran["merged"] == [[loser, keeper]]
    after = found(tht, "Where do rehearsals run? Which cluster?")
    assert after[0] == keeper
    assert set(after) == {keeper, *others}
    sound(tht)
    with opened(home, timedelta(days=300)) as workspace, pytest.raises(NothingChanged):
        Consolidate(workspace).run(By(ADA))
    tht.json("consolidate", "--undo", ran["run_id"])
    assert found(tht, "Where do rehearsals run? Which cluster?")[0] == loser
    sound(tht)


def home_of(tht: Tht, home: Path) -> Path:
    tht.json("init")
    return home


def found(tht: Tht, question: str) -> list[str]:
    return [str(one["id"]) for one in tht.json("fact", "search", question, "--limit", "9")["hits"]]


def test_questions_are_answered_no_worse_after_consolidation_and_undo_restores_all(tmp_path: Path) -> None:
    """It must show 4, small; the benchmark does it with 10,000 facts, 2,000 restatements and 200 questions."""
    story = planted(1000, 200, 50)
    with create_workspace(tmp_path / "many", "default") as workspace:
        propose_all(workspace, tmp_path, story)
        at = iso_utc(workspace.clock())
        before, live = answered(workspace, story.questions, at), live_facts(workspace)
        assert sum(before) > 45, "the questions can be answered at all"
        ran = Consolidate(workspace).run(By(ADA))
        assert len(ran.did["merged"]) == story.restated
        after = answered(workspace, story.questions, at)
        assert all(new >= old for new, old in zip(after, before, strict=True))
        assert Undo(workspace).run(ran.run_id, By(ADA)).left == ()
        assert live_facts(workspace) == live
