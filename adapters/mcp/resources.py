"""Resources: the active policies, and each policy and live fact by its id, within the reader's scope."""

from __future__ import annotations

import re
from typing import Any

from mcp import types

from adapters.fact_reading import FactReading
from adapters.mcp.call import Call
from adapters.mcp.failing import echo
from adapters.mcp.paging import cursor_after, offset_of
from adapters.mcp.quoting import answer_text, first_words, shown
from adapters.policies import Policies
from domain.errors import UnknownRecord
from domain.text import accept_id
from projections.preamble import DATA

PAGE = 100  # resources listed at a time
POLICIES = "tht://policies"
_ONE = re.compile(r"tht://(policies|facts)/([^/?#]+)")
_JSON = "application/json"

TEMPLATES = [
    types.ResourceTemplate(
        name="policy",
        title="A policy",
        uri_template=f"{POLICIES}/{{id}}",
        description="A policy: its rule, what it is derived from, how it stands and what happened to it.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        name="fact",
        title="A fact",
        uri_template="tht://facts/{id}",
        description="A fact: what it says, how sure that is, who said so, what it replaced, what it is linked with.",
        mime_type=_JSON,
    ),
]


def list_resources(call: Call, cursor: str) -> types.ListResourcesResult:
    """The policies together, then each active policy, then each live fact, in pages."""
    offset = offset_of(cursor)
    policies = Policies(call.workspace).list(call.reader).policies
    heads = [_policies(), *(_listed("policies", one.id, one.domain, one.rule) for one in policies)]
    found = heads[offset : offset + PAGE]
    facts = FactReading(call.workspace, call.reader).list(
        limit=PAGE - len(found), offset=max(0, offset - len(heads)), status="live"
    )
    found += [_listed("facts", one.id, one.domain, one.content) for one in facts.facts]
    return types.ListResourcesResult(
        resources=found, next_cursor=cursor_after(offset, len(found), len(heads) + facts.total)
    )


def read_resource(call: Call, uri: str) -> types.ReadResourceResult:
    """A resource as JSON. UnknownRecord for a URI that is none; else what reading the thing itself refuses."""
    told = answer_text(shown({"note": DATA} | _read(call, uri)))
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=_JSON, text=told)])


def _read(call: Call, uri: str) -> dict[str, Any]:
    if uri == POLICIES:
        return Policies(call.workspace).list(call.reader).as_json()
    found = _ONE.fullmatch(uri)
    if found is None:
        raise UnknownRecord(f"{echo(uri)} is no resource", f"{POLICIES}, {POLICIES}/ID or tht://facts/ID")
    kind, name = found.groups()
    if kind == "policies":
        return {"policy": Policies(call.workspace).get(call.reader, accept_id(name, "policy id")).as_json()}
    return {"fact": FactReading(call.workspace, call.reader).get(accept_id(name, "fact id"))}


def _policies() -> types.Resource:
    about = "Every active policy that you may read, in the order in which they were proposed."
    return types.Resource(uri=POLICIES, name="policies", title="Policies", description=about, mime_type=_JSON)


def _listed(kind: str, name: str, domain: str, text: str) -> types.Resource:
    told = f"[{domain}] {first_words(text)}"
    return types.Resource(uri=f"tht://{kind}/{name}", name=name, description=told, mime_type=_JSON)
