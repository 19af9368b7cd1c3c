"""Pages of lists: a cursor says after how many rows the next one begins."""

from __future__ import annotations

from adapters.mcp.failing import echo
from domain.errors import InvalidInput


def offset_of(cursor: str) -> int:
    """After how many rows to begin. InvalidInput for what no answer gave."""
    if not cursor:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 12):
        raise InvalidInput(
            f"{echo(cursor)} is no cursor of this list", "pass next_cursor of the answer before, as it is"
        )
    return int(cursor)


def cursor_after(offset: int, shown: int, total: int) -> str | None:
    """Where to go on; None at the end."""
    return str(offset + shown) if shown and offset + shown < total else None
