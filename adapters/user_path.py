"""A path as somebody types it, with ~ for their home or another's."""

from __future__ import annotations

from pathlib import Path

from domain.errors import InvalidInput


def user_path(text: str) -> Path:
    """InvalidInput when it begins with the home of somebody whom this machine does not know."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        name = text.split("/")[0]
        raise InvalidInput(f"{text!r} is no path here: nobody is known as {name}", "write the path in full") from error
