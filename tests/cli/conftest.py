"""The real `tht`, in this process or as its own, on a home that is the test's alone."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import pytest

from cli.main import main
from tests.cli.reviewing import Open, Size, Terminal


@dataclass(frozen=True)
class Said:
    """What one run of tht answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error object that --json prints as the last line of stderr."""
        found: dict[str, str] = json.loads(self.err.strip().splitlines()[-1])["error"]
        return found

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Tht:
    """`tht("session", "list")`: run a command line; `.json(…)` expects success and gives what it printed."""

    def __init__(self, run: Callable[[list[str], bytes], Said]) -> None:
        self._run = run

    def __call__(self, *arguments: object, stdin: str | bytes = b"") -> Said:
        content = stdin.encode() if isinstance(stdin, str) else stdin
        said = self._run([str(one) for one in arguments], content)
        assert "Traceback" not in said.err
        assert "InternalError" not in said.err
        return said

    def json(self, *arguments: object, stdin: str | bytes = b"") -> Any:
        said = self(*arguments, "--json", stdin=stdin)
        assert said.code == 0, said
        return said.json

    def refused(self, *arguments: object, stdin: str | bytes = b"", code: int = 1) -> str:
        """The error's type of a command that must fail, and that must say why."""
        said = self(*arguments, "--json", stdin=stdin)
        assert said.code == code, said
        assert said.error["message"]
        return said.error["type"]

    # -- what most tests begin with

    def session(self, session_id: str = "s1", *clarifications: tuple[str, str]) -> None:
        """A session of agent:coder-1 with these (subject, detail)."""
        self.json("session", "open", session_id, "--question", "How many ablations?", "--actor", "agent:coder-1")
        for subject, detail in clarifications:
            self.clarify(session_id, subject, detail)

    def clarify(self, session_id: str, subject: str, detail: str, *more: str, actor: str = "agent:coder-1") -> int:
        words = ("--type", "concept_clarified", "--subject", subject, "--detail", detail)
        recorded = self.json("session", "record", session_id, *words, *more, "--actor", actor)
        return int(recorded["seq"])

    def candidates(self, session_id: str, *more: str) -> list[dict[str, Any]]:
        preview = self.json("memory", "promote", "--session", session_id, "--preview", *more)
        found: list[dict[str, Any]] = preview["candidates"]
        return found

    def revision(self, session_id: str, seq: int) -> str:
        found = self.candidates(session_id, "--limit", "1000", "--deferred")
        return next(str(one["revision"]) for one in found if one["seq"] == seq)

    def promote(self, session_id: str, seq: int, *more: str, reviewer: str = "human:ada") -> str:
        """Promote one candidate as the preview shows it; the memory's id."""
        which = ("--session", session_id, "--seq", str(seq), "--revision", self.revision(session_id, seq))
        saved = self.json("memory", "save-one", *which, "--reviewer", reviewer, *more)
        return str(saved["memory_id"])

    def position(self) -> int:
        """The ledger's head, as a scratch search of history sees it."""
        from adapters.workspace import open_workspace

        with open_workspace(Path(os.environ["THT_HOME"]), "default") as workspace:
            return workspace.ledger.head().position


@pytest.fixture(autouse=True)
def hash_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")


@pytest.fixture
def tht(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Tht:
    """The command in this process: cli.main.main with its own stdin; stdout, stderr and exit code captured."""

    def run(arguments: list[str], stdin: bytes) -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        umask = os.umask(0o022)
        capfd.readouterr()
        try:
            with pytest.raises(SystemExit) as ended:
                main(arguments)
        finally:
            os.umask(umask)
        captured = capfd.readouterr()
        return Said(int(ended.value.code or 0), captured.out, captured.err)

    return Tht(run)


@pytest.fixture
def tht_process() -> Tht:
    """The command as a process of its own, with arguments as bytes: surrogates stand for bytes that are no text."""

    def run(arguments: list[str], stdin: bytes) -> Said:
        command: list[str | bytes] = [sys.executable, "-c", "from cli.main import main; main()"]
        command.extend(os.fsencode(one) for one in arguments)
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)
        return Said(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))

    return Tht(run)


@pytest.fixture
def terminal() -> Iterator[Open]:
    """Opens `tht …` in pseudo-terminals and ends those that a failed test left behind."""
    opened: list[Terminal] = []

    def start(*arguments: str, **size: Unpack[Size]) -> Terminal:
        opened.append(Terminal(*arguments, **size))
        return opened[-1]

    yield start
    for one in opened:
        one.child.close(force=True)
