"""What the processes of the races for facts do in a round: each opens the workspace and proposes at the same moment."""

from __future__ import annotations

from pathlib import Path

from adapters.facts import Facts
from adapters.ledger import By
from domain.propose import NewFact
from tests.crash.soundness import open_home

Answer = tuple[str, str]  # outcome and fact


def _propose(home: Path, domain: str, topic: str, content: str, number: int) -> Answer:
    author = f"agent:coder-{number}"
    with open_home(home) as workspace:
        outcome, _ = Facts(workspace).propose(domain, NewFact(content, topic, author), By(author, "coder"))
        return outcome.outcome, outcome.fact_id


def contradict(home: Path, number: int, turn: int) -> Answer:
    """Two values of one thing, in one topic of the round."""
    return _propose(home, "architecture", f"api {turn}", f"The API listens on port {8080 + number}", number)


def say_the_same(home: Path, number: int, turn: int) -> Answer:
    return _propose(home, "architecture", f"sessions {turn}", "Sessions are kept in Redis", number)


def begin_a_domain(home: Path, number: int, turn: int) -> Answer:
    """Ten topics of a domain that nobody made."""
    return _propose(home, f"new {turn}", f"topic {number}", f"Shard {number} is in region {number}", number)


def supersede_each_other(home: Path, number: int, turn: int) -> str:
    """Each puts its own fact in the place of the other's; the facts are of two topics."""
    with open_home(home) as workspace:
        pair = workspace.config.path.with_name(f"pair-{turn}").read_text().split()
        Facts(workspace).supersede(pair[number], pair[1 - number], By("human:ada"))
        return "superseded"
