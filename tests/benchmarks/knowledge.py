"""Facts and policies for benchmarks, recorded as proposals record them, and the rows of the speed table about them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from adapters.facts import Facts
from adapters.ledger import By, Draft
from adapters.policies import Policies
from adapters.preamble import preamble, record_shown
from adapters.recalling import Recalling
from adapters.workspace import Workspace, create_workspace
from domain.access import ROLES, DomainCreated, domain_stream
from domain.event import iso_utc
from domain.ids import short_id
from domain.propose import NewFact
from domain.topic import topic_stream
from domain.topic_events import FactProposed
from projections.fact_queries import Wanted
from projections.recall.engine import rank
from projections.recall.question import Question
from projections.scope import Reader, everything
from tests.benchmarks.history import phrase

A_TOPIC = 10  # facts
BATCH = 500
DOMAINS = 20
POLICIES = 20
ROUNDS = 200
PROPOSE = "propose a fact, durable"
ADA, CODER = By("human:ada"), By("agent:coder-1", "coder")
ASKER = By(CODER.actor, CODER.role, dry_run=True)
CODER_READS = Reader(CODER.actor, CODER.role)


def make_facts(home: Path, facts: int) -> Workspace:
    """A workspace with so many facts in 20 domains, ten a topic, and 20 active policies. Views are caught up."""
    workspace = create_workspace(home, "default")
    workspace.config.set("embedder.model", "none")
    workspace.ledger.transact(_domains, ADA, ("bench", "domains"))
    for start in range(0, facts, BATCH):
        numbers = range(start, min(start + BATCH, facts))
        workspace.ledger.transact(partial(_facts, numbers), ADA, ("bench", start))
    for number in range(POLICIES):
        Policies(workspace).propose(domain_of(number), f"Always {phrase(number, 8)}.", ADA)
    workspace.caught_up()
    return workspace


def domain_of(number: int) -> str:
    return f"area-{number % DOMAINS}"


def text_of(number: int) -> str:
    return f"{phrase(3 * number, 3)} {number} is kept in {phrase(7 * number, 8)} with code {number % 977}"


def _domains(draft: Draft) -> None:
    for number in range(DOMAINS):
        stream = domain_stream(domain_of(number))
        draft.load(stream)
        draft.append(stream, [DomainCreated(domain=domain_of(number), label=f"Area {number}", writers=ROLES)])


def _facts(numbers: range, draft: Draft) -> None:
    for number in numbers:
        topic = f"topic {number // A_TOPIC}"
        domain = domain_of(number // A_TOPIC)
        stream = topic_stream(domain, topic)
        if number % A_TOPIC == 0:
            draft.versions[stream] = 0
        event = FactProposed(
            fact_id=short_id("fact", stream, str(number % A_TOPIC + 1)),
            domain=domain,
            topic=topic,
            content=text_of(number),
            confidence=1.0,
            memory_type="fact",
            veracity="stated",
            author=f"agent:author-{number % 7}",
        )
        draft.append(stream, [event])


def percentiles(work: Callable[[int], object], runs: int = ROUNDS) -> tuple[float, float]:
    """p50 and p95 in milliseconds, after one round to warm up."""
    work(0)
    taken = []
    for number in range(runs):
        started = time.perf_counter()
        work(number)
        taken.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken), sorted(taken)[int(runs * 0.95)]


def keyword_times(workspace: Workspace) -> tuple[float, float]:
    """Keyword search, warm: five facts for a question of a few words."""
    db, at = workspace.caught_up(), iso_utc(workspace.clock())

    def ask(number: int) -> None:
        assert rank(db, Question(question(number), Wanted(at), everything(), "keyword")).hits

    return percentiles(ask)


def preamble_times(workspace: Workspace) -> tuple[float, float]:
    """A whole preamble, warm, until it can be handed over: the views caught up with what the last one recorded."""
    taken = []
    for number in range(ROUNDS + 1):
        started = time.perf_counter()
        made = preamble(workspace, f"Find out {question(number)} and report back", CODER)
        taken.append((time.perf_counter() - started) * 1000)
        record_shown(workspace, CODER, made)
    return statistics.median(taken[1:]), sorted(taken[1:])[int(ROUNDS * 0.95)]


def search_times(workspace: Workspace) -> tuple[float, float]:
    """`tht fact search` without its process: with scope, and what was shown recorded durably."""
    recalling = Recalling(workspace, CODER_READS)
    return percentiles(lambda number: recalling.search(question(number), CODER, mode="keyword"))


def propose_times(workspace: Workspace) -> tuple[float, float]:
    """One proposal after another, each durable before the next: compared, linked and recorded."""

    def propose(number: int) -> None:
        new = NewFact(f"{text_of(number)} since {number}", f"topic {number % 50}", CODER.actor, veracity="inferred")
        Facts(workspace).propose(domain_of(number), new, CODER)

    return percentiles(propose)


def question(number: int) -> str:
    return f"where {phrase(3 * number * 97, 3)} is kept"


def figures(workspace: Workspace) -> Iterator[tuple[str, tuple[float, float], tuple[str, str]]]:
    """What was measured, p50 and p95 in milliseconds, and the goal of each."""
    yield "keyword search of facts", keyword_times(workspace), ("≤ 5 ms", "≤ 15 ms")
    yield f"preamble, {POLICIES} policies", preamble_times(workspace), ("—", "≤ 10 ms")
    yield "fact search with scope and log", search_times(workspace), ("—", "—")
    yield PROPOSE, propose_times(workspace), ("—", "—")
