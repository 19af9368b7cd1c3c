"""An answer is of one position of the views, whatever another process records and projects while it is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import adapters.preamble
from adapters import recalling
from adapters.access import Access
from adapters.conflicts import Conflicts
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.policies import Policies
from adapters.preamble import preamble
from adapters.recalling import Answer, Recalling
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.propose import NewFact
from projections import conflicts, fact_queries, links, policies
from projections.recall.question import MODES
from projections.scope import Reader
from tests.crash.soundness import open_session, promote_all

ADA, CODER = By("human:ada"), By("agent:coder-1")
PERSON = Reader(ADA.actor)
QUESTION = "who has the rota"


def clock() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path / "home", "default", clock) as workspace:
        workspace.config.set("embedder.model", "hash:64")
        yield workspace


@pytest.fixture
def other(one: Workspace) -> Iterator[Workspace]:
    """The same workspace, as another process has it open."""
    with open_workspace(one.paths.folder.parent, one.name, clock) as workspace:
        yield workspace


def fact(workspace: Workspace, content: str, topic: str, domain: str = "ops") -> str:
    return Facts(workspace).propose(domain, NewFact(content, topic, CODER.actor), CODER)[0].fact_id


def search(workspace: Workspace, mode: str, reader: Reader = PERSON, kind: str = "fact") -> Answer:
    by = By(reader.actor, reader.role, dry_run=True)
    return Recalling(workspace, reader).search(QUESTION, by, mode=mode, kind=kind)


def meanwhile(
    monkeypatch: pytest.MonkeyPatch, step: str, happens: Callable[[], None], module: ModuleType = recalling
) -> None:
    """Let something happen, once, just before a step of the search, or of what else reads."""
    real, waiting = getattr(module, step), [happens]

    def stepped(*arguments: Any, **named: Any) -> Any:
        while waiting:
            waiting.pop()()
        return real(*arguments, **named)

    monkeypatch.setattr(module, step, stepped)


@pytest.mark.parametrize("mode", MODES)
def test_what_changes_between_the_voices_and_the_reading_of_the_hits_is_for_the_next_answer(
    one: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    old = fact(one, "the owner of the rota is Ada", "rota")
    wrong = fact(one, "the rota has a cover sheet", "cover")
    Indexing(one).catch_up()

    def change() -> None:
        """The writer waits for no reader."""
        fact(other, "the owner of the rota is Bo", "rota")
        Facts(other).retire(wrong, ADA)
        other.caught_up()

    meanwhile(monkeypatch, "with_records", change)
    before = {one.id: (one.status, one.superseded_by) for one in search(one, mode).facts}
    assert before == {old: ("live", ""), wrong: ("live", "")}
    assert [one.content for one in search(one, mode).facts] == ["the owner of the rota is Bo"]


@pytest.mark.parametrize("mode", MODES)
def test_a_memory_whose_source_is_taken_back_meanwhile_is_shown_as_it_was_found(
    one: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    open_session(one, "s", ["rota"])
    (memory,) = promote_all(one, "s")
    Indexing(one).catch_up()

    def change() -> None:
        Sessions(other).retract("s", 1, ADA)
        other.caught_up()

    meanwhile(monkeypatch, "with_records", change)
    for flag in ("", "source no longer effective"):
        assert [(hit.id, hit.flag) for hit in search(one, mode, kind="memory").hits] == [(memory, flag)]


@pytest.mark.parametrize("mode", MODES)
def test_what_is_recorded_after_a_domain_was_closed_is_not_shown_by_the_grants_of_before(
    one: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    fact(one, "the owner of the rota is Ada", "rota")
    fact(one, "the payroll knows who has which rota", "rota", "payroll")
    Indexing(one).catch_up()

    def change() -> None:
        Access(other).set_grant("payroll", "qa", "none", ADA)
        fact(other, "who has the rota earns 9000", "salary", "payroll")
        other.caught_up()

    meanwhile(monkeypatch, "rank", change)
    answer = search(one, mode, Reader("agent:q", "qa"))
    told = {one.content for one in answer.facts}
    assert "who has the rota earns 9000" not in told
    assert bool(answer.denied) == ("the payroll knows who has which rota" not in told), "either before or after"


def test_a_list_shows_nothing_that_was_recorded_after_its_domain_was_closed(
    one: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = fact(one, "the payroll knows who has which rota", "rota", "payroll")

    def change() -> None:
        Access(other).set_grant("payroll", "qa", "none", ADA)
        fact(other, "who has the rota earns 9000", "salary", "payroll")
        other.caught_up()

    meanwhile(monkeypatch, "list_facts", change, fact_queries)
    reading = FactReading(one, Reader("agent:q", "qa"))
    found = reading.list()
    assert ([one.id for one in found.facts], found.total, found.denied) == ([known], 1, "")
    assert (reading.list().facts, bool(reading.list().denied)) == ((), True)


def test_a_fact_is_shown_with_its_links_as_they_stood_when_it_was_found(
    one: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = fact(one, "the owner of the rota is Ada", "rota")
    secret = fact(one, "9000 a month", "salary", "payroll")

    def change() -> None:
        Access(other).set_grant("payroll", "qa", "none", ADA)
        Facts(other).link(shown, secret, "related_to", 1.0, ADA)
        other.caught_up()

    meanwhile(monkeypatch, "neighbours", change, links)
    reading = FactReading(one, Reader("agent:q", "qa"))
    assert reading.get(shown)["links"] == reading.get(shown)["links"] == []


QA = Reader("agent:q", "qa")
READINGS: dict[str, tuple[ModuleType, str, Callable[[Workspace], object]]] = {
    "policies": (policies, "list_policies", lambda one: Policies(one).list(QA).policies),
    "conflicts": (conflicts, "list_conflicts", lambda one: Conflicts(one).list(QA, state="")[0]),
    "preamble": (
        adapters.preamble,
        "assemble",
        lambda one: preamble(one, f"{QUESTION} today", By(QA.actor, QA.role)).text,
    ),
}


@pytest.mark.parametrize("reading", READINGS)
def test_nothing_is_shown_of_a_domain_that_was_closed_before_it_was_recorded(
    one: Workspace, other: Workspace, monkeypatch: pytest.MonkeyPatch, reading: str
) -> None:
    module, step, read = READINGS[reading]
    fact(one, "the payroll knows who has which rota", "rota", "payroll")
    nothing = read(one)

    def change() -> None:
        Access(other).set_grant("payroll", "qa", "none", ADA)
        fact(other, "the payer of the rota is Ada", "salary", "payroll")
        fact(other, "the payer of the rota is Bo", "salary", "payroll")
        Policies(other).propose("payroll", "who has the rota earns more", ADA)
        other.caught_up()

    meanwhile(monkeypatch, step, change, module)
    assert read(one) == nothing


def test_what_fails_in_the_middle_leaves_no_transaction_open(one: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    fact(one, "the owner of the rota is Ada", "rota")

    def fails() -> None:
        raise RuntimeError("in the middle")

    meanwhile(monkeypatch, "with_records", fails)
    with pytest.raises(RuntimeError):
        search(one, "keyword")
    assert not one.file.db.in_transaction
    fact(one, "the owner of the rota is Bo", "rota")
    assert [one.content for one in search(one, "keyword").facts] == ["the owner of the rota is Bo"]
