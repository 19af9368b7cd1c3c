"""JSON Lines read with suspicion: one object a line, streamed; what is no object comes with its number and reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from pydantic import ValidationError

from domain.errors import Unavailable

LINE_LIMIT = 64 * 2**20  # bytes; a longer line is passed over without being held in memory
REASON_LIMIT = 300  # characters


@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not blank: its JSON object, or what is wrong with it. `end`: bytes read, itself included."""

    number: int
    value: dict[str, Any]
    error: str
    end: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not taken in, and why."""

    file: str
    line: int
    error: str

    def as_json(self) -> dict[str, object]:
        return {"file": self.file, "line": self.line, "error": self.error}


def read_lines(path: Path) -> Iterator[Line]:
    """Every line that is not blank. A byte order mark at the start and CRLF line ends are no fault."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}", "check its name and permissions") from error
    with file:
        yield from lines_of(file)


def lines_of(file: IO[bytes]) -> Iterator[Line]:
    """Every line of an open file that is not blank, as `read_lines` gives them."""
    number, end = 0, 0
    while text := file.readline(LINE_LIMIT + 1):
        number, end = number + 1, end + len(text)
        if len(text) > LINE_LIMIT and not text.endswith(b"\n"):
            end += _pass_over(file)
            yield Line(number, {}, f"longer than {LINE_LIMIT // 2**20} MB", end)
            continue
        if number == 1:
            text = text.removeprefix(b"\xef\xbb\xbf")
        if text.strip():
            yield _line(number, text, end)


def _pass_over(file: IO[bytes]) -> int:
    """Read to the end of the line; returns how many bytes that were."""
    passed = 0
    while rest := file.readline(LINE_LIMIT):
        passed += len(rest)
        if rest.endswith(b"\n"):
            break
    return passed


def _line(number: int, text: bytes, end: int) -> Line:
    try:
        value = json.loads(text.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_object)
    except UnicodeDecodeError as error:
        return Line(number, {}, f"no valid UTF-8 at byte {error.start + 1}", end)
    except RecursionError:
        return Line(number, {}, "nested too deeply", end)
    except ValueError as error:
        torn = "" if text.endswith(b"\n") else "the last line is torn: "
        return Line(number, {}, shown(f"{torn}no JSON: {error}"), end)
    if not isinstance(value, dict):
        return Line(number, {}, f"a JSON object was expected, not {type(value).__name__}", end)
    return Line(number, value, "", end)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(name for index, (name, _) in enumerate(pairs) if name in dict(pairs[:index]))
        raise ValueError(f"the field {twice!r} stands there twice")
    return made


def misfit(error: ValidationError) -> str:
    """What does not fit a form first, with its place in the object."""
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in problem["loc"])
    said = str(problem["msg"]).removeprefix("Value error, ")
    return shown(f"{where}: {said}" if where else said)


def shown(text: str) -> str:
    """A reason that can be printed wherever it came from, and that is not a novel."""
    safe = text.encode("utf-8", "backslashreplace").decode()
    safe = "".join(character if character.isprintable() else "�" for character in safe)
    return safe if len(safe) <= REASON_LIMIT else safe[: REASON_LIMIT - 1] + "…"
