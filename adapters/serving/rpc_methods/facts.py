"""memory_fact.*: what holds."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from adapters.audit_facts import event_json
from adapters.fact_reading import NOW, FactReading, moment_of
from adapters.facts import Facts
from adapters.known import Known
from adapters.outcomes import outcome_json
from adapters.searching import Asked, search
from adapters.serving.rpc_method import (
    Call,
    Changing,
    Id,
    Ids,
    Method,
    Name,
    Paged,
    Params,
    Share,
    Text,
    page,
    recorded,
    time_of,
)
from domain.decay import GIVEN_VERACITIES, usual_veracity
from domain.errors import InvalidInput
from domain.propose import NewFact, OnConflict
from domain.text import accept_actor
from domain.topic import STATUSES
from domain.topic_events import LinkKind
from projections.recall.question import KindName, Mode

Status = Annotated[str, Known((*STATUSES, "all"))]
Veracity = Annotated[str, Known(("", *GIVEN_VERACITIES))]


class Moment(Params):
    at: Name = Field("", description="What held at this time.")
    known_at: Name = Field("", description="What was known at this time or position.")


class Listing(Paged, Moment):
    domain: Name = ""
    repo: Name = ""
    topic: Name = ""
    author: Name = ""
    status: Status = "live"


class ByTopic(Paged):
    topic: Name
    domain: Name = ""
    repo: Name = ""


class ByAuthor(Paged):
    author: Id
    status: Status = "live"


class One(Moment):
    fact_id: Id


class Search(Moment):
    question: Text
    kind: KindName = "fact"
    mode: Mode = "hybrid"
    limit: int = Field(5, ge=1)
    cursor: Name = ""
    domain: Name = ""
    repo: Name = ""
    session_id: Name = ""
    explain: bool = False


class Upsert(Changing):
    content: Text
    fact_id: Name = Field("", description="The fact that is corrected; without one a new fact is proposed.")
    domain: Name = ""
    repo: Name = ""
    topic: Name = ""
    confidence: Share | None = None
    memory_type: Name = ""
    veracity: Veracity = ""
    source_observation_ids: Ids = Field(default_factory=list)
    valid_from: Name = ""
    valid_until: Name = ""
    about: Name = ""
    on_conflict: OnConflict = "decide"


class Delete(Changing):
    fact_id: Id


class Supersede(Changing):
    fact_id: Id
    by: Id


class Link(Changing):
    fact_id: Id
    to: Id
    kind: LinkKind = "related_to"
    weight: Share = 1.0


class Unlink(Changing):
    fact_id: Id
    to: Id
    kind: LinkKind = "related_to"


class History(Params):
    fact_id: Id


class Watch(Params):
    from_position: int | None = Field(None, ge=0)


def _list(call: Call, params: Paged, moment: Moment | None = None, *, repo: str = "", **wanted: str) -> dict[str, Any]:
    when = moment_of(call.workspace, at=moment.at, known_at=moment.known_at) if moment else NOW
    status = wanted.get("status", "live")
    wanted["status"] = "" if status == "all" else status
    size = call.size(params)
    found = FactReading(call.workspace, call.reader).list(when, repo=repo, limit=size, offset=params.offset, **wanted)
    return found.as_json() | page(params, len(found.facts), found.total)


def by_workspace(call: Call, params: Listing) -> dict[str, Any]:
    author = accept_actor(params.author) if params.author else ""
    topic = " ".join(params.topic.split())
    named = {"domain": params.domain, "topic": topic, "author": author, "status": params.status}
    return _list(call, params, params, repo=params.repo, **named)


def by_topic(call: Call, params: ByTopic) -> dict[str, Any]:
    return _list(call, params, repo=params.repo, domain=params.domain, topic=" ".join(params.topic.split()))


def by_author(call: Call, params: ByAuthor) -> dict[str, Any]:
    return _list(call, params, author=accept_actor(params.author), status=params.status)


def get(call: Call, params: One) -> dict[str, Any]:
    moment = moment_of(call.workspace, at=params.at, known_at=params.known_at)
    return FactReading(call.workspace, call.reader).get(params.fact_id, moment)


def find(call: Call, params: Search) -> dict[str, Any]:
    asked = Asked(**params.model_dump(exclude={"limit"}), limit=min(params.limit, call.page_limit))
    return search(call.workspace, call.reader, call.by(), asked)


def upsert(call: Call, params: Upsert) -> dict[str, Any]:
    by = call.by(params)
    new = NewFact(
        params.content,
        " ".join(params.topic.split()),
        by.actor,
        by.role,
        params.confidence,
        params.memory_type,
        params.veracity or usual_veracity(by.actor),
        tuple(params.source_observation_ids),
        time_of(params.valid_from),
        time_of(params.valid_until),
        params.about,
    )
    facts = Facts(call.workspace)
    if params.fact_id:
        if params.domain or params.repo or params.on_conflict != "decide":
            raise InvalidInput("a correction stays in its domain", "leave domain, repo and on_conflict out")
        outcome, done = facts.correct(params.fact_id, new, by)
    else:
        outcome, done = facts.propose(params.domain, new, by, repo=params.repo, on_conflict=params.on_conflict)
    return outcome_json(outcome, done, dry_run=params.dry_run)


def delete(call: Call, params: Delete) -> dict[str, Any]:
    done = Facts(call.workspace).retire(params.fact_id, call.by(params))
    return recorded(done, params, fact_id=params.fact_id)


def restore(call: Call, params: Delete) -> dict[str, Any]:
    done = Facts(call.workspace).restore(params.fact_id, call.by(params))
    return recorded(done, params, fact_id=params.fact_id)


def supersede(call: Call, params: Supersede) -> dict[str, Any]:
    done = Facts(call.workspace).supersede(params.fact_id, params.by, call.by(params))
    return recorded(done, params, fact_id=params.fact_id, superseded_by=params.by)


def link(call: Call, params: Link) -> dict[str, Any]:
    done = Facts(call.workspace).link(params.fact_id, params.to, params.kind, params.weight, call.by(params))
    return recorded(done, params, fact_id=params.fact_id)


def unlink(call: Call, params: Unlink) -> dict[str, Any]:
    done = Facts(call.workspace).unlink(params.fact_id, params.to, params.kind, call.by(params))
    return recorded(done, params, fact_id=params.fact_id)


def history(call: Call, params: History) -> dict[str, Any]:
    found = FactReading(call.workspace, call.reader).history(params.fact_id)
    return {"fact_id": params.fact_id, "events": [event_json(one) for one in found]}


def watching(*kinds: str) -> Any:
    """A method that says where the changes of these areas are streamed, and from which position on."""

    def where(call: Call, params: Watch) -> dict[str, Any]:
        head = call.workspace.ledger.head().position
        start = head if params.from_position is None else params.from_position
        if start > head:
            raise InvalidInput(f"the ledger has positions 0 to {head}, not {start}")
        chosen = "".join(f"&kind={kind}" for kind in kinds)
        return {"url": f"/watch?from={start}{chosen}", "position": head, "form": "server-sent events"}

    return where


METHODS: tuple[Method[Any], ...] = (
    Method("memory_fact.getByWorkspace", "Facts in the order in which they were proposed.", Listing, by_workspace),
    Method("memory_fact.getById", "A fact with its use, links, conflicts and predecessors.", One, get),
    Method("memory_fact.getActiveByTopic", "The live facts of a topic.", ByTopic, by_topic),
    Method("memory_fact.getByAuthor", "What an actor said.", ByAuthor, by_author),
    Method("memory_fact.search", "What a question is about, best first.", Search, find, True),
    Method("memory_fact.upsert", "Propose a fact, or correct one.", Upsert, upsert, True),
    Method("memory_fact.delete", "Retire a fact because it is wrong; it stays in the history.", Delete, delete, True),
    Method("memory_fact.restore", "Undo a supersession or retirement.", Delete, restore, True),
    Method("memory_fact.supersede", "Let another fact take its place: it was true.", Supersede, supersede, True),
    Method("memory_fact.link", "Link two facts by hand.", Link, link, True),
    Method("memory_fact.unlink", "Take a link away.", Unlink, unlink, True),
    Method("memory_fact.history", "What happened to a fact.", History, history),
    Method(
        "memory_fact.watchForWorkspace",
        "Where changes of facts are streamed.",
        Watch,
        watching("memory_fact", "memory_conflict"),
    ),
)
