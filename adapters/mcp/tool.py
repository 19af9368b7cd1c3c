"""One tool: what an agent reads of it, the forms of its arguments and of its answer, and what it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from mcp import types
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from adapters.mcp.call import Call
from adapters.mcp.failing import error_json, failure_json, invalid
from adapters.mcp.quoting import answer_text, shown
from adapters.retrying import KEY_LIMIT
from domain.errors import ThtError

Limit = Annotated[int, Field(ge=1, le=50, description="How many at most.")]
Cursor = Annotated[str, Field(description="Where to go on: next_cursor of the answer before; empty to begin.")]
Domain = Annotated[str, Field(description="Only this domain; list_memory_domains names them. Empty: every one.")]
Repo = Annotated[str, Field(description="The repository you work in, a slug or owner/name. Empty: none.")]
Reason = Annotated[str, Field(description="Why, in a sentence; kept with the event and shown to reviewers.")]
Key = Annotated[
    str,
    Field(max_length=KEY_LIMIT, description="Give a retry the key of the first try, and nothing is recorded twice."),
]


class Arguments(BaseModel):
    """Arguments of a tool, taken as they are given or not at all: `"0.3"` is no number. One that is not declared is
    refused: nobody names another actor or role in passing."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Changing(Arguments):
    """Arguments of a tool that records something."""

    reason: Reason = ""
    idempotency_key: Key = ""


class Answer(BaseModel):
    """The declared part of an answer; rows have more fields than an agent has to know beforehand."""

    model_config = ConfigDict(extra="allow")


class Recorded(Answer):
    """What a command recorded."""

    position: int = Field(description="Of the last event recorded; 0 when nothing was.")
    already: bool = Field(description="Whether an earlier call with the same idempotency_key recorded it.")


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True)
class Tool(Generic[A]):
    """`reads`: it changes nothing. `replaces`: something gives way. `repeatable`: again with the same arguments has no
    further effect. `own`: fields of the answer that are the agent's own words and stay as they are."""

    name: str
    title: str
    about: str
    arguments: type[A]
    answer: type[Answer]
    run: Callable[[Call, A], dict[str, Any]]
    text: Callable[[Mapping[str, Any]], str] = answer_text
    reads: bool = False
    replaces: bool = False
    repeatable: bool = False
    own: tuple[str, ...] = ()

    @property
    def declared(self) -> types.Tool:
        return types.Tool(
            name=self.name,
            title=self.title,
            description=" ".join(self.about.split()),
            input_schema=_schema(self.arguments, "validation"),
            output_schema=_schema(self.answer, "serialization"),
            annotations=types.ToolAnnotations(
                read_only_hint=self.reads,
                destructive_hint=self.replaces,
                idempotent_hint=self.reads or self.repeatable,
                open_world_hint=False,
            ),
        )

    def accept(self, given: Mapping[str, Any]) -> A:
        """The arguments as declared. InvalidInput names the one that does not fit and what would."""
        try:
            return self.arguments.model_validate(dict(given))
        except ValidationError as error:
            raise invalid(error, list(self.arguments.model_fields)) from error

    def __call__(self, call: Call, given: A) -> types.CallToolResult:
        """Run it, in the thread that the call's workspace is lent to."""
        answer = self.run(call, given)
        told = {name: one if name in self.own else shown(one) for name, one in answer.items()}
        return _result(self.text(answer), told)


def failed(error: Exception) -> types.CallToolResult:
    """A failure as a tool's error, which the model sees and can act upon."""
    told = shown(error_json(error) if isinstance(error, ThtError) else failure_json(error))
    return _result(answer_text(told), told, is_error=True)


def by_name(tools: Iterable[Tool[Any]]) -> dict[str, Tool[Any]]:
    return {tool.name: tool for tool in tools}


def _result(text: str, answer: Mapping[str, Any], *, is_error: bool = False) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[content], structured_content=answer, is_error=is_error)


def _schema(model: type[BaseModel], mode: Any) -> dict[str, Any]:
    """The JSON Schema without the titles and docstrings that say nothing to an agent."""
    return {key: value for key, value in _bare(model.model_json_schema(mode=mode)).items() if key != "description"}


def _bare(value: Any, *, named: bool = False) -> Any:
    """`named`: the keys are names of fields, of which one may be `title`."""
    if isinstance(value, dict):
        names = ("properties", "$defs")
        return {
            key: _bare(one, named=not named and key in names) for key, one in value.items() if named or key != "title"
        }
    return [_bare(one) for one in value] if isinstance(value, list) else value
