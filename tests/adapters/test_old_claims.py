"""An old registry against what is known of its sessions: what nobody could have approved is refused, with its line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.curation import Curation
from adapters.ledger import By
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from domain.session import NewDecision
from tests.adapters.old_homes import concept, line, record, taken, write


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    with create_workspace(tmp_path / "home", "default", lambda: datetime(2026, 3, 2, tzinfo=UTC)) as made:
        yield made


def opened_here(workspace: Workspace, session_id: str, *subjects: str) -> None:
    Sessions(workspace).open(session_id, "Quante ablazioni?", By("agent:a"))
    for subject in subjects:
        new = NewDecision("concept_clarified", subject, f"{subject}: so")
        Sessions(workspace).record(session_id, new, By("agent:a"))


LINKED = line("table_promoted", 9, subject="Pazienti", phase="F3")
FORGED: dict[str, tuple[list[dict[str, object]], list[dict[str, object]], str]] = {
    "a table of its session": ([record(1, "pazienti.", 2)], [LINKED, concept(2, "pazienti.")], "schema linking"),
    "a seq that its session has not": ([record(1, "x", 7)], [concept(1, "x")], "session alpha has no decision 7"),
    "an old seq that is another's new one": (
        [record(1, "due", 2)],
        [concept(10, "uno"), concept(20, "due")],
        "session alpha has no decision 2",
    ),
    "a schema linking": ([record(1, "Pazienti", 9)], [LINKED], "schema linking"),
    "another detail": ([record(1, "x", 1, detail="y")], [concept(1, "x")], "alpha:1 says something else"),
    "declined": (
        [record(1, "x", 1)],
        [concept(1, "x"), line("memory_promotion_declined", detail="seq:1")],
        "alpha:1 was declined",
    ),
    "declined, and promoted before": (
        [record(1, "x", 1)],
        [concept(1, "x"), line("memory_promoted", detail="seq:1"), line("memory_promotion_declined", detail="seq:1")],
        "alpha:1 was declined",
    ),
    "declined, and promoted by name": (
        [record(1, "x", 1), record(2, "altro", 1, session_id="lost")],
        [
            concept(1, "x"),
            line("memory_promotion_declined", detail="seq:1"),
            line("memory_promoted", detail="seq:1", memory_id="mem-0002"),
        ],
        "alpha:1 was promoted to mem-0002",
    ),
    "not the one that the marker names": (
        [record(1, "x", 1), record(2, "X.", 1, detail="X: so.")],
        [concept(1, "x"), line("memory_promoted", detail="seq:1", memory_id="mem-0002")],
        "alpha:1 was promoted to mem-0002: its marker says so",
    ),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_record_is_refused_with_its_line(workspace: Workspace, tmp_path: Path, forged: str) -> None:
    records, said, reason = FORGED[forged]
    file = write(tmp_path / "old" / "registry.jsonl", *records)
    write(tmp_path / "old" / "alpha.jsonl", *said)
    report = taken(workspace, file.parent)
    first, *_ = report.problems
    assert (first.file, first.line) == (str(file), 1)
    assert reason in first.error
    assert [one.id for one in Curation(workspace).list()[0]] == [one["id"] for one in records[1:]]
    declined = "declined" in forged
    assert set(Sessions(workspace).get("alpha").promoted) == ({1} if len(records) > 1 and not declined else set())


def test_a_second_record_of_a_lost_session_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    file = write(tmp_path / "old" / "registry.jsonl", record(1, "x", 4), record(2, "y", 4), record(3, "z", 5))
    report = taken(workspace, file.parent)
    assert [(one.line, one.error) for one in report.problems] == [(2, "alpha:4 is the source of mem-0001 already")]
    assert [one.id for one in Curation(workspace).list()[0]] == ["mem-0001", "mem-0003"]


def test_records_that_name_no_decision_are_not_taken_for_one(workspace: Workspace, tmp_path: Path) -> None:
    """Fields may be missing: what two records leave out is no proof that they mean the same."""
    some = {"type": "concept_clarified", "detail": "so"}
    write(tmp_path / "old" / "registry.jsonl", *(some | {"subject": one} for one in "abc"),
          some | {"subject": "d", "session_id": "alpha"}, some | {"subject": "e", "session_id": "alpha"})  # fmt: skip
    report = taken(workspace, tmp_path / "old")
    assert (report.problems, report.memories) == ([], 5)


def test_what_the_old_file_did_not_record_says_nothing_against_a_memory(workspace: Workspace, tmp_path: Path) -> None:
    write(tmp_path / "old" / "registry.jsonl", record(1, "ablazione", 1))
    write(tmp_path / "old" / "alpha.jsonl", line("concept_clarified", 1, subject="Ablazione"),
          line("memory_promoted", detail="seq:1"))  # fmt: skip
    assert taken(workspace, tmp_path / "old").problems == []
    assert Sessions(workspace).get("alpha").promoted[1].memory_id == "mem-0001"


def test_a_registry_approves_nothing_of_a_session_that_was_held_here(workspace: Workspace, tmp_path: Path) -> None:
    """Nobody gets past the second pair of eyes by writing their own words into a registry."""
    opened_here(workspace, "alpha", "ablazione")
    write(tmp_path / "old" / "registry.jsonl", record(1, "ablazione", 1))
    report = taken(workspace, tmp_path / "old", By("human:ada"))
    assert [one.error for one in report.problems] == ["session alpha was held here: what it clarified is approved here"]
    assert Curation(workspace).list()[0] == []
    assert [one.seq for one in Review(workspace).pending()] == [1]


def test_a_session_that_was_begun_here_is_not_told_on(workspace: Workspace, tmp_path: Path) -> None:
    Sessions(workspace).open("alpha", "Quante ablazioni?", By("agent:a"))
    file = write(tmp_path / "alpha.jsonl", concept(1, "x", question="Quante ablazioni?"))
    report = taken(workspace, tmp_path)
    assert [(one.file, one.error) for one in report.problems] == [
        (str(file), "SessionExists: session alpha was begun here: its old file is not told on")
    ]
    assert Sessions(workspace).get("alpha").decisions == ()


def test_a_record_is_held_against_the_session_in_the_ledger_too(workspace: Workspace, tmp_path: Path) -> None:
    """The sessions came first, the registry later and alone."""
    write(tmp_path / "first" / "alpha.jsonl", concept(1, "uno"), concept(2, "due"), concept(3, "tre"), LINKED)
    taken(workspace, tmp_path / "first")
    Review(workspace).decline("alpha", 2, By("human:bo"))
    candidate = next(one for one in Review(workspace).pending() if one.seq == 3)
    Review(workspace).save_one("alpha", 3, candidate.revision, By("human:bo"))
    records = (record(4, "altro", 1), record(5, "due", 2), record(6, "Pazienti", 4), record(7, "tre", 3))
    write(tmp_path / "then" / "registry.jsonl", *records, record(8, "uno", 1))
    report = taken(workspace, tmp_path / "then")
    assert [one.error.partition(" ")[2] for one in report.problems] == [
        "says something else than this record",
        "was declined",
        "subject 'Pazienti' is a table or column of its session's schema linking",
    ]
    assert (report.memories, report.memories_known) == (1, 1)
    assert [one.record.subject for one in Curation(workspace).list()[0]] == ["tre", "uno"]


def test_the_own_export_taken_in_again_is_known(workspace: Workspace, tmp_path: Path) -> None:
    opened_here(workspace, "s1", "ablazione")
    (candidate,) = Review(workspace).pending()
    Review(workspace).save_one("s1", 1, candidate.revision, By("human:bo"))
    Curation(workspace).export(tmp_path / "registry.jsonl")
    report = taken(workspace, tmp_path / "registry.jsonl")
    assert (report.problems, report.memories, report.memories_known) == ([], 0, 1)


def test_a_marker_names_its_memory_whatever_lies_nearer(workspace: Workspace, tmp_path: Path) -> None:
    """The old home had merged it: the marker knows into what."""
    write(tmp_path / "old" / "registry.jsonl", record(1, "uno", 1), record(2, "altro", 1, session_id="lost"))
    write(tmp_path / "old" / "alpha.jsonl", concept(1, "uno"), concept(2, "due"),
          line("memory_promoted", detail="seq:1"),
          line("memory_promoted", detail="seq:2", memory_id="mem-0002"))  # fmt: skip
    assert taken(workspace, tmp_path / "old").problems == []
    promoted = Sessions(workspace).get("alpha").promoted
    assert {seq: one.memory_id for seq, one in promoted.items()} == {1: "mem-0001", 2: "mem-0002"}


def test_a_marker_of_a_table_memory_marks_nothing(workspace: Workspace, tmp_path: Path) -> None:
    write(tmp_path / "old" / "registry.jsonl", record(1, "fact_x", 7, session_id="lost", type="table_promoted"))
    write(tmp_path / "old" / "alpha.jsonl", concept(1, "uno"),
          line("memory_promoted", detail="seq:1", memory_id="mem-0001"))  # fmt: skip
    report = taken(workspace, tmp_path / "old")
    assert [one.error for one in report.problems] == ["seq 1 was promoted, but registry.jsonl has no memory of it"]
    assert dict(Sessions(workspace).get("alpha").promoted) == {}


def test_an_id_far_beyond_the_others_takes_the_next_number(workspace: Workspace, tmp_path: Path) -> None:
    far = [record(number, str(number), 1, f"lost-{number}") for number in (1003, 1004, 2000)]
    write(tmp_path / "old" / "registry.jsonl", *far)
    report = taken(workspace, tmp_path / "old")
    assert report.notes == ["mem-2000 is mem-1005 here: its number leaps far beyond the others"]
