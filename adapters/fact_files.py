"""Facts to be proposed, as JSON Lines: each line with what is wrong with it, or what it proposes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from adapters.facts import Line
from adapters.json_lines import lines_of, misfit, read_lines, shown
from adapters.ledger import By
from domain.errors import InvalidInput
from domain.event import UtcTime
from domain.propose import NewFact, OnConflict


def _written(value: object) -> object:
    """A number has no zone, so it is no time (S-31)."""
    if isinstance(value, str) and not value.strip().lstrip("+-").replace(".", "", 1).isdecimal():
        return value
    raise ValueError("a time is written as text with a zone: 2026-03-02T10:00:00Z")


WrittenTime = Annotated[UtcTime, BeforeValidator(_written)]


class ProposalForm(BaseModel):
    """One line. `domain`, `repo` and the way with conflicts may be given once for all lines instead."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str
    topic: str
    domain: str = ""
    repo: str = ""
    confidence: float | None = Field(default=None, strict=True)
    memory_type: str = ""
    veracity: str = ""
    source_observation_ids: tuple[str, ...] = ()
    valid_from: WrittenTime | None = None
    valid_until: WrittenTime | None = None
    about: str = ""
    on_conflict: OnConflict | None = None


FORM = 'a line is {"content": "…", "topic": "…", "domain": "…"}; the help of tht fact propose names all keys'


def _misfit(error: ValidationError) -> tuple[str, str]:
    """What does not fit a line first, in our words, and what to do about it."""
    problem = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        return shown(
            f"unknown key {key!r}; known: {', '.join(ProposalForm.model_fields)}"
        ), "correct it or leave it out"
    if problem["type"] == "missing":
        return f"the key {key!r} is missing", FORM
    return misfit(error), FORM


def read_proposals(
    given: Path | IO[bytes], by: By, *, domain: str, repo: str, veracity: str, on_conflict: OnConflict
) -> Iterator[Line]:
    """Every line of a file, or of an open one, that is not blank; the author is the actor.

    Unavailable when the file cannot be read.
    """
    for line in read_lines(given) if isinstance(given, Path) else lines_of(given):
        if line.error:
            yield Line(line.number, error=InvalidInput(line.error, FORM))
            continue
        try:
            form = ProposalForm.model_validate(line.value)
        except ValidationError as error:
            yield Line(line.number, error=InvalidInput(*_misfit(error)))
            continue
        if not (form.domain or domain):
            yield Line(line.number, error=InvalidInput("no domain", "give it in the line or as --domain DOMAIN"))
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
