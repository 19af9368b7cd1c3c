"""Errors as an agent is told them: the domain's types and words, and what it can do next with the tools it has."""

from __future__ import annotations

import logging
import sqlite3
from typing import Any

from pydantic import ValidationError

from domain.errors import HomeNotWritable, InvalidInput, ThtError

_HINTS = {  # in place of the commands that a person would type
    "UnknownFact": "search_memory shows the ids of facts",
    "UnknownPolicy": "list_policies shows the ids of policies",
    "UnknownDomain": "list_memory_domains shows the domains that you may read; propose_fact makes a new one",
    "UnknownRepoScope": "list_memory_domains shows the repositories that are known; a person makes a new one known",
    "UnknownSession": "ask whoever opened the session for its id",
    "SessionIsClosed": "a person may reopen the session",
    "AccessDenied": "a grant decides this; a person may change it. Go on without it, and say so",
    "InsufficientMemoryPermission": "your role may not write policies there; propose_fact needs no grant",
    "KeyReused": "use a new idempotency_key for a new call",
    "LostRace": "look at what was recorded meanwhile, then try again",
}

DOMAIN = -32000  # refused in the domain's words: the code that JSON-RPC leaves to applications
ECHOED = 80  # characters of what was given, in an error

_log = logging.getLogger("tht.mcp")


def error_json(error: ThtError) -> dict[str, Any]:
    """`{"error": {"type", "message", "hint"}}`, as every interface for programs gives it."""
    hint = _HINTS.get(error.type, error.hint) if error.hint == error.default_hint else error.hint
    return {"error": {"type": error.type, "message": error.message, "hint": hint}}


def failure_json(error: Exception) -> dict[str, Any]:
    """Any failure of a call. What is no error of the domain is written to the log, and not told to the agent."""
    if isinstance(error, ThtError):
        return error_json(error)
    if isinstance(error, sqlite3.DatabaseError | OSError):
        _log.error("a call failed: %s", error)
        hint = "tell a person: tht doctor says what is wrong"
        return error_json(HomeNotWritable("the workspace cannot be read or written now", hint))
    _log.error("a fault of tht", exc_info=error)
    told = {"type": "InternalError", "message": "a fault of tht; it is in the server's log", "hint": "tell a person"}
    return {"error": told}


def invalid(error: ValidationError, known: list[str]) -> InvalidInput:
    """Arguments that do not fit, in the domain's words. `known`: the arguments that there are."""
    first = error.errors(include_url=False, include_context=True)[0]
    name = ".".join(map(str, first["loc"])) or "arguments"
    if first["type"] == "extra_forbidden":
        hint = f"it takes {', '.join(known) or 'none'}; who acts, and in which role, is what the connection says"
        return InvalidInput(f"there is no argument {echo(name)}", hint)
    if first["type"] == "literal_error":
        return InvalidInput(f"{name} {echo(first['input'])} is not known", f"one of {first['ctx']['expected']}")
    if first["type"] == "missing":
        return InvalidInput(f"{name} is missing", f"give {name}")
    message = str(first["msg"])
    return InvalidInput(f"{name}: {message[:1].lower()}{message[1:]}")


def echo(given: object) -> str:
    """What was given, for an error: quoted, and no more of it than tells it apart."""
    text = given if isinstance(given, str) else repr(given)
    return repr(text if len(text) <= ECHOED else text[: ECHOED - 1] + "…")
