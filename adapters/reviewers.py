"""Who may review in a workspace: a person and, where review.require_token asks for it, one who shows a token."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from adapters.ledger import By
from adapters.workspace import Workspace
from domain.errors import ReviewerNeeded
from domain.promotion import Reviewer, require_person


def require_reviewer(workspace: Workspace, by: By, token: str) -> Reviewer:
    """The acting reviewer. ReviewerNeeded without a valid token where one is needed."""
    if workspace.config.value("review.require_token"):
        _check_token(workspace.config.reviewers, by.actor, token)
    return Reviewer(by.actor, bool(workspace.config.value("review.allow_self")))


def issue_token(workspace: Workspace, reviewer: str, current: str = "") -> str:
    """A new token for a reviewer, shown once; only its hash is kept. Who has one already needs it for the next.

    ReviewerNeeded without it, so that nobody takes over another's name.
    """
    require_person(Reviewer(reviewer))
    if reviewer in workspace.config.reviewers:
        _check_token(workspace.config.reviewers, reviewer, current)
    token = secrets.token_urlsafe(24)
    workspace.config.reviewers[reviewer] = hashlib.sha256(token.encode()).hexdigest()
    workspace.config.save()
    return token


def _check_token(reviewers: dict[str, str], reviewer: str, token: str) -> None:
    kept = reviewers.get(reviewer, "")
    given = hashlib.sha256(token.encode()).hexdigest()
    if not token or not hmac.compare_digest(kept, given):
        raise ReviewerNeeded(
            f"{reviewer} has not shown a valid reviewer's token", "set THT_REVIEWER_TOKEN; tht review token makes one"
        )
