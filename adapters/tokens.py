"""Tokens by which programs and people show who they are to `tht serve`: made, listed, revoked; only hashes are kept.

`tokens.toml` in the workspace's folder, its owner's only. A running server reads it again when it has changed.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import tomli_w

from adapters.files import replace_file
from adapters.locks import alone
from domain.access import accept_role
from domain.errors import HomeNotWritable, InvalidInput, UnknownToken
from domain.event import iso_utc
from domain.text import accept_actor, is_person

_FORM = re.compile(r"tht_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_HASH = re.compile(r"[0-9a-f]{64}")
_NOBODY = "0" * 64  # compared with when there is no such token, so that both take as long


@dataclass(frozen=True, slots=True)
class Token:
    """Whom a token stands for. `hash`: SHA-256 (hex) of its secret part, 256 random bits."""

    id: str
    actor: str
    role: str
    created: str
    by: str
    hash: str

    def as_json(self) -> dict[str, Any]:
        """As it may be shown: without the hash."""
        return {
            "id": self.id,
            "actor": self.actor,
            "role": self.role or None,
            "person": is_person(self.actor),
            "created": self.created,
            "by": self.by,
        }


class Tokens:
    """The tokens of one workspace; `path` is its tokens.toml."""

    def __init__(self, path: Path, chance: Callable[[int], str] = secrets.token_urlsafe) -> None:
        self.path, self.chance = path, chance
        self._seen: tuple[int, int, int] | None = None
        self._known: dict[str, Token] = {}

    def create(self, actor: str, role: str, *, by: str, at: datetime, person: bool = False) -> tuple[Token, str]:
        """A new token and its text, which is shown once.

        InvalidInput unless a person's is asked for as one: it can approve, which an agent's never can.
        """
        actor = accept_actor(actor, "--actor")
        if is_person(actor) != person:
            what = (
                f"{actor} is a person, whose token can approve and set grants"
                if is_person(actor)
                else f"{actor} is no person"
            )
            raise InvalidInput(what, "say --person for a person's token, and leave it out for an agent's or a tool's")
        with alone(self.path.with_suffix(".lock")):
            known = self.listed()
            secret = self.chance(32)
            number = hashlib.sha256(self.chance(32).encode()).hexdigest()[:12]
            made = Token(number, actor, accept_role(role) if role else "", iso_utc(at), by, _hash(secret))
            self._save([*known, made])
        return made, f"tht_{made.id}_{secret}"

    def listed(self) -> list[Token]:
        """Every token, the oldest first."""
        self._refresh()
        return list(self._known.values())

    def revoke(self, token_id: str) -> Token:
        """Take a token away; it is refused from the next request on. UnknownToken without one."""
        with alone(self.path.with_suffix(".lock")):
            known = {one.id: one for one in self.listed()}
            gone = known.pop(token_id.removeprefix("tht_"), None)
            if gone is None:
                raise UnknownToken(f"there is no token {token_id!r}")
            self._save(list(known.values()))
        return gone

    def find(self, text: str) -> Token | None:
        """The token that this text is; None for any other text. Takes as long for a wrong secret as for a right one."""
        self._refresh()
        parts = _FORM.fullmatch(text)
        known = self._known.get(parts.group(1)) if parts else None
        right = hmac.compare_digest(known.hash if known else _NOBODY, _hash(parts.group(2) if parts else text))
        return known if right else None

    def holds(self, token: Token) -> bool:
        """Whether a token that was found before is still there."""
        self._refresh()
        return self._known.get(token.id) == token

    # -- the file

    def _save(self, tokens: list[Token]) -> None:
        table = {one.id: {name: value for name, value in asdict(one).items() if name != "id"} for one in tokens}
        replace_file(self.path, tomli_w.dumps(table).encode())

    def _refresh(self) -> None:
        try:
            stat = self.path.stat()
            seen = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if seen != self._seen:
                self._known = _parsed(tomllib.loads(self.path.read_text("utf-8")))
                self._seen = seen
        except FileNotFoundError:
            self._known, self._seen = {}, None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{self.path.name} is no valid TOML: {error}", f"mend {self.path}") from error
        except OSError as error:
            raise HomeNotWritable(f"{self.path} cannot be read: {error.strerror}", "check the permissions") from error


def _parsed(table: Mapping[str, Any]) -> dict[str, Token]:
    found = {}
    for token_id, fields in table.items():
        try:
            token = Token(token_id, **{name: str(value) for name, value in fields.items()})
            accept_actor(token.actor)
        except (TypeError, AttributeError) as error:
            raise InvalidInput(f"tokens.toml: {token_id} is no token", "revoke it by removing its table") from error
        if not _HASH.fullmatch(token.hash):
            raise InvalidInput(f"tokens.toml: {token_id} has no hash", "revoke it by removing its table")
        found[token_id] = token
    return dict(sorted(found.items(), key=lambda one: (one[1].created, one[0])))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
