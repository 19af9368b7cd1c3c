"""The pages are of the code that is here: the command reference, the decisions, and what they point to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.reference import reference

ROOT = Path(__file__).resolve().parents[2]
DECISIONS = sorted((ROOT / "ADR").glob("*.md"))


def test_the_command_reference_is_that_of_the_commands() -> None:
    kept = (ROOT / "docs" / "cli.md").read_text("utf-8")
    assert kept == reference(), "run: python -m cli.reference > docs/cli.md"


def test_decisions_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_fits_a_screen_and_ends_with_what_confirms_it(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 50
    for part in ("## Context", "## Decision", "## Consequences"):
        assert part in text
    _, found, confirmed = text.rpartition("Confirmed by")
    assert found
    named = [name.partition("::")[0] for name in re.findall(r"`(tests/[^`]+)`", confirmed)]
    assert named
    for name in named:
        assert (ROOT / name).exists(), f"{path.name} is confirmed by {name}, which is not there"


@pytest.mark.parametrize("page", ["README.md", "docs/operating.md", "docs/postgres.md", "docs/serving.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert ((ROOT / page).parent / target).exists(), target
