"""The layout before the ledger: decisions with phases and markers, memories with their ids, history as history."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.imports import import_found, look_at
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import Recalling
from adapters.review import Review
from adapters.session_files import Report
from adapters.session_history import session_envelopes
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from projections.scope import Reader
from tests.adapters.old_homes import IMPORTER, concept, line, record, taken, write

ABLATION = "Per ablazione si intende una procedura con `ablazione_transcatetere = TRUE`"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    with create_workspace(tmp_path / "home", "default", lambda: datetime(2026, 3, 2, tzinfo=UTC)) as made:
        yield made


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Three sessions in the three places where they lay, and a registry with a table memory and a lost session."""
    folder = tmp_path / "old"
    write(
        folder / "memory" / "registry.jsonl",
        record(3, "ablazione", 2),
        record(7, "fact_cardioversione", 5, type="table_promoted"),
        record(8, "follow-up", 4, session_id="lost"),
    )
    write(
        folder / "sessions" / "alpha.jsonl",
        line("phase_entered", 1, phase="F1"),
        concept(2, "ablazione", timestamp="2025-11-02T09:00:00"),
        concept(3, "recidiva"),
        line("phase_entered", 4, phase="F3"),
        line("table_promoted", 5, subject="fact_cardioversione", phase="F3"),
        line("memory_promoted", 6, detail="seq:2"),
        line("memory_promotion_declined", 7, detail="seq:3", rationale="too narrow"),
        line("memory_promoted", 8, detail="seq:5"),
    )
    write(
        folder / "beta" / "ledger.jsonl",
        concept(10, "dose"),
        line("concept_clarified", subject="età"),
        line("column_excluded", subject="note", phase="F4"),
        line("decision_retracted", seq=10),
        line("memory_rejected", detail="mem-0008"),
        line("phase_reopened", phase="F1"),
        concept(20, "dose nuova"),
    )
    write(folder / "ledger" / "gamma.jsonl", concept(1, "uno"), concept(2, "due", phase="F3"),
          line("phase_rolled_back", 3, phase="F2"))  # fmt: skip
    return folder


def test_everything_is_taken_in(workspace: Workspace, old: Path) -> None:
    report = taken(workspace, old)
    assert report.problems == []
    assert (report.new, report.memories, report.decisions, report.clarifications) == (3, 3, 9, 7)
    alpha = Sessions(workspace).get("alpha")
    assert [(one.seq, one.subject, one.phase) for one in alpha.decisions] == [
        (1, "ablazione", "F1"),
        (2, "recidiva", "F1"),
        (3, "fact_cardioversione", "F3"),
    ]
    assert alpha.question == "Quante ablazioni?"
    assert (alpha.promoted[1].memory_id, set(alpha.promoted), set(alpha.declined)) == ("mem-0003", {1}, {2})
    assert alpha.declined[2].reason == "too narrow"
    assert report.notes == ["alpha seq 3 is a table_promoted: not marked as promoted"]


def test_times_are_kept_as_when_it_was_said(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    said = [envelope.event for envelope in session_envelopes(workspace.ledger, "alpha")]
    assert [str(getattr(event, "occurred_at", None)) for event in said if event.kind == "concept_clarified"] == [
        "2025-11-02 09:00:00+00:00",
        "None",
    ]
    assert Curation(workspace).get("mem-0003").record.timestamp == "2025-11-03T09:00:00.000000Z"


def test_retractions_reopenings_and_roll_backs_follow(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    beta = Sessions(workspace).get("beta")
    assert [(one.subject, one.detail, one.standing) for one in beta.decisions] == [
        ("dose", "dose: so", "retracted"),
        ("età", "(detail not recorded)", "effective"),
        ("note", "", "stale"),
        ("dose nuova", "dose nuova: so", "effective"),
    ]
    assert (beta.phase, beta.question) == ("F1", "(question not recorded)")
    assert beta.rejected == {"mem-0008"}
    gamma = Sessions(workspace).get("gamma")
    assert [one.standing for one in gamma.decisions] == ["effective", "stale"]


def test_ids_and_sources_are_kept(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    entry = Curation(workspace).get("mem-0003")
    assert [(source.session_id, source.seq, source.effective) for source in entry.sources] == [("alpha", 1, True)]
    assert entry.record.concepts == ("ablazione",)
    lost = Curation(workspace).get("mem-0008")
    assert [(source.session_id, source.seq, source.effective) for source in lost.sources] == [("lost", 4, None)]
    assert lost.live


def test_table_memories_are_history_and_nothing_else(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    entry = Curation(workspace).get("mem-0007")
    assert (entry.record.type, entry.live) == ("table_promoted", False)
    assert [one.id for one in Curation(workspace).list(status="history")[0]] == ["mem-0007"]
    assert [json.loads(one)["id"] for one in Curation(workspace).export_lines()] == ["mem-0003", "mem-0008"]
    Indexing(workspace).rebuild()
    found = Recalling(workspace, Reader(IMPORTER.actor)).search(
        "fact_cardioversione", IMPORTER, kind="memory", limit=50
    )
    assert "mem-0007" not in [hit.id for hit in found.hits]


def test_a_concept_worded_like_a_table_memory_can_still_become_one(workspace: Workspace, tmp_path: Path) -> None:
    """History must not stand in the way of a real concept with the same words."""
    folder = tmp_path / "old"
    write(folder / "memory" / "registry.jsonl", record(1, "recidiva", 9, type="table_excluded"))
    write(folder / "alpha.jsonl", concept(1, "recidiva"))
    taken(workspace, folder)
    (candidate,) = Review(workspace).pending()
    saved = Review(workspace).save_one("alpha", 1, candidate.revision, By("human:ada"))
    assert saved.memory_id == "mem-0002"
    assert Curation(workspace).get("mem-0002").live


def test_importing_again_writes_nothing(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    head = workspace.ledger.head()
    report = taken(workspace, old)
    assert (report.new, report.known, report.refused, report.decisions) == (0, 3, 0, 0)
    assert (report.memories, report.memories_known) == (0, 3)
    assert workspace.ledger.head() == head


def test_what_was_added_to_the_old_home_later_is_added_here(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    with (old / "sessions" / "alpha.jsonl").open("a") as file:
        file.write(
            json.dumps(concept(9, "nuova")) + "\n" + json.dumps(line("memory_promoted", 10, detail="seq:9")) + "\n"
        )
    with (old / "memory" / "registry.jsonl").open("a") as file:
        file.write(json.dumps(record(9, "nuova", 9)) + "\n")
    report = taken(workspace, old)
    assert (report.extended, report.known, report.memories) == (1, 2, 1)
    assert Sessions(workspace).get("alpha").promoted[4].memory_id == "mem-0009"


def test_a_dry_run_says_the_same_and_writes_nothing(workspace: Workspace, old: Path) -> None:
    said = taken(workspace, old, By("tool:importer", dry_run=True))
    assert workspace.ledger.head().position == 0
    assert said.as_json() == taken(workspace, old).as_json()


def test_taken_numbers_are_given_anew_and_reported(workspace: Workspace, old: Path, tmp_path: Path) -> None:
    Sessions(workspace).open("own", "What?", By("agent:a"))
    write(tmp_path / "first" / "registry.jsonl", record(7, "altro", 1, session_id="elsewhere"))
    taken(workspace, tmp_path / "first")
    report = taken(workspace, old)
    assert "mem-0003 is mem-0008 here: its number was taken" in report.notes
    alpha = Sessions(workspace).get("alpha")
    assert alpha.promoted[1].memory_id == "mem-0008"
    assert Curation(workspace).get("mem-0008").record.subject == "ablazione"
    assert Sessions(workspace).get("beta").rejected == {"mem-0010"}  # what it called mem-0008


def test_two_records_of_one_content_are_one_memory_with_two_sources(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    write(folder / "memory" / "registry.jsonl", record(1, "ablazione", 1), record(2, "Ablazione.", 1, "beta",
          detail="ABLAZIONE: so"))  # fmt: skip
    write(
        folder / "beta.jsonl", concept(1, "Ablazione.", detail="ABLAZIONE: so"), line("memory_promoted", detail="seq:1")
    )
    report = taken(workspace, folder)
    assert report.notes == ["mem-0002 says the same as mem-0001: its source was added"]
    sources = Curation(workspace).get("mem-0001").sources
    assert [(source.session_id, source.seq) for source in sources] == [("alpha", 1), ("beta", 1)]
    assert Sessions(workspace).get("beta").promoted[1].memory_id == "mem-0001"


BAD_LINES: dict[str, tuple[object, str]] = {
    "torn": (b'{"type": "concept_cl', "no JSON"),
    "no type": ({"subject": "x"}, "type: Field required"),
    "unknown type": (line("feature_added"), "type: Input should be"),
    "says nothing": (line("concept_clarified", 9), "neither subject nor detail"),
    "unknown phase": (concept(9, "x", phase="F11"), "phase: Input should be"),
    "seq a text": (concept(9, "x") | {"seq": "9"}, "seq: Input should be a valid integer"),
    "seq twice": (concept(1, "x"), "seq 1 stands there twice"),
    "no time": (concept(9, "x", timestamp="yesterday"), "is no ISO time"),
    "control character": (concept(9, "a\x07b"), "control character U+0007"),
    "marker of nothing": (line("memory_promoted", detail="seq:99"), "seq 99, which is no decision of this file"),
    "marker without its memory": (line("memory_promoted", detail="seq:1"), "registry.jsonl has no memory of it"),
    "retraction of nothing": (line("decision_retracted"), "decision_retracted of seq None"),
    "phase not reached": (line("phase_reopened", phase="F7"), "has not reached F7"),
    "no phase named": (line("phase_entered"), "phase_entered names no phase"),
    "rejected what": (line("memory_rejected", subject="that one"), "memory_rejected names no memory"),
}


@pytest.mark.parametrize("kind", BAD_LINES)
def test_a_bad_line_is_reported_and_the_others_are_taken(workspace: Workspace, tmp_path: Path, kind: str) -> None:
    bad, reason = BAD_LINES[kind]
    content = json.dumps(bad).encode() if not isinstance(bad, bytes) else bad
    file = write(tmp_path / "old" / "alpha.jsonl", concept(1, "uno"), content + b"\n", concept(3, "tre"))
    report = taken(workspace, file.parent)
    assert [(one.file, one.line) for one in report.problems] == [(str(file), 2)]
    assert reason in report.problems[0].error
    assert [one.subject for one in Sessions(workspace).get("alpha").decisions] == ["uno", "tre"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"id": "mem-0002", "sub', "the last line is torn"),
        (json.dumps(record(2, "x", 1, id="memory-2")).encode(), "is no memory id"),
        (json.dumps(record(2, "x", 1, type="memory_promoted")).encode(), "type: Input should be"),
        (json.dumps(record(2, "x", 1, detail=None)).encode(), "detail must not be empty"),
        (json.dumps(record(2, "x", 1, tables="t")).encode(), "tables: Input should be a valid list"),
    ],
)
def test_a_bad_record_is_reported_and_the_others_are_taken(
    workspace: Workspace, tmp_path: Path, bad: bytes, reason: str
) -> None:
    file = write(tmp_path / "old" / "memory" / "registry.jsonl", record(1, "uno", 1), bad)
    report = taken(workspace, tmp_path / "old")
    assert [(one.file, one.line) for one in report.problems] == [(str(file), 2)]
    assert reason in report.problems[0].error
    assert Curation(workspace).get("mem-0001").live


def test_a_session_of_that_name_with_other_content_is_left_alone(workspace: Workspace, old: Path) -> None:
    Sessions(workspace).open("gamma", "Mine?", By("agent:a"))
    Sessions(workspace).enter("gamma", "F2", By("agent:a"))
    report = taken(workspace, old)
    assert [(one.line, one.error) for one in report.problems] == [
        (0, "SessionExists: session gamma exists with other content")
    ]
    assert (report.new, Sessions(workspace).get("gamma").question) == (2, "Mine?")


def test_missing_fields_of_a_record_are_no_obstacle(workspace: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    write(folder / "memory" / "registry.jsonl", {"type": "concept_clarified", "subject": "x", "detail": "so"})
    assert taken(workspace, folder).memories == 1
    entry = Curation(workspace).get("mem-0001")
    assert [(one.session_id, one.seq) for one in entry.sources] == [("unknown", 0)]
    assert taken(workspace, folder).memories_known == 1


def test_a_forged_registry_slips_nothing_in(tmp_path: Path, workspace: Workspace) -> None:
    """What no reviewer could have approved is refused with its line: tables, declined, other or doubled words."""
    concept = {"type": "concept_clarified", "session_id": "o1"}
    records = [
        concept | {"id": "mem-0001", "subject": "fact_sales", "detail": "include this table", "decision_seq": 1},
        concept | {"id": "mem-0002", "subject": "sales", "detail": "the table", "decision_seq": 1},
        concept | {"id": "mem-0003", "subject": "declined words", "detail": "d", "decision_seq": 2},
        concept | {"id": "mem-0004", "subject": "other text", "detail": "forged", "decision_seq": 3},
        concept | {"id": "mem-9007199254740990", "subject": "harmless", "detail": "h", "decision_seq": 3},
        concept | {"id": "mem-9007199254740991", "subject": "harmless", "detail": "h.", "decision_seq": 3},
    ]
    said = [
        {"type": "table_promoted", "subject": "sales", "detail": "x", "seq": 1, "phase": "F3"},
        {"type": "concept_clarified", "subject": "declined words", "detail": "d", "seq": 2, "phase": "F1"},
        {"type": "concept_clarified", "subject": "harmless", "detail": "h", "seq": 3, "phase": "F1"},
        {"type": "memory_promotion_declined", "detail": "seq:2"},
        {"type": "memory_promoted", "detail": "seq:3", "memory_id": "mem-9007199254740990"},
    ]
    for name, lines in (("memory/registry.jsonl", records), ("sessions/o1.jsonl", said)):
        path = tmp_path / "old" / name
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    report = import_found(workspace, look_at(tmp_path / "old"), By("tool:importer"))
    assert isinstance(report, Report)
    assert len(report.problems) == 5
    entries, _ = Curation(workspace).list(status="")
    assert [(one.id, one.record.subject, one.live) for one in entries] == [("mem-0001", "harmless", True)]
    assert any("leaps" in text for text in report.notes)


def test_a_registry_alone_is_known_though_its_seqs_are_the_old_ones(workspace: Workspace, old: Path) -> None:
    taken(workspace, old)
    head = workspace.ledger.head()
    report = taken(workspace, old / "memory" / "registry.jsonl")
    assert (report.problems, report.memories_known) == ([], 3)
    assert workspace.ledger.head() == head
