"""Where a workspace stands (status), and whether its parts agree with each other (verify, four levels)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from adapters.indexing import Indexing, IndexStatus
from adapters.projecting import Projecting, ProjectionStatus, scratch_views
from adapters.workspace import Workspace
from domain.erasure import TextErased
from domain.errors import IndexBusy, IndexUnavailable, LedgerDamaged, OtherHistory, ThtError, Unavailable
from domain.event import Envelope
from projections.index.compare import compare
from projections.index.follow import require_own_history, require_version
from projections.loop import Broken, Head, Progress, catch_up
from projections.refs import FACT, MEMORY, kind_of
from projections.verify import Finding, verify_views
from projections.view import ViewsFile

SHOWN_REFS = 5
NOT_COMPARED = "the index was not compared"  # how a note on it begins
NONE_YET = "there is none yet; the next search makes it, as does tht index rebuild"


@dataclass(frozen=True, slots=True)
class Status:
    """Ledger, views and index as found. `views_problem` says why the views cannot be opened."""

    workspace: str
    home: str
    ledger_id: str
    ledger_place: str
    moved_to: str  # where the ledger has gone, when it is closed for good
    head: Head
    projections: tuple[ProjectionStatus, ...]
    views_problem: str
    index: IndexStatus

    def as_json(self) -> dict[str, Any]:
        return {
            "workspace": self.workspace,
            "home": self.home,
            "ledger": {
                "position": self.head.position,
                "head": self.head.chain,
                "id": self.ledger_id,
                "place": self.ledger_place,
            }
            | ({"moved_to": self.moved_to} if self.moved_to else {}),
            "projections": [one.as_json() for one in self.projections],
            "views_problem": self.views_problem,
            "index": self.index.as_json(self.head.position),
            "chain_head": self.head.chain,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """What verify found. `notes` say what is no drift but was not, or could not be, compared."""

    head: Head
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "position": self.head.position,
            "head": self.head.chain,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Health:
    workspace: Workspace

    def status(self) -> Status:
        """As found: the views' lag is read before anything could move them. No model is loaded."""
        workspace = self.workspace
        head = workspace.ledger.head()
        projections: tuple[ProjectionStatus, ...] = ()
        problem = ""
        try:
            projections = tuple(Projecting(workspace).status())
        except Unavailable as error:
            problem = f"{error.message}; {error.hint}"
        ledger_id = workspace.ledger.recorder.ledger_id()
        return Status(
            workspace.name,
            str(workspace.paths.folder),
            ledger_id,
            workspace.ledger.recorder.place,
            workspace.ledger.recorder.moved_to(),
            head,
            projections,
            problem,
            self._index_status(),
        )

    def verify(self, *, ledger_only: bool = False, with_index: bool = True, progress: Progress | None = None) -> Report:
        """Ledger, views, index, invariants; nothing is mended or brought up to date on the way, but for views that have
        not followed an erasure.

        Every decoded event is held in memory at once, as the invariants look at all of them together.
        """
        ledger = self.workspace.ledger
        head = ledger.head()
        findings = list(ledger.find_damage())
        notes: list[str] = []
        if gone := ledger.recorder.moved_to():
            notes.append(f"this ledger has moved to {gone}, and was closed here: what was recorded since is there")
        if ledger_only:
            return Report(head, tuple(findings), tuple(notes))
        try:
            events = list(self._events(head.position))
        except LedgerDamaged:
            notes.append("views, index and invariants were not compared: they follow a ledger that is damaged")
            return Report(head, tuple(findings), tuple(notes))
        findings += self._invariants(events, notes)
        scratch = scratch_views(self.workspace)
        try:
            findings += self._views(scratch, events, notes, progress)
            if with_index:
                findings += self._index_if_there(scratch, head.position, notes)
        finally:
            scratch.close()
        return Report(head, tuple(findings), tuple(notes))

    def verify_index(self) -> Report:
        """Level 3 alone: the index against the registry that the ledger gives. Raises IndexUnavailable, IndexBusy."""
        head = self.workspace.ledger.head()
        notes: list[str] = []
        scratch = scratch_views(self.workspace)
        try:
            findings = list(self._index(scratch, head.position, notes))
        finally:
            scratch.close()
        return Report(head, tuple(findings), tuple(notes))

    # -- parts

    def _index_status(self) -> IndexStatus:
        indexing = Indexing.of(self.workspace)
        try:
            return indexing.status()
        except ThtError as error:  # views of another history, say: what is wrong with them is told beside it
            model = str(self.workspace.config.value("embedder.model"))
            return IndexStatus(dict(indexing.store.describe()), None, None, model, f"{error.message}; {error.hint}")

    def _events(self, head: int) -> Iterator[Envelope | Broken]:
        position = 0
        while position < head:
            page = self.workspace.ledger.read(position, until=head)
            if not page:
                raise LedgerDamaged(f"the ledger has no event {position + 1}, though its head is {head}")
            yield from page
            position = page[-1].position

    def _invariants(self, events: list[Envelope | Broken], notes: list[str]) -> Iterator[Finding]:
        decoded = [event for event in events if isinstance(event, Envelope)]
        if len(decoded) < len(events):
            notes.append("the invariants were not checked over the ledger: not every event of it decodes")
            return
        from projections.invariants import broken_invariants

        yield from broken_invariants(decoded)

    def _views(
        self, scratch: ViewsFile, events: list[Envelope | Broken], notes: list[str], progress: Progress | None
    ) -> Iterator[Finding]:
        try:
            self._follow_erasures(events, notes)
            if behind := _behind(Projecting(self.workspace).status()):
                notes.append(f"behind the ledger, as found: {behind}; the next command brings them up")
            yield from verify_views(self.workspace.ledger, self.workspace.file, scratch, progress=progress)
        except Unavailable as error:
            yield Finding("view", self.workspace.paths.views.name, error.message, "tht projection rebuild")

    def _follow_erasures(self, events: list[Envelope | Broken], notes: list[str]) -> None:
        """A view below an erasure that was given elsewhere shows a text that no replay gives any more: no drift, but
        nothing that it could be compared with."""
        file = self.workspace.file
        reached = min(file.standing(view).position for view in file.views)
        ahead = [one.position for one in events if isinstance(one, Envelope) and isinstance(one.event, TextErased)]
        if ahead and ahead[-1] > reached:
            with suppress(OtherHistory):  # which is found in its turn
                self.workspace.caught_up()
            notes.append(f"an erasure at position {ahead[-1]:,} had not been followed here: the views were brought up")

    def _index_if_there(self, scratch: ViewsFile, head: int, notes: list[str]) -> Iterator[Finding]:
        """Beside the other levels, an index that is away or in use is a note and no failure; a damaged one is."""
        try:
            yield from self._index(scratch, head, notes)
        except IndexBusy as error:
            notes.append(f"{NOT_COMPARED}: {error.message}")
        except Unavailable as error:
            if isinstance(error, IndexUnavailable) and self._has_index_of_its_own():
                yield Finding("index", "file", error.message, "tht index rebuild")
            else:
                notes.append(f"{NOT_COMPARED}: {error.message}")

    def _has_index_of_its_own(self) -> bool:
        """Whether the index lies in the home and an engine for it is here: then it should open."""
        local = not self.workspace.config.value("index.url")
        return local and self.workspace.paths.index.exists() and Indexing.of(self.workspace).has_engine

    def _index(self, scratch: ViewsFile, head: int, notes: list[str]) -> Iterator[Finding]:
        """The index against the views as the ledger gives them, whatever has become of the file."""
        with self.workspace.open_index.use(Indexing.of(self.workspace).store) as index:
            if index is None:
                notes.append(f"{NOT_COMPARED}: {NONE_YET}")
                return
            checkpoint = index.checkpoint()
            if checkpoint is None:
                yield Finding("index", "checkpoint", "the index was never completed", "tht index rebuild")
                return
            try:
                require_own_history(checkpoint, self.workspace.ledger)
                require_version(checkpoint)
            except OtherHistory as error:
                yield Finding("index", "checkpoint", error.message, "tht index rebuild")
                return
            except IndexUnavailable as error:
                notes.append(f"{NOT_COMPARED}: {error.message}; {error.hint}")
                return
            until = max(head, checkpoint.position)  # others may have gone on meanwhile
            catch_up(self.workspace.ledger, scratch, until=until)
            drift = compare(scratch.db, index)
            if index.checkpoint() is None:
                notes.append(f"{NOT_COMPARED}: another process has rebuilt it meanwhile; try again")
                return
        if drift.found:
            catch_up(self.workspace.ledger, scratch, until=self.workspace.ledger.head().position)
            drift = drift.but_for(scratch.db, until)
        if drift.behind:
            waiting = f"waiting for it: {_counted(drift.behind)}"
            notes.append(f"the index is at {checkpoint.position:,} of {head:,}; {waiting}")
        if drift.deaf:
            yield Finding("index", "vectors", "it holds points that no search finds", "tht index rebuild")
        for word, refs, what in (
            ("missing", drift.missing, "live and not in the index"),
            ("stale", drift.stale, "in the index with another text"),
            ("orphan", drift.orphan, "in the index and not live"),
        ):
            if refs:
                more = f" and {len(refs) - SHOWN_REFS} more" if len(refs) > SHOWN_REFS else ""
                listed = ", ".join(refs[:SHOWN_REFS]) + more
                yield Finding("index", word, f"{what}: {listed}", "tht index rebuild")


def _counted(refs: Sequence[str]) -> str:
    """`1 memory, 12 facts`: what refs name."""
    kinds = Counter(kind_of(ref) for ref in refs)
    words = {MEMORY: ("memory", "memories"), FACT: ("fact", "facts")}
    return ", ".join(f"{kinds[kind]:,} {words[kind][kinds[kind] > 1]}" for kind in words if kinds[kind])


def _behind(views: Sequence[ProjectionStatus]) -> str:
    """`all views by 3`, or `registry by 3, facts by 12`; empty when none is behind."""
    lags = {one.name: one.lag for one in views if one.lag > 0}
    if len(lags) == len(views) and len(set(lags.values())) == 1:
        return f"all views by {next(iter(lags.values())):,}"
    return ", ".join(f"{name} by {lag:,}" for name, lag in lags.items())
