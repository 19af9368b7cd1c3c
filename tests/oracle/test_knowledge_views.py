"""Workspace knowledge after random histories, against an oracle that shares no code: every row of every view, what
listing shows now, as of then and as it was known, and that what was erased is nowhere."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.fact_reading import FactReading, Moment
from adapters.health import Health
from adapters.recalling import Recalling
from projections.recall.question import MODES
from projections.scope import Reader
from projections.tables.access import DOMAINS, GRANTS
from projections.tables.beliefs import BELIEFS, MEMBERS, RUNS
from projections.tables.conflicts import CONFLICTS
from projections.tables.counters import RECALLS, SHOWN
from projections.tables.facts import FACTS, MERGED, ORIGINS
from projections.tables.links import LINKS
from projections.tables.notes import ITEMS, OBSERVATIONS, TEXTS
from projections.tables.policies import HISTORY, POLICIES
from tests.oracle import knowledge_oracle as oracle
from tests.oracle import knowledge_people as people
from tests.oracle import knowledge_upkeep as upkeep
from tests.oracle.knowledge_histories import HISTORIES, VERBS, History, Op, told, workspace_with_a_clock
from tests.oracle.knowledge_oracle import Data
from tests.oracle.knowledge_words import missed
from tests.oracle.test_views import digests
from tests.oracle.timeline import check_timeline

EXAMPLES = settings(suppress_health_check=list(HealthCheck))
PERSON = Reader("human:ada")
INNER = {"undo", "origins"}  # what the oracle keeps for itself of a fact


@contextmanager
def after(ops: list[Op]) -> Iterator[tuple[History, list[Data]]]:
    """A workspace in which these operations were tried, and its ledger as the oracle reads it."""
    with tempfile.TemporaryDirectory() as home:
        workspace, clock = workspace_with_a_clock(Path(home))
        with workspace:
            history = History(workspace, clock)
            history.run(ops)
            workspace.caught_up()
            yield history, told(workspace)


def test_the_views_say_what_the_oracle_says() -> None:
    """And the histories reach what they are for, else this proves little: each command is accepted somewhere, each
    refusal that matters happens."""
    accepted: Counter[str] = Counter()
    refused: Counter[str] = Counter()

    @settings(EXAMPLES, max_examples=30)
    @given(HISTORIES)
    def check(ops: list[Op]) -> None:
        with after(ops) as (history, events):
            check_facts(history.workspace.file.db, events)
            check_upkeep(history.workspace.file.db, events)
            check_people(history.workspace.file.db, events)
            check_timeline(history.workspace.file.db, events)
            check_rules(events)
            check_replay(history)
            accepted.update(history.accepted)
            refused.update(history.refused)

    check()
    assert set(VERBS) - set(accepted) == set(), accepted
    errors = {"NothingChanged", "InvalidInput", "FactNotLive", "SupersessionLoop", "AccessDenied", "ReviewerNeeded"}
    errors |= {"InsufficientMemoryPermission", "SelfReview", "AlreadyThere", "UnknownRepoScope", "Refused"}
    errors |= {f"Unknown{what}" for what in ("Fact", "Conflict", "Policy", "Domain", "Run", "Record")}
    assert errors - set(refused) == set(), refused


# -- rows --------------------------------------------------------------------------------------------------------------


def check_rows(
    db: sqlite3.Connection, table: str, key: tuple[str, ...], expected: Mapping[Any, Data], parsed: str = ""
) -> None:
    """The table has a row for every key and no other, and in each column that the oracle knows what the oracle says."""
    rows = {}
    for row in db.execute(f"SELECT * FROM {table}"):
        found = {name: row[name] for name in row.keys()}  # noqa: SIM118  a Row
        found |= {name: json.loads(row[name]) for name in parsed.split()}
        rows[found[key[0]] if len(key) == 1 else tuple(found[name] for name in key)] = found
    assert set(rows) == set(expected), table
    for name, wanted in expected.items():
        assert {column: rows[name][column] for column in wanted} == wanted, f"{table}: {name}"


def check_facts(db: sqlite3.Connection, events: list[Data]) -> None:
    facts = oracle.facts(events)
    seen = {name: {one: fact[one] for one in fact if one not in INNER} for name, fact in facts.items()}
    for name, fact in facts.items():
        if fact["status"] == "erased":  # when it was last said is of no interest any more
            del seen[name]["confirmed_at"]
    check_rows(db, FACTS, ("id",), seen, "sources")
    origins = db.execute(f"SELECT fact_id, author FROM {ORIGINS}").fetchall()
    assert sorted(map(tuple, origins)) == sorted((name, one) for name, fact in facts.items() for one in fact["origins"])
    answers = {
        facts[one]["position"]: {"answered_by": facts[by]["position"]} for one, by in oracle.merged(facts).items()
    }
    check_rows(db, MERGED, ("position",), answers)
    check_rows(db, LINKS, ("source", "target", "kind"), oracle.links(events))
    check_rows(db, CONFLICTS, ("id",), oracle.conflicts(events))
    check_rows(db, RECALLS, ("fact_id",), oracle.recalls(events))
    check_rows(db, SHOWN, ("actor", "fact_id"), oracle.shown(events))


def check_upkeep(db: sqlite3.Connection, events: list[Data]) -> None:
    beliefs = upkeep.beliefs(events)
    rows = {name: {one: row[one] for one in row if one != "facts"} for name, row in beliefs.items()}
    check_rows(db, BELIEFS, ("id",), rows, "authors")
    members = {(name, fact): {"number": n} for name, row in beliefs.items() for n, fact in enumerate(row["facts"])}
    check_rows(db, MEMBERS, ("belief_id", "fact_id"), members)
    check_rows(db, RUNS, ("id",), upkeep.runs(events), "did left_alone")


def check_people(db: sqlite3.Connection, events: list[Data]) -> None:
    check_rows(db, DOMAINS, ("id",), people.domains(events))
    check_rows(db, GRANTS, ("role", "domain"), people.grants(events))
    check_rows(db, POLICIES, ("id",), people.policies(events), "derived_from")
    check_rows(db, HISTORY, ("position",), people.policy_steps(events))
    check_rows(db, TEXTS, ("position",), people.notes(events))
    check_rows(db, OBSERVATIONS, ("id",), people.observations(events))
    check_rows(db, ITEMS, ("id",), people.items(events))


def check_rules(events: list[Data]) -> None:
    """S-35, S-41, S-59, and no circle of facts that replace each other. One conflict a pair is asserted on the way."""
    facts = oracle.facts(events)
    rows = [row for row in oracle.conflicts(events).values() if row["state"] in ("open", "both")]
    assert missed(facts, {frozenset((row["older"], row["newer"])) for row in rows}) == []
    assert oracle.in_a_circle(facts) == []
    assert oracle.wrongly_echoed(events) == []
    assert people.held_rightly(events, {name: fact["trust"] for name, fact in facts.items()}) == []


def check_replay(history: History) -> None:
    """S-51: verify finds nothing, and a rebuild from the first event gives the same rows."""
    assert Health(history.workspace).verify(with_index=False).findings == ()
    before = digests(history.workspace.file)
    history.workspace.rebuild_views()
    assert digests(history.workspace.file) == before


# -- what is read ------------------------------------------------------------------------------------------------------


@settings(EXAMPLES, max_examples=15)
@given(HISTORIES, st.integers(0, 2**16))
def test_what_held_and_what_was_known_are_read_as_the_oracle_says(ops: list[Op], seed: int) -> None:
    """S-29, S-30: now, as of a time, and as it was known at a position; a search shows nothing that a list does not."""
    with after(ops) as (history, events):
        reading, chance = FactReading(history.workspace, PERSON), Random(seed)
        facts = oracle.facts(events)
        now = str(oracle.moment(history.clock.now.isoformat()))
        current = {name for name, fact in facts.items() if oracle.holds(fact, now)}
        assert {one.id for one in reading.list().facts} == current
        held_now = {one.id for one in reading.list(Moment(at=now)).facts}
        assert current <= held_now == {name for name, fact in facts.items() if oracle.held_at(fact, now)}
        rest = [facts[facts[name]["superseded_by"]]["held_from"] for name in held_now - current]
        assert all(begins > now for begins in rest), "only what gives way to something that begins later"

        then = str(oracle.moment((history.clock.now - timedelta(hours=chance.randrange(24 * 20))).isoformat()))
        held = {name for name, fact in facts.items() if oracle.held_at(fact, then)}
        assert {one.id for one in reading.list(Moment(at=then)).facts} == held
        known = oracle.facts(events[: (at := chance.randrange(1, len(events)))])
        time = str(oracle.moment(events[at - 1]["at"]))
        listed = reading.list(Moment(position=at)).facts
        assert {one.id for one in listed} == {name for name, fact in known.items() if oracle.holds(fact, time)}

        by = history.by(chance)
        found = (
            Recalling(history.workspace, PERSON)
            .search("what does the API say of sessions in the database", by, mode=chance.choice(MODES), limit=100)
            .facts
        )
        assert {one.id for one in found} <= current
        assert all(datetime.fromisoformat(one.held_from) <= history.clock.now for one in found)


@settings(EXAMPLES, max_examples=15)
@given(HISTORIES)
def test_nothing_erased_is_readable(ops: list[Op]) -> None:
    """S-13: of what is in no readable event any more, no view and no file of the home has a word; all the rest is."""
    with after(ops) as (history, events):
        readable = json.dumps([event["data"] for event in events], ensure_ascii=False)
        db, folder = history.workspace.file.db, history.workspace.paths.folder
        rows = "\n".join(str(tuple(row)) for table in tables(db) for row in db.execute(f"SELECT * FROM {table}"))
        history.workspace.close()
        files = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        for secret in history.secrets:
            assert (secret in rows) == (secret in readable), secret
            assert secret in readable or secret.encode() not in files


def tables(db: sqlite3.Connection) -> list[str]:
    """Every table of the views, the full-text ones and their parts among them."""
    return [str(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


# -- the oracle itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["2026-03-02T13:00:00+01:00", "2026-03-02T12:00:00Z", "2026-03-02T12:00:00.000000+00:00"]
)
def test_the_oracle_has_its_own_form_of_a_time(text: str) -> None:
    assert oracle.moment(text) == "2026-03-02T12:00:00.000000Z"
