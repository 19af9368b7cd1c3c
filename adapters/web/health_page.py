"""`/health`: how far the projections are, what the index covers, where the chain stands; and verify, by a button."""

from __future__ import annotations

from typing import Any

from adapters.health import Health
from adapters.web.visit import Page, PageRoute, Visit


def show(visit: Visit) -> Page:
    return Page("health.html", _shown(visit) | {"report": None})


def verify(visit: Visit) -> Page:
    """Ledger, views, index and invariants; what it finds names what lies in every domain."""
    visit.require_whole("what verify finds")
    report = Health(visit.workspace).verify()
    return Page("health.html", _shown(visit) | {"report": report})


def _shown(visit: Visit) -> dict[str, Any]:
    visit.workspace.caught_up()
    found = Health(visit.workspace).status()
    return {"status": found, "index": found.index.as_json(found.head.position)}


ROUTES = (PageRoute("/health", show, {"verify": verify}),)
