"""S-13: what an erasure takes with it, what it leaves alone and names, and how it reaches other homes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.backup import write_backup
from adapters.curation import Curation
from adapters.erasing import Erased, Erasing
from adapters.imports import import_found, look_at
from adapters.ledger import By
from adapters.ledger_files import export_ledger
from adapters.restore import restore_backup
from adapters.review import Review
from adapters.session_files import Report
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.errors import InvalidInput, Refused, ReviewerNeeded, UnknownRecord
from domain.event import ERASED
from domain.session import NewDecision
from tests.contracts.ledgers import append
from tests.contracts.test_sealing import NoteTaken, note

ADA, BO, CODER = By("human:ada", reason="asked to"), By("human:bo"), By("agent:coder-1")


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Workspace]:
    with workspace_in(tmp_path / "one") as made:
        yield made


def workspace_in(home: Path) -> Workspace:
    made = create_workspace(home, "default", lambda: datetime(2026, 3, 2, tzinfo=UTC))
    made.config.set("embedder.model", "hash:16")
    return made


def say(workspace: Workspace, session_id: str, *subjects: str) -> None:
    if session_id not in [row.session_id for row in Sessions(workspace).list(limit=99)[0]]:
        Sessions(workspace).open(session_id, f"Question of {session_id}?", CODER)
    for subject in subjects:
        Sessions(workspace).record(session_id, said(subject), CODER)


def said(subject: str) -> NewDecision:
    return NewDecision("concept_clarified", subject, f"{subject} is counted once", f"because of {subject}")


def promote(workspace: Workspace, session_id: str, into: str = "") -> str:
    candidate = Review(workspace).pending([session_id])[0]
    return Review(workspace).save_one(session_id, candidate.seq, candidate.revision, BO, into=into).memory_id


def erase(workspace: Workspace, *names: str, about: str = "", with_memories: bool = False) -> Erased:
    done = Erasing(workspace).erase(names, ADA, about=about, with_memories=with_memories)
    assert list(workspace.ledger.find_damage()) == []
    workspace.caught_up()
    before = rows(workspace)
    workspace.rebuild_views()
    assert rows(workspace) == before, "the views are not what a replay gives"
    return done


def rows(workspace: Workspace) -> dict[str, str]:
    return {table: one for view in workspace.file.views for table, one in view.digests(workspace.file.db).items()}


def told(workspace: Workspace) -> str:
    """Everything that the ledger says now."""
    return "\n".join(envelope.event.model_dump_json() for envelope in workspace.ledger.everything())


# -- what goes with it -------------------------------------------------------------------------------------------------


def test_a_memory_takes_all_that_says_the_same(one: Workspace) -> None:
    """Its sources, withdrawn ones too, other decisions of the same content, and what reused it word for word."""
    say(one, "s1", "ablation", "Ablation", "other")
    say(one, "s2", "ablation")
    say(one, "s3", "ABLATION")
    memory_id = promote(one, "s1")
    assert promote(one, "s2") == memory_id
    Curation(one).retire(memory_id, BO, source="s2:1")
    Sessions(one).open("s4", "Reused?", CODER)
    Sessions(one).choose("s4", [memory_id], [memory_id], BO)
    done = erase(one, memory_id)
    assert done.records == (memory_id, "s1:1", "s1:2", "s2:1", "s3:1", "s4:1")
    assert done.near == ()
    assert "because of ablation" not in told(one)
    assert "other is counted once" in told(one)


def test_what_says_something_alike_is_named_and_left_alone(one: Workspace) -> None:
    """Its edits, a reuse in other words, and a memory that was merged into it."""
    say(one, "s1", "ablation")
    Sessions(one).edit("s1", 1, said("ablation, that is"), CODER)
    memory_id = promote(one, "s1")
    say(one, "s2", "removal")
    merged = promote(one, "s2")
    Curation(one).merge(merged, memory_id, BO)
    Sessions(one).open("s3", "Reused?", CODER)
    Sessions(one).record("s3", replace(said("ablation of a kind"), source_memory=memory_id), BO)
    done = erase(one, memory_id)
    assert done.records == (memory_id, "s1:2")
    assert set(done.near) == {"s1:1", merged, "s3:1"}
    assert Curation(one).get(merged).record.subject == "removal"


def test_a_merged_in_candidate_goes_with_the_memory_that_took_it(one: Workspace) -> None:
    say(one, "s1", "ablation")
    memory_id = promote(one, "s1")
    say(one, "s2", "removal")
    assert promote(one, "s2", into=memory_id) == memory_id
    assert erase(one, memory_id).records == (memory_id, "s1:1", "s2:1")


def test_an_erased_decision_is_no_candidate_and_holds_nobody_up(one: Workspace) -> None:
    say(one, "s1", "ablation", "other")
    erase(one, "s1:1")
    assert [candidate.seq for candidate in Review(one).pending(["s1"])] == [2]
    promote(one, "s1")
    Sessions(one).close("s1", CODER)
    with pytest.raises(Refused, match="erased"):
        Sessions(one).edit("s1", 1, said("again"), CODER)
    assert Sessions(one).get("s1").decisions[0].rationale == ERASED


def test_a_question_goes_alone_when_its_session_has_no_decision(one: Workspace) -> None:
    say(one, "s1")
    assert erase(one, "session:s1").records == ("session:s1",)
    assert Sessions(one).get("s1").question == ERASED
    assert "Question of s1" not in told(one)


def test_a_session_called_session_is_not_taken_for_another(one: Workspace) -> None:
    """`session:1` may be the session `1` or the first decision of the session `session`."""
    say(one, "session", "ablation")
    assert erase(one, "session:1").records == ("session:1",)
    assert Sessions(one).get("session").question == "Question of session?"
    say(one, "session", "other")
    say(one, "2")
    with pytest.raises(InvalidInput, match="both"):
        erase(one, "session:2")
    assert Sessions(one).get("2").question == "Question of 2?"
    assert erase(one, "session:session").records == ("session:session", "session:2")
    assert Sessions(one).get("2").question == "Question of 2?"


def test_an_agent_erases_nothing(one: Workspace) -> None:
    say(one, "s1", "ablation")
    for actor in ("agent:coder-1", "tool:importer"):
        with pytest.raises(ReviewerNeeded):
            Erasing(one).erase(("s1:1",), By(actor))
    assert not any(envelope.erased for envelope in one.ledger.everything())


# -- by subject --------------------------------------------------------------------------------------------------------


def test_all_about_one_subject(one: Workspace) -> None:
    """S-02: another's records stay as they are."""
    append(one.ledger, ("notes/a", note(1)), ("notes/b", note(2)), ("notes/b", note(3, "Anna", "person:anna")))
    append(one.ledger, ("notes/c", note(1, "said again elsewhere")))
    done = erase(one, about="person:mario")
    assert (done.records, done.events) == (("note-1", "note-2"), 3)
    texts = [event.text for one in one.ledger.everything() if isinstance(event := one.event, NoteTaken)]
    assert texts == [ERASED, ERASED, "Anna", ERASED]
    again = erase(one, about="person:mario")
    assert (again.records, again.already, again.events) == ((), ("note-1", "note-2"), 0)
    with pytest.raises(UnknownRecord, match="person:nobody"):
        erase(one, about="person:nobody")


def test_what_is_said_of_it_later_is_erased_by_the_next_one(one: Workspace) -> None:
    append(one.ledger, ("notes/a", note(1)))
    erase(one, "note-1")
    append(one.ledger, ("notes/a", note(1, "said again")))
    assert erase(one, "note-1").events == 1
    assert "said again" not in told(one)


def test_a_key_that_is_gone_is_explained_afterwards(one: Workspace) -> None:
    """What verify advises where a key is lost: the ledger then says that nobody can read it."""
    from tests.contracts.ledgers import Sqlite

    append(one.ledger, ("notes/a", note(1)))
    Sqlite(one.paths.folder).execute("DELETE FROM seals")
    assert ["tht erase note-1" in finding.mend for finding in one.ledger.find_damage()] == [True]
    assert erase(one, "note-1").records == ("note-1",)


# -- what cannot be erased ---------------------------------------------------------------------------------------------


def test_what_was_recorded_before_sealing_is_refused_loudly(one: Workspace) -> None:
    from eventsourcing.persistence import StoredEvent

    say(one, "s1", "ablation")
    stored = one.ledger.recorder.select_events(one.ledger.load("session/s1")[1].originator_id)[1]
    data = one.ledger.load("session/s1")[1].event.model_dump(mode="json") | {"seq": 2}
    state = json.loads(stored.state) | {"data": data}
    state.pop("sealed")
    plain = StoredEvent(stored.originator_id, 3, stored.topic, json.dumps(state).encode())
    one.ledger.recorder.insert_events([plain])
    with pytest.raises(Refused, match=r"before texts were sealed \(position 3\)"):
        erase(one, "s1:2")
    with pytest.raises(Refused, match="before texts were sealed"):
        erase(one, "session:s1")
    assert not any(envelope.erased for envelope in one.ledger.everything())


# -- other homes -------------------------------------------------------------------------------------------------------


def test_an_export_made_later_lacks_the_text_and_reads_the_same_elsewhere(one: Workspace, tmp_path: Path) -> None:
    """S-27 beside S-13: what was not erased can be read there, and exporting again gives the same bytes."""
    say(one, "s1", "ablation", "other")
    erase(one, "s1:1")
    export_ledger(one.ledger, tmp_path / "1.jsonl")
    assert "ablation" not in (tmp_path / "1.jsonl").read_text("utf-8")
    with workspace_in(tmp_path / "two") as two:
        import_found(two, look_at(tmp_path / "1.jsonl"), BO)
        assert told(two) == told(one)
        assert list(two.ledger.find_damage()) == []
        export_ledger(two.ledger, tmp_path / "2.jsonl")
    assert (tmp_path / "2.jsonl").read_bytes() == (tmp_path / "1.jsonl").read_bytes()


@pytest.mark.parametrize("way", ["import", "restore"])
def test_an_erasure_reaches_the_copies_that_follow(one: Workspace, tmp_path: Path, way: str) -> None:
    say(one, "s1", "ablation", "other")
    export_ledger(one.ledger, tmp_path / "before.jsonl")
    with workspace_in(tmp_path / "two") as two:
        import_found(two, look_at(tmp_path / "before.jsonl"), BO)
        two.caught_up()
        assert "ablation" in told(two)
    erase(one, "s1:1")
    if way == "import":
        export_ledger(one.ledger, tmp_path / "after.jsonl")
        with open_workspace(tmp_path / "two", "default") as two:
            import_found(two, look_at(tmp_path / "after.jsonl"), BO)
    else:
        write_backup(one, tmp_path / "after.zip")
        restore_backup(tmp_path / "after.zip", tmp_path / "two" / "default")
    with open_workspace(tmp_path / "two", "default") as two:
        assert told(two) == told(one)
        assert list(two.ledger.find_damage()) == []
    content = b"".join(path.read_bytes() for path in (tmp_path / "two").rglob("*") if path.is_file())
    assert b"ablation" not in content
    assert b"other is counted once" in content


@pytest.mark.parametrize("way", ["import", "restore"])
def test_a_copy_from_before_brings_nothing_back(one: Workspace, tmp_path: Path, way: str) -> None:
    say(one, "s1", "ablation")
    export_ledger(one.ledger, tmp_path / "before.jsonl")
    write_backup(one, tmp_path / "before.zip")
    erase(one, "s1:1")
    if way == "import":
        import_found(one, look_at(tmp_path / "before.jsonl"), BO)
    else:
        with pytest.raises(Refused):
            restore_backup(tmp_path / "before.zip", one.paths.folder)
    assert "ablation" not in told(one)


def test_sessions_told_again_by_a_file_stay_erased(one: Workspace, tmp_path: Path) -> None:
    """The file that it once came from is known, and says nothing new."""
    decision = {"type": "concept_clarified", "phase": "F1", "subject": "ablation", "detail": "is counted once"}
    line = {"session_id": "s1", "question": "Question?", "decisions": [decision]}
    (tmp_path / "s.jsonl").write_text(json.dumps(line) + "\n")
    import_found(one, look_at(tmp_path / "s.jsonl"), BO)
    erase(one, "session:s1")
    head = one.ledger.head()
    again = import_found(one, look_at(tmp_path / "s.jsonl"), BO)
    assert isinstance(again, Report)
    assert (again.known, again.refused) == (1, 0)
    assert one.ledger.head() == head


def test_a_view_that_passed_a_stream_over_is_thrown_away(one: Workspace) -> None:
    """It has not seen the erasure, so whatever it holds of that stream would stay."""
    say(one, "s1", "ablation", "other")
    db = one.caught_up()
    view = one.file.views[0]
    db.execute("INSERT INTO parked VALUES (?, ?, 'session/s1', 2, 'poison')", (view.name, view.version))
    erase(one, "s1:1")
    assert one.file.parked() == []
    content = b"".join(path.read_bytes() for path in one.paths.folder.glob("views*"))
    assert b"ablation" not in content
