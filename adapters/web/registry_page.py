"""`/registry` and `/registry/<mem>`: the memories, where each comes from, what rests on it, and how it ends."""

from __future__ import annotations

from adapters.audit import Audit
from adapters.curation import Curation
from adapters.web.addresses import memory_url, paging
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from domain.memory import STATUSES

ALL_STATUSES = (*STATUSES, "history", "all")


def show_list(visit: Visit) -> Page:
    """The newest first."""
    status = visit.asked("status", ALL_STATUSES)
    wanted = "" if status == "all" else status
    curation = Curation(visit.workspace)
    _, total = curation.list(status=wanted, limit=0)
    offset = visit.offset()
    start = max(0, total - offset - visit.size)
    found, _ = curation.list(status=wanted, limit=max(0, total - offset - start), offset=start)
    return Page(
        "registry.html",
        {
            "memories": found[::-1],
            "status": status,
            "statuses": ALL_STATUSES,
            "paging": paging(visit, "/registry", len(found), total),
        },
    )


def show(visit: Visit) -> Page:
    found = Audit(visit.workspace).memory(visit.path["memory"])
    return Page(
        "memory.html",
        {
            "entry": found.entry,
            "record": found.entry.record,
            "origins": found.origins,
            "refused": found.refused,
            "history": found.history[::-1],
            "lineage": found.lineage,
        },
    )


def merge(visit: Visit) -> Moved:
    memory_id, into = visit.path["memory"], visit.said("into")
    _curation(visit).merge(memory_id, into, visit.by())
    return _back(memory_id, Notice(f"{memory_id} is merged into {into}.", url=memory_url(into)))


def supersede(visit: Visit) -> Moved:
    memory_id, successor = visit.path["memory"], visit.said("successor")
    _curation(visit).supersede(memory_id, successor, visit.by())
    return _back(memory_id, Notice(f"{successor} takes its place from now on.", url=memory_url(successor)))


def retire(visit: Visit) -> Moved:
    memory_id, source = visit.path["memory"], visit.said("source")
    _curation(visit).retire(memory_id, visit.by(), source=source)
    return _back(memory_id, Notice(f"The source {source} is withdrawn." if source else f"{memory_id} is retired."))


def restore(visit: Visit) -> Moved:
    memory_id = visit.path["memory"]
    _curation(visit).restore(memory_id, visit.by())
    return _back(memory_id, Notice(f"{memory_id} is live again."))


def _curation(visit: Visit) -> Curation:
    return Curation(visit.workspace, visit.proof)


def _back(memory_id: str, *notices: Notice) -> Moved:
    return Moved(memory_url(memory_id), notices)


ACTS = {"merge": merge, "supersede": supersede, "retire": retire, "restore": restore}
ROUTES = (PageRoute("/registry", show_list), PageRoute("/registry/{memory}", show, ACTS))
