"""One method of JSON-RPC: its name, what it takes, what it does; from the same declaration the description is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from adapters.ledger import By, Committed
from adapters.outcomes import committed_json
from adapters.retrying import own_key
from adapters.serving.identity import Identity
from adapters.workspace import Workspace, parse_time
from domain.text import TEXT_LIMIT
from projections.scope import Reader

PAGE = 50
FURTHEST = 10**9  # records that may be passed over

Text = Annotated[str, StringConstraints(max_length=TEXT_LIMIT)]
Name = Annotated[str, StringConstraints(max_length=300)]
Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Ids = Annotated[list[Id], Field(max_length=100)]
Seq = Annotated[int, Field(ge=1, le=FURTHEST)]
Share = Annotated[float, Field(ge=0, le=1)]


class Params(BaseModel):
    """Named params. What is not declared is refused, and nothing is taken for what it is not."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Paged(Params):
    limit: int = Field(PAGE, ge=1, description="How many at most; bounded by the server.")
    offset: int = Field(0, ge=0, le=FURTHEST, description="How many to pass over.")


class Changing(Params):
    """Params of a method that records something."""

    reason: Text = Field("", description="Why; kept with the event.")
    idempotency_key: Name = Field("", description="A retry with the same key records nothing twice.")
    dry_run: bool = Field(False, description="Say what would be recorded; record nothing.")


P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True)
class Call:
    """One call: whose it is, and the workspace that it may use. `page_limit`: records at most in an answer."""

    workspace: Workspace
    identity: Identity
    page_limit: int

    @property
    def reader(self) -> Reader:
        return self.identity.reader

    @property
    def proof(self) -> str:
        return self.identity.proof

    def by(self, params: Changing | None = None) -> By:
        if params is None:
            return self.identity.by()
        key = own_key("rpc", self.identity.actor, params.idempotency_key)
        return self.identity.by(params.reason, key, params.dry_run)

    def size(self, params: Paged) -> int:
        return min(params.limit, self.page_limit)


@dataclass(frozen=True)
class Method(Generic[P]):
    """`changes`: it records something of itself, so that whoever watches is told."""

    name: str
    about: str
    params: type[P]
    work: Callable[[Call, P], dict[str, Any]]
    changes: bool = False

    def run(self, call: Call, params: P) -> dict[str, Any]:
        return self.work(call, params)


def page(params: Paged, found: int, total: int) -> dict[str, Any]:
    """How a page stands in the whole, and where the next one begins."""
    end = params.offset + found
    truncated = end < total and found > 0
    return {"total": total, "truncated": truncated, "next_offset": end if truncated else None}


def recorded(done: Committed, params: Changing, **more: object) -> dict[str, Any]:
    return committed_json(done, **more) | ({"dry_run": True} if params.dry_run else {})


def time_of(text: str) -> datetime | None:
    return parse_time(text) if text else None
