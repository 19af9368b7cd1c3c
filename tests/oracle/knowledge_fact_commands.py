"""The commands of random histories on facts and conflicts, each made up by chance from what there is, and now and then
from what there is not; with some of what it must answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from adapters.conflicts import Conflicts
from adapters.facts import Facts
from adapters.ledger import By
from adapters.notes import Notes
from adapters.policies import Policies
from adapters.preamble import preamble, record_shown
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from domain.propose import NewFact, OnConflict
from projections.recall.question import MODES
from projections.scope import Reader
from tests.oracle import knowledge_oracle as oracle
from tests.oracle import knowledge_people as people
from tests.oracle.histories import START
from tests.oracle.knowledge_oracle import Data
from tests.oracle.knowledge_words import TEXTS, foretold

Command = Callable[[], Any]

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
CHOICES: tuple[OnConflict, ...] = ("decide", "decide", "decide", "keep_both", "ask", "supersede")


class Clock:
    """A second goes by whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@dataclass
class FactCommands:
    """`events`: the ledger until now. `secrets`: words that stand in one text each. `dry`: the next is a dry run."""

    workspace: Workspace
    clock: Clock
    events: list[Data] = field(default_factory=list)
    secrets: list[str] = field(default_factory=list)
    dry: bool = False

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
            outcome, done = Facts(self.workspace).propose(domain, new, by, on_conflict=choice)
            at = done.envelopes[0].at
            expected = foretold(oracle.facts(self.events), outcome.domain, new, choice, at)
            if outcome.domain in people.closed_to(by.role, people.grants(self.events)):
                expected = ("recorded", set(), "")  # S-55: nothing of what it met there
                assert (outcome.fact_id, outcome.conflicts, outcome.relations) == ("", (), ())
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

    def _echo(self, chance: Random) -> Command:
        """Somebody reads and says again what they have read, perhaps under another spelling of their name."""
        known = [fact for fact in oracle.facts(self.events).values() if fact["status"] == "live"]
        fact = chance.choice(known) if known else {"content": "?", "topic": "?", "domain": "!"}
        (actor, role), (again, _) = chance.choice((ACTORS[:2], ACTORS[1:3], ACTORS[3:5], ACTORS[6:8]))
        new = NewFact(fact["content"], fact["topic"], again, role)

        def command() -> None:
            by, recalling = By(actor, role, dry_run=self.dry), Recalling(self.workspace, Reader(actor, role))
            recalling.search(f"{new.topic} {new.content}", by, limit=20)
            Facts(self.workspace).propose(fact["domain"], new, By(again, role, dry_run=self.dry))

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
        mode = chance.choice(MODES)
        recalling = Recalling(self.workspace, Reader(by.actor, by.role))
        return lambda: recalling.search(question, by, mode=mode, limit=chance.choice((1, 5)))

    def _preamble(self, chance: Random) -> Command:
        by, task = self.by(chance), chance.choice(TEXTS)
        return lambda: record_shown(self.workspace, by, preamble(self.workspace, f"make sure that {task}", by))

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
