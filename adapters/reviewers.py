"""Who may review in a workspace: a person and, where review.require_token asks for it, one who shows a token.

Their reviewer's token, or a person's token of `tht serve`: both are kept as hashes, and both name one person.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from adapters.ledger import By
from adapters.tokens import Tokens
from adapters.workspace import Workspace
from domain.errors import ReviewerNeeded
from domain.promotion import Reviewer, require_person
from domain.text import is_person, same_actor


def require_reviewer(workspace: Workspace, by: By, token: str) -> Reviewer:
    """The acting reviewer. ReviewerNeeded without a valid token where one is needed."""
    if workspace.config.value("review.require_token"):
        require_proof(workspace, by.actor, token)
    return Reviewer(by.actor, bool(workspace.config.value("review.allow_self")))


def issue_token(workspace: Workspace, reviewer: str, current: str = "") -> str:
    """A new token for a reviewer, shown once; only its hash is kept. Who has one already needs it for the next.

    ReviewerNeeded without it, so that nobody takes over another's name.
    """
    require_person(Reviewer(reviewer))
    if reviewer in workspace.config.reviewers:
        require_proof(workspace, reviewer, current)
    token = secrets.token_urlsafe(24)
    workspace.config.reviewers[reviewer] = hashlib.sha256(token.encode()).hexdigest()
    workspace.config.save()
    return token


def require_known_person(workspace: Workspace, person: str, current: str) -> None:
    """ReviewerNeeded for making or revoking a token of somebody who has one already, unless it is shown: where tokens
    prove people (review.require_token), nobody takes over another's name."""
    if workspace.config.value("review.require_token") and _has_token(workspace, person):
        require_proof(workspace, person, current)


def require_proof(workspace: Workspace, person: str, token: str) -> None:
    """ReviewerNeeded unless the token is this person's."""
    kept = workspace.config.reviewers.get(person, "")
    given = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
    served = Tokens(workspace.paths.tokens).find(token)
    if token and (hmac.compare_digest(kept, given) or (served is not None and same_actor(served.actor, person))):
        return
    raise ReviewerNeeded(
        f"{person} has not shown a valid reviewer's token",
        "set THT_REVIEWER_TOKEN, which tht review token makes; in a browser log in with one of tht token create",
    )


def _has_token(workspace: Workspace, person: str) -> bool:
    served = (one.actor for one in Tokens(workspace.paths.tokens).listed())
    return any(is_person(one) and same_actor(one, person) for one in (*workspace.config.reviewers, *served))
