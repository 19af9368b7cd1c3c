"""`tht init`, `tht config`, `tht completion`: making a workspace and setting things up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from adapters.config import find_setting
from adapters.reviewers import require_reviewer
from adapters.workspace import Workspace
from cli.arguments import reviewer_token
from cli.options import Commands, Run, common, pass_run
from cli.output import note, printable, show
from domain.promotion import require_person

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from adapters.config import Shown

INDEX_SETTINGS = ("embedder.model", "index.url", "index.collection")  # what an index is made with, and where
REBUILD = "an index that was made otherwise answers as before until tht index rebuild makes it anew"
EMPTY = '""'  # what tht config set takes for it


@click.command("init")
@click.option("--ledger-url", default="", help="Keep the ledger on this PostgreSQL, or join the one that is there.")
@common
@pass_run
def init_command(run: Run, ledger_url: str) -> None:
    """Make the workspace, or say that it is there already."""
    from adapters.ledger_place import is_elsewhere
    from adapters.workspace import create_workspace, has_ledger

    there = has_ledger(run.home_path, run.workspace_name)
    settings = {"ledger.url": ledger_url} if ledger_url else {}
    with create_workspace(run.home_path, run.workspace_name, settings=settings) as workspace:
        if there and ledger_url:
            _require_same_ledger(workspace, "ledger.url", ledger_url)
        if is_elsewhere(workspace.config):
            run.say_where_it_went(workspace)
        ledger_id = workspace.ledger.recorder.ledger_id()
        folder = str(workspace.paths.folder)
        word = "is there already" if there else "is made"
        made = {"workspace": workspace.name, "home": folder, "ledger_id": ledger_id, "already": there}
        kept = _kept(workspace) if ledger_url or is_elsewhere(workspace.config) else ""
        show(run, made, lambda: f"workspace {workspace.name} {word}: {folder}\nledger {ledger_id}{kept}")


def _kept(workspace: Workspace) -> str:
    """Where the ledger is, and whether others have written there already."""
    return f"\nkept in {workspace.ledger.recorder.place}, at position {workspace.ledger.head().position:,}"


@click.group("config", cls=Commands, invoke_without_command=True)
@common
@click.pass_context
def config_command(ctx: click.Context) -> None:
    """Every setting with its value and where it comes from; or get, set, unset one."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_settings)


@config_command.command("list")
@common
@pass_run
def list_settings(run: Run) -> None:
    """Every setting with value, origin and meaning."""
    with run.settings() as workspace:
        settings = workspace.config.listed()
        show(
            run,
            {"settings": [_json(one) for one in settings]},
            lambda: _listed(settings),
        )


def _listed(settings: Sequence[Shown]) -> RenderableType:
    """A line each, and what it is for beneath: nothing is broken in two, however narrow the terminal is."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = []
    for one in settings:
        parts.append(
            Text.assemble(
                (one.key, "bold"), printable(f" = {_value(one.value) or EMPTY}"), (f"  ({one.origin})", "dim")
            )
        )
        parts.append(Padding(Text(one.about, style="dim"), (0, 0, 0, 4)))
    return Group(*parts)


@config_command.command("get")
@click.argument("key")
@common
@pass_run
def get_setting(run: Run, key: str) -> None:
    """One setting's value."""
    with run.settings() as workspace:
        one = workspace.config.shown(key)
        show(run, _json(one), lambda: _value(one.value))


@config_command.command("set")
@click.argument("key")
@click.argument("value")
@common
@pass_run
def set_setting(run: Run, key: str, value: str) -> None:
    """Store a setting in the workspace's config.toml."""
    with run.settings() as workspace:
        _require_person_for(run, workspace, key)
        _require_same_ledger(workspace, key, value)
        workspace.config.set(key, value)
        one = workspace.config.shown(key)
        if one.origin == "environment":
            note(run, f"stored, but the environment overrides it: {key} is {_value(one.value)}")
        elif key in INDEX_SETTINGS and _wants_an_index(workspace):
            note(run, REBUILD)
        show(run, _json(one), lambda: f"{key} = {_value(one.value) or EMPTY}")


@config_command.command("unset")
@click.argument("key")
@common
@pass_run
def unset_setting(run: Run, key: str) -> None:
    """Take a setting out of config.toml, back to its default."""
    with run.settings() as workspace:
        _require_person_for(run, workspace, key)
        _require_same_ledger(workspace, key, "")
        workspace.config.unset(key)
        one = workspace.config.shown(key)
        if key in INDEX_SETTINGS and _wants_an_index(workspace):
            note(run, REBUILD)
        show(run, _json(one), lambda: f"{key} = {_value(one.value) or EMPTY} ({one.origin})")


def _wants_an_index(workspace: Workspace) -> bool:
    """Whether there is an index to be made anew: one here, or one on a server."""
    config = workspace.config
    there = bool(config.value("index.url")) or workspace.paths.index.exists()
    return there and config.value("embedder.model") != "none"


def _require_person_for(run: Run, workspace: Workspace, key: str) -> None:
    """What says who may approve, and who acts, is a person's to change, with a token where one is needed."""
    if key.startswith("review.") or key in ("actor", "ledger.url"):
        require_person(require_reviewer(workspace, run.by(workspace, "", "", False), reviewer_token("")))


def _require_same_ledger(workspace: Workspace, key: str, value: str) -> None:
    """A home keeps its ledger: another way to it may be set, another ledger not."""
    if key == "ledger.url" and value != workspace.config.stored.get(key, ""):
        from adapters.ledger_place import require_same_ledger

        url = str(find_setting(key).parse(value))
        require_same_ledger(workspace.name, workspace.config, url, workspace.paths.ledger)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@common
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script: eval "$(tht completion bash)", or tht completion fish | source."""
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(ctx.find_root().command, {}, "tht", "_THT_COMPLETE").source())


def _json(one: Shown) -> dict[str, object]:
    return {name: getattr(one, name) for name in ("key", "value", "origin", "about")}


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
