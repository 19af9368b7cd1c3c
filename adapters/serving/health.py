"""/healthz: how far every projection is behind, how stale that makes an answer, and whether anything is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from adapters.projecting import Projecting
from adapters.serving.follow import Following, Standing
from adapters.serving.identity import Door
from adapters.workspace import Workspace
from domain.errors import ThtError

BROKEN_AFTER = 60.0  # seconds for which the views may fail to follow before the server calls itself broken

State = Literal["ok", "degraded", "broken"]


@dataclass(frozen=True)
class HealthCheck:
    """Tells no content and no path, as it answers anybody."""

    following: Following
    door: Door
    clock: Callable[[], float]
    version: str

    def of(self, workspace: Workspace) -> tuple[State, dict[str, Any]]:
        head = workspace.ledger.head()
        views = Projecting(workspace).status()
        found: dict[str, Any] = {
            "ledger": {"position": head.position, "head": head.chain},
            "projections": [
                {"name": one.name, "position": one.position, "lag": one.lag, "parked": len(one.parked)}
                | ({"problem": "it follows another history"} if one.problem else {})
                for one in views
            ],
            "followers": {
                name: self._follower(one.standing, head.position) for name, one in self.following.all.items()
            },
        }
        locked = self.door.broken()
        if locked:
            found["tokens"] = {"problem": "they cannot be read, so nobody can be let in by one"}
        broken = locked or any(one.problem for one in views) or self._fails(self.following.views.standing)
        limping = any(one.parked for one in views) or any(one.standing.problem for one in self.following.all.values())
        state: State = "broken" if broken else "degraded" if limping else "ok"
        return state, {"status": state, "version": self.version, **found}

    def broken(self, error: Exception) -> dict[str, Any]:
        kind = error.type if isinstance(error, ThtError) else "InternalError"
        return {"status": "broken", "version": self.version, "problem": kind}

    def _fails(self, standing: Standing) -> bool:
        return bool(standing.problem) and self.clock() - standing.since > BROKEN_AFTER

    def _follower(self, standing: Standing, head: int) -> dict[str, Any]:
        lag = max(head - standing.reached, 0)
        stale = self.clock() - standing.since if lag or standing.problem else 0.0
        return {
            "position": standing.reached,
            "lag": lag,
            "stale_seconds": round(max(stale, 0.0), 3),
            "failures": standing.failures,
        }
