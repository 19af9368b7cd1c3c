"""The `tht` command as a person runs it, and the promises that hold whatever the surroundings are like."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli.main import main

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def tht(*arguments: str) -> Ran:
    """Runs in this process. Never a traceback, never a fault of tht, and a refusal says why."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert isinstance(stopped.value.code, int)
    return checked(Ran(stopped.value.code, out.getvalue(), err.getvalue()), arguments)


def tht_process(*arguments: str, environment: Mapping[str, str | None] | None = None, **more: Any) -> Ran:
    """Runs in a process of its own; a variable that is None is taken out of the environment."""
    variables: dict[str, str] = dict(os.environ)
    for name, value in (environment or {}).items():
        variables.pop(name, None)
        if value is not None:
            variables[name] = value
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    found = subprocess.run(
        command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=120, check=False, **more
    )
    return checked(Ran(found.returncode, found.stdout, found.stderr), arguments)


def checked(ran: Ran, arguments: tuple[str, ...]) -> Ran:
    assert ran.code in (0, 1, 2, 3), (arguments, ran)
    assert "Traceback" not in ran.err, (arguments, ran.err)
    assert "fault of tht" not in ran.err, (arguments, ran.err)
    if ran.code:
        assert (ran.err + ran.out).strip(), f"{arguments} says nothing"
    return ran


def worked(ran: Ran) -> Ran:
    assert ran.code == 0, ran
    return ran
