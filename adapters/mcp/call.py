"""Who speaks over a connection, and what one call of it may use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from adapters.ledger import By
from adapters.retrying import own_key
from adapters.workspace import Workspace
from domain.access import accept_role
from domain.errors import InvalidInput
from domain.text import accept_actor, accept_text, is_person
from projections.scope import Reader

T = TypeVar("T")


class OpenWorkspace(Protocol):
    """Runs `work` in a worker thread with an opened workspace that nobody else uses meanwhile."""

    async def __call__(self, work: Callable[[Workspace], T], /) -> T: ...


class Identity(Protocol):
    """What a connection is bound to: `agent:coder-1` and the role it acts in, '' for none."""

    @property
    def actor(self) -> str: ...
    @property
    def role(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Speaker:
    """An agent or a tool; see `accept_speaker`."""

    actor: str
    role: str = ""


def accept_speaker(actor: str, role: str) -> Speaker:
    """The speaker of a connection. InvalidInput for nobody, and for a person: what a model says is nobody's word."""
    if not actor:
        raise InvalidInput("nobody is named who speaks here", "name the agent: --actor agent:NAME, or THT_ACTOR")
    named = accept_actor(actor)
    if is_person(named):
        raise InvalidInput(
            f"{named} is a person, and over MCP a model speaks", "name the agent: agent:NAME, or tool:NAME for a tool"
        )
    return Speaker(named, accept_role(role) if role else "")


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the workspace that is lent for it, and whose it is."""

    workspace: Workspace
    speaker: Identity

    @property
    def reader(self) -> Reader:
        return Reader(self.speaker.actor, self.speaker.role)

    def by(self, reason: str = "", key: str = "", *, dry_run: bool = False) -> By:
        """The speaker as the actor of a command. A key is the speaker's own: the same one of another agent is another.

        InvalidInput for a key or reason that cannot be kept.
        """
        kept = own_key("mcp", self.speaker.actor, key)
        return By(self.speaker.actor, self.speaker.role, accept_text(reason, "reason"), kept, dry_run)
