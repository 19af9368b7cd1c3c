"""`/review`: the F8 checklist, one session at a time, preselected; every verdict through the one gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from adapters.ballot import ACTIONS, Action, Ballot, Item, Result, Words, submit, submit_unseen
from adapters.review import Review
from adapters.web.addresses import memory_url, review_url, session_of, session_url, with_query
from adapters.web.visit import Moved, Notice, Page, PageRoute, Visit
from domain.errors import InvalidInput
from domain.promotion import Reviewer, require_person
from projections.decisions import sessions_with_candidates

NEXT = 12  # sessions that are listed as next
LOOKED_AT = 500  # sessions that are opened at most to find one with a candidate
NEAR = 600  # characters of a near-duplicate; its page has them all


def show(visit: Visit) -> Page:
    """The session that is named, or the first one that waits."""
    named = session_of(visit)
    ids = sessions_with_candidates(visit.workspace.caught_up())
    ballot = _ballot(visit, named, visit.query.get("after", "")) if named else _first(visit, ids)
    return Page("review.html", _shown(visit, ids, ballot, named))


def _shown(visit: Visit, ids: list[str], ballot: Ballot | None, named: str) -> dict[str, Any]:
    current = ballot.session_id if ballot else named
    later = [one for one in ids if one > current] if current else ids
    refused = Review(visit.workspace).preview(current, limit=0).refused if current else ()
    return {
        "ballot": ballot,
        "current": current,
        "refused": refused,
        "waiting": len(ids),
        "later": later[:NEXT],
        "more": len(later[NEXT:]),
        "number": ids.index(current) + 1 if current in ids else 0,
        "after": visit.query.get("after", ""),
        "actions": ACTIONS,
        "near": NEAR,
        "all_seen": bool(visit.query.get("seen")),
    }


def _first(visit: Visit, ids: list[str]) -> Ballot | None:
    if visit.query.get("seen"):
        return None
    for one in ids[:LOOKED_AT]:
        ballot = _ballot(visit, one, "")
        if ballot is not None:
            return ballot
    return None


def _ballot(visit: Visit, session_id: str, after: str) -> Ballot | None:
    if after and not (after.isascii() and after.isdecimal() and len(after) < 10):
        raise InvalidInput(f"{after!r} is no seq", "follow the links of the page")
    preview = Review(visit.workspace).preview(session_id, after=int(after or 0), with_deferred=True)
    return Ballot.of(preview, _reviewer(visit)) if preview.candidates else None


def _reviewer(visit: Visit) -> Reviewer:
    return Reviewer(visit.identity.actor, bool(visit.workspace.config.value("review.allow_self")))


# -- submission


def decide(visit: Visit) -> Moved | Page:
    """Every verdict on its own. When one fails, the page comes back with what was filled in for it."""
    session_id, after = visit.said("session"), visit.said("after")
    require_person(_reviewer(visit))
    results = _submitted(visit, session_id)
    if not results:
        raise InvalidInput("every candidate is left as it is: nothing was written", "mark what is to become of them")
    notices = tuple(_notice(one, session_id) for one in results)
    failed = {one.seq for one in results if one.failed}
    ids = sessions_with_candidates(visit.workspace.caught_up())
    if failed:
        ballot = _ballot(visit, session_id, after)
        shown = _shown(visit, ids, ballot, session_id) | {"notices": notices, "after": after, "failed": failed}
        return Page("review.html", shown, 409)
    return Moved(_onward(visit, session_id, ids), notices)


def _submitted(visit: Visit, session_id: str) -> list[Result]:
    """What still is as it was shown goes as a ballot; what has changed meanwhile is put before the gate as it was
    seen, and the gate says why not."""
    preview = Review(visit.workspace).preview(session_id, limit=-1, with_deferred=True)
    ballot = Ballot.of(preview, _reviewer(visit))
    there = {item.seq: item for item in ballot.items}
    results: list[Result] = []
    for seq in _seqs(visit):
        action = visit.said(f"action-{seq}") or "leave"
        if action not in ACTIONS:
            raise InvalidInput(f"{action!r} is nothing that can become of a candidate")
        if action == "leave":
            continue
        item, seen = there.get(seq), visit.said(f"revision-{seq}")
        if item is not None and item.shown.candidate.revision == seen:
            _mark(item, visit.form, cast("Action", action))
            results += submit(visit.workspace, replace(ballot, items=[item]), visit.by(), visit.proof)
        else:
            memory_id = visit.said(f"memory-{seq}") if action in ("merge", "replace") else ""
            by = replace(visit.by(), reason=visit.said(f"reason-{seq}") or visit.by().reason)
            given = (session_id, seq, seen, action, memory_id)
            results.append(submit_unseen(visit.workspace, *given, by, visit.proof))
    return results


def _seqs(visit: Visit) -> list[int]:
    given = visit.said("seqs").split(",")
    if not all(one.isascii() and one.isdecimal() and len(one) < 10 for one in given):
        raise InvalidInput("the form does not say which candidates it is about", "load the page again")
    return sorted({int(one) for one in given})


def _mark(item: Item, form: Mapping[str, str], action: Action) -> None:
    def said(name: str) -> str:
        return form.get(f"{name}-{item.seq}", "").replace("\r\n", "\n").strip()

    item.reason = said("reason")
    words = Words(said("subject"), said("detail"), said("rationale")) if action == "edit" else None
    item.mark(action, said("memory") if action in ("merge", "replace") else "", words)


def _notice(result: Result, session_id: str) -> Notice:
    url = memory_url(result.memory_id) if result.memory_id else "" if result.failed else session_url(session_id)
    return Notice(result.line, result.failed, url)


def _onward(visit: Visit, session_id: str, ids: list[str]) -> str:
    """The next page of the session, the next session, or the end."""
    last = max(_seqs(visit))
    if _ballot(visit, session_id, str(last)) is not None:
        return with_query(review_url(session_id), {"after": last})
    for one in [one for one in ids if one > session_id][:LOOKED_AT]:
        if _ballot(visit, one, "") is not None:
            return review_url(one)
    return "/review?seen=all"


ACTS = {"decide": decide}
ROUTES = (PageRoute("/review", show, ACTS), PageRoute("/review/{session:path}", show, ACTS))
