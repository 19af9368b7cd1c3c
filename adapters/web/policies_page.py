"""The tab Policies: what to do about it; proposed, replaced, let in, taken out."""

from __future__ import annotations

from adapters.policies import Policies
from adapters.web.addresses import paging, settings_url
from adapters.web.facts_page import settings_frame
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from domain.policy import STATUSES

ALL_STATUSES = (*STATUSES, "all")


def show(visit: Visit) -> Page:
    frame = settings_frame(visit, "policies")
    policies = Policies(visit.workspace)
    chosen, domain = visit.asked("policy") or visit.said("policy"), visit.asked("domain")
    status = visit.asked("status", ALL_STATUSES)
    found = policies.list(
        visit.reader,
        status="" if status == "all" else status,
        domain=domain,
        limit=visit.size,
        offset=visit.offset(),
    )
    counts = {one: policies.list(visit.reader, status=one, limit=1).total for one in STATUSES[:3]}
    path = settings_url(visit.workspace.name, "policies")
    return Page(
        "policies.html",
        frame
        | {
            "policies": found.policies,
            "load": found.load,
            "denied": found.denied,
            "status": status,
            "statuses": ALL_STATUSES,
            "counts": counts,
            "paging": paging(visit, path, len(found.policies), found.total),
            "chosen": policies.get(visit.reader, chosen) if chosen else None,
        },
    )


def propose(visit: Visit) -> Moved:
    settings_frame(visit, "policies")
    made, _ = Policies(visit.workspace, visit.proof).propose(
        visit.said("new_domain") or visit.said("domain"),
        visit.said("rule"),
        visit.by(),
        required_role=visit.said("required_role"),
        derived_from=_ids(visit),
    )
    return _told(visit, made, "The policy is recorded.")


def supersede(visit: Visit) -> Moved:
    made, _ = Policies(visit.workspace, visit.proof).supersede(
        visit.said("policy"),
        visit.said("rule"),
        visit.by(),
        required_role=visit.said("required_role"),
        derived_from=_ids(visit),
    )
    return _told(visit, made, f"The new rule takes the place of {visit.said('policy')}.")


def activate(visit: Visit) -> Moved:
    Policies(visit.workspace, visit.proof).activate(visit.said("policy"), visit.by())
    return _told(visit, visit.said("policy"), "The policy is active: every dispatch carries it.")


def deactivate(visit: Visit) -> Moved:
    Policies(visit.workspace, visit.proof).deactivate(visit.said("policy"), visit.by())
    return _told(visit, visit.said("policy"), "The policy is out of every dispatch until it is activated.")


def _told(visit: Visit, policy_id: str, said: str) -> Moved:
    shown = Policies(visit.workspace).get(visit.reader, policy_id).policy
    notices = [Notice(said)]
    if shown.status == "held":
        notices.append(Notice(f"It waits for a person: {shown.held}."))
    return Moved(settings_url(visit.workspace.name, "policies", policy=policy_id), tuple(notices))


def _ids(visit: Visit) -> tuple[str, ...]:
    return tuple(visit.said("derived_from").replace(",", " ").split())


ACTS = {"propose": propose, "supersede": supersede, "activate": activate, "deactivate": deactivate}
ROUTES = (PageRoute("/workspaces/{workspace}/settings/memory/policies", show, ACTS),)
