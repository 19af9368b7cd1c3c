"""2,822 terms of schema.org in two releases: proposed as facts, then again as they were reworded and superseded."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.fact_files import read_proposals
from adapters.fact_reading import FactReading, Moment
from adapters.facts import Facts, LineOutcome
from adapters.ledger import By
from adapters.workspace import Workspace, create_workspace
from domain.conflict import relation
from projections.scope import Reader
from tests.conftest import SHARED_DATA, skip_or_fail

BY = By("tool:schemaorg")
OLD, NEW = "14.0", "20.0"
Term = dict[str, Any]
NOW = Moment()


@pytest.fixture(scope="module")
def terms() -> list[Term]:
    file = SHARED_DATA / "schemaorg" / "definitions.jsonl"
    if not file.is_file():
        skip_or_fail("no ../shared/data; name its folder in THT_SHARED_DATA")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    start, ticks = datetime(2026, 3, 2, tzinfo=UTC), iter(range(10**9))
    with create_workspace(
        tmp_path_factory.mktemp("schema"), "default", lambda: start + timedelta(seconds=next(ticks))
    ) as opened:
        yield opened


def proposed(workspace: Workspace, folder: Path, terms: list[Term], release: str) -> dict[str, LineOutcome]:
    """Every term that the release has, proposed with its definition; the outcomes by topic."""
    there = [term for term in terms if text_of(term, release)]
    lines = [json.dumps({"topic": topic_of(term), "content": text_of(term, release)}) for term in there]
    file = folder / f"{release}.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    found = read_proposals(file, BY, domain="schema", repo="", veracity="imported", on_conflict="decide")
    outcomes = list(Facts(workspace).propose_many(found, BY))
    assert [one.error for one in outcomes if one.error] == []
    return {topic_of(term): one for term, one in zip(there, outcomes, strict=True)}


def topic_of(term: Term) -> str:
    """`brand` is a property and `Brand` a class: one slug, two terms."""
    return f"{term['kind']} {term['term']}"


def text_of(term: Term, release: str) -> str:
    return str(term["releases"].get(release, {}).get("comment", "")).strip()


def listed(workspace: Workspace, moment: Moment = NOW) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for fact in FactReading(workspace, Reader("human:ada")).list(moment).facts:
        found.setdefault(fact.topic, []).append(fact.content)
    return found


def test_two_releases_come_out_as_counted_straight_from_the_file(
    workspace: Workspace, terms: list[Term], tmp_path: Path
) -> None:
    first = proposed(workspace, tmp_path, terms, OLD)
    assert Counter(one.outcome.outcome for one in first.values() if one.outcome) == {"proposed": len(first)}
    assert len(first) == sum(1 for term in terms if text_of(term, OLD)) > 2_700
    after_first = workspace.ledger.head().position

    second = proposed(workspace, tmp_path, terms, NEW)
    both = [term for term in terms if text_of(term, OLD) and text_of(term, NEW)]
    kept = [term for term in both if text_of(term, OLD) == text_of(term, NEW)]
    reworded = {topic_of(term): relation(text_of(term, OLD), text_of(term, NEW)).outcome for term in both}
    assert len(kept) > 2_500
    assert outcomes(second, kept) == {"mentioned"}
    for topic, how in reworded.items():
        outcome = second[topic].outcome
        assert outcome is not None
        assert outcome.outcome == ("mentioned" if how == "same" else "proposed"), topic
        assert bool(outcome.superseded) == (how == "contradicts"), topic
        assert [one.state for one in outcome.conflicts] == {"unsure": ["open"], "contradicts": ["decided"]}.get(how, [])
    new_terms = [term for term in terms if text_of(term, NEW) and not text_of(term, OLD)]
    came = [second[topic_of(term)].outcome for term in new_terms]
    assert {one.outcome for one in came if one} == {"proposed"}

    superseded = official(terms)
    facts = Facts(workspace)
    for old, successor in superseded:
        facts.supersede(current(second, first, old), current(second, first, successor), BY)
    assert len(superseded) > 60

    now = listed(workspace)
    gone = {old for old, _ in superseded}
    for term in both:
        topic = topic_of(term)
        expected = {text_of(term, OLD)} if reworded[topic] == "same" else {text_of(term, OLD), text_of(term, NEW)}
        if reworded[topic] == "contradicts":
            expected -= {text_of(term, OLD)}
        if topic in gone:
            expected -= {text_of(term, OLD) if reworded[topic] == "same" else text_of(term, NEW)}
        assert set(now.get(topic, [])) == expected, topic

    then = listed(workspace, Moment(position=after_first))
    assert then == {topic_of(term): [text_of(term, OLD)] for term in terms if text_of(term, OLD)}


def outcomes(lines: dict[str, LineOutcome], terms: list[Term]) -> set[str]:
    found = [lines[topic_of(term)].outcome for term in terms]
    return {one.outcome if one else "refused" for one in found}


def official(terms: list[Term]) -> list[tuple[str, str]]:
    """Terms whose official successor, of the same kind, is in the new release as well."""
    there = {topic_of(term) for term in terms if text_of(term, NEW)}
    found = []
    for term in terms:
        successor = str(term["releases"].get(NEW, {}).get("supersededBy", "")).rpartition("/")[2]
        topic = f"{term['kind']} {successor}"
        if successor and topic in there and text_of(term, NEW):
            found.append((topic_of(term), topic))
    ended = {old for old, _ in found}
    return [(old, new) for old, new in found if new not in ended]


def current(second: dict[str, LineOutcome], first: dict[str, LineOutcome], topic: str) -> str:
    outcome = second[topic].outcome or first[topic].outcome
    assert outcome is not None
    return outcome.fact_id
