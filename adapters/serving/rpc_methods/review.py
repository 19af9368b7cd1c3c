"""review.*: the gate where a person makes clarifications memories."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from adapters.review import Review, Verdict
from adapters.serving.rpc_method import Call, Changing, Id, Method, Name, Paged, Params, Seq, Text, page, recorded


class Queue(Paged):
    with_deferred: bool = True


class Preview(Params):
    session_id: Id
    limit: int = Field(5, ge=1)
    after: int = Field(0, ge=0, le=10**9)
    with_deferred: bool = False


class Save(Changing):
    session_id: Id
    seq: Seq
    revision: Id
    into: Name = Field("", description="A memory that it is merged into.")
    replaces: Name = Field("", description="A memory that it supersedes.")


class Decide(Changing):
    session_id: Id
    seq: Seq
    revision: Name = ""


class Close(Changing):
    session_id: Id


class One(Params):
    session_id: Id
    seq: Seq
    revision: Name = ""
    action: Literal["promote", "merge", "replace", "decline", "defer"]
    memory_id: Name = ""
    reason: Text = ""


class Batch(Params):
    verdicts: Annotated[list[One], Field(min_length=1, max_length=200)]
    reason: Text = ""
    dry_run: bool = False


def queue(call: Call, params: Queue) -> dict[str, Any]:
    """Pages by session."""
    size = call.size(params)
    found = Review(call.workspace).queue(with_deferred=params.with_deferred)
    shown = found[params.offset : params.offset + size]
    told = [one.as_json() | {"question": one.question} for one in shown]
    return {"sessions": told} | page(params, len(shown), len(found))


def preview(call: Call, params: Preview) -> dict[str, Any]:
    limit = min(params.limit, call.page_limit)
    found = Review(call.workspace).preview(
        params.session_id, limit=limit, after=params.after, with_deferred=params.with_deferred
    )
    return found.as_json()


def save(call: Call, params: Save) -> dict[str, Any]:
    saved = Review(call.workspace).save_one(
        params.session_id,
        params.seq,
        params.revision,
        call.by(params),
        into=params.into,
        replaces=params.replaces,
        token=call.proof,
    )
    return saved.as_json() | ({"dry_run": True} if params.dry_run else {})


def decline(call: Call, params: Decide) -> dict[str, Any]:
    done = Review(call.workspace).decline(
        params.session_id, params.seq, call.by(params), token=call.proof, revision=params.revision
    )
    return recorded(done, params)


def defer(call: Call, params: Decide) -> dict[str, Any]:
    done = Review(call.workspace).defer(params.session_id, params.seq, call.by(params), token=call.proof)
    return recorded(done, params)


def close(call: Call, params: Close) -> dict[str, Any]:
    return recorded(Review(call.workspace).close(params.session_id, call.by(params)), params)


def batch(call: Call, params: Batch) -> dict[str, Any]:
    verdicts = [Verdict(**one.model_dump()) for one in params.verdicts]
    by = call.identity.by(params.reason, "", params.dry_run)
    outcomes = Review(call.workspace).batch(verdicts, by, token=call.proof)
    return {"outcomes": [one.as_json() for one in outcomes], "failed": sum(one.error is not None for one in outcomes)}


METHODS: tuple[Method[Any], ...] = (
    Method("review.queue", "Every session with something to decide.", Queue, queue),
    Method("review.preview", "The next candidates of a session.", Preview, preview),
    Method("review.saveOne", "Promote one candidate; a person's.", Save, save, True),
    Method("review.decline", "Not to become a memory; a person's.", Decide, decline, True),
    Method("review.defer", "Not now; a person's.", Decide, defer, True),
    Method("review.batch", "Many verdicts, each with its outcome; a person's.", Batch, batch, True),
    Method("review.close", "End a session's review.", Close, close, True),
)
