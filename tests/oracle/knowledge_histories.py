"""Random histories of valid and invalid commands on workspace knowledge, carried out through the public adapters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

from adapters.access import Access
from adapters.conflicts import Conflicts
from adapters.consolidate import Consolidate
from adapters.erasing import Erasing
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.harmonize import Harmonize
from adapters.harvest import Harvest
from adapters.ledger import By
from adapters.notes import Notes
from adapters.policies import Policies
from adapters.preamble import preamble
from adapters.undo import Undo
from adapters.workspace import Workspace
from domain.errors import InsufficientMemoryPermission, ReviewerNeeded, SelfReview
from domain.propose import NewFact
from projections.scope import Reader
from tests.oracle import knowledge_oracle as oracle
from tests.oracle import knowledge_people as people
from tests.oracle.histories import START, hasty_workspace, refusal
from tests.oracle.knowledge_oracle import Data
from tests.oracle.knowledge_words import TEXTS, foretold

Command = Callable[[], Any]
Op = tuple[str, int]

ACTORS = (
    ("agent:coder-1", "coder"),
    ("agent:Coder-1", "coder"),  # the same
    ("agent:ｃoder-1", "coder"),  # the same
    ("agent:critic", "reviewer"),
    ("agent:intern", "intern"),  # a role that no domain knows
    ("tool:scan", ""),
    ("human:ada", ""),
    ("human:ada", ""),
    ("human:bo", ""),
    ("human:cy", "pm"),
)
DOMAINS = ("architecture", "architecture", "Architecture ", "repo:shop/architecture", "ops", "repo:unheard/of", "!")
TOPICS = ("api", "api", "API", "sessions", "store")
VERACITIES = ("stated", "stated", "inferred", "imported", "tool")
CHOICES = ("decide", "decide", "decide", "keep_both", "ask", "supersede")
RULES = (
    "Ask before a release.",
    "«ask before a release»",
    "Never log a password.",
    "Review every migration.",
    "Test it.",
)
PERMISSIONS = ("none", "none", "read", "write", None)

# Weights by repetition: what makes facts and brings them together is drawn most.
VERBS = (
    *("propose",) * 26,
    *("policy", "policy", "grant", *("activate",) * 5),
    *("search", "supersede", "restore", "policy", "consolidate", "harmonize", "undo") * 4,
    *("correct", "retire", "keep", "keep_both", "merge", "link", "remember", "grant", "activate") * 3,
    *("harvest", "observe", "notes", "erase", "reopen", "unlink", "policy_supersede", "deactivate") * 2,
    *("confide", "confide", "wait", "wait", "preamble", "domain", "retry"),
)
STANDING_REFUSALS = (SelfReview, ReviewerNeeded)


def ops_of(seed: int, length: int) -> list[Op]:
    """The first `length` operations that a seed stands for: drawn evenly, and shrunk from the end."""
    chance = Random(seed)
    verbs = [*["domain"] * 2, *["propose"] * 6, *(chance.choice(VERBS) for _ in range(length - 8))]
    return [(verb, chance.randrange(2**32)) for verb in verbs]


HISTORIES = st.builds(ops_of, st.integers(0, 2**32 - 1), st.integers(40, 80))


class Clock:
    """A second goes by whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def told(workspace: Workspace, after: int = 0) -> list[Data]:
    """The ledger as the oracle reads it."""
    return [
        {
            "position": one.position,
            "stream": one.stream,
            "kind": one.event.kind,
            "at": one.at.isoformat(),
            "actor": one.actor,
            "role": one.role,
            "reason": one.reason,
            "command": one.correlation_id,
            "data": one.event.model_dump(mode="json"),
        }
        for one in workspace.ledger.page(after, 10**6)
    ]


def workspace_with_a_clock(home: Path) -> tuple[Workspace, Clock]:
    workspace, clock = hasty_workspace(home), Clock()
    workspace.clock = workspace.ledger.clock = clock
    return workspace, clock


@dataclass
class History:
    """Carries operations out one by one and checks what each may have written, and some of what it must answer."""

    workspace: Workspace
    clock: Clock
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    events: list[Data] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)  # words that stand in one text each
    dry: bool = False

    def run(self, ops: list[Op]) -> None:
        for verb, seed in ops:
            self.step(verb, Random(seed))

    def step(self, verb: str, chance: Random) -> None:
        """A refused command and a dry run write nothing, but that somebody tried to let a policy in."""
        self.dry = chance.randrange(12) == 0 and verb != "preamble"
        head = self.workspace.ledger.head().position
        error = refusal(getattr(self, f"_{verb}")(chance))
        written = told(self.workspace, head)
        self.events += written
        if error is None:
            self.accepted[verb] += not self.dry
            assert not (self.dry and written), f"a dry run of {verb} wrote"
            return
        self.refused[error.type] += 1
        kinds = {one["kind"] for one in written}
        noted = verb == "activate" and isinstance(error, STANDING_REFUSALS) and not self.dry
        assert kinds <= ({"policy_activation_refused"} if noted else set()), (verb, error)

    def by(self, chance: Random, *, people_mostly: bool = False) -> By:
        some = ACTORS[6:] if people_mostly and chance.randrange(6) else ACTORS
        actor, role = chance.choice(some)
        return By(actor, role, chance.choice(("", "it came up")), dry_run=self.dry)

    # -- facts

    def new_fact(self, chance: Random, by: By, text: str = "") -> NewFact:
        begins, ends = (self.clock.now + timedelta(days=chance.choice((-3, 2, 9))) for _ in "ab")
        sources = [chance.choice((self.fact(chance), "obs-seen"))] if chance.randrange(6) == 0 else []
        return NewFact(
            text or chance.choice(TEXTS),
            "?" if chance.randrange(20) == 0 else chance.choice(TOPICS),
            by.actor,
            by.role,
            1.5 if chance.randrange(30) == 0 else chance.choice((None, None, 0.3, 0.6, 0.9)),
            veracity="hearsay" if chance.randrange(30) == 0 else chance.choice(VERACITIES),
            source_observation_ids=tuple(sources),
            valid_from=begins if chance.randrange(5) == 0 else None,
            valid_until=ends if chance.randrange(5) == 0 else None,
        )

    def _propose(self, chance: Random) -> Command:
        by, domain = self.by(chance), chance.choice(DOMAINS[: 7 if chance.randrange(12) == 0 else 5])
        new, choice = self.new_fact(chance, by), chance.choice(CHOICES)

        def command() -> None:
            outcome, done = Facts(self.workspace).propose(domain, new, by, on_conflict=choice)  # type: ignore[arg-type]
            at = done.envelopes[0].at
            expected = foretold(oracle.facts(self.events), outcome.domain, new, choice, at)
            assert expected in (None, (outcome.outcome, set(outcome.superseded), outcome.superseded_by)), new

        return command

    def _retry(self, chance: Random) -> Command:
        """The same command under the same key: told the same, recorded once."""
        by = self.by(chance)
        by = By(by.actor, by.role, by.reason, f"key-{self.clock.now.timestamp()}", by.dry_run)
        new = self.new_fact(chance, by)

        def command() -> None:
            first, _ = Facts(self.workspace).propose("architecture", new, by)
            head = self.workspace.ledger.head()
            second, done = Facts(self.workspace).propose("architecture", new, by)
            assert done.already != self.dry
            assert (first.fact_id, first.outcome, first.confidence) == (
                second.fact_id,
                second.outcome,
                second.confidence,
            )
            assert self.workspace.ledger.head() == head

        return command

    def _confide(self, chance: Random) -> Command:
        """Something about a person, with a word in it that stands nowhere else."""
        by, word = self.by(chance), f"zq{len(self.secrets)}x{chance.randrange(10**6)}zq"
        kind = chance.randrange(4)
        self.secrets.append(word)
        new = NewFact(f"Mario lives at {word}", "people", by.actor, about="person:mario")
        return (
            lambda: Facts(self.workspace).propose("ops", new, by),
            lambda: Notes(self.workspace).update(f"Mario said {word}", by),
            lambda: Notes(self.workspace).observe(f"Mario said {word}", by),
            lambda: Policies(self.workspace).propose("ops", f"Never call {word}", by),
        )[kind]

    def _supersede(self, chance: Random) -> Command:
        """Now and then the other way round than it was."""
        pairs = [(fact["superseded_by"], one) for one, fact in oracle.facts(self.events).items()]
        turned = [pair for pair in pairs if pair[0]]
        old, new = (self.fact(chance), self.fact(chance))
        if turned and chance.randrange(4) == 0:
            old, new = chance.choice(turned)
        by = self.by(chance)
        return lambda: Facts(self.workspace).supersede(old, new, by)

    def _correct(self, chance: Random) -> Command:
        by, fact = self.by(chance), self.fact(chance)
        text, topic = chance.choice(TEXTS), chance.choice(("", "", "", *TOPICS))
        new = NewFact(text, topic, by.actor, by.role, veracity=chance.choice(VERACITIES))
        return lambda: Facts(self.workspace).correct(fact, new, by)

    def _retire(self, chance: Random) -> Command:
        fact, by = self.fact(chance), self.by(chance)
        return lambda: Facts(self.workspace).retire(fact, by)

    def _restore(self, chance: Random) -> Command:
        out = [one for one, fact in oracle.facts(self.events).items() if fact["status"] != "live"]
        fact, by = chance.choice([*out, self.fact(chance)]), self.by(chance)
        return lambda: Facts(self.workspace).restore(fact, by)

    def _link(self, chance: Random) -> Command:
        one, other, by = self.fact(chance), self.fact(chance), self.by(chance)
        kind: Any = chance.choice(("related_to", "refines", "references"))
        return lambda: Facts(self.workspace).link(one, other, kind, chance.choice((0.5, 1.0)), by)

    def _unlink(self, chance: Random) -> Command:
        there = [*oracle.links(self.events), ("fact-nowhere", "fact-neither", "refines")]
        one, other, kind = chance.choice(there)
        by, known = self.by(chance), chance.randrange(4) > 0
        name: Any = kind if known else "references"
        return lambda: Facts(self.workspace).unlink(one, other, name, by)

    def _search(self, chance: Random) -> Command:
        by, question = self.by(chance), chance.choice(TEXTS)
        reading = FactReading(self.workspace, Reader(by.actor, by.role))
        return lambda: reading.search(question, by, limit=chance.choice((1, 5)))

    def _preamble(self, chance: Random) -> Command:
        by, task = self.by(chance), chance.choice(TEXTS)
        return lambda: preamble(self.workspace, f"make sure that {task}", by)

    # -- conflicts

    def _keep(self, chance: Random) -> Command:
        conflict, facts = self.conflict(chance)
        fact, by = chance.choice((*facts, self.fact(chance))), self.by(chance, people_mostly=True)
        return lambda: Conflicts(self.workspace).keep(conflict, fact, by)

    def _keep_both(self, chance: Random) -> Command:
        (conflict, _), by = self.conflict(chance), self.by(chance, people_mostly=True)
        return lambda: Conflicts(self.workspace).keep_both(conflict, by)

    def _merge(self, chance: Random) -> Command:
        (conflict, _), by = self.conflict(chance), self.by(chance, people_mostly=True)
        text = chance.choice((*TEXTS, "The API listens on 8080 and on 9090"))
        return lambda: Conflicts(self.workspace).merge(conflict, text, by)

    def _reopen(self, chance: Random) -> Command:
        (conflict, _), by = self.conflict(chance), self.by(chance, people_mostly=True)
        return lambda: Conflicts(self.workspace).reopen(conflict, by)

    # -- domains, grants, policies

    def _domain(self, chance: Random) -> Command:
        by, repo = self.by(chance, people_mostly=True), chance.choice(("acme/shop", "acme/shop", "shop", ""))
        name = chance.choice(("architecture", "architecture", "ops"))
        return lambda: Access(self.workspace).create(name, by, repo=repo)

    def _grant(self, chance: Random) -> Command:
        by, role = self.by(chance, people_mostly=True), chance.choice(("coder", "reviewer", "intern", "intern"))
        domain = chance.choice((*DOMAINS[:5], "decisions", "working-memory"))
        permission: Any = chance.choice(PERMISSIONS)
        return lambda: Access(self.workspace).set_grant(domain, role, permission, by)

    def _policy(self, chance: Random) -> Command:
        by, rule = self.by(chance), chance.choice(RULES)
        domain = chance.choice(("architecture", "ops", "ops", "repo:shop/architecture"))
        sources = [self.fact(chance) for _ in range(chance.choice((0, 1, 1, 2)))]
        role = chance.choice(("", "", "Coder"))

        def command() -> None:
            may = people.may_write(by.actor, by.role, domain, self.events)
            try:
                Policies(self.workspace).propose(domain, rule, by, required_role=role, derived_from=sources)
                assert may, f"{by.role} proposed a policy for {domain}"
            except InsufficientMemoryPermission:
                assert not may, f"{by.role} may write to {domain}"
                raise

        return command

    def _policy_supersede(self, chance: Random) -> Command:
        policy, by, rule = self.policy(chance), self.by(chance), chance.choice(RULES)
        sources = [self.fact(chance)] if chance.randrange(3) == 0 else []
        return lambda: Policies(self.workspace).supersede(policy, rule, by, derived_from=sources)

    def _activate(self, chance: Random) -> Command:
        policy, by = self.policy(chance), self.by(chance, people_mostly=True)
        before = people.policies(self.events).get(policy, {"held": "", "proposed_by": ""})
        if before["held"] and chance.randrange(2):  # whoever proposed it tries
            by = By(before["proposed_by"], before["proposed_role"], dry_run=self.dry)

        def command() -> None:
            Policies(self.workspace).activate(policy, by)
            proposer = oracle.person(before["proposed_by"])
            another = by.actor.startswith("human:") and oracle.person(by.actor) != proposer
            assert another or not before["held"], "who proposes does not approve"

        return command

    def _deactivate(self, chance: Random) -> Command:
        policy, by = self.policy(chance), self.by(chance)
        return lambda: Policies(self.workspace).deactivate(policy, by)

    # -- what is their own

    def _notes(self, chance: Random) -> Command:
        by, text = self.by(chance), chance.choice(("in the middle of it", "done", ""))
        return lambda: Notes(self.workspace).update(text, by)

    def _observe(self, chance: Random) -> Command:
        by, text = self.by(chance), chance.choice((*TEXTS, *TEXTS, " "))
        return lambda: Notes(self.workspace).observe(text, by)

    def _remember(self, chance: Random) -> Command:
        by, text = self.by(chance), chance.choice(TEXTS)
        session, ttl = chance.choice(("", "s-1", "api")), chance.choice(("", "", "6h", "2d", "2d", "soon"))
        weight = chance.choice((None, 0.2, 0.8, 1.0))
        return lambda: Notes(self.workspace).remember(text, by, importance=weight, session_id=session, ttl=ttl)

    # -- upkeep and erasing

    def _wait(self, chance: Random) -> Command:
        """Nothing but time; seldom so much that everything fades."""
        hours = chance.choice((1, 5, 30, 30, 24 * 12, 24 * 12, 24 * 500))
        self.clock.now += timedelta(hours=hours)
        return lambda: None

    def _consolidate(self, chance: Random) -> Command:
        by = self.by(chance)
        return lambda: Consolidate(self.workspace).run(by)

    def _harmonize(self, chance: Random) -> Command:
        by = self.by(chance)
        return lambda: Harmonize(self.workspace).run(by)

    def _harvest(self, chance: Random) -> Command:
        by, listed = self.by(chance), chance.sample(TEXTS, chance.randrange(4))
        return lambda: Harvest(self.workspace).run("Weekly", chance.choice(("m-1", "m-1", "m-2")), listed, by)

    def _undo(self, chance: Random) -> Command:
        known = list(oracle.runs(self.events))
        run, by = chance.choice([*known[-3:], *known[-1:], "run-nowhere"]), self.by(chance)
        return lambda: Undo(self.workspace).run(run, by)

    def _erase(self, chance: Random) -> Command:
        by, about = self.by(chance, people_mostly=True), ""
        records = (self.fact(chance), self.policy(chance), "notes:agent:coder-1", *list(people.items(self.events))[:2])
        record = chance.choice((self.fact(chance), *records, *list(people.observations(self.events))[:2]))
        if chance.randrange(4) == 0:
            about, record = "person:mario", ""
        names = (record,) if record else ()

        def command() -> None:
            done = Erasing(self.workspace).erase(names, by, about=about)
            assert done.records or done.already

        return command

    # -- parts: mostly what there is, now and then what there is not

    def fact(self, chance: Random) -> str:
        known = list(oracle.facts(self.events))
        return chance.choice(known) if known and chance.randrange(12) else "fact-nowhere"

    def conflict(self, chance: Random) -> tuple[str, tuple[str, str]]:
        known = [(one, (row["older"], row["newer"])) for one, row in oracle.conflicts(self.events).items()]
        return chance.choice(known) if known and chance.randrange(12) else ("conflict-nowhere", ("fact-a", "fact-b"))

    def policy(self, chance: Random) -> str:
        known = people.policies(self.events)
        waiting = [one for one, policy in known.items() if policy["status"] == "held"]
        return chance.choice([*known, *waiting * 3]) if known and chance.randrange(12) else "policy-nowhere"
