"""S-27, S-50: the whole ledger out and in again without loss, and never over a history that is not its beginning."""

from __future__ import annotations

import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters import ledger_import
from adapters.ledger import By, Ledger
from adapters.ledger_files import export_ledger, export_lines
from adapters.ledger_import import Told, import_ledger
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from domain.errors import InvalidInput, OtherHistory, Refused, ThtError
from domain.session import NewDecision
from domain.text import canonical_json

ADA, AGENT = By("human:ada", reason="διότι"), By("agent:coder-1")


def workspace_in(home: Path, name: str = "default") -> Workspace:
    return create_workspace(home, name, lambda: datetime(2026, 3, 2, tzinfo=UTC))


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Workspace]:
    with workspace_in(tmp_path / "one") as made:
        yield made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Workspace]:
    with workspace_in(tmp_path / "other") as made:
        yield made


def work(workspace: Workspace, session_id: str, *subjects: str) -> None:
    """A session with clarifications, the first of them promoted: several streams, several events to a command."""
    Sessions(workspace).open(
        session_id, f"Question of {session_id}?", By(AGENT.actor, idempotency_key=f"o-{session_id}")
    )
    for subject in subjects:
        Sessions(workspace).record(session_id, NewDecision("concept_clarified", subject, f"{subject} è così"), AGENT)
    for candidate in Review(workspace).pending([session_id])[:1]:
        key = By(ADA.actor, reason=ADA.reason, idempotency_key=f"p-{session_id}")
        Review(workspace).save_one(session_id, candidate.seq, candidate.revision, key)


def exported(workspace: Workspace, path: Path, until: int | None = None) -> Path:
    export_ledger(workspace.ledger, path, until)
    return path


def test_export_import_export_is_byte_equal_and_again_a_no_op(one: Workspace, other: Workspace, tmp_path: Path) -> None:
    """S-27"""
    work(one, "s1", "ablation", "σύνθεση")
    work(one, "s2", "ablation")
    first = exported(one, tmp_path / "1.jsonl")
    taken = import_ledger(other.ledger, first)
    assert taken.appended == one.ledger.head().position == taken.position
    assert exported(other, tmp_path / "2.jsonl").read_bytes() == first.read_bytes()
    assert import_ledger(other.ledger, first).appended == 0
    assert list(other.ledger.find_damage()) == []
    assert Review(other).queue() == Review(one).queue()


def test_idempotency_keys_come_along(one: Workspace, other: Workspace, tmp_path: Path) -> None:
    """A command that was acknowledged there is not done a second time here."""
    work(one, "s1", "ablation")
    import_ledger(other.ledger, exported(one, tmp_path / "1.jsonl"))
    again = Sessions(other).open("s1", "Question of s1?", By(AGENT.actor, idempotency_key="o-s1"))
    assert (again.already, again.position) == (True, 1)


def test_a_longer_export_continues_what_is_here(one: Workspace, other: Workspace, tmp_path: Path) -> None:
    work(one, "s1", "ablation")
    import_ledger(other.ledger, exported(one, tmp_path / "1.jsonl"))
    before = one.ledger.head().position
    work(one, "s2", "recurrence", "dose")
    taken = import_ledger(other.ledger, exported(one, tmp_path / "2.jsonl"))
    assert taken.appended == one.ledger.head().position - before
    assert other.ledger.head() == one.ledger.head()


def test_a_shorter_export_changes_nothing_and_says_so(one: Workspace, tmp_path: Path) -> None:
    """S-50"""
    work(one, "s1", "ablation")
    file = exported(one, tmp_path / "1.jsonl")
    work(one, "s2", "recurrence")
    head = one.ledger.head()
    taken = import_ledger(one.ledger, file)
    assert (taken.appended, taken.local_is_longer) == (0, True)
    assert one.ledger.head() == head


@pytest.mark.parametrize("longer", ["here", "there"])
def test_another_history_is_refused(one: Workspace, other: Workspace, tmp_path: Path, longer: str) -> None:
    """S-50"""
    work(one, "s1", "ablation")
    file = exported(one, tmp_path / "1.jsonl", 1)
    import_ledger(other.ledger, file)
    work(one, "s2", "recurrence", "dose")
    work(other, "s3", "recurrence", "dose", *(["more", "and more"] if longer == "here" else []))
    head = other.ledger.head()
    with pytest.raises(OtherHistory, match="another history from position 2 on"):
        import_ledger(other.ledger, exported(one, tmp_path / "2.jsonl"))
    assert other.ledger.head() == head


def test_an_export_up_to_a_position_ends_where_a_command_ends(one: Workspace, other: Workspace, tmp_path: Path) -> None:
    work(one, "s1", "ablation")  # opened, clarified, then four events of one promotion
    end = one.ledger.head().position
    with pytest.raises(InvalidInput, match="inside a command"):
        list(export_lines(one.ledger, end - 1))
    with pytest.raises(InvalidInput, match="positions 0 to"):
        list(export_lines(one.ledger, end + 1))
    whole = exported(one, tmp_path / "whole.jsonl")
    with pytest.raises(InvalidInput, match="inside a command"):
        import_ledger(other.ledger, whole, until=end - 1)
    assert other.ledger.head().position == 0
    import_ledger(other.ledger, whole, until=2)
    assert exported(other, tmp_path / "2.jsonl").read_bytes() == exported(one, tmp_path / "1.jsonl", 2).read_bytes()
    import_ledger(other.ledger, whole)
    assert other.ledger.head() == one.ledger.head()


def test_an_empty_ledger_too(one: Workspace, other: Workspace, tmp_path: Path) -> None:
    assert import_ledger(other.ledger, exported(one, tmp_path / "1.jsonl")).appended == 0


def _edit(number: int, change: Callable[[dict[str, Any]], object]) -> Callable[[list[bytes]], list[bytes]]:
    def edited(lines: list[bytes]) -> list[bytes]:
        value = json.loads(lines[number])
        change(value)
        return [*lines[:number], canonical_json(value).encode() + b"\n", *lines[number + 1 :]]

    return edited


TAMPERED: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "torn tail": (lambda lines: [*lines[:-1], lines[-1][:-40]], "line 8: the last line is torn"),
    "cut between lines": (lambda lines: lines[:-2], "line 7: the file ends at position 5, its header promises 7"),
    "text edited": (_edit(3, lambda v: v["state"].update(reason="x")), "line 4: the chain is broken"),
    "chain edited": (_edit(3, lambda v: v.update(chain="0" * 64)), "line 4: the chain is broken"),
    "name edited": (_edit(3, lambda v: v.update(name="session.session-closed")), "line 4: "),
    "unknown event": (_edit(3, lambda v: v.update(name="session.dreamt")), "line 4: .*unknown event"),
    "position edited": (_edit(3, lambda v: v.update(position=9)), "line 4: position 9 where 3 was expected"),
    "version edited": (_edit(3, lambda v: v.update(version=9)), "line 4: version 9 of its stream is out of order"),
    "another stream": (_edit(3, lambda v: v.update(stream="0" * 32)), "line 4: "),
    "a line missing": (lambda lines: lines[:3] + lines[4:], "line 4: position 4 where 3 was expected"),
    "a line twice": (lambda lines: [*lines[:3], *lines[2:]], "line 4: position 2 where 3 was expected"),
    "two lines swapped": (lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]], "line 3: position 3"),
    "a line added": (lambda lines: [*lines, lines[-1]], "line 9: position 7 where 8 was expected"),
    "extra field": (_edit(3, lambda v: v.update(note="x")), "line 4: note: Extra inputs"),
    "no object": (lambda lines: [*lines[:3], b"[]\n", *lines[3:]], "line 4: a JSON object was expected"),
    "newer format": (_edit(0, lambda v: v.update(version=2)), "line 1: version 2 of the export is not known"),
    "no header": (lambda lines: lines[1:], "line 1: "),
    "header of another end": (_edit(0, lambda v: v.update(chain="0" * 64)), "line 9: "),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_a_torn_or_edited_file_is_refused_with_its_line(
    one: Workspace, other: Workspace, tmp_path: Path, kind: str
) -> None:
    """S-27: nothing is written unless every line is what was exported."""
    work(one, "s1", "ablation", "dose")
    file = exported(one, tmp_path / "1.jsonl")
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) == 8
    change, what = TAMPERED[kind]
    file.write_bytes(b"".join(change(lines)))
    for dry_run in (True, False):
        with pytest.raises(Refused, match=what):
            import_ledger(other.ledger, file, dry_run=dry_run)
    assert other.ledger.head().position == 0


def test_what_is_sound_before_a_torn_tail_can_be_taken(one: Workspace, other: Workspace, tmp_path: Path) -> None:
    """The hint names the last position that surely ends a command."""
    work(one, "s1", "ablation", "dose")
    file = exported(one, tmp_path / "1.jsonl")
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(Refused) as refused:
        import_ledger(other.ledger, file)
    assert refused.value.hint == "--until 3 takes what is sound before it"
    assert import_ledger(other.ledger, file, until=3).appended == 3
    assert other.ledger.chain_at(3) == one.ledger.chain_at(3)


@pytest.mark.posix
def test_after_a_kill_the_same_import_goes_on(one: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        work(one, f"s{number}", "ablation", f"dose {number}")
    file = exported(one, tmp_path / "1.jsonl")
    monkeypatch.setattr(ledger_import, "BATCH", 5)
    with workspace_in(tmp_path / "killed"):
        pass
    reached: list[int] = []
    while not reached or reached[-1] < one.ledger.head().position:
        assert len(reached) < 50
        _killed_after_batches(lambda: import_in(tmp_path / "killed", file), 2)
        with workspace_in(tmp_path / "killed") as other:
            reached.append(other.ledger.head().position)
            assert other.ledger.chain_at(reached[-1]) == one.ledger.chain_at(reached[-1])
            assert list(other.ledger.find_damage()) == []
    assert len(reached) > 2
    assert reached == sorted(set(reached))


def import_in(home: Path, file: Path) -> None:
    with workspace_in(home) as workspace:
        import_ledger(workspace.ledger, file)


def _killed_after_batches(run: Callable[[], None], batches: int) -> None:
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    left = batches
    real = ledger_import._append

    def counted(ledger: Ledger, batch: Sequence[Told]) -> None:
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        real(ledger, batch)

    try:
        ledger_import._append = counted
        run()
    finally:
        os._exit(0)


def test_the_file_is_its_owners_and_replaces_the_old_one_at_once(one: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "1.jsonl"
    file.write_text("old")
    work(one, "s1", "ablation")
    exported(one, file)
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput):
        export_ledger(one.ledger, file, 99)
    with pytest.raises(ThtError, match="cannot be written"):
        export_ledger(one.ledger, tmp_path / "missing" / "1.jsonl")
    assert file.read_bytes().startswith(b'{"chain"')
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["1.jsonl"]


# -- any history at all ------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=20).filter(str.strip)
PHASES = st.sampled_from(["F1", "F2", "F3", "F8"])
STEPS = st.one_of(
    st.tuples(st.just("record"), TEXTS, TEXTS),
    st.tuples(st.sampled_from(["enter", "reopen", "roll_back"]), PHASES),
    st.tuples(st.just("retract"), st.integers(1, 4)),
    st.tuples(st.just("promote")),
)


def take(workspace: Workspace, step: tuple[object, ...], number: int) -> None:
    sessions, review = Sessions(workspace), Review(workspace)
    by = By(AGENT.actor, reason=str(step[-1]), idempotency_key=f"k{number}" if number % 3 == 0 else "")
    match step:
        case ("record", str(subject), str(detail)):
            sessions.record("s", NewDecision("concept_clarified", subject, detail), by)
        case ("retract", int(seq)):
            sessions.retract("s", seq, by)
        case ("promote",):
            for candidate in review.pending(["s"])[:1]:
                review.save_one("s", candidate.seq, candidate.revision, By("human:ada"))
        case (str(walk), str(phase)):
            getattr(sessions, walk)("s", phase, by)


@settings(max_examples=15)
@given(st.lists(STEPS, max_size=12), st.randoms(use_true_random=False))
def test_every_history_survives_the_round_trip(steps: list[tuple[object, ...]], random: Random) -> None:
    """S-27 over random histories: whole, and in two parts cut where any command ends."""
    with (
        tempfile.TemporaryDirectory() as folder,
        workspace_in(Path(folder), "one") as one,
        workspace_in(Path(folder), "other") as other,
    ):
        ends = [Sessions(one).open("s", "What?", AGENT).position]
        for number, step in enumerate(steps):
            try:
                take(one, step, number)
            except ThtError:
                continue  # a step that this state refuses
            ends.append(one.ledger.head().position)
        cut = random.choice(ends)
        part, whole = Path(folder) / "part.jsonl", Path(folder) / "whole.jsonl"
        export_ledger(one.ledger, part, cut)
        import_ledger(other.ledger, part)
        export_ledger(one.ledger, whole)
        import_ledger(other.ledger, whole)
        assert "".join(export_lines(other.ledger)).encode() == whole.read_bytes()
        assert import_ledger(other.ledger, part).appended == 0
        assert list(other.ledger.find_damage()) == []
