"""A PostgreSQL URL taken apart as libpq does it: what it holds of secrets is shown and kept nowhere.

The library of URLs that Python brings parts it otherwise: with it a password that has # or ? in it, which libpq takes
as they are, is a piece of the host or of the path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from domain.errors import InvalidInput

_URL = re.compile(
    r"(?P<scheme>postgres(?:ql)?)://(?:(?P<login>[^/@]*)@)?(?P<hosts>[^/?]*)(?P<path>[^?]*)(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_HOSTS = re.compile(r"(?:\[[^\[\]@]+\]|[^\[\]@:,]*)(?::[0-9]*)?")
_STRAY = re.compile(r"%(?![0-9A-Fa-f]{2})|%00|[\x00-\x20\x7f]")
_SECRET = ("password=", "sslpassword=")
_HINT = "what is not a letter or a digit is written by its number in a password: % %25, / %2F, @ %40, : %3A, space %20"


@dataclass(frozen=True, slots=True)
class PostgresUrl:
    """`login` and `query` may hold secrets."""

    scheme: str
    login: str | None
    hosts: str
    path: str
    query: str | None

    @classmethod
    def parse(cls, url: str) -> PostgresUrl:
        """InvalidInput, which repeats nothing of it, for what libpq would not take or would take for something else."""
        found = _URL.fullmatch(url)
        if not found:
            raise InvalidInput("it does not begin with postgresql://", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE")
        if _STRAY.search(url):
            raise InvalidInput("it has a sign in it that a URL has not, or a % that begins no number", _HINT)
        if "@" in found["path"] or not all(_HOSTS.fullmatch(one) for one in found["hosts"].split(",")):
            raise InvalidInput("its user, password, host and port cannot be told apart", _HINT)
        return cls(found["scheme"], found["login"], found["hosts"], found["path"], found["query"])

    def shown(self) -> str:
        """Without user, password and options."""
        login = "" if self.login is None else "***@"
        return f"{self.scheme}://{login}{self.hosts}{self.path}{'?***' if self.query else ''}"

    def without_password(self) -> str:
        """As it may be kept: the password is then found by libpq's own means."""
        user = (self.login or "").partition(":")[0]
        kept = "&".join(one for one in (self.query or "").split("&") if not unquote(one).lower().startswith(_SECRET))
        return f"{self.scheme}://{f'{user}@' if user else ''}{self.hosts}{self.path}{f'?{kept}' if kept else ''}"
