"""`/`: what waits for a person, what happened lately, and where everything is."""

from __future__ import annotations

from datetime import timedelta

from adapters.audit import Asked, Audit
from adapters.conflicts import Conflicts
from adapters.knowledge import scope_for
from adapters.policies import Policies
from adapters.projecting import Projecting
from adapters.web.drawing import bars
from adapters.web.visit import Page, PageRoute, Visit
from domain.event import iso_utc
from projections import timeline
from projections.decisions import sessions_with_candidates

LATEST = 8
DAYS = 30


def show(visit: Visit) -> Page:
    workspace, reader = visit.workspace, visit.reader
    db = workspace.caught_up()
    waiting = {
        "sessions": len(sessions_with_candidates(db)),
        "conflicts": Conflicts(workspace).list(reader, limit=1)[1],
        "policies": Policies(workspace).list(reader, status="held", limit=1).total,
        "views": [one for one in Projecting(workspace).status() if one.parked or one.problem],
    }
    shown: dict[str, object] = {"waiting": waiting, "activity": None, "latest": []}
    if not scope_for(workspace, reader).limited:
        now = workspace.clock()
        counts = timeline.count_by_day(db, iso_utc(now - timedelta(days=DAYS)))
        total = workspace.ledger.head().position
        lines, found = Audit(workspace).log(Asked(), limit=LATEST, offset=max(0, total - LATEST))
        shown |= {"activity": bars(counts, now, DAYS), "latest": lines[::-1], "total": found}
    return Page("home.html", shown)


ROUTES = (PageRoute("/", show),)
