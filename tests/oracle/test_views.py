"""Random histories against an oracle that shares no code: a double apply hides from a check that folds alike."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.curation import Curation
from adapters.health import Health
from adapters.review import Review
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from domain.errors import HomeNotWritable
from domain.event import Envelope, Event
from domain.promotion import undecided
from projections.declared import make_views
from projections.loop import PAGE, Broken, Head, LedgerReader, catch_up
from projections.registry import RegistryView
from projections.tables.decisions import DECISIONS, SESSIONS
from projections.view import View, ViewsFile
from tests.oracle import oracle
from tests.oracle.histories import HISTORIES, History, Op, events_of, hasty_workspace
from tests.oracle.knowledge_histories import told
from tests.oracle.timeline import check_timeline

EXAMPLES = settings(suppress_health_check=list(HealthCheck))


@contextmanager
def after(ops: list[Op]) -> Iterator[History]:
    """A workspace in which these operations were tried."""
    with tempfile.TemporaryDirectory() as home, hasty_workspace(Path(home)) as workspace:
        history = History(workspace)
        history.run(ops)
        workspace.caught_up()
        yield history


# -- the views against the oracle --------------------------------------------------------------------------------------


def test_the_views_say_what_the_oracle_says() -> None:
    """And the histories reach what they are for, else this proves little: each command is accepted somewhere, each
    refusal that matters happens."""
    accepted: Counter[str] = Counter()
    refused: Counter[str] = Counter()

    @settings(EXAMPLES, max_examples=40)
    @given(HISTORIES)
    def check(ops: list[Op]) -> None:
        with after(ops) as history:
            check_everything(history.workspace)
            accepted.update(history.accepted)
            refused.update(history.refused)

    check()
    verbs = {"record", "save", "enter", "decline", "defer", "retract", "choose", "edit", "reopen", "roll_back", "close"}
    verbs |= {"erase", "close_review", "reuse", "retire", "withdraw", "supersede", "merge", "restore"}
    assert verbs - set(accepted) == set(), accepted
    errors = {"NothingChanged", "WrongPhase", "SessionIsClosed", "UndecidedCandidates", "NotACandidate", "SelfReview"}
    errors |= {"StaleCandidate", "ReviewerNeeded", "MemoryNotLive", "UnknownMemory", "UnknownDecision", "InvalidInput"}
    assert errors - set(refused) == set(), refused


def check_everything(workspace: Workspace) -> None:
    events = events_of(workspace)
    check_sessions(workspace, oracle.sessions(events))
    check_previews(workspace, oracle.sessions(events))
    check_registry(workspace, oracle.memories(events), oracle.sessions(events))
    check_timeline(workspace.file.db, told(workspace))
    assert Health(workspace).verify(with_index=False).findings == ()
    before = digests(workspace.file)
    workspace.rebuild_views()
    assert digests(workspace.file) == before


def check_sessions(workspace: Workspace, expected: dict[str, oracle.Data]) -> None:
    db = workspace.file.db
    for session_id, session in expected.items():
        rows = db.execute(f"SELECT * FROM {DECISIONS} WHERE session_id = ? ORDER BY seq", (session_id,)).fetchall()
        assert [row["seq"] for row in rows] == sorted(session["decisions"]) == list(range(1, len(rows) + 1))
        for row in rows:
            decision, seq = session["decisions"][row["seq"]], row["seq"]
            assert (row["type"], row["standing"], row["author"]) == (
                decision["type"],
                decision["standing"],
                decision["author"],
            )
            assert row["memory_id"] == session["promoted"].get(seq, {"memory_id": ""})["memory_id"]
            decided = seq in session["promoted"], seq in session["declined"]
            assert (row["outcome"] == "promoted", row["outcome"] == "declined") == decided
        row = db.execute(f"SELECT * FROM {SESSIONS} WHERE session_id = ?", (session_id,)).fetchone()
        flags = ("closed" if session["closed"] else "open", "closed" if session["review_closed"] else "open")
        assert (row["phase"], row["status"], row["review"]) == (session["phase"], *flags)
        folded = Sessions(workspace).get(session_id)
        assert folded.set_aside == session["aside"]
        for memory_id in oracle.memories(events_of(workspace)):
            assert (memory_id not in folded.decided_memories) == oracle.offered_again(session, memory_id)
        check_summary(workspace, session_id, session)


def check_summary(workspace: Workspace, session_id: str, session: oracle.Data) -> None:
    summary = Sessions(workspace).summary(session_id)
    assert [(one.state, one.seq, one.memory_id, one.flag) for one in summary.memories] == oracle.summary(session)
    waiting = [one for one in oracle.candidates(session) if not one["refused"]]
    deferred = sum(1 for one in waiting if one["deferred"])
    assert (summary.pending, summary.deferred) == (len(waiting) - deferred, deferred)


def check_previews(workspace: Workspace, expected: dict[str, oracle.Data]) -> None:
    """S-25: page by page no candidate is lost, and the queue holds whatever can still be decided."""
    review = Review(workspace)
    queued = {preview.session_id for preview in review.queue()}
    for session_id, session in expected.items():
        found = oracle.candidates(session)
        wanted = [(one["seq"], tuple(one["covers"])) for one in found if not one["refused"]]
        assert (session_id in queued) == bool(wanted)
        seen: list[tuple[int, tuple[int, ...]]] = []
        while True:
            page = review.preview(session_id, limit=2, after=seen[-1][0] if seen else 0, with_deferred=True)
            seen += [(one.candidate.seq, one.candidate.covers) for one in page.candidates]
            assert page.remaining == len(wanted) - len(seen)
            if not page.remaining:
                break
        assert seen == wanted
        assert [one.seq for one in page.refused] == [one["seq"] for one in found if one["refused"]]
        plain = [one["seq"] for one in found if not one["refused"] and not one["deferred"]]
        assert [one.seq for one in undecided(Sessions(workspace).get(session_id))] == plain
        if session["closed"]:
            assert set(plain) <= reopened_by_retraction(session)


def reopened_by_retraction(session: oracle.Data) -> set[int]:
    """What may be undecided in a closed session: a covered decision whose deferred leader was retracted since."""
    gone = [one for seq, one in session["decisions"].items() if seq in session["deferred"] and is_gone(one)]
    if any(one.get("erased") for one in gone):  # what they covered cannot be told any more
        return set(session["decisions"])
    words = [oracle.content(one) for one in gone]
    return {seq for seq, one in session["decisions"].items() if oracle.content(one) in words}


def is_gone(decision: oracle.Data) -> bool:
    return bool(decision["standing"] != "effective" or decision.get("erased"))


def check_registry(workspace: Workspace, expected: dict[str, oracle.Data], known: dict[str, oracle.Data]) -> None:
    entries, total = Curation(workspace).list(status="")
    assert [entry.id for entry in entries] == [f"mem-{number:04d}" for number in range(1, len(expected) + 1)]
    assert total == len(expected)
    contents = [oracle.content(memory) for memory in expected.values() if memory["status"] != "erased"]
    assert len(set(contents)) == len(contents)  # the same content is one memory
    for entry in entries:
        memory = expected[entry.id]
        assert (entry.record.subject, entry.record.detail, entry.reviewer) == (
            memory["subject"],
            memory["detail"],
            memory["reviewer"],
        )
        assert (entry.status, entry.successor) == (memory["status"], memory["successor"])
        assert {(one.session_id, one.seq) for one in entry.sources if not one.withdrawn} == memory["sources"]
        assert not (entry.live and not memory["sources"])
        said = {"": "", "source no longer effective": "all"}.get(entry.flag, "some")
        assert said == oracle.flag(memory, known)
    promoted = [(sid, seq) for sid, session in known.items() for seq in session["promoted"]]
    ever = {(one.session_id, one.seq) for entry in entries for one in entry.sources}
    assert ever == set(promoted)  # no source without its marker, no marker without its memory


def digests(file: ViewsFile) -> dict[str, str]:
    return {table: digest for view in file.views for table, digest in view.digests(file.db).items()}


# -- catching up in any pages, from any interruption -------------------------------------------------------------------


class InPages(LedgerReader):
    """The same ledger, read in pages of given sizes, over and over."""

    def __init__(self, ledger: LedgerReader, sizes: list[int]) -> None:
        self.ledger, self.sizes, self.reads = ledger, sizes, 0

    def head(self) -> Head:
        return self.ledger.head()

    def chain_at(self, position: int) -> str | None:
        return self.ledger.chain_at(position)

    def read(self, after: int, limit: int = PAGE, until: int | None = None) -> list[Envelope | Broken]:
        self.reads += 1
        return self.ledger.read(after, min(limit, self.sizes[self.reads % len(self.sizes)]), until)


class Interrupted(RegistryView):
    """The disk fails at some positions, once each: at any event, so it is shown them all."""

    areas = None
    concerned = (Event,)

    def __init__(self, at: set[int]) -> None:
        self.at = at

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        super().apply(db, envelope)
        if envelope.position in self.at:
            self.at.remove(envelope.position)
            raise sqlite3.OperationalError("disk I/O error")


@settings(EXAMPLES, max_examples=20)
@given(HISTORIES, st.lists(st.integers(1, 17), min_size=1, max_size=5), st.sets(st.integers(1, 60), max_size=6))
def test_pages_and_interruptions_do_not_show(ops: list[Op], sizes: list[int], failing: set[int]) -> None:
    """S-51: the page in which the disk failed is applied exactly once, afterwards."""
    with after(ops) as history, tempfile.TemporaryDirectory() as folder:
        ledger = InPages(history.workspace.ledger, sizes)
        views: list[View] = [view for view in make_views() if view.name != "registry"] + [Interrupted(set(failing))]
        copy = ViewsFile(Path(folder) / "views.sqlite3", views, ledger.chain_at(0) or "")
        copy.db.execute("PRAGMA synchronous=OFF")
        interruptions = 0
        while True:
            try:
                catch_up(ledger, copy)
                break
            except HomeNotWritable:
                interruptions += 1
        head = ledger.head()
        assert interruptions == len({one for one in failing if one <= head.position})
        assert {(copy.standing(view).position, copy.standing(view).chain) for view in views} == {
            (head.position, head.chain)
        }
        assert copy.parked() == []
        assert digests(copy) == digests(history.workspace.file)
        copy.close()


# -- the oracle itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["ablation", "Ablation!", "« ABLATION »"])
def test_the_oracle_has_its_own_idea_of_the_same_words(wrong: str) -> None:
    assert oracle.same_words(wrong) == "ablation"
