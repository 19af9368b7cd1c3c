"""Nothing is used under a licence that nobody looked at."""

from __future__ import annotations

import sys

import pytest

from tests.docs import licences
from tests.docs.licences import ALLOWED, ELSEWHERE, Licensed, is_permissive, packages, page, pinned

linux = pytest.mark.skipif(sys.platform != "linux", reason="the page is of what Linux needs")


@pytest.fixture(scope="module")
def rows() -> list[Licensed]:
    return packages()


def test_every_licence_is_permissive_or_allowed_by_name(rows: list[Licensed]) -> None:
    assert [one.objection for one in rows if one.objection] == []


@linux
def test_every_package_is_needed_by_something_that_is_declared(rows: list[Licensed]) -> None:
    """Else the pins have grown, or the walk along the requirements has lost its way."""
    assert [one.name for one in rows if one.needed_by == "another platform"] == sorted(ELSEWHERE)


def test_what_everybody_gets_has_no_copyleft_but_the_certificates(rows: list[Licensed]) -> None:
    assert [one.name for one in rows if one.needed_by == "all" and one.name in ALLOWED] == ["certifi"]


def test_what_is_allowed_by_name_is_there_and_needs_to_be(rows: list[Licensed]) -> None:
    """A reason that is left over would let the next licence of that package pass unseen."""
    known = {one.name: one for one in rows}
    assert [name for name in ALLOWED if name not in known or is_permissive(known[name].licence)] == []


@linux
def test_the_page_is_that_of_what_is_installed() -> None:
    kept = (licences.ROOT / "docs" / "licences.md").read_text("utf-8")
    assert kept == page(), "run: python -m tests.docs.licences > docs/licences.md"
    assert all(f"| {name} | {version} |" in kept for name, version in pinned().items())


@pytest.mark.parametrize(
    ("licence", "fine"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("MIT AND (GPL-2.0-only OR BSD-3-Clause)", True),
        ("MIT AND GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("LicenseRef-Proprietary", False),
        ("", False),
    ],
)
def test_an_expression_is_read_as_spdx_means_it(licence: str, fine: bool) -> None:
    assert is_permissive(licence) is fine
    assert bool(Licensed("new", "1.0", licence, "all").objection) is not fine
