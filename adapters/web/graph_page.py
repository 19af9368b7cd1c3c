"""The tab Knowledge graph: facts and their links, drawn by a script and listed for whoever does not see the drawing."""

from __future__ import annotations

from typing import Any

from adapters.fact_reading import NOW, FactReading
from adapters.policies import Policies
from adapters.web.addresses import fact_url, settings_url
from adapters.web.facts_page import settings_frame
from adapters.web.visit import Page, PageRoute, Visit
from projections import fact_queries, links
from projections.fact_queries import FactRow

EDGES = 80  # links that are drawn at first
NEAR = 24  # links of a fact that opening it adds
WORDS = 160  # characters of a fact on the drawing


def show(visit: Visit) -> Page:
    drawn = read(visit)
    by_id = {one["id"]: one for one in drawn["nodes"]}
    listed: dict[str, list[dict[str, Any]]] = {}
    for edge in drawn["edges"]:
        for one, other in ((edge["source"], edge["target"]), (edge["target"], edge["source"])):
            listed.setdefault(one, []).append({"other": by_id[other], "kind": edge["kind"], "weight": edge["weight"]})
    return Page(
        "graph.html",
        settings_frame(visit, "graph")
        | {
            "nodes": drawn["nodes"],
            "listed": listed,
            "around": visit.asked("around"),
            "asked_domain": visit.asked("domain"),
            "data_url": settings_url(visit.workspace.name, "graph.json"),
            "denied": drawn["denied"],
        },
    )


def read(visit: Visit) -> dict[str, Any]:
    """Nodes (facts, and the policies that rest on them) and edges: the strongest, or those around one fact."""
    settings_frame(visit, "graph")
    around, domain = visit.asked("around"), visit.asked("domain")
    reading = FactReading(visit.workspace, visit.reader)
    if around:
        reading.row(around)  # UnknownFact, AccessDenied
    with reading.seen(NOW) as seen:
        near = (around,) if around else ()
        edges = links.strongest(seen.db, seen.scope, limit=NEAR if around else EDGES, domain=domain, around=near)
        ids = dict.fromkeys([*near, *(end for edge in edges for end in (edge.source, edge.target))])
        rows = [row for one in ids if (row := fact_queries.find_fact(seen.db, one)) is not None]
        denied = seen.scope.denied
    nodes = [_fact(row) for row in rows]
    told = [{"source": one.source, "target": one.target, "kind": one.kind, "weight": one.weight} for one in edges]
    for policy in Policies(visit.workspace).list(visit.reader).policies:
        resting = [one for one in policy.derived_from if one in ids]
        if resting:
            url = settings_url(visit.workspace.name, "policies", policy=policy.id)
            nodes.append(_node(policy.id, "policy", policy.rule, policy.domain, "", url))
            told += [{"source": policy.id, "target": one, "kind": "derived_from", "weight": 1.0} for one in resting]
    return {"nodes": nodes, "edges": told, "denied": denied or ""}


def _fact(row: FactRow) -> dict[str, Any]:
    return _node(row.id, "fact", row.content, row.domain, row.topic, fact_url(row.id))


def _node(record: str, kind: str, text: str, domain: str, topic: str, url: str) -> dict[str, Any]:
    one_line = " ".join(text.split())
    short = one_line if len(one_line) <= WORDS else f"{one_line[: WORDS - 1]}…"
    return {"id": record, "kind": kind, "text": short, "domain": domain, "topic": topic, "url": url}


ROUTES = (PageRoute("/workspaces/{workspace}/settings/memory/graph", show),)
DATA = (("/workspaces/{workspace}/settings/memory/graph.json", read),)
