"""The SQL views as their own subject: where they stand, bringing them to the head, rebuilding and verifying them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adapters.workspace import Workspace
from domain.errors import OtherHistory
from projections.declared import make_views
from projections.loop import Progress, catch_up, require_same_history
from projections.verify import Finding, verify_views
from projections.view import Parked, Standing, ViewsFile


@dataclass(frozen=True, slots=True)
class ProjectionStatus:
    """How one view stands, as found. `lag` counts events; `problem` says that it follows another history."""

    name: str
    version: int
    position: int
    lag: int
    chain: str
    parked: tuple[Parked, ...]
    problem: str

    def as_json(self) -> dict[str, Any]:
        parked = [{"stream": one.stream, "position": one.position, "error": one.error} for one in self.parked]
        return {
            "name": self.name,
            "version": self.version,
            "position": self.position,
            "lag": self.lag,
            "chain": self.chain,
            "parked": parked,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a replay did, or would do: views rebuilt because streams were parked, and those brought to the head."""

    rebuilt: tuple[str, ...]
    followed: tuple[str, ...]
    events: int
    position: int

    def as_json(self) -> dict[str, Any]:
        return {
            "rebuilt": list(self.rebuilt),
            "followed": list(self.followed),
            "events": self.events,
            "position": self.position,
        }


@dataclass(frozen=True)
class Projecting:
    workspace: Workspace

    def status(self, names: tuple[str, ...] = ()) -> list[ProjectionStatus]:
        """Where the views stand, without moving them."""
        head = self.workspace.ledger.head().position
        return [self._status(name, head) for name in self._names(names)]

    def replay(
        self, names: tuple[str, ...] = (), *, dry_run: bool = False, progress: Progress | None = None
    ) -> Replayed:
        """Bring views to the head. A view with parked streams is rebuilt, as what it passed over must not be lost."""
        before = self.status(names)
        parked = tuple(one.name for one in before if one.parked)
        behind = tuple(one.name for one in before if one.lag > 0 and not one.parked)
        head = self.workspace.ledger.head().position
        events = max((head if one.parked else max(one.lag, 0) for one in before), default=0)
        if not dry_run:
            if parked:
                self.workspace.rebuild_views(parked, progress)
            following = [view for view in self.workspace.views_named(names) if view.name not in parked]
            if following:
                catch_up(self.workspace.ledger, self.workspace.file, following, progress=progress)
        return Replayed(parked, behind, events, head)

    def rebuild(
        self, names: tuple[str, ...] = (), *, dry_run: bool = False, progress: Progress | None = None
    ) -> list[ProjectionStatus]:
        """Fill fresh copies beside the old views, then swap them in. PoisonEvent leaves the old ones in place."""
        if dry_run:
            return self.status(names)
        self.workspace.rebuild_views(names, progress)
        return self.status(names)

    def verify(self, names: tuple[str, ...] = (), progress: Progress | None = None) -> list[Finding]:
        """Whether the views (or those named) equal a replay of the ledger where they stand."""
        self._names(names)
        scratch = scratch_views(self.workspace)
        try:
            return list(verify_views(self.workspace.ledger, self.workspace.file, scratch, names, progress))
        finally:
            scratch.close()

    def _names(self, names: Sequence[str]) -> list[str]:
        return [view.name for view in self.workspace.views_named(tuple(names))]

    def _status(self, name: str, head: int) -> ProjectionStatus:
        file = self.workspace.file
        view = next(view for view in file.views if view.name == name)
        with file.translated():
            standing, parked = file.standing(view), tuple(file.parked(view))
        lag, problem = head - standing.position, self._problem(name, standing)
        return ProjectionStatus(name, view.version, standing.position, lag, standing.chain, parked, problem)

    def _problem(self, name: str, standing: Standing) -> str:
        try:
            require_same_history(f"the view {name}", standing, self.workspace.ledger, f"tht projection rebuild {name}")
        except OtherHistory as error:
            return f"{error.message}: {error.hint}"
        return ""


def scratch_views(workspace: Workspace) -> ViewsFile:
    """An empty copy of every view, in memory."""
    return ViewsFile(None, make_views(), workspace.ledger.chain_at(0) or "")
