"""What a reviewer has marked about each candidate, and its submission: one outcome an item, none stops the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from adapters.decision_lines import reworded
from adapters.ledger import By
from adapters.review import Outcome, Preview, Review, Shown, Verdict
from adapters.sessions import Sessions
from adapters.workspace import Workspace
from domain.errors import ThtError
from domain.promotion import Reviewer, candidate_at, candidates, require_revision
from domain.session_events import Decided

Action = Literal["promote", "merge", "replace", "decline", "defer", "edit", "leave"]

Decision = Literal["promote", "merge", "replace", "decline", "defer", "edit"]

ACTIONS: tuple[Action, ...] = ("promote", "merge", "replace", "decline", "defer", "edit", "leave")


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of a clarification, as an edit changes them."""

    subject: str
    detail: str
    rationale: str


@dataclass
class Item:
    """One candidate in the checklist, with what is marked. `bars` say why this reviewer may not approve it."""

    shown: Shown
    bars: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    action: Action = "promote"
    memory_id: str = ""
    reason: str = ""
    words: Words | None = None

    @property
    def seq(self) -> int:
        return self.shown.candidate.seq

    @property
    def own_words(self) -> Words:
        decision = self.shown.candidate.decision
        return self.words or Words(decision.subject, decision.detail, decision.rationale)

    def mark(self, action: Action, memory_id: str = "", words: Words | None = None) -> None:
        self.action, self.memory_id, self.words = action, memory_id, words

    def toggle(self) -> None:
        """Promote or decline. What may not be approved by this reviewer is left or declined."""
        first: Action = "leave" if self.bars else "promote"
        self.mark("decline" if self.action == first else first)


@dataclass
class Ballot:
    """One page of a session's candidates, marked by one reviewer."""

    session_id: str
    question: str
    reviewer: Reviewer
    items: list[Item]
    remaining: int = 0
    place: str = ""  # ` (session 3 of 12)` on the way through all of them

    @classmethod
    def of(cls, preview: Preview, reviewer: Reviewer, place: str = "") -> Ballot:
        """Preselected: promoted, unless it was deferred, is the reviewer's own, or its memory is no longer live."""
        items = [_item(shown, reviewer) for shown in preview.candidates]
        return cls(preview.session_id, preview.question, reviewer, items, preview.remaining, place)

    @property
    def writes(self) -> bool:
        return any(item.action != "leave" for item in self.items)

    def counted(self) -> str:
        """What will happen: `promote 3, decline 1, leave 1`."""
        counts = Counter(item.action for item in self.items)
        return ", ".join(f"{action} {counts[action]}" for action in ACTIONS if counts[action])


def _item(shown: Shown, reviewer: Reviewer) -> Item:
    bars, remarks = [], []
    if shown.candidate.written_by(reviewer.actor):
        if reviewer.allow_self:
            remarks.append("Your own words: the audit will say self-reviewed.")
        else:
            bars.append("Your own words: another reviewer has to promote them.")
    if shown.known_as and shown.known_status != "live":
        bars.append(f"{shown.known_as} says exactly this and is {shown.known_status}: restore it first.")
    deferred = shown.candidate.deferred
    if deferred:
        said = f": {deferred.reason}" if deferred.reason else ""
        remarks.append(f"Deferred by {deferred.by}{said}")
    return Item(shown, tuple(bars), tuple(remarks), "leave" if bars or deferred else "promote")


# -- submission


@dataclass(frozen=True, slots=True)
class Result:
    """One line about one item, and whether it failed. `memory_id`: what it became, or went into."""

    line: str
    failed: bool
    seq: int = 0
    memory_id: str = ""


def submit(
    workspace: Workspace, ballot: Ballot, by: By, token: str, done: Callable[[Result], None] = lambda result: None
) -> list[Result]:
    """Write what is marked, item by item, in the order of the list."""
    results = []
    for item in ballot.items:
        if item.action != "leave":
            results.append(_submit_one(workspace, ballot, item, by, token))
            done(results[-1])
    return results


def submit_unseen(
    workspace: Workspace, session_id: str, seq: int, seen: str, action: Decision, memory_id: str, by: By, token: str
) -> Result:
    """What has changed since a reviewer saw it as revision `seen`, put before the gate, which says why not.

    Nothing is edited that was not seen as it is.
    """
    if action != "edit":
        return _decide(workspace, [Verdict(session_id, seq, seen, action, memory_id, by.reason)], by, token)
    try:
        require_revision(candidate_at(Sessions(workspace).get(session_id), seq), seen)
    except ThtError as error:
        return Result(_failed_line(f"{session_id} seq {seq}", error), True, seq)
    raise AssertionError(f"seq {seq} has not changed since it was seen")


def _submit_one(workspace: Workspace, ballot: Ballot, item: Item, by: By, token: str) -> Result:
    reason = item.reason or by.reason
    if item.action == "edit":
        return _edit(workspace, ballot, item, By(by.actor, by.role, reason, "", by.dry_run), token)
    assert item.action != "leave"
    revision = item.shown.candidate.revision
    verdict = Verdict(ballot.session_id, item.seq, revision, item.action, item.memory_id, reason)
    return _decide(workspace, [verdict], by, token)


def _decide(workspace: Workspace, verdicts: Iterable[Verdict], by: By, token: str) -> Result:
    (outcome,) = Review(workspace).batch(verdicts, by, token=token)
    line = outcome_line(outcome, dry_run=by.dry_run)
    return Result(line, outcome.error is not None, outcome.verdict.seq, outcome.memory_id)


def _edit(workspace: Workspace, ballot: Ballot, item: Item, by: By, token: str) -> Result:
    """Record the new words. They wait for somebody else, unless a person may approve their own."""
    sessions, what = Sessions(workspace), f"{ballot.session_id} seq {item.seq}"
    words = item.own_words
    old = item.shown.candidate.decision
    changes = reworded(old, subject=words.subject, detail=words.detail, rationale=words.rationale)
    try:
        recorded = sessions.edit(ballot.session_id, item.seq, changes, by)
    except ThtError as error:
        if error.exit_code == 3:
            raise
        return Result(_failed_line(what, error), True, item.seq)
    seq = next(one.event.seq for one in recorded.envelopes if isinstance(one.event, Decided))
    if by.dry_run:
        return Result(f"{what}: would be edited", False, item.seq)
    if not ballot.reviewer.allow_self:
        left = ", ".join(map(str, item.shown.candidate.covers))
        old_words = f"; seq {left} still says the old words" if left else ""
        waits = "it waits in the queue for another reviewer"
        return Result(f"{what}: edited, now seq {seq}; {waits}{old_words}", False, item.seq)
    for candidate in candidates(sessions.get(ballot.session_id)):
        if candidate.seq == seq:
            verdict = Verdict(ballot.session_id, seq, candidate.revision, "promote", reason=by.reason)
            return _decide(workspace, [verdict], by, token)
    return Result(f"{what}: edited, now seq {seq}, and goes with the candidate that says the same", False, item.seq)


def outcome_line(outcome: Outcome, *, dry_run: bool = False) -> str:
    """One line on what became of a verdict."""
    verdict = outcome.verdict
    what = f"{verdict.session_id} seq {verdict.seq}"
    if outcome.error:
        return _failed_line(what, outcome.error)
    if dry_run:
        return f"{what}: would {verdict.action}"
    done = {
        "promote": f"promoted, {outcome.memory_id}",
        "merge": f"merged into {outcome.memory_id}",
        "replace": f"promoted, {outcome.memory_id} replaces {verdict.memory_id}",
        "decline": "declined",
        "defer": "deferred, it stays in the queue",
    }[verdict.action]
    return f"{what}: {done}" + (", decided before" if outcome.already else "")


def _failed_line(what: str, error: ThtError) -> str:
    hint = f" ({error.hint})" if error.hint else ""
    return f"{what}: FAILED, {error.type}: {error.message}{hint}"
