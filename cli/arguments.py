"""Arguments that name things, checked before anything is opened; and who a reviewer is on the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cli.options import Run
from domain.errors import InvalidInput
from domain.text import accept_actor, accept_id, accept_text, is_person, same_actor

if TYPE_CHECKING:
    from datetime import datetime

    from adapters.ledger import By
    from adapters.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])

STDIN_LIMIT = 16 * 2**20  # bytes


class Id(click.ParamType):  # type: ignore[type-arg]  # generic only in later versions of click
    """A session's or memory's id; InvalidInput when it could not even be looked up."""

    name = "id"

    def __init__(self, field: str) -> None:
        self.field = field

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return accept_id(value, self.field)


SESSION = Id("session id")
MEMORY = Id("memory id")
FACT = Id("fact id")
CONFLICT = Id("conflict id")
POLICY = Id("policy id")


def _said(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """An empty --at, as of an unset shell variable, must not quietly mean now."""
    if value == "":
        wanted = str(parameter.metavar).lower().replace("|", " or a ")
        raise click.BadParameter(f"is empty: write a {wanted}", ctx, parameter)
    return value or ""


at_option = click.option(
    "--at",
    default=None,
    metavar="POSITION|TIME",
    callback=_said,
    help="As it was then: 120, 2026-03-02T10:00:00Z.",
)


def two_times(command: F) -> F:
    """Options of what may have held at another time than it was known: passed as `at`, `known_at`."""
    options = (
        click.option(
            "--at", default=None, metavar="TIME", callback=_said, help="What held then: 2026-03-02T10:00:00Z."
        ),
        click.option(
            "--known-at",
            default=None,
            metavar="POSITION|TIME",
            callback=_said,
            help="What was known then: 120, 2026-03-02T10:00:00Z.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def require(value: str, name: str, hint: str = "") -> str:
    """`value`, if anything was given; InvalidInput that says what to give otherwise. `name`: `--domain DOMAIN`."""
    if not value.strip():
        raise InvalidInput(f"{name} is missing", hint or f"give {name}")
    return accept_text(value, name.partition(" ")[0])


def moment(text: str) -> datetime | None:
    """A time that was given, None without one."""
    from adapters.workspace import parse_time

    return parse_time(accept_text(text, "time", limit=100)) if text else None


def text_or_stdin(given: str) -> str:
    """The text itself, or all of stdin for `-`, without its last line end."""
    if given != "-":
        return given
    try:
        return sys.stdin.buffer.read(STDIN_LIMIT).decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"stdin is no UTF-8 text: {error}") from error


def position_of(workspace: Workspace, at: str) -> int | None:
    """The position that --at names; None without one. InvalidInput beyond the ledger's head."""
    if not at:
        return None
    position = workspace.position_at(accept_text(at, "--at", limit=100))
    head = workspace.ledger.head().position
    if position > head:
        raise InvalidInput(f"the ledger has positions 0 to {head}, not {position}")
    return position


def reviewing(command: F) -> F:
    """Options of whoever decides about a candidate: passed as `reviewer`, `token_file`."""
    options = (
        click.option("--reviewer", default="", metavar="WHO", help="Who decides: human:ada. Default: the actor."),
        click.option("--token-file", default="", metavar="FILE", help="Their token; else THT_REVIEWER_TOKEN."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def reviewer_by(run: Run, workspace: Workspace, reviewer: str, reason: str, dry_run: bool, key: str = "") -> By:
    """The reviewer as the actor of a decision. An agent or tool that acts stays the actor, and the gate refuses it."""
    by = run.by(workspace, reason, key, dry_run)
    if not reviewer or not is_person(by.actor):
        return by
    named = accept_actor(reviewer, "--reviewer")
    entered = f"entered by {by.actor}" if run.given_actor and not same_actor(named, by.actor) else ""
    return replace(by, actor=named, role=entered)


def reviewer_token(token_file: str) -> str:
    """The token from the file or the environment; empty without one."""
    if not token_file:
        return os.environ.get("THT_REVIEWER_TOKEN", "").strip()
    try:
        return Path(token_file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise InvalidInput(f"the token cannot be read from {token_file}: {error}") from error
