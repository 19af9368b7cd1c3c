"""Prompts: the preamble of a task, for clients that let a person put it into a conversation."""

from __future__ import annotations

from collections.abc import Mapping

from mcp import types

from adapters.mcp.call import Call
from adapters.mcp.failing import echo
from adapters.preamble import preamble, record_shown
from domain.errors import InvalidInput

PREAMBLE = types.Prompt(
    name="preamble",
    title="Begin a task",
    description="The active policies, the agent's own notes and a few facts about the task, quoted as data.",
    arguments=[
        types.PromptArgument(name="task", description="What is to be done, in a sentence or more.", required=True),
        types.PromptArgument(name="repo", description="The repository it is about: a slug or owner/name."),
    ],
)
_TAKEN = ("task", "repo")


def get_prompt(call: Call, name: str, given: Mapping[str, str]) -> types.GetPromptResult:
    """The preamble as a message. InvalidInput for another prompt or argument."""
    if name != PREAMBLE.name:
        raise InvalidInput(f"there is no prompt {echo(name)}", f"one of: {PREAMBLE.name}")
    for argument in given:
        if argument not in _TAKEN:
            raise InvalidInput(f"there is no argument {echo(argument)}", f"it takes {' and '.join(_TAKEN)}")
    if not given.get("task", "").strip():
        raise InvalidInput("task is missing", "give what is to be done")
    by = call.by()
    made = preamble(call.workspace, given["task"], by, repo=given.get("repo", ""))
    record_shown(call.workspace, by, made)
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=made.text))
    return types.GetPromptResult(description=PREAMBLE.description, messages=[message])
