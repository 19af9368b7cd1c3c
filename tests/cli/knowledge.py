"""A workspace with planted restatements, and what may be asked about it: for upkeep's tests and benchmark."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from adapters.fact_files import read_proposals
from adapters.facts import Facts
from adapters.ledger import By
from adapters.workspace import Workspace
from projections import fact_queries
from projections.recall.engine import rank
from projections.recall.question import Question
from projections.scope import everything

THINGS = "gateway ledger indexer scheduler mailer importer exporter notifier cache broker".split()
PLACES = "Athens Bologna Cadiz Dublin Essen Fano Genoa Haifa Izmir Jena".split()
WORDS = "amber birch cedar dune ember fjord grove heath islet knoll larch marsh nook oasis pine quarry ridge".split()


@dataclass(frozen=True)
class Planted:
    """`lines`: proposals; `questions`: each with the contents of which one is the right answer."""

    lines: tuple[dict[str, Any], ...]
    questions: tuple[tuple[str, frozenset[str]], ...]
    restated: int


def planted(facts: int, restatements: int, questions: int, seed: int = 11) -> Planted:
    """So many facts in all, of which some restate another: other case, signs or place of a phrase, another label for
    the topic, another author."""
    chance = Random(seed)
    originals = [_original(number, chance) for number in range(facts - restatements)]
    chosen = chance.sample(originals, restatements)
    again = [_restated(one, chance) for one in chosen]
    contents = {one["topic"]: {one["content"]} for one in originals}
    for one, other in zip(chosen, again, strict=True):
        contents[one["topic"]].add(other["content"])
    asked = [*chance.sample(chosen, questions // 2), *chance.sample(originals, questions - questions // 2)]
    lines = originals + again
    chance.shuffle(lines)
    return Planted(
        tuple(lines), tuple((_question(one), frozenset(contents[one["topic"]])) for one in asked), len(again)
    )


def _original(number: int, chance: Random) -> dict[str, Any]:
    thing, place = chance.choice(THINGS), chance.choice(PLACES)
    name = f"{chance.choice(WORDS)}-{chance.choice(WORDS)}-{number}"
    return {
        "domain": f"area-{number % 7}",
        "topic": f"{thing} {name}",
        "content": f"In {place} the {thing} of {name} listens on port {1024 + number}",
        "confidence": 0.6 + (number % 4) / 10,
    }


def _restated(one: dict[str, Any], chance: Random) -> dict[str, Any]:
    text = str(one["content"])
    front, rest = text.split(" the ", 1)
    forms = (text.upper(), f"«{text}».", f"the {rest} {front.lower()}", f"{text} !")
    return one | {"content": chance.choice(forms), "topic": f"{one['topic']} again", "confidence": 0.5}


def _question(one: dict[str, Any]) -> str:
    return f"On which port does the {one['topic']} listen?"


def propose_all(workspace: Workspace, folder: Path, planted: Planted) -> None:
    """Propose every line, even ones by the first agent, odd ones by the second."""
    for part, actor in enumerate(("agent:a1", "agent:a2")):
        path = folder / f"facts-{part}.jsonl"
        path.write_text("\n".join(json.dumps(line) for line in planted.lines[part::2]))
        by = By(actor)
        lines = read_proposals(path, by, domain="", repo="", veracity="stated", on_conflict="decide")
        refused = [one for one in Facts(workspace).propose_many(lines, by) if one.error]
        assert not refused, refused[:3]


def answered(workspace: Workspace, questions: Sequence[tuple[str, frozenset[str]]], at: str) -> list[float]:
    """The reciprocal rank of the first right answer to each question, 0 where it is not among the first five."""
    db = workspace.caught_up()
    found = []
    for question, right in questions:
        hits = rank(db, Question(question, fact_queries.Wanted(at), everything(), "keyword")).hits
        rows = fact_queries.facts_of(db, [hit.candidate.id for hit in hits])
        ranks = [place for place, hit in enumerate(hits, 1) if rows[hit.candidate.id].content in right]
        found.append(1 / ranks[0] if ranks else 0.0)
    return found


def live_facts(workspace: Workspace) -> dict[str, tuple[object, ...]]:
    """What is live, by id: all that may be read of it."""
    return dict(_live(workspace))


def _live(workspace: Workspace) -> Iterator[tuple[str, tuple[object, ...]]]:
    db = workspace.caught_up()
    for row in fact_queries.all_live(db, everything()):
        said = (row.content, row.confidence, row.mention_count, row.confirmed_at, row.superseded_by, row.ended_for)
        yield row.id, (*said, *fact_queries.origins(db, row.id))
