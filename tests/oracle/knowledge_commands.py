"""The commands of random histories on domains, policies, notes and upkeep (see `knowledge_fact_commands`)."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from adapters.access import Access
from adapters.consolidate import Consolidate
from adapters.erasing import Erasing
from adapters.harmonize import Harmonize
from adapters.harvest import Harvest
from adapters.ledger import By
from adapters.notes import Notes
from adapters.policies import Policies
from adapters.undo import Undo
from domain.errors import InsufficientMemoryPermission
from tests.oracle import knowledge_oracle as oracle
from tests.oracle import knowledge_people as people
from tests.oracle.knowledge_fact_commands import DOMAINS, Command, FactCommands
from tests.oracle.knowledge_upkeep import runs
from tests.oracle.knowledge_words import TEXTS

RULES = (
    "Ask before a release.",
    "«ask before a release»",
    "Never log a password.",
    "Review every migration.",
    "Test it.",
)
PERMISSIONS = ("none", "none", "read", "write", None)


class Commands(FactCommands):
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
        known = list(runs(self.events))
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
