"""S-46: another process holds the embedded index. A search answers by words; when the holder dies, nothing is stale."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.crash.soundness import assert_index_follows, make_home, open_home, open_session, promote_all

pytestmark = pytest.mark.posix
ROOT = Path(__file__).parents[2]
HOLDER = """
import sys
from pathlib import Path
from adapters.indexing import Indexing
from adapters.workspace import open_workspace
with open_workspace(Path(sys.argv[1]), "default") as workspace, Indexing(workspace).store.current() as index:
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def home() -> Path:
    home = make_home(Path(os.environ["THT_HOME"]))
    with open_home(home) as workspace:
        workspace.config.set("index.wait", 0.2)
        open_session(workspace, "done", ["ablation", "cardioversion"])
        promote_all(workspace, "done")
        assert_index_follows(workspace)
    return home


@contextmanager
def held(home: Path) -> Iterator[subprocess.Popen[str]]:
    """The index, open in a process of its own."""
    command = [sys.executable, "-c", HOLDER, str(home)]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def tht(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def search() -> dict[str, Any]:
    ran = tht("memory", "search", "ablation", "--json")
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def subjects(answer: dict[str, Any]) -> list[str]:
    return [hit["subject"] for hit in answer["hits"]]


def test_search_while_another_process_holds_the_index(home: Path) -> None:
    with held(home):
        ran = tht("memory", "search", "ablation")
        assert (ran.returncode, "ablation" in ran.stdout) == (0, True)
        assert ran.stderr.count("answered without vectors") == 1, ran.stderr
        answer = search()
        assert subjects(answer)[:1] == ["ablation"]
        assert answer["voices"]["lexical"] == "ran"
        assert answer["voices"]["vector"] != "ran"


def test_everything_else_while_another_process_holds_the_index(home: Path) -> None:
    """Writing and reading go on; only what needs the index itself says that it is in use."""
    with held(home):
        for command in (
            ["session", "open", "next", "--question", "what else?", "--actor", "agent:coder-1"],
            ["registry", "list"],
            ["projection", "rebuild"],
            ["status"],
            ["ledger", "verify"],
        ):
            ran = tht(*command)
            assert ran.returncode == 0, (command, ran)
        verified = tht("index", "verify", "--json")
        assert verified.returncode == 3
        assert "in use" in verified.stdout + verified.stderr  # that it was not compared is said


def test_holder_that_was_killed(home: Path) -> None:
    """No stale lock: the next process opens the index, searches it, and can rebuild it."""
    with held(home) as process:
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
    answer = search()
    assert subjects(answer)[:1] == ["ablation"]
    assert answer["voices"]["vector"] == "ran"
    assert tht("index", "rebuild").returncode == 0
    with open_home(home) as workspace:
        assert_index_follows(workspace)
