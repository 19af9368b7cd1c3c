"""Upkeep through the public commands: what it does is told with its sources, and is undone whole. S-39, S-41, S-43."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.consolidate import Consolidate
from adapters.facts import Facts
from adapters.ledger import By
from adapters.locks import alone
from adapters.maintain import Maintain, parse_every
from adapters.undo import Undo
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import InvalidInput, NothingChanged, Refused
from domain.event import iso_utc
from domain.propose import NewFact
from domain.upkeep import UpkeepRun
from projections.beliefs import list_runs
from tests.cli.conftest import Tht
from tests.cli.knowledge import answered, live_facts, planted, propose_all

A1, A2, A3, ADA = "agent:a1", "agent:a2", "agent:a3", "human:ada"
FRANKFURT = "The staging cluster runs in Frankfurt"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("THT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("THT_ACTOR", ADA)
    return tmp_path / "home"


@contextmanager
def opened(home: Path, later: timedelta = timedelta(0)) -> Iterator[Workspace]:
    """The workspace, with a clock that is ahead."""
    with open_workspace(home, "default", lambda: datetime.now(UTC) + later) as workspace:
        yield workspace


def propose(tht: Tht, content: str, topic: str, actor: str, *more: str, domain: str = "ops") -> str:
    where = ("--domain", domain, "--topic", topic, "--actor", actor)
    return str(tht.json("fact", "propose", content, *where, *more)["fact_id"])


def status(tht: Tht, fact_id: str) -> str:
    return str(tht.json("fact", "show", fact_id)["status"])


def sound(tht: Tht) -> None:
    said = tht("verify", "--no-index", "--json")
    assert said.code == 0, said


def idle(tht: Tht, what: str, *more: str) -> None:
    """A run that finds nothing to do: it says so, records nothing, and has not failed."""
    position = tht.position()
    told = tht.json(what, *more)
    assert (told["run_id"], told["what"], told["position"]) == (None, what, 0)
    said = tht(what, *more)
    assert (said.code, said.out.strip()) == (0, f"there is nothing to {what}")
    assert tht.position() == position


# -- consolidate


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


def test_items_expire_or_become_facts_of_whoever_remembered_them(tht: Tht, home: Path) -> None:
    def remember(text: str, *more: str) -> str:
        return str(tht.json("remember", text, *more, "--actor", A1)["item_id"])

    short = remember("check the log", "--ttl", "1h", "--importance", "0.9")
    durable = remember("The orders table is partitioned by month", "--importance", "0.9")
    remember("coffee", "--importance", "0.2")
    propose(tht, "x", "x", A2)
    with opened(home) as workspace:
        before = live_facts(workspace)
    with opened(home, timedelta(hours=2)) as workspace:
        ran = Consolidate(workspace).run(By(ADA))
        assert ran.did["expired"] == (short,)
        (raised,) = ran.did["raised"]
        assert isinstance(raised, tuple)
        item, fact_id = raised
        assert item == durable
    fact = tht.json("fact", "show", fact_id)
    assert (fact["domain"], fact["author"], fact["confidence"]) == ("working-memory", A1, 0.9)
    assert (fact["veracity"], fact["source_observation_ids"]) == ("inferred", [durable])
    assert in_mind(tht) == ["coffee"]
    assert tht.json("consolidate", "--undo", ran.run_id)["left"] == []
    assert sorted(in_mind(tht)) == ["The orders table is partitioned by month", "check the log", "coffee"]
    assert tht.json("fact", "show", fact_id)["ended_for"] == "undone"
    with opened(home) as workspace:
        assert live_facts(workspace) == before
    sound(tht)


def in_mind(tht: Tht) -> list[str]:
    return [one["content"] for one in tht.json("remember", "--list", "--actor", A1)["items"]]


def test_a_mention_that_came_of_raising_is_undone_too(tht: Tht, home: Path) -> None:
    text = "The orders table is partitioned by month"
    fact_id = propose(tht, text, "observation", A2, "--confidence", "0.5", domain="working-memory")
    tht.json("remember", text, "--importance", "0.9", "--type", "observation", "--actor", A1)
    with opened(home) as workspace:
        before = live_facts(workspace)
    ran = tht.json("consolidate")
    assert [fact for _, fact in ran["raised"]] == [fact_id]
    assert tht.json("fact", "show", fact_id)["independent_origins"] == 2
    assert tht.json("consolidate", "--undo", ran["run_id"])["left"] == []
    with opened(home) as workspace:
        assert live_facts(workspace) == before
    sound(tht)


def test_what_ended_or_faded_unused_is_pruned_and_comes_back(tht: Tht, home: Path) -> None:
    ended = propose(tht, "The freeze lasts a week", "freeze", A1, "--valid-until", "2030-01-01T00:00:00Z")
    faded = propose(tht, "Please look at the build", "build", A1, "--type", "request")
    used = propose(tht, "Please look at the tests", "tests", A1, "--type", "request")
    mentioned = propose(tht, "Please look at the docs", "docs", A1, "--type", "request")
    propose(tht, "please look at the docs", "docs", A2)
    wiki = propose(tht, "Please look at the wiki", "wiki", A1, "--type", "request")
    propose(tht, "please look at the wiki!", "wiki page", A2, "--type", "request")
    assert [keeper for _, keeper in tht.json("consolidate")["merged"]] == [wiki]
    lasting = propose(tht, "Ada leads the team", "team", A1, "--type", "profile")
    assert [one["id"] for one in tht.json("fact", "search", "tests", "--mode", "keyword", "--actor", A2)["hits"]] == [
        used
    ]
    with opened(home, timedelta(days=365 * 4)) as workspace:
        ran = Consolidate(workspace).run(By(ADA))
        assert set(ran.did["pruned"]) == {ended, faded}
        with pytest.raises(NothingChanged):
            Consolidate(workspace).run(By(ADA))
    assert {one: status(tht, one) for one in (used, mentioned, wiki, lasting)} == dict.fromkeys(
        (used, mentioned, wiki, lasting), "live"
    )
    causes = [tht.json("fact", "show", one)["ended_for"] for one in (ended, faded)]
    assert causes == ["expired", "decayed"]
    assert tht.json("consolidate", "--undo", ran.run_id)["left"] == []
    assert status(tht, ended) == status(tht, faded) == "live"


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


# -- harmonize


def test_two_authors_make_a_belief_and_a_second_run_none(tht: Tht) -> None:
    one = propose(tht, "Backups run nightly", "backups", A1)
    other = propose(tht, "Backups run nightly on the replica", "backup", A2)
    propose(tht, "Coffee is free", "coffee", A3)
    ran = tht.json("harmonize")
    (belief,) = ran["beliefs"]
    assert (belief["facts"], belief["authors"], belief["confidence"]) == ([one, other], [A1, A2], 0.8)
    idle(tht, "harmonize")
    assert tht.json("harmonize", "--list")["beliefs"] == ran["beliefs"]
    third = propose(tht, "backups run nightly", "nightly backups", A3)
    grown = tht.json("harmonize")
    assert grown["revised"] == [belief["id"]]
    assert grown["beliefs"][0]["facts"] == [one, other, third]
    for fact_id in (one, other):
        tht.json("fact", "retire", fact_id)
    gone = tht.json("harmonize")
    assert (gone["withdrawn"], gone["beliefs"]) == ([belief["id"]], [])
    sound(tht)
    for run in (gone, grown, ran):
        assert tht.json("harmonize", "--undo", run["run_id"])["left"] == []
    assert tht.json("harmonize", "--list")["beliefs"] == []
    sound(tht)


def test_a_contradiction_between_authors_is_one_open_conflict(tht: Tht) -> None:
    one = propose(tht, "The retention of the audit log is 30 days", "retention", A1)
    other = propose(tht, "The retention of the audit log is 90 days", "audit log", A2)
    ran = tht.json("harmonize")
    (conflict,) = tht.json("conflicts", "list")["conflicts"]
    assert (ran["conflicts"], conflict["facts"], conflict["found"]) == ([conflict["id"]], [one, other], "cross_agent")
    idle(tht, "harmonize")
    assert status(tht, one) == status(tht, other) == "live", "similarity alone retires nothing"
    assert tht.json("harmonize", "--undo", ran["run_id"])["left"] == []
    assert tht.json("conflicts", "list")["conflicts"] == []
    assert tht.json("harmonize")["conflicts"] == [conflict["id"]]
    assert len(tht.json("conflicts", "list", "--all")["conflicts"]) == 1
    tht.json("conflicts", "resolve", conflict["id"], "--both")
    idle(tht, "harmonize")  # a person's word stands
    sound(tht)


def test_recalled_text_makes_no_belief(tht: Tht) -> None:
    """S-41 by another road: restated under another topic by somebody who had been shown it."""
    propose(tht, "Backups run nightly", "backups", A1)
    assert tht.json("fact", "search", "backups", "--actor", A2)["hits"]
    propose(tht, "backups run nightly!", "backup", A2)
    idle(tht, "harmonize")
    assert len(tht.json("consolidate")["merged"]) == 1
    idle(tht, "harmonize")
    propose(tht, "backups run nightly.", "nightly backup", A3)
    assert tht.json("harmonize")["beliefs"][0]["authors"] == [A1, A3]


def test_agreement_outlives_a_merge(tht: Tht) -> None:
    keeper = propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    tht.json("consolidate")
    (belief,) = tht.json("harmonize")["beliefs"]
    assert (belief["facts"], belief["authors"]) == ([keeper], [A1, A2])


def test_vectors_of_the_cache_count_and_none_are_made_unasked(tht: Tht, home: Path) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    assert len(tht.json("harmonize", "--dry-run")["formed"]) == 1
    assert not (home / "default" / "vectors.sqlite3").exists()
    assert len(tht.json("harmonize", "--embed")["formed"]) == 1
    assert (home / "default" / "vectors.sqlite3").exists()
    idle(tht, "harmonize")


def test_a_role_that_is_kept_out_of_a_domain_does_no_upkeep(tht: Tht) -> None:
    """S-54, S-55: a run names what it did in every domain."""
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    tht.json("harmonize")
    tht.json("grant", "set", "--role", "qa", "--domain", "ops", "--permission", "none")
    for command in ("consolidate", "harmonize"):
        assert tht.refused(command, "--actor", A3, "--role", "qa") == "AccessDenied"
    assert tht.json("harmonize", "--list", "--actor", A3, "--role", "qa")["beliefs"] == []
    checks = tht.json("doctor", "--actor", A3, "--role", "qa")["checks"]
    assert "duplicates" not in {check["name"] for check in checks}


# -- harvest


def harvest(tht: Tht, *decisions: str, title: str = "Weekly", meeting: str = "m-12", **more: str) -> Any:
    return tht.json("harvest", *decisions, "--title", title, "--meeting", meeting)


def decisions(tht: Tht) -> list[str]:
    return sorted(one["content"] for one in tht.json("fact", "list", "--domain", "decisions")["facts"])


def test_a_meetings_decisions_are_what_is_listed(tht: Tht) -> None:
    first = harvest(tht, "We use PostgreSQL", "The audit log is kept for 30 days")
    assert len(first["proposed"]) == 2
    shown = tht.json("fact", "show", first["proposed"][0])
    assert (shown["topic"], shown["memory_type"], shown["author"]) == ("Weekly (m-12)", "decision", ADA)
    same = (
        "harvest",
        "we use POSTGRESQL.",
        "The audit log is kept for 30 days",
        "--title",
        "Weekly",
        "--meeting",
        "m-12",
    )
    idle(tht, *same)
    second = harvest(tht, "We use PostgreSQL", "The audit log is kept for 90 days")
    assert (len(second["proposed"]), second["retired"]) == (1, [first["proposed"][1]])
    assert decisions(tht) == ["The audit log is kept for 90 days", "We use PostgreSQL"]
    assert tht.json("conflicts", "list", "--all")["conflicts"] == []
    assert tht.json("harvest", "--undo", second["run_id"])["left"] == []
    assert decisions(tht) == ["The audit log is kept for 30 days", "We use PostgreSQL"]
    assert len(harvest(tht, "We use PostgreSQL", "The audit log is kept for 90 days")["proposed"]) == 1
    sound(tht)


def test_a_list_does_not_bring_back_what_a_person_corrected_or_took_out(tht: Tht) -> None:
    one, other = harvest(tht, "We use PostgreSQL", "Releases are on Friday")["proposed"]
    tht.json("fact", "correct", one, "We use PostgreSQL 17")
    tht.json("fact", "retire", other)
    listed = ("harvest", "We use PostgreSQL", "Releases are on Friday", "--title", "Weekly", "--meeting", "m-12")
    idle(tht, *listed)
    assert decisions(tht) == ["We use PostgreSQL 17"]


def test_decisions_that_contradict_each_other_are_both_kept_and_asked_about(tht: Tht) -> None:
    listed = ("The audit log is kept for 30 days", "The audit log is kept for 90 days")
    assert len(harvest(tht, *listed)["proposed"]) == 2
    assert len(tht.json("conflicts", "list")["conflicts"]) == 1
    idle(tht, "harvest", *listed, "--title", "Weekly", "--meeting", "m-12")
    sound(tht)


def test_decisions_from_a_file(tht: Tht, tmp_path: Path) -> None:
    path = tmp_path / "decisions.txt"
    path.write_text('\ufeffΧρησιμοποιούμε PostgreSQL\n\n{"content": "Si rilascia il lunedì"}\n', "utf-8")
    tht.json("harvest", "--title", "Εβδομαδιαία", "--meeting", "m-1", "--file", path)
    assert decisions(tht) == ["Si rilascia il lunedì", "Χρησιμοποιούμε PostgreSQL"]
    path.write_text('{"text": "x"}\n')
    assert tht.refused("harvest", "--title", "T", "--meeting", "m-1", "--file", path, code=2) == "InvalidInput"
    assert (
        tht.refused("harvest", "--title", "T", "--meeting", "m-1", "--file", tmp_path / "none", code=3) == "Unavailable"
    )
    assert tht.refused("harvest", "--title", "T", "--meeting", "m-1", code=2) == "InvalidInput"
    assert tht.refused("harvest", "x", "--meeting", "m-1", code=2) == "InvalidInput"


# -- maintain


class Clock:
    """Stands still, but for waiting; asked to stop after so many waits."""

    def __init__(self, waits: int) -> None:
        self.now, self.waits, self.waited = datetime(2026, 11, 30, tzinfo=UTC), waits, list[float]()

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> bool:
        if not seconds:
            return False
        self.waited.append(seconds)
        self.now += timedelta(seconds=seconds)
        return len(self.waited) >= self.waits


def test_both_run_on_the_schedule_and_one_that_fails_stops_nothing(tht: Tht, home: Path) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    propose(tht, FRANKFURT, "staging", A2)
    clock = Clock(waits=2)
    maintain = Maintain(lambda: opened(home), lambda workspace: By(ADA), clock, clock.wait)
    turns = list(maintain.turns(parse_every("6h")))
    assert clock.waited == [21600.0, 21600.0]
    assert [(turn.what, turn.failed, turn.ran is None) for turn in turns] == [
        ("consolidate", False, False),
        ("harmonize", False, False),
        ("consolidate", False, True),
        ("harmonize", False, True),
    ]
    with alone(home / "default" / "upkeep.lock"):
        clock = Clock(waits=1)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("adapters.upkeep.LOCK_WAIT", 0.0)
            turns = list(
                Maintain(lambda: opened(home), lambda workspace: By(ADA), clock, clock.wait).turns(parse_every("1m"))
            )
    assert [turn.failed for turn in turns] == [True, True]


def test_only_one_maintains(tht: Tht, home: Path) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    with alone(home / "default" / "maintain.lock"):
        assert tht.refused("maintain", "--once", code=3) == "HomeNotWritable"
    lines = tht("maintain", "--once").out.splitlines()
    assert [line.split(" ", 2)[1] for line in lines] == ["consolidate:", "harmonize:"]
    assert all("nothing to" in line for line in lines)


@pytest.mark.parametrize("text", ["", "6", "0h", "30s", "1000d", "-1h"])
def test_an_interval_that_is_none(text: str) -> None:
    with pytest.raises(InvalidInput):
        parse_every(text)


@pytest.mark.posix
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_with_0(tht: Tht, how: signal.Signals) -> None:
    propose(tht, FRANKFURT, "staging cluster", A1)
    command = [sys.executable, "-c", "from cli.main import main; main()", "maintain", "--every", "1h", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(how)
        _, err = process.communicate(timeout=30)
    assert [one["what"] for one in told] == ["consolidate", "harmonize"]
    assert (process.returncode, err) == (0, b"")


# -- doctor


def test_doctor_names_what_to_mend_and_tells_no_secret(tht: Tht) -> None:
    secret = "sk-" + "proj-" + "x9" * 12
    leaked = propose(tht, f"The key of the mailer is {secret}", "mailer", A1)
    propose(tht, FRANKFURT, "staging cluster", A1)
    loser = propose(tht, FRANKFURT, "staging", A2)
    propose(tht, "The retention of the audit log is 30 days", "retention", A1)
    propose(tht, "The retention of the audit log is 90 days", "retention", A2, "--on-conflict", "ask")
    said = tht("doctor", "--json")
    told = {check["name"]: check for check in said.json["checks"]}
    assert loser in told["duplicates"]["what"]
    assert "tht consolidate" in told["duplicates"]["mend"]
    assert leaked in told["secrets"]["what"]
    assert secret not in said.out
    assert "1 conflict is open" in told["conflicts"]["what"]
    assert {"loops", "stale", "held policies"}.isdisjoint(told)


def test_an_empty_workspace_needs_no_upkeep(tht: Tht) -> None:
    tht.json("init")
    told = {check["name"]: check["state"] for check in tht.json("doctor")["checks"]}
    assert told["knowledge"] == "ok"
    for command in ("consolidate", "harmonize"):
        idle(tht, command)
