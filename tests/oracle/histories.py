"""Random histories of valid and invalid commands, carried out on a real ledger that does not wait for the disk."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from eventsourcing.sqlite import SQLiteConnection
from hypothesis import strategies as st

from adapters.curation import Curation
from adapters.erasing import Erasing
from adapters.ledger import By
from adapters.review import Review, Saved
from adapters.sessions import Sessions
from adapters.sqlite import LedgerDatastore, LedgerRecorder, _Pool
from adapters.workspace import Workspace, create_workspace
from domain.errors import ReviewerNeeded, SelfReview, ThtError
from domain.session import NewDecision
from tests.oracle import oracle
from tests.oracle.oracle import Data

SESSIONS = ("s1", "s2")
AUTHORS = ("agent:coder", "agent:coder", "agent:critic", "human:ada")
REVIEWERS = ("human:ada", "human:Bo", "human:cy", "human:Bo", "human:cy", "human:cy", "human:cy", "agent:coder")
PHASES = ("F1", "F2", "F2", "F3", "F8", "F9")
SUBJECTS = ("Ablation", "«ablation»", "stroke", "ward", "patients", "Dim_time.")
DETAILS = ("one a year", "ONE  a year.", "not one a year", "two a year")
TYPES = ("concept_clarified",) * 5 + ("table_promoted", "column_excluded")
START = datetime(2026, 3, 2, 12, tzinfo=UTC)

Op = tuple[str, tuple[int, ...]]

# Weights by repetition: what makes candidates and decides them is drawn most.
VERBS = (
    *("record",) * 20,
    *("save",) * 24,
    *("choose", "merge") * 6,
    *("restore", "reopen") * 3,
    *("decline", "defer", "retract", "retire", "withdraw", "supersede", "reuse") * 2,
    *("erase",) * 3,
    *("edit", "enter", "roll_back", "close", "close_review", "open"),
)


def ops_of(seed: int, length: int) -> list[Op]:
    """The first `length` operations that a seed stands for: drawn evenly, and shrunk from the end."""
    chance = Random(seed)
    verbs = [*["record"] * 8, *(chance.choice(VERBS) for _ in range(length - 8))]
    return [(verb, tuple(chance.randrange(60) for _ in range(5))) for verb in verbs]


HISTORIES = st.builds(ops_of, st.integers(0, 2**32 - 1), st.integers(60, 120))


class _Hasty(_Pool):
    def _create_connection(self) -> SQLiteConnection:
        connection = super()._create_connection()
        connection.cursor().execute("PRAGMA synchronous=OFF")
        return connection


class _HastyDatastore(LedgerDatastore):
    """A power cut may take what was acknowledged: for histories that are thrown away."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.pool.close()
        self.pool = _Hasty(db_name=str(path), lock_timeout=5)


def hasty_workspace(home: Path) -> Workspace:
    ticks = itertools.count()
    workspace = create_workspace(home, "default", lambda: START + timedelta(seconds=next(ticks)))
    recorder = workspace.ledger.recorder
    assert isinstance(recorder, LedgerRecorder)
    recorder.datastore.close()
    recorder.datastore = _HastyDatastore(workspace.paths.ledger)
    workspace.file.db.execute("PRAGMA synchronous=OFF")
    workspace.config.set("embedder.model", "none")  # what an index adds costs most, and is asked for where it counts
    return workspace


def events_of(workspace: Workspace) -> list[Data]:
    """The ledger as the oracle reads it."""
    return [
        {
            "position": one.position,
            "stream": one.stream,
            "kind": one.event.kind,
            "actor": one.actor,
            "data": one.event.model_dump(mode="json"),
        }
        for one in workspace.ledger.page(0, 10**6)
    ]


def refusal(command: Callable[[], object]) -> ThtError | None:
    """Carry a command out; its refusal, None when it was accepted."""
    try:
        command()
    except ThtError as error:
        return error
    return None


@dataclass
class History:
    """Carries operations out one by one and checks what each may have written."""

    workspace: Workspace
    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    forgotten: set[tuple[str, str]] = field(default_factory=set)  # content that no memory may say again

    def run(self, ops: list[Op]) -> None:
        for session_id in SESSIONS:
            Sessions(self.workspace).open(session_id, f"question of {session_id}", By("agent:coder"))
        for verb, numbers in ops:
            self.step(verb, numbers)

    def step(self, verb: str, numbers: tuple[int, ...]) -> None:
        before = self.workspace.ledger.head().position
        error = refusal(getattr(self, f"_{verb}")(*numbers))
        if error is None:
            self.accepted[verb] += 1
            return
        self.refused[error.type] += 1
        written = self.workspace.ledger.page(before)
        noted = verb == "save" and isinstance(error, (SelfReview, ReviewerNeeded))
        refusals = [one["data"]["reason"] for one in events_of(self.workspace) if one["kind"] == "promotion_refused"]
        assert not noted or error.message in refusals, "the attempt is in the audit, from now or from before"
        assert [one.event.kind for one in written] == (["promotion_refused"] if noted and written else []), error

    # -- one command each; numbers choose among what there is, and now and then what there is not

    def _open(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Sessions(self.workspace).open(SESSIONS[a % 2], f"question of s{b % 3}", By("agent:coder"))

    def _record(self, a: int, b: int, c: int, d: int, e: int) -> Callable[[], Any]:
        phase: Any = PHASES[e % 6] if e % 4 == 0 else None
        new = NewDecision(TYPES[b % 7], SUBJECTS[c % 6], DETAILS[d % 4], phase=phase)
        return lambda: Sessions(self.workspace).record(SESSIONS[a % 2], new, By(AUTHORS[e // 4 % 4]))

    def _reuse(self, a: int, b: int, c: int, d: int, e: int) -> Callable[[], Any]:
        new = NewDecision("concept_clarified", SUBJECTS[c % 6], DETAILS[d % 4], source_memory=self._memory(b))
        return lambda: Sessions(self.workspace).record(SESSIONS[a % 2], new, By(REVIEWERS[e % 8]))

    def _edit(self, a: int, b: int, c: int, d: int, e: int) -> Callable[[], Any]:
        new = NewDecision("concept_clarified", SUBJECTS[c % 6], DETAILS[d % 4])
        return lambda: Sessions(self.workspace).edit(SESSIONS[a % 2], self._seq(a, b), new, By(AUTHORS[e // 4 % 4]))

    def _retract(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Sessions(self.workspace).retract(SESSIONS[a % 2], self._seq(a, b), By("agent:coder"))

    def _enter(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Sessions(self.workspace).enter(SESSIONS[a % 2], PHASES[b % 6], By("agent:coder"))

    def _reopen(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Sessions(self.workspace).reopen(SESSIONS[a % 2], PHASES[b % 6], By("agent:coder"))

    def _roll_back(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Sessions(self.workspace).roll_back(SESSIONS[a % 2], PHASES[b % 6], By("agent:coder"))

    def _close(self, a: int, *_: int) -> Callable[[], Any]:
        return lambda: Sessions(self.workspace).close(SESSIONS[a % 2], By("agent:coder"))

    def _close_review(self, a: int, *_: int) -> Callable[[], Any]:
        return lambda: Review(self.workspace).close(SESSIONS[a % 2], By("human:ada"))

    def _choose(self, a: int, b: int, c: int, d: int, e: int) -> Callable[[], Any]:
        offered = list(dict.fromkeys((self._memory(b), self._memory(c))))
        selected = [one for number, one in enumerate(offered) if d >> number & 1]
        return lambda: Sessions(self.workspace).choose(SESSIONS[a % 2], offered, selected, By(REVIEWERS[e % 8]))

    def _save(self, a: int, b: int, c: int, d: int, e: int) -> Callable[[], Any]:
        session_id, seq, reviewer = SESSIONS[a % 2], self._candidate(a, b), REVIEWERS[c % 8]
        into = self._memory(d) if e % 8 == 0 else ""
        replaces = self._memory(d) if e % 8 == 1 else ""
        stale = e % 8 == 2

        def command() -> None:
            session = oracle.sessions(events_of(self.workspace))[session_id]
            known = oracle.memories(events_of(self.workspace))
            shown = Review(self.workspace).preview(session_id, limit=-1, with_deferred=True).candidates
            revisions = {one.candidate.seq: one.candidate.revision for one in shown}
            revision = "0" * 16 if stale else revisions.get(seq, "")
            must = _must_be_promoted(session, seq, reviewer, known) and not (stale or into or replaces)
            must = must and oracle.content(session["decisions"][seq]) not in self.forgotten
            saved: list[Saved] = []
            error = refusal(lambda: saved.append(self._approve(session_id, seq, revision, reviewer, into, replaces)))
            if error is not None:
                assert not must, f"a good candidate was refused: {error}"
                raise error
            already = seq in session["promoted"]
            assert saved[0].already == already
            assert already or _may_be_promoted(session, seq, reviewer)
            assert not already or saved[0].reviewer == session["promoted"][seq]["by"]

        return command

    def _approve(self, session_id: str, seq: int, revision: str, reviewer: str, into: str, replaces: str) -> Saved:
        return Review(self.workspace).save_one(session_id, seq, revision, By(reviewer), into=into, replaces=replaces)

    def _decline(self, a: int, b: int, c: int, *_: int) -> Callable[[], Any]:
        return lambda: Review(self.workspace).decline(SESSIONS[a % 2], self._candidate(a, b), By(REVIEWERS[c % 8]))

    def _defer(self, a: int, b: int, c: int, *_: int) -> Callable[[], Any]:
        return lambda: Review(self.workspace).defer(SESSIONS[a % 2], self._candidate(a, b), By(REVIEWERS[c % 8]))

    def _retire(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Curation(self.workspace).retire(self._memory(a), By(REVIEWERS[b % 8]))

    def _withdraw(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        memory_id = self._memory(a)
        known = oracle.memories(events_of(self.workspace)).get(memory_id, {"sources": set()})
        sources = [*sorted(known["sources"]), ("s1", 99)]
        source = "{}:{}".format(*sources[b % len(sources)])
        return lambda: Curation(self.workspace).retire(memory_id, By("human:ada"), source=source)

    def _supersede(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Curation(self.workspace).supersede(self._memory(a), self._memory(b), By("human:ada"))

    def _merge(self, a: int, b: int, *_: int) -> Callable[[], Any]:
        return lambda: Curation(self.workspace).merge(self._memory(a), self._memory(b), By("human:ada"))

    def _restore(self, a: int, *_: int) -> Callable[[], Any]:
        return lambda: Curation(self.workspace).restore(self._memory(a), By("human:ada"))

    def _erase(self, a: int, b: int, c: int, d: int, e: int) -> Callable[[], Any]:
        session_id = SESSIONS[a % 2]
        records = (self._memory(b), f"{session_id}:{self._seq(a, b)}", f"session:{session_id}")
        record = records[c % 3] if d % 6 == 0 else records[c % 2]

        def command() -> None:
            known = oracle.memories(events_of(self.workspace))
            done = Erasing(self.workspace).erase((record,), By(REVIEWERS[e % 8]), with_memories=d % 2 == 0)
            assert done.records or done.already
            self.forgotten |= {oracle.content(known[one]) for one in done.records if one in known}

        return command

    # -- parts

    def _seq(self, a: int, b: int) -> int:
        recorded = len(Sessions(self.workspace).get(SESSIONS[a % 2]).decisions)
        return 1 + b % (recorded + 1)

    def _candidate(self, a: int, b: int) -> int:
        """Mostly a seq that waits for a decision, else any."""
        session = oracle.sessions(events_of(self.workspace))[SESSIONS[a % 2]]
        waiting = [one["seq"] for one in oracle.candidates(session)]
        return waiting[b % len(waiting)] if waiting and b % 4 else self._seq(a, b)

    def _memory(self, number: int) -> str:
        """Mostly one that there is."""
        known = sorted(oracle.memories(events_of(self.workspace)))
        return known[number % len(known)] if known and number % 10 else "mem-9999"


def _may_be_promoted(session: Data, seq: int, reviewer: str) -> bool:
    """Whether the gate may open at all, by the oracle."""
    found = [one for one in oracle.candidates(session) if one["seq"] == seq and not one["refused"]]
    return bool(found) and reviewer.startswith("human:") and reviewer not in found[0]["authors"]


def _must_be_promoted(session: Data, seq: int, reviewer: str, known: dict[str, Data]) -> bool:
    """Whether nothing stands in the way: a new content, or that of a live memory, outside of F2."""
    if not _may_be_promoted(session, seq, reviewer) or (session["phase"] == "F2" and not session["closed"]):
        return False
    words = oracle.content(session["decisions"][seq])
    return all(memory["status"] == "live" for memory in known.values() if oracle.content(memory) == words)
