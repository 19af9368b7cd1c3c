"""Domains and grants, step by step against a table: reads fail open without a row, `none` closes, `write` proposes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, precondition, rule

from adapters.access import Access
from adapters.fact_reading import FactReading
from adapters.facts import Facts
from adapters.ledger import By
from adapters.policies import Policies
from domain.errors import AccessDenied, InsufficientMemoryPermission, NothingChanged, ThtError
from domain.propose import NewFact
from projections.scope import Reader
from tests.stateful.machine import Machine, run

ROLES, DOMAINS = ("coder", "qa", "intern"), ("architecture", "ops")
ROLE, DOMAIN = st.sampled_from(ROLES), st.sampled_from(DOMAINS)
PERMISSION: Any = st.sampled_from(["none", "read", "write", None])
ADA, BO, TOOL = "human:ada", "human:bo", "tool:linter"


class GrantMachine(Machine):
    """`rows`: what a role may do in a domain, where somebody said so. `held`: policies that wait, by whom."""

    @initialize()
    def begin(self) -> None:
        self.access, self.policies = Access(self.workspace), Policies(self.workspace)
        self.rows: dict[tuple[str, str], str] = {}
        self.held: dict[str, str] = {}
        self.texts = 0
        for domain in DOMAINS:
            self.access.create(domain, By(ADA))
            new = NewFact(f"The team of {domain} meets on Mondays", "meetings", ADA)
            Facts(self.workspace).propose(domain, new, By(ADA))
        self.workspace.caught_up()
        for row in self.access.grants(Reader(ADA)).grants:
            self.rows[row.role, row.domain] = row.permission
        for role in ROLES:
            self._allow(role)
        self.access.set_grant("ops", "coder", "write", By(ADA))
        self.rows["coder", "ops"] = "write"
        for _ in range(2):
            self.propose_policy("coder", "ops")

    def _allow(self, role: str) -> None:
        """The rows that a domain begins with are the product's own choice: each machine begins without."""
        for domain in DOMAINS:
            if (role, domain) in self.rows:
                self.access.set_grant(domain, role, None, By(ADA))
                del self.rows[role, domain]

    @rule(role=ROLE, domain=DOMAIN, permission=PERMISSION)
    def grant(self, role: str, domain: str, permission: Any) -> None:
        answer = self.tried(ADA, lambda by: self.access.set_grant(domain, role, permission, by))
        same = self.rows.get((role, domain)) == permission
        assert isinstance(answer, NothingChanged) == isinstance(answer, ThtError) == same
        self.rows.pop((role, domain), None)
        if permission:
            self.rows[role, domain] = permission

    @rule(role=ROLE, domain=DOMAIN, permission=PERMISSION)
    def nobody_but_a_person_grants(self, role: str, domain: str, permission: Any) -> None:
        answer = self.tried("agent:coder-1", lambda by: self.access.set_grant(domain, role, permission, by), role=role)
        assert isinstance(answer, ThtError)

    @rule(role=ROLE, domain=DOMAIN)
    def propose_policy(self, role: str, domain: str) -> None:
        """Invariant 7. What a tool proposes waits for a person."""
        self.texts += 1
        text = f"Ask {self.texts} times before a release"
        answer = self.tried(TOOL, lambda by: self.policies.propose(domain, text, by), role=role)
        assert isinstance(answer, ThtError) == (self.rows.get((role, domain)) != "write"), answer
        if isinstance(answer, ThtError):
            assert isinstance(answer, InsufficientMemoryPermission | AccessDenied)
        else:
            self.held[answer[0]] = TOOL

    @rule(domain=DOMAIN, who=st.sampled_from([ADA, BO]))
    def propose_as_a_person(self, domain: str, who: str) -> None:
        self.texts += 1
        text = f"Ask {self.texts} times before a release"
        answer = self.tried(who, lambda by: self.policies.propose(domain, text, by))
        assert not isinstance(answer, ThtError), "a person who acts in no role is not bound by grants"

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 100), who=st.sampled_from([ADA, BO, TOOL]))
    def activate(self, which: int, who: str) -> None:
        """Invariant 8."""
        policy = list(self.held)[which % len(self.held)]
        role = "" if who != TOOL else "coder"
        answer = self.tried(who, lambda by: self.policies.activate(policy, by), role, "policy_activation_refused")
        if not isinstance(answer, ThtError):
            assert who != self.held.pop(policy)
        else:
            assert who == TOOL

    @invariant()
    def what_is_explained_and_read_follows_from_the_rows(self) -> None:
        self.workspace.caught_up()
        for role in ROLES:
            for domain in DOMAINS:
                row = self.rows.get((role, domain))
                told = self.access.explain(Reader(ADA), role, domain)
                assert (told.permission, told.decided_by) == (row or "read", "row" if row else "default")
            reader = Reader("agent:coder-1", role)
            seen = {one.domain for one in FactReading(self.workspace, reader).list().facts}
            assert seen == {domain for domain in DOMAINS if self.rows.get((role, domain)) != "none"}
            assert seen == {one.id for one in self.access.domains(reader).domains if one.id in DOMAINS}

    @invariant()
    def a_person_in_no_role_reads_everything(self) -> None:
        self.workspace.caught_up()
        assert {one.domain for one in FactReading(self.workspace, Reader(BO)).list().facts} == set(DOMAINS)


def test_grants_do_what_they_were_told_whatever_comes_next() -> None:
    run(
        GrantMachine,
        "grant propose_policy propose_as_a_person activate",
        "NothingChanged ReviewerNeeded InsufficientMemoryPermission",
        lives=10,
    )
