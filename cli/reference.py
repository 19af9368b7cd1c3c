"""Writes docs/cli.md from the commands themselves: `python -m cli.reference > docs/cli.md`; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterator

import click

from cli.main import tht

SHARED = ("home", "workspace", "actor", "role", "json", "quiet", "no_color", "help")


def reference() -> str:
    """The whole reference as Markdown."""
    root = click.Context(tht, info_name="tht")
    return "\n".join(_page(root)).rstrip() + "\n"


def _page(root: click.Context) -> Iterator[str]:
    yield "# Commands"
    yield ""
    yield "Made by `python -m cli.reference`; do not edit. Every command also takes the global options:"
    yield ""
    yield from _options([option for option in tht.params if option.name in SHARED])
    yield ""
    yield "Exit codes: 0 done; 1 refused or drift found; 2 usage; 3 something it needs is unavailable."
    for context in _commands(root):
        yield ""
        yield f"## `{context.command_path}`"
        yield ""
        yield _paragraphs(context.command.help or "")
        if not isinstance(context.command, click.Group) or context.command.invoke_without_command:
            yield ""
            yield f"`{context.command_path} {' '.join(context.command.collect_usage_pieces(context))}`"
        own = [option for option in context.command.params if option.name not in SHARED]
        if own:
            yield ""
            yield from _options(own)


def _commands(context: click.Context) -> Iterator[click.Context]:
    if context.parent is not None:
        yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            command = context.command.get_command(context, name)
            if command is not None and not command.hidden:
                yield from _commands(click.Context(command, info_name=name, parent=context))


def _options(parameters: list[click.Parameter]) -> Iterator[str]:
    yield "| option | meaning |"
    yield "|---|---|"
    for parameter in parameters:
        record = parameter.get_help_record(click.Context(click.Command("none")))
        if record is None:
            yield f"| `{_cell(parameter.human_readable_name)}` | |"
        else:
            yield f"| `{_cell(record[0])}` | {_cell(record[1])} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


if __name__ == "__main__":
    print(reference(), end="")
