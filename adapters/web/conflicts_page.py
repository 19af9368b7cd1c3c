"""The tabs Conflicts and Beliefs: what contradicts, decided by people; and what several agree on."""

from __future__ import annotations

from typing import Any

from adapters.conflicts import STATES, Conflicts
from adapters.fact_reading import FactReading
from adapters.knowledge import seen_by
from adapters.web.addresses import fact_url, paging, settings_url
from adapters.web.facts_page import settings_frame
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from domain.errors import AccessDenied, InvalidInput, UnknownFact
from projections import beliefs


def show(visit: Visit) -> Page:
    frame = settings_frame(visit, "conflicts")
    conflicts = Conflicts(visit.workspace)
    chosen = visit.asked("conflict") or visit.said("conflict")
    state = visit.asked("state", STATES)
    path = settings_url(visit.workspace.name, "conflicts")
    if chosen:
        found, total, denied = [conflicts.get(chosen, visit.reader)], 1, ""
    else:
        rows, total, denied = conflicts.list(
            visit.reader,
            state="" if state == "all" else state,
            limit=visit.size,
            offset=visit.offset(),
        )
        found = [conflicts.get(one.id, visit.reader) for one in rows]
    return Page(
        "conflicts.html",
        frame
        | {
            "conflicts": found,
            "chosen": chosen,
            "state": state,
            "states": STATES,
            "denied": denied,
            "paging": paging(visit, path, len(found), total),
        },
    )


def resolve(visit: Visit) -> Moved:
    """Keep one, keep both, merge, or take the decision back."""
    settings_frame(visit, "conflicts")
    conflicts, conflict_id, choice = (
        Conflicts(visit.workspace, visit.proof),
        visit.said("conflict"),
        visit.said("choice"),
    )
    url = ""
    if choice == "both":
        conflicts.keep_both(conflict_id, visit.by())
        said = "Both hold: it was no conflict."
    elif choice == "merge":
        made, _ = conflicts.merge(conflict_id, visit.said("content"), visit.by())
        said, url = f"{made} says what both meant.", fact_url(made)
    elif choice == "reopen":
        conflicts.reopen(conflict_id, visit.by())
        said = "The decision is taken back."
    elif choice.startswith("fact-"):
        conflicts.keep(conflict_id, choice, visit.by())
        said, url = f"{choice} stays.", fact_url(choice)
    else:
        raise InvalidInput("nothing is chosen", "choose what is to become of the two facts")
    here = settings_url(visit.workspace.name, "conflicts", conflict=conflict_id)
    return Moved(here, (Notice(said, url=url),))


def show_beliefs(visit: Visit) -> Page:
    frame = settings_frame(visit, "beliefs")
    with seen_by(visit.workspace, visit.reader) as (db, scope):
        found = beliefs.list_beliefs(db, scope)
    offset = visit.offset()
    page = found[offset : offset + visit.size]
    path = settings_url(visit.workspace.name, "beliefs")
    return Page(
        "beliefs.html",
        frame
        | {
            "beliefs": [(one, [_told(visit, fact_id) for fact_id in one.facts]) for one in page],
            "paging": paging(visit, path, len(page), len(found)),
            "denied": scope.denied,
        },
    )


def _told(visit: Visit, fact_id: str) -> dict[str, Any]:
    """A fact that a belief rests on; of one that is closed only its id."""
    try:
        return FactReading(visit.workspace, visit.reader).row(fact_id).as_json()
    except (AccessDenied, UnknownFact):
        return {"id": fact_id, "content": "closed to you", "status": "", "author": ""}


ROUTES = (
    PageRoute("/workspaces/{workspace}/settings/memory/conflicts", show, {"resolve": resolve}),
    PageRoute("/workspaces/{workspace}/settings/memory/beliefs", show_beliefs),
)
