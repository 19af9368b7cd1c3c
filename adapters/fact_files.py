"""Facts to be proposed, as JSON Lines: each line with what is wrong with it, or what it proposes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from adapters.facts import Line
from adapters.json_lines import misfit, read_lines
from adapters.ledger import By
from domain.errors import InvalidInput
from domain.event import UtcTime
from domain.propose import NewFact, OnConflict


class ProposalForm(BaseModel):
    """One line. `domain`, `repo` and the way with conflicts may be given once for all lines instead."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str
    topic: str
    domain: str = ""
    repo: str = ""
    confidence: float | None = None
    memory_type: str = ""
    veracity: str = ""
    source_observation_ids: tuple[str, ...] = ()
    valid_from: UtcTime | None = None
    valid_until: UtcTime | None = None
    about: str = ""
    on_conflict: OnConflict | None = None


def read_proposals(
    path: Path, by: By, *, domain: str, repo: str, veracity: str, on_conflict: OnConflict
) -> Iterator[Line]:
    """Every line that is not blank; the author is the actor. Unavailable when the file cannot be read."""
    for line in read_lines(path):
        if line.error:
            yield Line(line.number, error=InvalidInput(line.error))
            continue
        try:
            form = ProposalForm.model_validate(line.value)
        except ValidationError as error:
            yield Line(line.number, error=InvalidInput(misfit(error)))
            continue
        if not (form.domain or domain):
            yield Line(line.number, error=InvalidInput("no domain", "give it in the line or as --domain"))
            continue
        yield Line(
            line.number,
            form.domain or domain,
            form.repo or repo,
            NewFact(
                form.content,
                form.topic,
                by.actor,
                by.role,
                form.confidence,
                form.memory_type,
                form.veracity or veracity,
                form.source_observation_ids,
                form.valid_from,
                form.valid_until,
                form.about,
            ),
            form.on_conflict or on_conflict,
        )
