"""Who reads what, after random histories: a role to which everything is closed reads nothing by any path and is told
that; a role without a row reads what a person does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import given, settings

from adapters.access import Access
from adapters.conflicts import Conflicts
from adapters.fact_reading import FactReading, Moment
from adapters.ledger import By
from adapters.policies import Policies
from adapters.preamble import preamble
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from domain.errors import AccessDenied, ThtError
from projections.recall.question import MODES
from projections.scope import Reader
from tests.oracle import knowledge_oracle as oracle
from tests.oracle import knowledge_people as people
from tests.oracle.histories import refusal
from tests.oracle.knowledge_histories import HISTORIES, Op, told
from tests.oracle.knowledge_oracle import Data
from tests.oracle.test_knowledge_views import EXAMPLES, after

QUESTION = "what does the API say about the sessions in the database and the port"
ADA = Reader("human:ada")
SHUT = Reader("agent:outsider", "outsider")
NEWCOMER = Reader("agent:newcomer", "newcomer")

Path = Callable[[], Any]


def by_every_path(workspace: Workspace, reader: Reader, position: int) -> dict[str, Any]:
    """What a reader gets by every path that shows more than one record, as programs read it."""
    workspace.config.set("embedder.model", "hash:64")  # by vectors as well
    facts, by = FactReading(workspace, reader), By(reader.actor, reader.role, dry_run=True)
    conflicts, total, denied = Conflicts(workspace).list(reader, state="")
    return {
        "list": facts.list(status="").as_json(),
        "list as it was": facts.list(Moment(position=position), status="").as_json(),
        "list at a time": facts.list(Moment(at="2099-01-01T00:00:00.000000Z")).as_json(),
        **{f"{mode} search": found(workspace, reader, by, mode) for mode in MODES},
        "conflicts": {"conflicts": [one.as_json() for one in conflicts], "total": total, "denied": denied or None},
        "policies": without_load(Policies(workspace).list(reader, status="").as_json()),
        "domains": Access(workspace).domains(reader).as_json(),
        "grants": Access(workspace).grants(reader).as_json(),
    }


def found(workspace: Workspace, reader: Reader, by: By, mode: str) -> dict[str, Any]:
    """What a search finds of facts; what only the reader has in mind is theirs."""
    answer = Recalling(workspace, reader).search(QUESTION, by, mode=mode, limit=100)
    assert set(answer.voices.values()) == {"ran"}
    ids = sorted(fact.id for fact in answer.facts)
    return {"facts": ids, "more": answer.truncated, "denied": answer.denied or None}


def without_load(listed: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in listed.items() if name != "load"}


def one_by_one(workspace: Workspace, reader: Reader, events: list[Data]) -> list[Path]:
    """Every way to ask for one record: fact, history, links and use, as it was; conflict, policy, domain."""
    reading, recalling = FactReading(workspace, reader), Recalling(workspace, reader)
    paths: list[Path] = []
    for fact in list(oracle.facts(events))[-6:]:
        paths += [
            partial(reading.get, fact),
            partial(reading.row, fact),
            partial(reading.history, fact),
        ]
    paths += [partial(Conflicts(workspace).get, one, reader) for one in list(oracle.conflicts(events))[-3:]]
    paths += [partial(Policies(workspace).get, reader, one) for one in list(people.policies(events))[-3:]]
    for domain in people.domains(events):
        paths += [
            partial(Access(workspace).domain, reader, domain),
            partial(reading.list, domain=domain),
            partial(recalling.search, QUESTION, By(reader.actor, reader.role), domain=domain),
            partial(Policies(workspace).list, reader, domain=domain),
            partial(Access(workspace).grants, reader, domain=domain),
            partial(Access(workspace).explain, reader, "coder", domain),
        ]
    return paths


def shut_everywhere(workspace: Workspace, events: list[Data]) -> list[Data]:
    """An explicit `none` on every domain; the ledger after that."""
    for domain in people.domains(events):
        Access(workspace).set_grant(domain, "outsider", "none", By("human:ada"))
    workspace.caught_up()
    return told(workspace)


@settings(EXAMPLES, max_examples=12)
@given(HISTORIES)
def test_s54_who_is_shut_out_reads_nothing_by_any_path_and_is_told_so(ops: list[Op]) -> None:
    """S-54, S-55: nothing but "denied", with no count, no id and no text."""
    with after(ops) as (history, events):
        workspace = history.workspace
        events = shut_everywhere(workspace, events)
        assert people.closed_to("outsider", people.grants(events)) == set(people.domains(events))
        for path, answer in by_every_path(workspace, SHUT, len(events) // 2).items():
            assert answer.pop("denied").startswith("denied"), path
            assert not any(answer.values()), path
        listed = Policies(workspace).list(SHUT, status="")
        assert (listed.load.characters, listed.load.longest) == (0, ())
        for look in one_by_one(workspace, SHUT, events):
            error = refusal(look)
            assert isinstance(error, AccessDenied)
            assert error.message == "denied: the domain is closed to role outsider"
        made = preamble(workspace, QUESTION, By(SHUT.actor, SHUT.role))
        assert (made.policies, made.facts, made.matched, made.notes) == ((), (), 0, "")
        assert made.denied in made.text
        assert "\n".join(made.text.split("\n\n")[:1]) == made.denied


@settings(EXAMPLES, max_examples=12)
@given(HISTORIES)
def test_a_role_without_a_row_reads_everything_that_a_person_does(ops: list[Op]) -> None:
    """Invariant 7: reads fail open."""
    with after(ops) as (history, events):
        workspace = history.workspace
        middle = len(events) // 2
        assert by_every_path(workspace, NEWCOMER, middle) == by_every_path(workspace, ADA, middle)
        for look in one_by_one(workspace, NEWCOMER, events):
            assert not isinstance(refusal(look), ThtError)


@settings(EXAMPLES, max_examples=12)
@given(HISTORIES)
def test_what_a_role_reads_is_what_its_rows_leave_open(ops: list[Op]) -> None:
    """The grants that the history itself has set decide, domain by domain, and "denied" is said exactly then."""
    with after(ops) as (history, events):
        facts = oracle.facts(events)
        for role in ("coder", "reviewer", "intern"):
            closed = people.closed_to(role, people.grants(events))
            found = FactReading(history.workspace, Reader("agent:any", role)).list(status="")
            assert {one.id for one in found.facts} == {
                name for name, fact in facts.items() if fact["domain"] not in closed
            }
            assert bool(found.denied) == bool(closed)
            conflicts, _, _ = Conflicts(history.workspace).list(Reader("agent:any", role), state="")
            assert {one.id for one in conflicts} == {
                name
                for name, row in oracle.conflicts(events).items()
                if closed.isdisjoint((facts[row["older"]]["domain"], facts[row["newer"]]["domain"]))
            }
            seen = set(people.domains(events)) - closed
            assert {one.id for one in Access(history.workspace).domains(Reader("agent:any", role)).domains} == seen
