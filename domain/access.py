"""Domains, which group facts and policies, and grants: which role may read or write which domain.

A domain is of the workspace (`architecture`) or of a repository (`repo:shop/architecture`). No grant row means read,
or nothing where the workspace is fail-closed; only `none` closes reads, and `write` is needed for policies alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from domain.errors import AlreadyThere, InsufficientMemoryPermission, InvalidInput, NothingChanged, UnknownRepoScope
from domain.event import Envelope, Event
from domain.ids import slug_of

Permission = Literal["none", "read", "write"]
PERMISSIONS: tuple[Permission, ...] = ("none", "read", "write")
ROLES = ("ceo", "coder", "reviewer", "qa", "designer", "security", "devops", "pm", "general")
REPO = "repo:"


class DomainCreated(Event, name="domain.domain-created"):
    """`writers`: the roles that may write from the beginning, as grants of their own."""

    domain: str
    label: str
    repo: str = ""  # slug of the repository; empty for the workspace
    repo_name: str = ""  # owner/name, where it was given
    writers: tuple[str, ...] = ()


class GrantChanged(Event, name="domain.grant-changed"):
    """`permission` None takes the row away: the default decides again."""

    domain: str
    role: str
    permission: Permission | None
    was: Permission | None


@dataclass(frozen=True, slots=True)
class DomainName:
    """Which domain is meant. `id` is its key everywhere: `architecture`, `repo:shop/architecture`."""

    slug: str
    label: str
    repo: str = ""

    @property
    def id(self) -> str:
        return f"{REPO}{self.repo}/{self.slug}" if self.repo else self.slug


def repo_of(domain: str) -> str:
    """`shop` of `repo:shop/architecture`; empty for a domain of the workspace."""
    return domain.removeprefix(REPO).partition("/")[0] if domain.startswith(REPO) else ""


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository that has a domain: its slug, and `owner/name` where it is known."""

    slug: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Domain:
    name: DomainName
    grants: Mapping[str, Permission] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.name.id


def domain_stream(domain_id: str) -> str:
    return f"domain/{domain_id}"


def evolve(domain: Domain | None, envelope: Envelope) -> Domain | None:
    match envelope.event:
        case DomainCreated() as event:
            slug = event.domain.rpartition("/")[2]
            return Domain(DomainName(slug, event.label, event.repo), dict.fromkeys(event.writers, "write"))
        case GrantChanged(role=role, permission=permission) if domain is not None:
            others = {one: level for one, level in domain.grants.items() if one != role}
            return replace(domain, grants=others if permission is None else others | {role: permission})
        case _:
            return domain


def fold(envelopes: Iterable[Envelope]) -> Domain | None:
    domain: Domain | None = None
    for envelope in envelopes:
        domain = evolve(domain, envelope)
    return domain


# -- names -------------------------------------------------------------------------------------------------------------


def parse_domain(text: str, repo: str, known: Sequence[Repo]) -> DomainName:
    """The domain that a caller means by `architecture` with or without a repository, or by `repo:shop/architecture`.

    UnknownRepoScope with the near matches when the repository has no domain yet.
    """
    given = text.strip()
    if given.casefold().startswith(REPO):
        if repo:
            raise InvalidInput(f"{text!r} names its repository already", "leave --repo out")
        repo, _, given = given[len(REPO) :].rpartition("/")
        if not repo:
            raise InvalidInput(f"{text!r} is no domain", "write NAME or repo:SLUG/NAME")
    label = " ".join(given.split())
    return DomainName(slug_of(label, "domain"), label, find_repo(repo, known).slug if repo else "")


def find_repo(text: str, known: Sequence[Repo]) -> Repo:
    """The known repository of this slug or `owner/name`, however it is written. UnknownRepoScope names the nearest."""
    slug, name = _repo_slug(text), text.strip().casefold()
    for one in known:
        if ("/" in name and name == one.name.casefold()) or ("/" not in name and slug == one.slug):
            return one
    if "/" in name:  # a repository known by its slug alone
        for one in known:
            if one.slug == slug and not one.name:
                return one
    from difflib import get_close_matches

    names = {name: one for one in known for name in (one.slug, one.name.casefold()) if name}
    near = [names[close] for close in get_close_matches(name, names, n=3, cutoff=0.5)]
    shown = ", ".join(dict.fromkeys(one.name or one.slug for one in near))
    hint = f"did you mean {shown}?" if shown else ""
    raise UnknownRepoScope(f"there is no repository {text!r} in this workspace", hint)


def new_repo(text: str, known: Sequence[Repo]) -> Repo:
    """The repository of this slug or `owner/name`, known or not. Where its slug is taken, the owner stands in front.

    AlreadyThere when that is taken too.
    """
    try:
        return find_repo(text, known)
    except UnknownRepoScope:
        slug, name = _repo_slug(text), text.strip() if "/" in text else ""
        taken = {one.slug for one in known}
        if slug in taken:
            slug = slug_of(text.replace("/", "-"), "repo")
        if slug in taken:
            raise AlreadyThere(f"another repository is called {slug} here", "name it otherwise") from None
        return Repo(slug, name)


def _repo_slug(text: str) -> str:
    return slug_of(text.rstrip("/").rpartition("/")[2], "repo")


def accept_role(role: str) -> str:
    """A role's name, normalised as a slug."""
    return slug_of(role, "role")


def accept_permission(text: str) -> Permission | None:
    """`none`, `read`, `write`; None for `default`, which takes the row away."""
    if text == "default":
        return None
    for one in PERMISSIONS:
        if one == text:
            return one
    raise InvalidInput(f"{text!r} is no permission", f"one of: {', '.join(PERMISSIONS)}, default")


# -- decide ------------------------------------------------------------------------------------------------------------


def create(domain: Domain | None, name: DomainName, *, repo_name: str = "", writers: Sequence[str]) -> DomainCreated:
    """A new domain. AlreadyThere when it exists."""
    if domain is not None:
        raise AlreadyThere(f"the domain {name.id} exists already", f"tht domain show {name.id}")
    roles = tuple(dict.fromkeys(writers))
    return DomainCreated(domain=name.id, label=name.label, repo=name.repo, repo_name=repo_name, writers=roles)


def set_grant(domain: Domain, role: str, permission: Permission | None) -> GrantChanged:
    """What a role may do in a domain from now on. NothingChanged when it may do just that by a row already."""
    was = domain.grants.get(role)
    if was == permission:
        has = f"has {was} for" if was else "has no row for"
        raise NothingChanged(f"{role} {has} {domain.id} already")
    return GrantChanged(domain=domain.id, role=role, permission=permission, was=was)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a role may do in a domain and which row says so: a grant, or the workspace's default."""

    permission: Permission
    by_row: bool
    person: bool = False  # a person who acts in no role is not bound by grants

    @property
    def reads(self) -> bool:
        return self.permission != "none"

    @property
    def writes(self) -> bool:
        return self.permission == "write"


def decide(row: Permission | None, default: Permission, *, person: bool) -> Decision:
    """`person`: somebody who acts in no role. A row decides; else the default, which is read or none."""
    if person:
        return Decision("write", by_row=False, person=True)
    return Decision(row or default, by_row=row is not None)


def require_write(decision: Decision, role: str, domain_id: str) -> None:
    """InsufficientMemoryPermission names role, domain, required and actual."""
    if not decision.writes:
        raise InsufficientMemoryPermission(
            f"role {role or '(none)'} has {decision.permission} for {domain_id}; a policy there needs write",
            f"a person may give it: tht grant set --role {role or 'ROLE'} --domain {domain_id} --permission write",
        )
