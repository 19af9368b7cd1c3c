"""The tab Facts: what holds, searched as agents search it, listed, and added to."""

from __future__ import annotations

from typing import Any

from adapters.access import Access
from adapters.fact_reading import NOW, FactReading
from adapters.facts import Facts, Outcome
from adapters.searching import Asked, search
from adapters.web.addresses import fact_url, paging, settings_url
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from adapters.workspace import parse_time
from domain.decay import CURVES, GIVEN_VERACITIES, usual_veracity
from domain.errors import InvalidInput, Unknown
from domain.propose import ON_CONFLICT, NewFact
from domain.topic import STATUSES
from projections.recall.question import KINDS, MODES

ALL_STATUSES = (*STATUSES, "all")
BY_DEFAULT_FIRST = MODES[::-1]
FOUND = 10


def settings_frame(visit: Visit, tab: str) -> dict[str, Any]:
    """What every tab shows beside its own. Unknown for a workspace that is not served here."""
    name = visit.workspace.name
    if visit.path.get("workspace", name) != name:
        raise Unknown(f"this server serves the workspace {name}", f"its pages are under {settings_url(name)}")
    found = Access(visit.workspace).domains(visit.reader)
    return {"tab": tab, "domains": found.domains, "denied": found.denied}


def show(visit: Visit) -> Page:
    shown = settings_frame(visit, "facts") | {
        "question": visit.asked("q"),
        "asked_kind": visit.asked("kind", tuple(KINDS)),
        "asked_mode": visit.asked("mode", BY_DEFAULT_FIRST),
        "kinds": tuple(KINDS),
        "modes": BY_DEFAULT_FIRST,
        "statuses": ALL_STATUSES,
        "memory_types": tuple(CURVES),
        "veracities": GIVEN_VERACITIES,
    }
    if visit.asked("q"):
        return Page("facts.html", shown | _search(visit))
    return Page("facts.html", shown | _list(visit))


def _list(visit: Visit) -> dict[str, Any]:
    """The newest first."""
    wanted = {name: visit.asked(name) for name in ("domain", "topic", "author")}
    status = visit.asked("status", ALL_STATUSES)
    wanted["status"] = "" if status == "all" else status
    reading = FactReading(visit.workspace, visit.reader)
    total = reading.list(NOW, limit=0, offset=0, repo="", **wanted).total
    offset = visit.offset()
    start = max(0, total - offset - visit.size)
    found = reading.list(NOW, limit=max(0, total - offset - start), offset=start, repo="", **wanted)
    path = settings_url(visit.workspace.name)
    return {
        "found": None,
        "facts": found.facts[::-1],
        "status": status,
        "only": {name: visit.asked(name) for name in ("domain", "topic", "author") if visit.asked(name)},
        "paging": paging(visit, path, len(found.facts), total),
        "denied": found.denied,
    }


def _search(visit: Visit) -> dict[str, Any]:
    """The one search of every interface, with why each hit stands where it does."""
    kind, mode = visit.asked("kind", tuple(KINDS)), visit.asked("mode", BY_DEFAULT_FIRST)
    asked = Asked(
        visit.asked("q"),
        kind,
        mode,
        min(FOUND, visit.page_limit),
        cursor=visit.asked("cursor"),
        domain=visit.asked("domain"),
        explain=True,
    )
    found = search(visit.workspace, visit.reader, visit.identity.by(), asked)
    return {"found": found, "hits": found["hits"], "status": "live", "denied": found.get("denied") or ""}


# -- adding


def propose(visit: Visit) -> Moved:
    settings_frame(visit, "facts")
    by = visit.by()
    on_conflict = next((one for one in ON_CONFLICT if one == (visit.said("on_conflict") or "decide")), None)
    if on_conflict is None:
        raise InvalidInput(f"{visit.said('on_conflict')!r} is no way to meet a conflict", "choose one of the list")
    new = new_fact(visit)
    domain = visit.said("new_domain") or visit.said("domain")
    outcome, _ = Facts(visit.workspace).propose(domain, new, by, on_conflict=on_conflict)
    notices = outcome_notices(outcome, visit.workspace.name)
    return Moved(fact_url(outcome.fact_id) if outcome.fact_id else settings_url(visit.workspace.name), notices)


def new_fact(visit: Visit) -> NewFact:
    """The fact that the form describes."""
    by = visit.identity
    return NewFact(
        visit.said("content"),
        " ".join(visit.said("topic").split()),
        by.actor,
        by.role,
        share(visit.said("confidence"), "confidence"),
        visit.said("memory_type"),
        visit.said("veracity") or usual_veracity(by.actor),
        tuple(visit.said("sources").replace(",", " ").split()),
        parse_time(visit.said("valid_from")) if visit.said("valid_from") else None,
        parse_time(visit.said("valid_until")) if visit.said("valid_until") else None,
        visit.said("about"),
    )


def share(text: str, name: str) -> float | None:
    """A number from 0 to 1; None when nothing is given."""
    if not text:
        return None
    try:
        return float(text.replace(",", "."))
    except ValueError:
        raise InvalidInput(f"{name} {text!r} is no number", "write one from 0 to 1, as 0.8") from None


def outcome_notices(outcome: Outcome, workspace: str) -> tuple[Notice, ...]:
    """What became of a proposal, in words."""
    said = {
        "recorded": "It is recorded. The domain is closed to you, so you are not told what it met there.",
        "proposed": "The fact is recorded.",
        "mentioned": "It was known: it counts as said once more.",
        "superseded_by_conflict": "It is recorded, and gave way at once to a fact that counts for more.",
    }
    notices = [Notice(said.get(outcome.outcome, outcome.outcome))]
    if outcome.echoed:
        notices.append(Notice("You had just been shown it, so this confirms nothing."))
    notices += [Notice(f"It takes the place of {one}.", url=fact_url(one)) for one in outcome.superseded]
    for one in outcome.conflicts:
        url = settings_url(workspace, "conflicts", conflict=one.conflict_id)
        state = "waits for a person" if one.state == "open" else f"was {one.state}"
        notices.append(Notice(f"A conflict was found and {state}: {one.rule}.", url=url))
    return tuple(notices)


ROUTES = (PageRoute("/workspaces/{workspace}/settings/memory", show, {"propose": propose}),)
