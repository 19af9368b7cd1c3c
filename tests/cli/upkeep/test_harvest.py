"""`tht harvest`: a meeting's decisions are what its list says, each time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.conftest import Tht
from tests.cli.upkeep.conftest import ADA, idle, sound


def harvest(tht: Tht, *decisions: str, title: str = "Weekly", meeting: str = "m-12", **more: str) -> Any:
    return tht.json("harvest", *decisions, "--title", title, "--meeting", meeting)


def decisions(tht: Tht) -> list[str]:
    return sorted(one["content"] for one in tht.json("fact", "list", "--domain", "decisions")["facts"])


def test_a_meetings_decisions_are_what_is_listed(tht: Tht) -> None:
    first = harvest(tht, "We use PostgreSQL", "The audit log is kept for 30 days")
    assert len(first["proposed"]) == 2
    shown = tht.json("fact", "show", first["proposed"][0])
    assert (shown["topic"], shown["memory_type"], shown["author"]) == ("Weekly (m-12)", "decision", ADA)
    same = (
        "harvest",
        "we use POSTGRESQL.",
        "The audit log is kept for 30 days",
        "--title",
        "Weekly",
        "--meeting",
        "m-12",
    )
    idle(tht, *same)
    second = harvest(tht, "We use PostgreSQL", "The audit log is kept for 90 days")
    assert (len(second["proposed"]), second["retired"]) == (1, [first["proposed"][1]])
    assert decisions(tht) == ["The audit log is kept for 90 days", "We use PostgreSQL"]
    assert tht.json("conflicts", "list", "--all")["conflicts"] == []
    assert tht.json("harvest", "--undo", second["run_id"])["left"] == []
    assert decisions(tht) == ["The audit log is kept for 30 days", "We use PostgreSQL"]
    assert len(harvest(tht, "We use PostgreSQL", "The audit log is kept for 90 days")["proposed"]) == 1
    sound(tht)


def test_a_list_does_not_bring_back_what_a_person_corrected_or_took_out(tht: Tht) -> None:
    one, other = harvest(tht, "We use PostgreSQL", "Releases are on Friday")["proposed"]
    tht.json("fact", "correct", one, "We use PostgreSQL 17")
    tht.json("fact", "retire", other)
    listed = ("harvest", "We use PostgreSQL", "Releases are on Friday", "--title", "Weekly", "--meeting", "m-12")
    idle(tht, *listed)
    assert decisions(tht) == ["We use PostgreSQL 17"]


def test_decisions_that_contradict_each_other_are_both_kept_and_asked_about(tht: Tht) -> None:
    listed = ("The audit log is kept for 30 days", "The audit log is kept for 90 days")
    assert len(harvest(tht, *listed)["proposed"]) == 2
    assert len(tht.json("conflicts", "list")["conflicts"]) == 1
    idle(tht, "harvest", *listed, "--title", "Weekly", "--meeting", "m-12")
    sound(tht)


def test_decisions_from_a_file(tht: Tht, tmp_path: Path) -> None:
    path = tmp_path / "decisions.txt"
    path.write_text('\ufeffΧρησιμοποιούμε PostgreSQL\n\n{"content": "Si rilascia il lunedì"}\n', "utf-8")
    tht.json("harvest", "--title", "Εβδομαδιαία", "--meeting", "m-1", "--file", path)
    assert decisions(tht) == ["Si rilascia il lunedì", "Χρησιμοποιούμε PostgreSQL"]
    path.write_text('{"text": "x"}\n')
    assert tht.refused("harvest", "--title", "T", "--meeting", "m-1", "--file", path, code=2) == "InvalidInput"
    assert (
        tht.refused("harvest", "--title", "T", "--meeting", "m-1", "--file", tmp_path / "none", code=3) == "Unavailable"
    )
    assert tht.refused("harvest", "--title", "T", "--meeting", "m-1", code=2) == "InvalidInput"
    assert tht.refused("harvest", "x", "--meeting", "m-1", code=2) == "InvalidInput"
