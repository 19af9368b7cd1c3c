"""What held then (`--at`) and what was known then (`--known-at`): two questions to facts and to a search."""

from __future__ import annotations

import click
import pytest

from cli.main import tht as root
from tests.cli.conftest import Tht

ADA = ("--actor", "human:ada")
RELEASE = ("--domain", "release", "--topic", "port", *ADA)


@pytest.fixture
def backdated(tht: Tht) -> str:
    """The port was 8080; it was told late, at the position that is given, that from March on it was 9090."""
    tht.json("fact", "propose", "The port is 8080", *RELEASE, "--valid-from", "2026-01-01T00:00:00Z")
    known = str(tht.position())
    tht.json("fact", "propose", "The port is 9090", *RELEASE, "--valid-from", "2026-03-01T00:00:00Z")
    return known


def said(tht: Tht, *moment: str) -> list[str]:
    """What a list and a search show, which is the same."""
    listed = [one["content"] for one in tht.json("fact", "list", *moment)["facts"]]
    found = [one["content"] for one in tht.json("fact", "search", "which port", "--mode", "keyword", *moment)["hits"]]
    assert sorted(found) == sorted(listed)
    return sorted(listed)


def test_s30_at_asks_what_held_and_known_at_what_was_known(tht: Tht, backdated: str) -> None:
    """S-30."""
    assert said(tht) == ["The port is 9090"]
    assert said(tht, "--at", "2026-02-01T00:00:00Z") == ["The port is 8080"]
    assert said(tht, "--at", "2026-04-01T00:00:00Z") == ["The port is 9090"]
    assert said(tht, "--known-at", backdated) == ["The port is 8080"]
    assert said(tht, "--known-at", backdated, "--at", "2026-04-01T00:00:00Z") == ["The port is 8080"]
    assert said(tht, "--known-at", backdated, "--at", "2025-12-01T00:00:00Z") == []
    assert said(tht, "--at", "2025-12-01T00:00:00Z") == []


def test_a_memory_that_was_replaced_is_what_held_and_what_was_known_before(tht: Tht) -> None:
    tht.session("s1", ("Ablation", "a catheter procedure"), ("Relapse", "ablation again within a year"))
    first, second = tht.promote("s1", 1), tht.promote("s1", 2)
    known = str(tht.position())
    held = tht.json("registry", "show", second)["timestamp"]
    tht.json("registry", "supersede", first, "--by", second, *ADA, "--reason", "one rule is enough")

    def found(*moment: str) -> list[str]:
        return sorted(one["id"] for one in tht.json("memory", "search", "ablation", *moment)["hits"])

    assert found() == [second]
    assert found("--at", held) == found("--known-at", known) == [first, second]
    assert found("--at", "2020-01-01T00:00:00Z") == found("--known-at", "0") == []


@pytest.mark.parametrize(
    "command", [("fact", "search", "x"), ("fact", "list"), ("fact", "show", "fact-a"), ("memory", "search", "x")]
)
def test_a_position_given_as_the_time_that_held_is_sent_to_the_other_option(tht: Tht, command: tuple[str, ...]) -> None:
    tht.json("fact", "propose", "The port is 8080", *RELEASE)
    refused = tht(*command, "--at", "1", "--json")
    assert (refused.code, refused.error["type"]) == (2, "InvalidInput")
    assert "1 is a position" in refused.error["message"]
    assert "--known-at 1" in refused.error["hint"]
    assert "is no time" in tht(*command, "--at", "monday").err
    assert "write 2026-03-02T00:00:00Z" in tht(*command, "--at", "2026-03-02").err, "the day that was meant"
    assert "neither a position nor a time" in tht(*command, "--known-at", "monday").err
    for name, wanted in (("--at", "write a time"), ("--known-at", "write a position or a time")):
        empty = tht(*command, name, "")
        assert (empty.code, wanted in empty.err) == (2, True), "an unset shell variable must not quietly mean now"


def test_a_position_is_given_to_at_only_where_there_is_no_other_time() -> None:
    """One name, one meaning: beside `--known-at`, `--at` is a time; without it, the ledger's position or time."""
    for name, command in _commands(root):
        options = {option: one.metavar for one in command.params for option in one.opts}
        if "--at" in options:
            assert options["--at"] == ("TIME" if "--known-at" in options else "POSITION|TIME"), name
        assert "--as-of" not in options, name


def _commands(group: click.Group, path: str = "tht") -> list[tuple[str, click.Command]]:
    found: list[tuple[str, click.Command]] = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        found.append((f"{path} {name}", command))
        if isinstance(command, click.Group):
            found += _commands(command, f"{path} {name}")
    return found
