"""The invariants over the ledger, each broken by hand; and verify over a history that uses every verb."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from adapters.backup import write_backup
from adapters.curation import Curation
from adapters.health import Health
from adapters.ledger import By, Draft
from adapters.ledger_check import REWRITE
from adapters.ledger_files import export_ledger
from adapters.ledger_import import import_ledger
from adapters.projecting import Projecting
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from domain.errors import LedgerDamaged
from domain.event import Event
from domain.memory import NUMBERING, MemoryRecorded, NumberTaken, Source, SourceAdded
from domain.session import NewDecision
from domain.session_events import ConceptClarified, MemoryPromoted, TablePromoted

ANNA, BRUNO = By("human:anna"), By("human:bruno")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with create_workspace(tmp_path, "default") as made:
        Sessions(made).open("s1", "Quante ablazioni?", ANNA)
        yield made


def force(workspace: Workspace, by: By, *recorded: tuple[str, Event]) -> None:
    """Record in one command what no decider would."""

    def work(draft: Draft) -> None:
        for stream, event in recorded:
            if stream not in draft.versions:
                draft.load(stream)
            draft.append(stream, (event,))

    workspace.ledger.transact(work, by, ("forced",))


def clarified(seq: int, source_memory: str | None = None) -> tuple[str, Event]:
    said = ConceptClarified(seq=seq, phase="F1", subject="ablazione", detail=f"{seq}", source_memory=source_memory)
    return "session/s1", said


def marker(seq: int, memory_id: str = "mem-0001", *, self_reviewed: bool = False) -> tuple[str, Event]:
    mark = MemoryPromoted(seq=seq, detail=f"seq:{seq}", memory_id=memory_id, revision="r", self_reviewed=self_reviewed)
    return "session/s1", mark


def recorded(
    *seqs: int, memory_id: str = "mem-0001", stream: str = "memory/x", kind: str = "concept_clarified"
) -> tuple[str, Event]:
    sources = tuple(Source(session_id="s1", seq=seq) for seq in seqs)
    memory = MemoryRecorded(memory_id=memory_id, type=kind, subject="ablazione", detail="d", sources=sources)
    return stream, memory


def number(of: int, memory_id: str = "mem-0001") -> tuple[str, Event]:
    return NUMBERING, NumberTaken(number=of, memory_id=memory_id, stream="memory/x")


def invariants(workspace: Workspace) -> list[str]:
    return [one.what for one in Health(workspace).verify(with_index=False).findings if one.level == "invariant"]


def test_a_promotion_as_the_gate_records_it_breaks_nothing(workspace: Workspace) -> None:
    force(workspace, ANNA, clarified(1))
    force(workspace, BRUNO, marker(1), recorded(1), number(1))
    assert Health(workspace).verify(with_index=False).ok


@pytest.mark.parametrize(
    ("by", "commands", "said"),
    [
        (BRUNO, [[("session/s1", TablePromoted(seq=1, phase="F1", subject="t", detail="d"))],
                 [marker(1), recorded(1), number(1)]], "a table_promoted"),
        (BRUNO, [[marker(1), recorded(1), number(1)]], "seq 1, which is not recorded"),
        (BRUNO, [[clarified(1)], [marker(1), recorded(1, kind="table_promoted"), number(1)]], "is a table_promoted"),
        (BRUNO, [[clarified(1)], [marker(1), recorded(1), number(1)], [marker(1)]], "and again to mem-0001"),
        (BRUNO, [[clarified(1)], [marker(1)]], "which does not know it"),
        (BRUNO, [[clarified(1)], [recorded(1), number(1)]], "that no reviewer promoted"),
        (BRUNO, [[clarified(1), clarified(2)], [marker(1), recorded(1), number(1)],
                 [("memory/x", SourceAdded(memory_id="mem-0001", sources=(Source(session_id="s1", seq=2),)))]],
         "that no reviewer promoted"),
        (BRUNO, [[clarified(1), clarified(2)], [marker(1), recorded(1), number(1)],
                 [marker(2, "mem-0002"), recorded(2, memory_id="mem-0002", stream="memory/y"), number(1, "mem-0001")]],
         "the number 1 was taken twice"),
        (BRUNO, [[clarified(1, source_memory="mem-0007")]], "mem-0007, which was no memory then"),
        (By("agent:coder-1"), [[marker(1), recorded(1), number(1)]], "who is no person"),
        (ANNA, [[marker(1), recorded(1), number(1)]], "from their own words"),
    ],
)  # fmt: skip
def test_what_no_decider_would_record_is_found(
    workspace: Workspace, by: By, commands: Sequence[Sequence[tuple[str, Event]]], said: str
) -> None:
    if by is not BRUNO:
        force(workspace, ANNA, clarified(1))
    for command in commands:
        force(workspace, ANNA if isinstance(command[0][1], ConceptClarified) else by, *command)
    assert any(said in what for what in invariants(workspace)), invariants(workspace)


def test_a_self_review_that_says_so_breaks_nothing(workspace: Workspace) -> None:
    force(workspace, ANNA, clarified(1))
    force(workspace, ANNA, marker(1, self_reviewed=True), recorded(1), number(1))
    assert invariants(workspace) == []


def promoted(workspace: Workspace, subject: str, detail: str) -> str:
    done = Sessions(workspace).record("s1", NewDecision("concept_clarified", subject, detail), ANNA)
    seq = done.events(ConceptClarified)[0].seq
    (shown,) = (one for one in Review(workspace).preview("s1", limit=-1).candidates if one.candidate.seq == seq)
    return Review(workspace).save_one("s1", seq, shown.candidate.revision, BRUNO).memory_id


def test_verify_holds_over_merge_supersede_retire_withdraw_and_restore(workspace: Workspace) -> None:
    curation = Curation(workspace)
    one, two, three = (promoted(workspace, f"concetto {word}", f"definizione {word}") for word in ("a", "b", "c"))
    curation.merge(one, two, BRUNO)
    curation.restore(one, BRUNO)
    curation.supersede(one, three, BRUNO)
    curation.restore(one, BRUNO)
    curation.retire(two, BRUNO, source="s1:2")
    curation.restore(two, BRUNO)
    Sessions(workspace).roll_back("s1", "F1", ANNA)
    report = Health(workspace).verify(with_index=False)
    assert report.findings == ()


def test_views_at_different_positions_are_each_compared_where_they_stand(workspace: Workspace) -> None:
    workspace.caught_up()
    for number_of_view, name in enumerate(("decisions", "registry")):
        force(workspace, ANNA, clarified(number_of_view + 1))
        Projecting(workspace).replay((name,))
    positions = {one.name: one.position for one in Projecting(workspace).status()}
    assert [positions.pop(name) for name in ("decisions", "registry")] == [2, 3]
    assert set(positions.values()) == {1}
    assert Projecting(workspace).verify() == []
    with workspace.file.transaction() as db:
        db.execute("UPDATE decisions_v1_decisions SET detail = 'altro'")
    assert [one.mend for one in Projecting(workspace).verify()] == ["tht projection rebuild decisions"]


@pytest.mark.parametrize("damage", ["DROP TRIGGER keys_last", "DROP TRIGGER keys_last; DELETE FROM idempotency"])
def test_a_ledger_that_lost_a_trigger_or_its_keys_is_mended_as_the_finding_says(
    workspace: Workspace, tmp_path: Path, damage: str
) -> None:
    """`tht export FILE, then tht --workspace NAME import FILE`; backup refuses the same ledger for the same reason."""
    keyed = By("human:anna", idempotency_key="k#1")
    Sessions(workspace).record("s1", NewDecision("concept_clarified", "ablazione", "d"), keyed)
    with closing(sqlite3.connect(workspace.paths.ledger)) as db:
        db.executescript(damage)
    first, *_ = findings = Health(workspace).verify(with_index=False).findings
    assert {one.mend for one in findings} == {REWRITE}
    with pytest.raises(LedgerDamaged, match=re.escape(first.what)):
        write_backup(workspace, tmp_path / "b.zip")
    export_ledger(workspace.ledger, tmp_path / "all.jsonl")
    with create_workspace(tmp_path, "mended") as mended:
        import_ledger(mended.ledger, tmp_path / "all.jsonl")
        assert mended.ledger.head() == workspace.ledger.head()
        assert Health(mended).verify(with_index=False).ok
        assert mended.ledger.recorder.find_key("k#1") == (2, 2)
