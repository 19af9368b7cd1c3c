"""The README's commands, run as they stand, in one shell, with their output compared: `…` stands for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/operating.md", "docs/knowledge.md", "docs/serving.md")
MARK = "--- next ---"


@dataclass(frozen=True)
class Step:
    """A command of a page and what the page says that it prints."""

    command: str
    expected: str


def steps(page: str) -> list[Step]:
    text = (ROOT / page).read_text("utf-8")
    found = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            found.append(Step(command, expected.strip()))
    return found


def as_pattern(expected: str) -> str:
    return r"\s*" + r"\s*".join(".*".join(map(re.escape, line.split("…"))) for line in expected.splitlines()) + r"\s*"


@pytest.mark.posix
@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_prints_what_the_page_says(page: str, tmp_path: Path) -> None:
    wanted = steps(page)
    assert len(wanted) >= 5, f"{page} has hardly any commands"
    (tmp_path / "tht").write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from cli.main import main; main()' \"$@\"\n")
    (tmp_path / "tht").chmod(0o755)
    script = "\n".join(f"{step.command}\necho '{MARK}'" for step in wanted)
    environment = os.environ | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "THT_HOME": str(tmp_path / "home"),
        "COLUMNS": "80",
    }
    if page != "docs/operating.md":  # that page sets its model itself
        environment["THT_EMBEDDER_MODEL"] = "hash"
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1\n{script}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    printed = done.stdout.split(f"{MARK}\n")
    for step, output in zip(wanted, printed, strict=False):
        assert re.fullmatch(as_pattern(step.expected), output, re.DOTALL), f"$ {step.command}\n{output}"
    assert len(printed) == len(wanted) + 1, done.stdout
