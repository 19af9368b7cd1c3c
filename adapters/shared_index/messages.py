"""Messages over the index's socket: values of the port as JSON, one frame each."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

FRAME_LIMIT = 256 * 2**20  # bytes
OPERATION = 120.0  # seconds that one operation may take
_LENGTH = struct.Struct(">Q")


def encoded(value: Any) -> Any:
    """A value of the port as JSON: its dataclasses by name, what JSON has not marked with a sign."""
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        parts = {one.name: encoded(getattr(value, one.name)) for one in fields(value)}
        return {"$of": f"{type(value).__module__}:{type(value).__qualname__}", "parts": parts}
    if isinstance(value, Mapping):
        return {"$map": [[encoded(key), encoded(one)] for key, one in value.items()]}
    if isinstance(value, set | frozenset):
        return {"$set": [encoded(one) for one in sorted(value)]}
    if isinstance(value, tuple):
        return {"$tuple": [encoded(one) for one in value]}
    if isinstance(value, Iterator):
        return {"$iterator": [encoded(one) for one in value]}
    if hasattr(value, "tolist"):  # vectors, whole or a number of one
        return value.tolist()
    return [encoded(one) for one in value]


def decoded(value: Any) -> Any:
    """What `encoded` was given. ValueError for what nobody of the port would say."""
    if isinstance(value, list):
        return [decoded(one) for one in value]
    if not isinstance(value, dict):
        return value
    match value:
        case {"$map": pairs}:
            return {decoded(key): decoded(one) for key, one in pairs}
        case {"$set": members}:
            return frozenset(decoded(one) for one in members)
        case {"$tuple": members}:
            return tuple(decoded(one) for one in members)
        case {"$iterator": members}:
            return iter([decoded(one) for one in members])
        case {"$of": str(name), "parts": dict(parts)}:
            return _kind(name)(**{key: decoded(one) for key, one in parts.items()})
    raise ValueError("a value that is none of the port's")


def _kind(name: str) -> type[Any]:
    """The port's dataclass of this name, and no other class."""
    module, _, kind = name.partition(":")
    found = getattr(import_module(module), kind, None) if module.startswith("projections.index.") else None
    if not isinstance(found, type) or not is_dataclass(found):
        raise ValueError(f"{name} is none of the port's")
    return found


def send(connection: socket.socket, message: Any) -> None:
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    connection.sendall(_LENGTH.pack(len(body)) + body)


def receive(connection: socket.socket) -> Any:
    """The next message. EOFError when the other side has gone."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > FRAME_LIMIT:
        raise EOFError("a frame is too long")
    return json.loads(_exactly(connection, length))


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts, left = [], count
    while left:
        part = connection.recv(min(left, 1 << 20))
        if not part:
            raise EOFError("the other side has gone")
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
