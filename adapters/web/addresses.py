"""Addresses of pages. Ids are quoted whole, so that none of them is taken for a part of an address."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote, urlencode

from adapters.web.visit import Paging, Visit
from domain.text import memory_number

TABS = ("facts", "policies", "graph", "domains", "conflicts", "beliefs")


def session_url(session_id: str) -> str:
    return _session("/sessions", session_id)


def review_url(session_id: str = "") -> str:
    return _session("/review", session_id) if session_id else "/review"


def session_of(visit: Visit) -> str:
    """The session that an address means; '' for none."""
    return visit.path.get("session", "") or visit.asked("session")


def memory_url(memory_id: str) -> str:
    return f"/registry/{_part(memory_id)}"


def fact_url(fact_id: str) -> str:
    return f"/facts/{_part(fact_id)}"


def settings_url(workspace: str, tab: str = "facts", **query: object) -> str:
    """A tab of the workspace's memory."""
    path = f"/workspaces/{_part(workspace)}/settings/memory" + ("" if tab == "facts" else f"/{tab}")
    return with_query(path, query)


def with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: str(value) for name, value in query.items() if value not in ("", None)}
    return f"{path}{'&' if '?' in path else '?'}{urlencode(given, errors='replace')}" if given else path


def record_url(record: str, workspace: str) -> str:
    """The page of whatever record has this id; '' when it has none of its own."""
    if record.startswith("memory:"):
        record = record.removeprefix("memory:")
    if memory_number(record) is not None:
        return memory_url(record)
    if record.startswith("fact-"):
        return fact_url(record)
    if record.startswith("policy-"):
        return settings_url(workspace, "policies", policy=record)
    if record.startswith("conflict-"):
        return settings_url(workspace, "conflicts", conflict=record)
    return ""


def paging(visit: Visit, path: str, shown: int, total: int) -> Paging:
    """Links to the pages before and after this one, with everything else that was asked."""
    offset, size = visit.offset(), visit.size
    kept = {name: value for name, value in visit.query.items() if name != "from"}
    before = with_query(path, kept | {"from": max(0, offset - size) or ""}) if offset else ""
    after = with_query(path, kept | {"from": offset + shown}) if offset + shown < total and shown else ""
    return Paging(offset + 1 if shown else 0, offset + shown, total, before, after)


def _session(pages: str, session_id: str) -> str:
    """A session is named by whoever opens it. Browsers resolve `.` and `..`, quoted or not: these two are asked for."""
    dots = session_id in (".", "..")
    return with_query(f"{pages}/", {"session": session_id}) if dots else f"{pages}/{_part(session_id)}"


def _part(text: str) -> str:
    return quote(text, safe="", errors="replace")
