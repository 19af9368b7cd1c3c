"""Upkeep after random histories: what a run did is undone whole, and a run that was just carried out finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.consolidate import Consolidate
from adapters.harmonize import Harmonize
from adapters.harvest import Harvest
from adapters.health import Health
from adapters.ledger import By
from adapters.undo import Undo
from adapters.upkeep import Ran
from adapters.workspace import Workspace
from domain.errors import NothingChanged
from tests.oracle import knowledge_oracle as oracle
from tests.oracle import knowledge_people as people
from tests.oracle import knowledge_upkeep as upkeep
from tests.oracle.histories import refusal
from tests.oracle.knowledge_histories import HISTORIES, Op, told
from tests.oracle.knowledge_oracle import Data
from tests.oracle.knowledge_words import TEXTS
from tests.oracle.test_knowledge_views import EXAMPLES, after, check_facts, check_upkeep

ADA = By("human:ada", reason="the night's upkeep")
Run = Callable[[Workspace, Random], Ran]
RUNS: tuple[Run, ...] = (
    lambda workspace, _: Consolidate(workspace).run(ADA),
    lambda workspace, _: Harmonize(workspace).run(ADA),
    lambda workspace, chance: Harvest(workspace).run("Weekly", "m-1", chance.sample(TEXTS, 3), ADA),
)
PASSING = ("ended_by", "ended_reason")  # who undid it


def standing(events: list[Data]) -> dict[str, Any]:
    """All that can be read, without when it was changed: what a run made and its undoing took out is not there."""
    facts = oracle.facts(events)
    gone = {name for name, fact in facts.items() if fact["ended_for"] == "undone"}
    beliefs = {name: row for name, row in upkeep.beliefs(events).items() if row["status"] == "live"}
    conflicts = {name: row for name, row in oracle.conflicts(events).items() if row["state"] != "withdrawn"}
    return {
        "facts": {
            name: {column: fact[column] for column in fact if column not in ("undo", *PASSING)}
            for name, fact in facts.items()
            if name not in gone
        },
        "beliefs": {name: {column: row[column] for column in COLUMNS_OF_BELIEFS} for name, row in beliefs.items()},
        "conflicts": {name: (row["state"], row["winner"], row["found"]) for name, row in conflicts.items()},
        "items": {name: (item["state"], item["fact_id"]) for name, item in people.items(events).items()},
        "links": {key for key in oracle.links(events) if not gone & set(key)},
        "policies": people.policies(events),
    }


COLUMNS_OF_BELIEFS = ("domain", "facts", "authors", "confidence")


def keep(done: list[Ran], run: Run, workspace: Workspace, chance: Random) -> None:
    done.append(run(workspace, chance))


@settings(EXAMPLES, max_examples=20)
@given(HISTORIES, st.integers(0, 2**16))
def test_undoing_a_run_brings_back_what_there_was(ops: list[Op], seed: int) -> None:
    """S-43: and the views say so, and verify finds nothing. Undone twice is told."""
    with after(ops) as (history, before):
        workspace, chance = history.workspace, Random(seed)
        for run in chance.sample(RUNS, len(RUNS)):
            done: list[Ran] = []
            error = refusal(partial(keep, done, run, workspace, chance))
            assert error is None or isinstance(error, NothingChanged)
            if not done:
                continue
            left = Undo(workspace).run(done[0].run_id, ADA).left
            assert left == ()
            assert isinstance(refusal(partial(Undo(workspace).run, done[0].run_id, ADA)), NothingChanged)
            assert standing(told(workspace)) == standing(before)
        workspace.caught_up()
        check_facts(workspace.file.db, told(workspace))
        check_upkeep(workspace.file.db, told(workspace))
        assert Health(workspace).verify(with_index=False).findings == ()


@settings(EXAMPLES, max_examples=20)
@given(HISTORIES, st.permutations((0, 1, 2)))
def test_a_run_repeated_finds_nothing_to_do(ops: list[Op], order: list[int]) -> None:
    with after(ops) as (history, _):
        for number in order:
            refusal(partial(RUNS[number], history.workspace, Random(number)))
            head = history.workspace.ledger.head()
            again = refusal(partial(RUNS[number], history.workspace, Random(number)))
            assert isinstance(again, NothingChanged), RUNS[number]
            assert history.workspace.ledger.head() == head
