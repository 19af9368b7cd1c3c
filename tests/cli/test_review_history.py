"""1,877 real review events of a clinical phenotype library, replayed through the public commands.

A cohort definition is a session's clarification: its name the subject, its logic the detail. A rewording is an edit by
the library's author, "Accepted" a promotion by a reviewer, "Withdrawn" a decline, a removal a retraction. A definition
reworded after it was accepted is promoted again and replaces the memory of its old wording, or, where nothing but a
full stop changed, is one more source of the same memory.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tht
from tests.conftest import skip_or_fail

AUTHOR, REVIEWER = "human:contributor", "human:peer-reviewer"
Event = dict[str, Any]


@pytest.fixture(scope="module")
def history(shared_data: Path) -> list[Event]:
    path = shared_data / "ohdsi" / "review_history.jsonl"
    if not path.is_file():
        skip_or_fail(f"no {path.name} in the shared data")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def counted(history: list[Event]) -> Counter[str]:
    """What the file itself says, by nothing but a walk through it."""
    found: Counter[str] = Counter()
    status: dict[str, str] = {}
    for event in history:
        cohort, before = event["cohortId"], event.get("before", {})
        if event["event"] == "removed":
            found["removed"] += 1
            status.pop(cohort, None)
            continue
        found["added"] += event["event"] == "added"
        reworded = "name" in before or "logic" in before
        found["reworded"] += reworded
        old, new = status.get(cohort, ""), event["status"].split(".")[0]
        if new == "Accepted":
            found["accepted"] += old != "Accepted"
            if old == "Accepted" and reworded:
                found["accepted form only" if _plain(event | before) == _plain(event) else "accepted replaced"] += 1
        if new == "Withdrawn" and old != "Withdrawn":
            found["withdrawn"] += 1
        status[cohort] = new
    return found


def _plain(event: Event) -> list[str]:
    return [" ".join(event[name].casefold().split()).rstrip(". ") for name in ("name", "logic")]


@dataclass
class Replay:
    """Drives `tht`; remembers only what a client would: each cohort's current seq, status and memory."""

    tht: Tht
    folder: Path
    seq: dict[str, int] = field(default_factory=dict)
    seqs: Counter[str] = field(default_factory=Counter)
    status: dict[str, str] = field(default_factory=dict)
    memory: dict[str, str] = field(default_factory=dict)

    def run(self, history: list[Event]) -> None:
        for (_, what), events in groupby(history, key=lambda event: (event["commit"], event["event"])):
            if what == "added":
                self.add(list(events))
            else:
                for event in events:
                    self.remove(event) if what == "removed" else self.change(event)

    def add(self, events: list[Event]) -> None:
        new = [event for event in events if event["cohortId"] not in self.seqs]
        lines = [json.dumps(_session_line(event)) for event in new]
        if lines:
            path = self.folder / "added.jsonl"
            path.write_text("\n".join(lines) + "\n", "utf-8")
            assert self.tht.json("import", path, "--actor", AUTHOR)["sessions"]["new"] == len(lines)
        for event in events:
            if event not in new:
                self.say("session", "record", _session(event), "--type", "concept_clarified", *_wording(event))
            self.follow(event)
            self.judge(event)

    def change(self, event: Event) -> None:
        if {"name", "logic"} & set(event["before"]):
            self.say("session", "edit", _session(event), self.seq[event["cohortId"]], *_wording(event))
            self.follow(event)
        self.judge(event)

    def remove(self, event: Event) -> None:
        cohort = event["cohortId"]
        self.say("session", "retract", _session(event), self.seq.pop(cohort), "--reason", event["commit"])
        self.status.pop(cohort, None)

    def follow(self, event: Event) -> None:
        cohort = event["cohortId"]
        self.seqs[cohort] += 1
        self.seq[cohort] = self.seqs[cohort]

    def judge(self, event: Event) -> None:
        cohort = event["cohortId"]
        old, new = self.status.get(cohort, ""), event["status"].split(".")[0]
        self.status[cohort] = new
        if new == "Accepted" and self.memory.get(cohort, "") != f"at {self.seq[cohort]}":
            (shown,) = self.tht.candidates(_session(event))
            replaces = ("--replace", self.memory[f"{cohort} id"]) if old == "Accepted" and not shown["known_as"] else ()
            memory = self.tht.promote(_session(event), self.seq[cohort], *replaces, reviewer=REVIEWER)
            self.memory |= {cohort: f"at {self.seq[cohort]}", f"{cohort} id": memory}
        elif new == "Withdrawn" and old != "Withdrawn":
            which = ("--session", _session(event), "--seq", self.seq[cohort])
            self.tht.json("memory", "decline", *which, "--reviewer", REVIEWER, "--reason", event["logic"])

    def say(self, *arguments: object) -> None:
        self.tht.json(*arguments, "--actor", AUTHOR)


def _session(event: Event) -> str:
    return f"cohort-{event['cohortId']}"


def _wording(event: Event) -> Iterator[str]:
    yield from ("--subject", event["name"], "--detail", event["logic"] or event["name"])


def _session_line(event: Event) -> Event:
    said = {"type": "concept_clarified", "phase": "F1", "subject": event["name"]}
    said["detail"] = event["logic"] or event["name"]
    return {"session_id": _session(event), "question": f"Who is in: {event['name']}?", "decisions": [said]}


def test_a_year_of_real_reviews_gives_the_counts_of_the_file(history: list[Event], tht: Tht, tmp_path: Path) -> None:
    expected = counted(history)
    assert sum(1 for event in history) == 1877
    Replay(tht, tmp_path).run(history)

    def happened(kind: str, *more: str) -> int:
        return int(tht.json("audit", "log", "--kind", kind, "--limit", "1", *more)["total"])

    again = expected["accepted replaced"] + expected["accepted form only"]
    assert happened("memory_promoted", "--actor", AUTHOR) == 0
    assert happened("memory_promoted") == expected["accepted"] + again
    assert happened("memory_promotion_declined") == expected["withdrawn"]
    assert happened("decision_retracted") == expected["reworded"] + expected["removed"]
    assert happened("concept_clarified") == expected["added"] + expected["reworded"]
    assert happened("memory_superseded") == expected["accepted replaced"]
    assert happened("source_added") == expected["accepted form only"]
    live = tht.json("registry", "list", "--status", "live", "--limit", "1")["total"]
    assert live == expected["accepted"]
    assert tht.json("verify")["ok"] is True
