"""`tht token`: by which programs and people show `tht serve` who they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from adapters.reviewers import require_known_person
from adapters.tokens import Tokens
from cli.arguments import reviewer_token
from cli.options import Commands, Run, common, pass_run
from cli.output import note, print_json, show, table, time_text
from domain.promotion import Reviewer, require_person
from domain.text import accept_actor, is_person

F = TypeVar("F", bound=Callable[..., Any])


@click.group("token", cls=Commands)
@common
def token_command() -> None:
    """Tokens for tht serve: whom they stand for is fixed when they are made; only hashes are kept."""


def standing_for(command: F) -> F:
    """--actor says whom a token stands for, in the place of the global option that says who acts: passed as `who`."""
    given = getattr(command, "__click_params__", [])
    given[:] = [one for one in given if one.name != "actor"]
    return click.option("--actor", "who", required=True, metavar="WHO", help="Whom it stands for: agent:coder-1.")(
        command
    )


@token_command.command("create")
@standing_for
@click.option("--person", is_flag=True, help="It is a person's, who may approve, set grants and resolve conflicts.")
@common
@pass_run
def create(run: Run, who: str, person: bool) -> None:
    """Make a token for an agent, a tool or a person, in the role that --role names. It is printed once."""
    with run.opened() as workspace:
        maker = run.actor_in(workspace)
        require_person(Reviewer(maker))
        named = accept_actor(who, "--actor")
        if is_person(named):
            require_known_person(workspace, named, reviewer_token(""))
        tokens = Tokens(workspace.paths.tokens)
        made, text = tokens.create(named, run.role_name, by=maker, at=workspace.clock(), person=person)
        if run.json:
            print_json(made.as_json() | {"token": text})
        else:
            acts = f"{made.actor} as {made.role}" if made.role else made.actor
            note(run, f"token {made.id} of {acts}; it is not shown again, only its hash is kept:")
            click.echo(text)


@token_command.command("list")
@common
@pass_run
def list_command(run: Run) -> None:
    """Whom the tokens stand for."""
    with run.opened() as workspace:
        found = Tokens(workspace.paths.tokens).listed()
        rows = [(one.id, one.actor, one.role, time_text(one.created), one.by) for one in found]
        show(
            run,
            {"tokens": [one.as_json() for one in found]},
            lambda: table("", ("id", "stands for", "role", "made (UTC)", "by"), rows) if rows else "no tokens",
        )


@token_command.command("revoke")
@click.argument("token_id", metavar="ID")
@common
@pass_run
def revoke(run: Run, token_id: str) -> None:
    """Take a token away; a running server refuses it from the next request on."""
    with run.opened() as workspace:
        require_person(Reviewer(run.actor_in(workspace)))
        tokens = Tokens(workspace.paths.tokens)
        for one in tokens.listed():
            if one.id == token_id and is_person(one.actor):
                require_known_person(workspace, one.actor, reviewer_token(""))
        gone = tokens.revoke(token_id)
        show(run, gone.as_json(), lambda: f"token {gone.id} of {gone.actor} is revoked")
