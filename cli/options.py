"""Options that commands share, and the circumstances of one run: home, workspace, actor, form of the output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from domain.errors import AccessDenied
from domain.text import accept_actor, accept_text

if TYPE_CHECKING:
    from adapters.ledger import By
    from adapters.workspace import Workspace
    from projections.scope import Reader

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Run:
    """What the global options say. Kept in click's context, wherever on the line they were given."""

    home: str = ""
    workspace: str = ""
    actor: str = ""
    role: str = ""
    json: bool = False
    quiet: bool = False
    no_color: bool = False

    @property
    def home_path(self) -> Path:
        given = self.home or os.environ.get("THT_HOME", "")
        if given:
            from adapters.user_path import user_path

            return user_path(given)
        from platformdirs import user_data_path

        return user_data_path("tht")

    @property
    def workspace_name(self) -> str:
        return self.workspace or os.environ.get("THT_WORKSPACE", "") or "default"

    @property
    def given_actor(self) -> str:
        """The actor named on the line or in THT_ACTOR; empty when nobody is."""
        return self.actor or os.environ.get("THT_ACTOR", "")

    def actor_in(self, workspace: Workspace, default: str = "") -> str:
        """Who acts: --actor, THT_ACTOR, `default`, the setting `actor`, or the person who is logged in."""
        named = self.given_actor or default or str(workspace.config.value("actor")) or f"human:{_login()}"
        return accept_actor(named)

    @property
    def role_name(self) -> str:
        """The agent role named on the line or in THT_ROLE, normalised; empty for somebody who acts in none."""
        given = self.role or os.environ.get("THT_ROLE", "")
        if not given:
            return ""
        from domain.access import accept_role

        return accept_role(given)

    def reader(self, workspace: Workspace) -> Reader:
        """Who reads, for the scope of what they may see."""
        from projections.scope import Reader

        return Reader(self.actor_in(workspace), self.role_name)

    def require_whole(self, workspace: Workspace, what: str) -> None:
        """AccessDenied for a command that shows the whole workspace, where anything is closed to whoever gives it."""
        from adapters.knowledge import require_whole

        if self.role_name or workspace.config.value("access.default") == "none":  # else no row closes anything
            require_whole(workspace, self.reader(workspace), what)

    def require_keeper(self, workspace: Workspace, what: str) -> None:
        """AccessDenied for an agent as well: a copy holds the notes of every agent, with the keys that open them."""
        if self.actor_in(workspace).startswith("agent:"):
            raise AccessDenied(f"denied: {what} holds the private notes of every agent", "ask a person to make it")
        self.require_whole(workspace, what)

    @contextmanager
    def settings(self) -> Iterator[Workspace]:
        """The workspace for its settings, whatever has become of its ledger; closed at the end."""
        from adapters.workspace import open_settings

        with open_settings(self.home_path, self.workspace_name) as workspace:
            yield workspace

    @contextmanager
    def opened(self, *, create: bool = False, dry_run: bool = False) -> Iterator[Workspace]:
        """The workspace, closed at the end. With `create` it is made when it is not there, and that is said; for a
        dry run it is then a passing one."""
        from adapters.ledger_place import without_url
        from adapters.workspace import create_workspace, has_ledger, open_workspace

        if create and dry_run and not has_ledger(self.home_path, self.workspace_name):
            import tempfile

            with (
                tempfile.TemporaryDirectory() as home,
                create_workspace(Path(home), "dry-run", environment=without_url(os.environ)) as workspace,
            ):
                yield workspace
            return
        if create:
            new = not has_ledger(self.home_path, self.workspace_name)
            workspace = create_workspace(self.home_path, self.workspace_name)
            if new and not self.quiet:
                click.echo(f"made the workspace {self.workspace_name} in {self.home_path}", err=True)
        else:
            workspace = open_workspace(self.home_path, self.workspace_name)
        with workspace:
            if not self.quiet and workspace.config.value("ledger.url"):
                self.say_where_it_went(workspace)
            yield workspace

    def say_where_it_went(self, workspace: Workspace) -> None:
        """A ledger on a server that was closed can still be read, and would pass for what is so now."""
        if gone := workspace.ledger.recorder.moved_to():
            click.echo(f"this ledger has moved to {gone}: what is told here is as it was then", err=True)

    def by(self, workspace: Workspace, reason: str, key: str, dry_run: bool, default: str = "") -> By:
        """Who acts in this command, and why."""
        from adapters.ledger import By
        from adapters.retrying import accept_key

        if key:
            accept_key(key, "--idempotency-key")
        return By(self.actor_in(workspace, default), self.role_name, accept_text(reason, "--reason"), key, dry_run)


class Commands(click.Group):
    """A group that lists its commands with the whole first sentence of each, however narrow the line is.

    `elsewhere`: commands by name that are in a module of their own, which is loaded when they run or are listed.
    """

    def __init__(self, *args: Any, elsewhere: Mapping[str, str] | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.elsewhere = elsewhere or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self.elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.elsewhere and cmd_name not in self.commands:
            self.add_command(getattr(import_module(self.elsewhere[cmd_name]), cmd_name))
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(1000)) for name, command in found if command and not command.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def run_of(ctx: click.Context) -> Run:
    found: Run = ctx.find_root().ensure_object(Run)
    return found


pass_run = click.make_pass_decorator(Run, ensure=True)


def common(command: F) -> F:
    """The global options; they may stand before or after the command's name."""

    def keep(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
        def store(ctx: click.Context, _: click.Parameter, value: Any) -> None:
            if value:
                setattr(run_of(ctx), name, value)

        return store

    options = (
        click.option("--home", metavar="DIR", help="Where workspaces live (THT_HOME).", **_kept(keep("home"))),
        click.option("--workspace", metavar="NAME", help="Which one (THT_WORKSPACE).", **_kept(keep("workspace"))),
        click.option("--actor", metavar="WHO", help="Who acts: human:ada (THT_ACTOR).", **_kept(keep("actor"))),
        click.option("--role", metavar="ROLE", help="The agent role it acts in (THT_ROLE).", **_kept(keep("role"))),
        click.option("--json", is_flag=True, help="Print JSON for programs.", **_kept(keep("json"))),
        click.option("--quiet", is_flag=True, help="Print no more than asked for.", **_kept(keep("quiet"))),
        click.option("--no-color", is_flag=True, help="No colours (NO_COLOR).", **_kept(keep("no_color"))),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _kept(callback: Callable[[click.Context, click.Parameter, Any], None]) -> dict[str, Any]:
    return {"expose_value": False, "callback": callback, "is_eager": True}


def mutating(command: F) -> F:
    """Options of every command that changes something: passed as `reason`, `key`, `dry_run`."""
    options = (
        click.option("--reason", default="", help="Why; kept with the event."),
        click.option("--dry-run", is_flag=True, help="Say what would be recorded; record nothing."),
        click.option("--idempotency-key", "key", default="", help="A retry with the same key records nothing twice."),
    )
    for option in reversed(options):
        command = option(command)
    return common(command)


def paged(command: F) -> F:
    """Options of every list: passed as `limit`, `offset`."""
    options = (
        click.option("--limit", type=click.IntRange(1, 10**9), default=50, show_default=True, help="How many to show."),
        click.option("--offset", type=click.IntRange(0, 10**12), default=0, help="How many to pass over."),
    )
    for option in reversed(options):
        command = option(command)
    return common(command)


def _login() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
