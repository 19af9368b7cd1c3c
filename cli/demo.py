"""`tht demo`: the main job on a small example. Every command is a real one, in a home of its own."""

from __future__ import annotations

import io
import json
import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from adapters.user_path import user_path
from cli.options import Run, common, pass_run
from cli.output import console, print_json
from domain.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

WORKSPACE = "cardiologia"


@click.command("demo")
@click.option("--keep", metavar="DIR", default=None, help="Work in this new folder, and keep it.")
@common
@click.pass_context
@pass_run
def demo_command(run: Run, ctx: click.Context, keep: str | None) -> None:
    """The main job on a small example, step by step: clarify, review, reuse, retract, rebuild, verify, audit.

    It works in a temporary home, so nothing of yours is touched. Exit 1 when one of its own checks fails.
    """
    from cli.demo_story import tell

    with _home(keep) as home, _environment(run, home):
        stage = Stage(run, home)
        tell(stage)
        stage.end(kept=keep is not None)
    ctx.exit(1 if stage.failed else 0)


@dataclass
class Stage:
    """Where the story is told: explains, runs commands before the reader's eyes, and checks what came of them."""

    run: Run
    home: Path
    steps: list[dict[str, Any]] = field(default_factory=list)
    checks: list[dict[str, Any]] = field(default_factory=list)
    _close: bool = False  # the last command's output ends right above

    @property
    def failed(self) -> bool:
        return not all(check["ok"] for check in self.checks)

    @property
    def folder(self) -> Path:
        return self.home / WORKSPACE

    def file(self, name: str, content: str) -> str:
        """A file beside the workspace; gives its path."""
        path = self.home / name
        path.write_text(content, encoding="utf-8")
        return str(path)

    def step(self, title: str, text: str) -> None:
        """A heading, and one or two lines that say what happens and why."""
        self.steps.append({"title": title, "commands": []})
        if self.run.json:
            return
        from rich.rule import Rule
        from rich.text import Text

        out = self._console()
        out.print()
        out.print(Rule(Text(f"{len(self.steps)}. {title}", style="bold"), align="left", style="dim"))
        out.print(Text(text))

    def tht(self, *arguments: str, expect: int = 0) -> str:
        """Run a command as the reader would, its output shown; gives back what it printed."""
        if not self.run.json:
            from rich.text import Text

            shown = " ".join(_quoted(one.removeprefix(f"{self.home}{os.sep}")) for one in ("tht", *arguments))
            self._console().print(Text(f"\n$ {shown}", style="bold cyan"))
        code, printed = _called(arguments, echo=not self.run.json)
        self.steps[-1]["commands"].append({"command": ["tht", *arguments], "exit_code": code, "output": printed})
        self._close = bool(printed.removesuffix("\n").rpartition("\n")[2].strip())
        if code != expect:
            self.check(f"tht {arguments[0]} should end with exit code {expect}, not {code}", False)
        return printed

    def ask(self, *arguments: str) -> Any:
        """The JSON of a command that is not shown: what the story needs to go on, or to check itself."""
        code, printed = _called((*arguments, "--json"), echo=False)
        if code not in (0, 1):
            raise Refused(f"the demo cannot go on: tht {shlex.join(arguments)} ended with {code}: {printed.strip()}")
        return json.loads(printed)

    def check(self, what: str, ok: bool) -> None:
        """One promise of the program, kept or broken here."""
        self.checks.append({"what": what, "ok": ok})
        if not self.run.json:
            from rich.text import Text

            mark, style = ("✓", "green") if ok else ("✗", "bold red")
            apart, self._close = "\n" if self._close else "", False
            self._console().print(Text(f"{apart}{mark} {what}", style=style))

    def end(self, *, kept: bool) -> None:
        broken = sum(not check["ok"] for check in self.checks)
        if self.run.json:
            print_json({"ok": not broken, "steps": self.steps, "checks": self.checks})
            return
        from rich.text import Text

        out = self._console()
        out.print()
        told = f"{len(self.steps)} steps, {len(self.checks)} checks: " + (f"{broken} broken" if broken else "all hold")
        out.print(Text(told, style="bold red" if broken else "bold green"))
        look = f"tht --home {shlex.quote(str(self.home))} --workspace {WORKSPACE} registry list"
        away = "The temporary home is removed; tht demo --keep DIR keeps one to look around in."
        out.print(Text(f"Everything is kept; look around with: {look}" if kept else away))

    def _console(self) -> Console:
        return console(self.run)


def _quoted(argument: str) -> str:
    """As a person would type it: in double quotes where an apostrophe makes single ones ugly."""
    if "'" in argument and not set(argument) & set('"$`\\!'):
        return f'"{argument}"'
    return shlex.quote(argument)


def _called(arguments: tuple[str, ...], *, echo: bool) -> tuple[int, str]:
    """Exit code and output of one command, its errors among the rest, in order; echoed to the terminal as it comes."""
    import sys

    from cli.main import main

    printed = _Tee(sys.stdout if echo else None)
    with redirect_stdout(printed), redirect_stderr(printed):
        try:
            main(arguments)
        except SystemExit as end:
            return int(end.code or 0), printed.getvalue()
    raise AssertionError("tht ended without an exit code")


class _Tee(io.StringIO):
    """Keeps what is written and passes it on, and answers like the terminal that it passes it on to."""

    def __init__(self, onward: Any) -> None:
        super().__init__()
        self._onward = onward

    def write(self, text: str) -> int:
        if self._onward is not None:
            self._onward.write(text)
        return super().write(text)

    def flush(self) -> None:
        if self._onward is not None:
            self._onward.flush()

    def isatty(self) -> bool:
        return bool(self._onward is not None and self._onward.isatty())

    @property
    def encoding(self) -> str:  # type: ignore[override]  # read-only in io too, whatever its stubs say
        return getattr(self._onward, "encoding", None) or "utf-8"


@contextmanager
def _home(keep: str | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="tht-demo-") as folder:
            yield Path(folder).resolve()
        return
    home = user_path(keep).resolve()
    if home.exists() and any(home.iterdir()):
        raise Refused(f"{home} is not empty", "name a new folder: tht demo --keep DIR")
    home.mkdir(parents=True, exist_ok=True)
    yield home


@contextmanager
def _environment(run: Run, home: Path) -> Iterator[None]:
    """Everything that could reach the demo from outside is put aside, but for the model that was asked for."""
    before = dict(os.environ)
    for name in [
        name for name in before if name.startswith("THT_") and name not in ("THT_EMBEDDER_MODEL", "THT_DEBUG")
    ]:
        del os.environ[name]
    os.environ |= {"THT_HOME": str(home), "THT_WORKSPACE": WORKSPACE}
    if run.no_color:
        os.environ["NO_COLOR"] = "1"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
