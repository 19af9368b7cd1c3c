"""`/audit`: who did what, when, why; the newest first, filtered."""

from __future__ import annotations

from adapters.audit import Asked, Audit
from adapters.web.addresses import paging
from adapters.web.visit import Page, PageRoute, Visit

DAY = len("2026-03-02")
NAMED = ("actor", "kind", "session_id", "memory_id", "record", "since", "until")


def show(visit: Visit) -> Page:
    visit.require_whole("the audit")
    given = {name: visit.asked(name) for name in NAMED}
    asked = Asked(
        actor=given["actor"],
        kind=given["kind"].replace(" ", "_"),
        session_id=given["session_id"],
        memory_id=given["memory_id"],
        since=_moment(given["since"], "T00:00:00Z"),
        until=_moment(given["until"], "T23:59:59.999999Z"),
        record=given["record"],
    )
    audit = Audit(visit.workspace)
    _, total = audit.log(asked, limit=0)
    offset = visit.offset()
    start = max(0, total - offset - visit.size)
    lines, _ = audit.log(asked, limit=max(0, total - offset - start), offset=start)
    return Page(
        "audit.html",
        {
            "lines": lines[::-1],
            "given": given,
            "filtered": any(given.values()),
            "paging": paging(visit, "/audit", len(lines), total),
        },
    )


def _moment(text: str, rest: str) -> str:
    """A day as its beginning or end; a time as it is."""
    return text + rest if len(text) == DAY else text


ROUTES = (PageRoute("/audit", show),)
