"""What the messages tell the reader to type is there: every `tht …` that the code names, every setting to set."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from adapters.config import SETTINGS
from cli.main import tht
from cli.review import QUEUE, QueueOrCommand

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("domain", "projections", "adapters", "cli")
PROSE = {"ended", "if", "may", "knows", "or"}  # `a newer tht may have it`, `upgrade tht if …`
GAP = "…"  # where the code puts a value in
COMMAND = re.compile(r"(?<![\w./-])tht((?: +[^\s;:,`()]+)+)")
SETTING = re.compile(r"\b(?:un)?set +([a-z]+(?:\.[a-z_]+)+)")


def texts() -> Iterator[tuple[str, str]]:
    """Every text in the code that is no docstring, and where it stands; what is put in at run time is GAP."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            skipped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            skipped |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in ast.walk(tree):
                if isinstance(node, ast.expr) and id(node) not in skipped and (text := _text(node)):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", text


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    return ""


def fault(words: list[str]) -> str:
    """What of `tht WORDS…` is not there; '' when all of it is, as far as the words are a command."""
    command: click.Command = tht
    context = click.Context(tht)
    while words:
        word = words.pop(0).rstrip(".'\"")
        if word.startswith("-"):
            option = next((one for one in command.params if word in one.opts), None)
            if option is None:
                return f"{command.name} has no option {word}"
            if not getattr(option, "is_flag", False) and words:
                words.pop(0)
        elif isinstance(command, click.Group) and (found := command.get_command(context, word)) is not None:
            command = found
        elif isinstance(command, QueueOrCommand):
            command = command.commands[QUEUE]  # the word is a session, or the sentence goes on
        elif isinstance(command, click.Group) and not command.invoke_without_command and not word.startswith(GAP):
            return f"{command.name} has no command {word}"
        elif word.startswith(GAP):
            return ""
    return ""


NAMED = [
    (where, match[1].split())
    for where, text in texts()
    for match in COMMAND.finditer(text)
    if match[1].split()[0] not in PROSE
]
SET = [(where, match[1]) for where, text in texts() for match in SETTING.finditer(text)]


@pytest.mark.parametrize(("where", "words"), NAMED, ids=[f"{where} {' '.join(words)}" for where, words in NAMED])
def test_a_command_that_a_message_names_is_there(where: str, words: list[str]) -> None:
    assert fault(list(words)) == "", f"{where}: tht {' '.join(words)}"


@pytest.mark.parametrize(("where", "key"), SET)
def test_a_setting_that_a_message_names_is_there(where: str, key: str) -> None:
    assert key in {setting.key for setting in SETTINGS}, where


def test_there_are_messages_to_look_at() -> None:
    assert len(NAMED) > 40
    assert {"index.url", "embedder.model"} <= {key for _, key in SET}


@pytest.mark.parametrize(
    "words", ["registry retract x", "forget", "config unset --hard index.url", "projection list --now", "index"]
)
def test_what_is_not_there_is_noticed(words: str) -> None:
    assert (fault(words.split()) != "") == (words != "index")
