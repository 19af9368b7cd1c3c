"""Domains and grants: made and set by people, listed as far as the reader may see, and explained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

from adapters.knowledge import (
    configured_roles,
    known_roles,
    named_domain,
    named_repo,
    require_human,
    scope_for,
    seen_by,
)
from adapters.ledger import By, Committed, Draft
from adapters.reviewers import require_reviewer
from adapters.workspace import Workspace
from domain import access as rules
from domain.access import DomainName, GrantChanged, Permission, accept_role
from domain.errors import UnknownDomain
from domain.text import accept_text
from projections import access, timeline
from projections.access import DomainRow, GrantRow
from projections.scope import Reader, Scope, decision_for


@dataclass(frozen=True, slots=True)
class Domains:
    """The domains that a reader sees; `denied`: some are closed to them."""

    domains: tuple[DomainRow, ...]
    denied: str

    def as_json(self) -> dict[str, Any]:
        return {"domains": [one.as_json() for one in self.domains], "denied": self.denied or None}


@dataclass(frozen=True, slots=True)
class Grants:
    """The grant rows of the domains that a reader sees."""

    grants: tuple[GrantRow, ...]
    denied: str

    def as_json(self) -> dict[str, Any]:
        return {"grants": [one.as_json() for one in self.grants], "denied": self.denied or None}


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a role may do in a domain, and what decides it: its row, with who set it, or the workspace's default."""

    role: str
    domain: str
    permission: Permission
    row: GrantRow | None
    default: Permission

    @property
    def decided_by(self) -> Literal["row", "default"]:
        return "row" if self.row else "default"

    @property
    def text(self) -> str:
        """Three lines: the decision, what decides it, what follows."""
        if self.row is None:
            because = f"no row for {self.role}: the default decides (access.default = {self.default})"
        else:
            how = "came with the domain, made" if self.row.seeded else "set"
            reason, at = f": {self.row.reason}" if self.row.reason else "", self.row.at[:19].replace("T", " ")
            because = f"the row {how} by {self.row.by} at {at} UTC, position {self.row.position:,}{reason}"
        reads = "closed to every search, list, history, preamble and export" if self.permission == "none" else "reads"
        writes = "may propose policies" if self.permission == "write" else "may propose no policy"
        return f"{self.role} has {self.permission} for {self.domain}\n{because}\n{reads}; {writes}"

    def as_json(self) -> dict[str, Any]:
        return {
            "role": self.role,
            "domain": self.domain,
            "permission": self.permission,
            "decided_by": self.decided_by,
            "default": self.default,
            "row": self.row.as_json() if self.row else None,
        }


@dataclass(frozen=True)
class Access:
    """`token` proves the person, where `review.require_token` asks for it."""

    workspace: Workspace
    token: str = ""

    # -- commands, of people

    def create(self, domain: str, by: By, *, repo: str = "") -> tuple[DomainName, Committed]:
        """A domain with `write` for every known role; a repository is known from its first domain on. AlreadyThere."""
        self._require_person(by)
        accept_text(domain, "domain", limit=300, required=True)
        accept_text(repo, "--repo", limit=300)
        known = access.repos(self.workspace.caught_up())
        found = rules.new_repo(repo, known) if repo else None
        name = rules.parse_domain(domain, found.slug if found else "", [*known, found] if found else known)

        def work(draft: Draft) -> None:
            there = rules.fold(draft.load(rules.domain_stream(name.id)))
            repo_name = found.name if found else next((one.name for one in known if one.slug == name.repo), "")
            made = rules.create(there, name, repo_name=repo_name, writers=known_roles(self.workspace))
            draft.append(rules.domain_stream(name.id), (made,))

        return name, self.workspace.ledger.transact(work, by, ("domain.create", name.id))

    def set_grant(
        self, domain: str, role: str, permission: Permission | None, by: By, *, repo: str = ""
    ) -> tuple[GrantChanged, Committed]:
        """What a role may do in a domain from now on; None takes its row away. UnknownDomain, NothingChanged."""
        self._require_person(by)
        name, role = named_domain(self.workspace, domain, repo), accept_role(role)

        def work(draft: Draft) -> None:
            there = rules.fold(draft.load(rules.domain_stream(name.id)))
            if there is None:
                raise UnknownDomain(f"there is no domain {name.id}")
            draft.append(rules.domain_stream(name.id), (rules.set_grant(there, role, permission),))

        done = self.workspace.ledger.transact(work, by, ("grant.set", name.id, role, permission))
        return done.events(GrantChanged)[0], done

    # -- queries

    def unknown_role(self, role: str) -> str:
        """A warning when nobody knows a role: it is no usual one, not set in access.roles, has no row and has never
        acted. It names near ones; '' for a role that is known."""
        db, role = self.workspace.caught_up(), accept_role(role)
        known = {*configured_roles(self.workspace), *(row.role for row in access.grants(db))}
        known |= {accept_role(one) for one in timeline.acting_roles(db)}
        if role in known:
            return ""
        near = get_close_matches(role, sorted(known), n=3)
        meant = f": did you mean {', '.join(near)}?" if near else "; access.roles names those of this workspace"
        return f"no role {role} is known here yet{meant}"

    def domains(self, reader: Reader, *, repo: str = "") -> Domains:
        """The domains that the reader sees, those of a repository first."""
        own = named_repo(self.workspace, repo, self._scope(reader))
        with seen_by(self.workspace, reader) as (db, scope):
            found = [row for row in access.domains(db) if scope.sees(row.id)]
        found.sort(key=lambda row: (not own or row.repo != own, row.id))
        return Domains(tuple(found), scope.denied)

    def domain(self, reader: Reader, domain: str, *, repo: str = "") -> tuple[DomainRow, Sequence[GrantRow]]:
        """A domain with its grant rows. AccessDenied where it is closed to the reader, there or not."""
        scope = self._scope(reader)
        row = self._visible(scope, named_domain(self.workspace, domain, repo, scope).id)
        return row, access.grants(self.workspace.file.db, domain=row.id)

    def grants(self, reader: Reader, *, role: str = "", domain: str = "", repo: str = "") -> Grants:
        """The grant rows, of one role or domain where it is named."""
        name = named_domain(self.workspace, domain, repo, self._scope(reader)).id if domain else ""
        with seen_by(self.workspace, reader) as (db, scope):
            if name:
                self._visible(scope, name)
            rows = access.grants(db, role=accept_role(role) if role else "", domain=name)
            return Grants(tuple(row for row in rows if scope.sees(row.domain)), scope.denied)

    def explain(self, reader: Reader, role: str, domain: str, *, repo: str = "") -> Explanation:
        """Which row or default decides what a role may do. Of a domain that is closed to the reader, only their own
        role is explained, and not whether there is such a domain."""
        scope, role = self._scope(reader), accept_role(role)
        name = named_domain(self.workspace, domain, repo, scope)
        if role != reader.role or scope.sees(name.id):
            self._visible(scope, name.id)
        db, default = self.workspace.file.db, self.workspace.config.value("access.default")
        row = access.find_grant(db, role, name.id)
        decision = decision_for(db, Reader(reader.actor, role), name.id, default)
        return Explanation(role, name.id, decision.permission, row, default)

    # -- parts

    def _scope(self, reader: Reader) -> Scope:
        return scope_for(self.workspace, reader)

    def _visible(self, scope: Scope, domain_id: str) -> DomainRow:
        scope.require(domain_id)
        row = access.find_domain(self.workspace.file.db, domain_id)
        if row is None:
            raise UnknownDomain(f"there is no domain {domain_id}")
        return row

    def _require_person(self, by: By) -> None:
        require_human(by, "make domains and set grants")
        require_reviewer(self.workspace, by, self.token)
