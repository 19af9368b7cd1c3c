"""Domains and grants: which domain is meant, what a role may do in it, and what says so (knowledge.md, "Grants")."""

from __future__ import annotations

import pytest

from domain import access
from domain.access import (
    Decision,
    Domain,
    DomainCreated,
    DomainName,
    GrantChanged,
    Permission,
    Repo,
    decide,
    domain_stream,
    find_repo,
    new_repo,
    parse_domain,
)
from domain.errors import (
    AlreadyThere,
    InsufficientMemoryPermission,
    InvalidInput,
    NothingChanged,
    ThtError,
    UnknownRepoScope,
)
from domain.event import Event
from tests.domain.spec import Story, recorded

SHOP = Repo("shop", "acme/shop")
KNOWN = (SHOP, Repo("blog"))
NAME = DomainName("architecture", "Architecture")
CREATED = DomainCreated(domain="architecture", label="Architecture", writers=("coder", "qa"))


def given_domain(*events: Event) -> Story[Domain]:
    domain = access.fold(recorded(domain_stream("architecture"), (CREATED, *events)))
    assert domain is not None
    return Story(domain)


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "repo", "expected"),
    [
        ("Data Model", "", "data-model"),
        ("  Καρδιολογία ", "", "καρδιολογία"),
        ("architecture", "shop", "repo:shop/architecture"),
        ("architecture", "ACME/Shop", "repo:shop/architecture"),
        ("repo:shop/Data Model", "", "repo:shop/data-model"),
        ("architecture", "blog", "repo:blog/architecture"),
    ],
)
def test_a_domain_is_named_by_its_slug_and_repository(text: str, repo: str, expected: str) -> None:
    assert parse_domain(text, repo, KNOWN).id == expected


def test_the_label_is_kept_as_written() -> None:
    assert parse_domain("Modèle de Données", "", ()).label == "Modèle de Données"


@pytest.mark.parametrize(
    ("text", "repo", "error"),
    [
        ("!!", "", InvalidInput),
        ("", "", InvalidInput),
        ("repo:/architecture", "", InvalidInput),
        ("repo:shop/architecture", "shop", InvalidInput),
        ("architecture", "nowhere", UnknownRepoScope),
        ("repo:nowhere/architecture", "", UnknownRepoScope),
    ],
)
def test_what_is_no_domain_says_so(text: str, repo: str, error: type[ThtError]) -> None:
    with pytest.raises(error):
        parse_domain(text, repo, KNOWN)


def test_an_unknown_repository_names_the_near_ones() -> None:
    with pytest.raises(UnknownRepoScope) as caught:
        find_repo("shoop", KNOWN)
    assert "acme/shop" in caught.value.hint


def test_a_new_repository_whose_slug_is_taken_gets_its_owner_in_front() -> None:
    assert new_repo("acme/shop", KNOWN) == SHOP
    assert new_repo("other/shop", KNOWN) == Repo("other-shop", "other/shop")
    assert new_repo("acme/cart", KNOWN) == Repo("cart", "acme/cart")


# -- grants ------------------------------------------------------------------------------------------------------------


def test_a_new_domain_seeds_its_writers() -> None:
    assert access.create(None, NAME, writers=("coder", "qa", "coder")) == CREATED
    assert given_domain().state.grants == {"coder": "write", "qa": "write"}


def test_a_domain_is_made_once() -> None:
    given_domain().when(lambda domain: access.create(domain, NAME, writers=())).fails_with(AlreadyThere)


def test_a_grant_says_what_it_was_before() -> None:
    given_domain().when(lambda domain: access.set_grant(domain, "qa", "none")).then(
        GrantChanged(domain="architecture", role="qa", permission="none", was="write")
    )
    given_domain().when(lambda domain: access.set_grant(domain, "intern", "read")).then(
        GrantChanged(domain="architecture", role="intern", permission="read", was=None)
    )


def test_a_grant_that_changes_nothing_says_so() -> None:
    """S-03: also taking away a row that is not there."""
    given_domain().when(lambda domain: access.set_grant(domain, "qa", "write")).fails_with(NothingChanged)
    given_domain().when(lambda domain: access.set_grant(domain, "intern", None)).fails_with(NothingChanged)


def test_taking_a_row_away_lets_the_default_decide() -> None:
    gone = GrantChanged(domain="architecture", role="qa", permission=None, was="write")
    assert given_domain(gone).state.grants == {"coder": "write"}


@pytest.mark.parametrize(
    ("row", "default", "person", "expected"),
    [
        (None, "read", False, Decision("read", by_row=False)),
        (None, "none", False, Decision("none", by_row=False)),
        ("none", "read", False, Decision("none", by_row=True)),
        ("write", "none", False, Decision("write", by_row=True)),
        (None, "none", True, Decision("write", by_row=False, person=True)),
    ],
)
def test_a_row_decides_and_else_the_default(
    row: Permission | None, default: Permission, person: bool, expected: Decision
) -> None:
    assert decide(row, default, person=person) == expected


def test_a_policy_needs_write_and_the_refusal_names_what_is_missing() -> None:
    with pytest.raises(InsufficientMemoryPermission) as caught:
        access.require_write(decide(None, "read", person=False), "intern", "architecture")
    for word in ("intern", "architecture", "write", "read"):
        assert word in caught.value.message
    access.require_write(decide("write", "read", person=False), "coder", "architecture")


@pytest.mark.parametrize("text", ["", "Write", "all"])
def test_a_permission_is_one_of_four_words(text: str) -> None:
    with pytest.raises(InvalidInput):
        access.accept_permission(text)
    assert access.accept_permission("default") is None
