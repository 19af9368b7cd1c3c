"""Names that a program may give, as an enumeration in a schema: made from the domain's own lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_core import core_schema


@dataclass(frozen=True, slots=True)
class Known:
    """One of these names: an enumeration in the schema, made from the domain's own list."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _: Any, __: Any) -> core_schema.CoreSchema:
        return core_schema.literal_schema(list(self.names))
