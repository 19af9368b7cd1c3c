"""The tab Domains and grants: who may read and write what, set by people, and explained."""

from __future__ import annotations

from adapters.access import Access
from adapters.knowledge import configured_roles
from adapters.web.addresses import settings_url
from adapters.web.facts_page import settings_frame
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from domain.access import PERMISSIONS, accept_permission

DEFAULT = "default"  # what the form says for: no row


def show(visit: Visit) -> Page:
    frame = settings_frame(visit, "domains")
    access = Access(visit.workspace)
    grants = access.grants(visit.reader)
    by_domain: dict[str, list[object]] = {}
    for row in grants.grants:
        by_domain.setdefault(row.domain, []).append(row)
    role, domain = visit.asked("role"), visit.asked("domain")
    return Page(
        "domains.html",
        frame
        | {
            "by_domain": by_domain,
            "roles": sorted({*configured_roles(visit.workspace), *(row.role for row in grants.grants)}),
            "permissions": (*PERMISSIONS, DEFAULT),
            "default": str(visit.workspace.config.value("access.default")),
            "explained": access.explain(visit.reader, role, domain) if role and domain else None,
            "asked_role": role,
            "asked_domain": domain,
        },
    )


def create(visit: Visit) -> Moved:
    settings_frame(visit, "domains")
    access = Access(visit.workspace, visit.proof)
    name, _ = access.create(visit.said("domain"), visit.by(), repo=visit.said("repo"))
    return _back(visit, Notice(f"The domain {name.id} is made."))


def grant(visit: Visit) -> Moved:
    settings_frame(visit, "domains")
    access, role, wanted = Access(visit.workspace, visit.proof), visit.said("role"), visit.said("permission")
    permission = accept_permission(wanted)
    warning = access.unknown_role(role)
    changed, _ = access.set_grant(visit.said("domain"), role, permission, visit.by())
    told = "has what the default gives" if permission is None else f"has {permission}"
    notices = [Notice(f"{changed.role} {told} in {visit.said('domain')} from now on.")]
    if warning:
        notices.append(Notice(warning[:1].upper() + warning[1:]))
    return _back(visit, *notices)


def _back(visit: Visit, *notices: Notice) -> Moved:
    return Moved(settings_url(visit.workspace.name, "domains"), notices)


ROUTES = (PageRoute("/workspaces/{workspace}/settings/memory/domains", show, {"create": create, "grant": grant}),)
