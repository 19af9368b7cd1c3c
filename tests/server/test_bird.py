"""Must-show: the expert-written sessions, taken in and reviewed on PostgreSQL by four processes at once on two nodes,
give the registry that one process on SQLite gives, but for the order of the numbers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapters.curation import Curation
from adapters.health import Health
from adapters.imports import import_found, look_at
from adapters.ledger import By
from adapters.review import Review, Verdict
from adapters.session_files import Report
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.text import content_key
from tests.concurrency.together import together
from tests.crash.soundness import assert_sound, told

Node = Callable[[str], Workspace]
PROCESSES = 4
WHOLE = bool(os.environ.get("CRASH_EVERY_STEP"))  # the long form takes all 762 in
SESSIONS = 762 if WHOLE else 100
REVIEWER = By("human:reviewer")


def split(shared_data: Path, folder: Path) -> list[Path]:
    """One file a process, the sessions dealt out like cards: sessions that say the same come to different ones."""
    lines = (shared_data / "bird" / "sessions.jsonl").read_text("utf-8").splitlines(keepends=True)[:SESSIONS]
    files = [folder / f"part-{number}.jsonl" for number in range(PROCESSES)]
    for number, file in enumerate(files):
        file.write_text("".join(lines[number::PROCESSES]), "utf-8")
    return files


def take_in(workspace: Workspace, file: Path) -> int:
    """Import the sessions of a file and promote every candidate of theirs; how many sessions."""
    report = import_found(workspace, look_at(file), By("tool:importer"))
    assert isinstance(report, Report)
    mine = {line.partition('"session_id": "')[2].partition('"')[0] for line in file.read_text("utf-8").splitlines()}
    assert report.new == len(mine - {""})
    waiting = [one for one in Review(workspace).pending() if one.session_id in mine]
    verdicts = [Verdict(one.session_id, one.seq, one.revision, "promote") for one in waiting]
    outcomes = Review(workspace).batch(verdicts, REVIEWER)
    assert [f"{one.error.type}: {one.error.message}" for one in outcomes if one.error] == []
    return len(mine)


def take_in_part(folder: Path, number: int, turn: int) -> int:
    """What each process does; the first two work in one home, the others in another."""
    with open_workspace(folder / ("one" if number < 2 else "other"), "default") as workspace:
        return take_in(workspace, folder / f"part-{number}.jsonl")


def registry_of(workspace: Workspace) -> dict[str, Any]:
    """Content → sources, state, and where only one session says it, all that is recorded of it but number and time.

    What several sessions say is kept in the words of the first to be promoted.
    """
    found = {}
    for entry in Curation(workspace).list()[0]:
        sources = {(one.session_id, one.seq) for one in entry.sources}
        whole = {key: value for key, value in entry.record.as_json().items() if key not in ("id", "timestamp")}
        content = content_key(entry.record.subject, entry.record.detail)
        found[content] = (sources, entry.status, whole if len(sources) == 1 else None)
    return found


def test_four_processes_on_two_nodes_give_the_registry_of_one(node: Node, shared_data: Path, tmp_path: Path) -> None:
    files = split(shared_data, tmp_path)
    one, other = node("one"), node("other")
    counts = [count for (count,) in together(take_in_part, tmp_path, processes=PROCESSES)]
    assert sum(counts) == SESSIONS

    with create_workspace(tmp_path / "alone", "default", environment={}) as alone:
        for file in files:
            take_in(alone, file)
        expected, entries = registry_of(alone), Curation(alone).list()[1]
        assert alone.ledger.recorder.engine == "SQLite"
    assert entries == len(expected) > (1_000 if WHOLE else 100)
    assert any(len(sources) > 1 for sources, _, _ in expected.values()), "no two sessions say the same"
    for each in (one, other):
        found, total = Curation(each).list()
        assert registry_of(each) == expected
        assert sorted(entry.id for entry in found) == [f"mem-{number:04d}" for number in range(1, total + 1)]
    assert sum(told(one).markers.values()) == sum(len(sources) for sources, _, _ in expected.values())
    assert_sound(one)
    for each in (one, other):
        report = Health(each).verify(with_index=False)
        assert report.ok, report.findings
        assert report.head.position == each.ledger.head().position
