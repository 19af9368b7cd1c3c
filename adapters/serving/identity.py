"""Who a request is from: a token in its header, or a browser's session that began with a token or a one-time link."""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import TypeVar

from starlette.requests import HTTPConnection

from adapters.ledger import By
from adapters.tokens import Token, Tokens
from domain.errors import ServingUnavailable, ThtError
from domain.text import accept_text, is_person
from projections.scope import Reader

T = TypeVar("T")
log = logging.getLogger("tht.serve")
SESSIONS = 1000  # browsers that are logged in at most; the one that was longest away has to log in again
SESSION_SECONDS = 12 * 3600.0
LINK_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who acts in a request. `proof` is the token that a person has shown, for what asks reviewers to prove themselves.

    `csrf`: what a form of this browser's session must carry; empty for a token in a header, which no form can send.
    """

    actor: str
    role: str = ""
    proof: str = field(default="", repr=False)
    token: Token | None = None
    csrf: str = field(default="", repr=False)
    session: str = field(default="", repr=False)  # the key of its browser's session, a hash

    @property
    def person(self) -> bool:
        return is_person(self.actor)

    @property
    def reader(self) -> Reader:
        return Reader(self.actor, self.role)

    @property
    def key(self) -> str:
        """What its requests are counted under."""
        return self.token.id if self.token else f"{self.actor} {self.session}"

    def by(self, reason: str = "", key: str = "", dry_run: bool = False) -> By:
        """As the author of a command."""
        return By(self.actor, self.role, accept_text(reason, "reason"), key, dry_run)


@dataclass(slots=True)
class _Session:
    identity: Identity
    until: float


class Sessions:
    """Browsers that are logged in, in memory only: a restart asks for a login again."""

    def __init__(self, clock: Callable[[], float], chance: Callable[[int], str] = secrets.token_urlsafe) -> None:
        self.clock, self.chance = clock, chance
        self._sessions: dict[str, _Session] = {}
        self._links: dict[str, _Session] = {}
        self._lock = Lock()

    def link_for(self, identity: Identity) -> str:
        """The key of a login link, good once and for ten minutes."""
        key = self.chance(32)
        with self._lock:
            self._links[_hash(key)] = _Session(identity, self.clock() + LINK_SECONDS)
        return key

    def redeem(self, key: str) -> Identity | None:
        """Whom a login link is for, once; None for one that is used, old or made up."""
        with self._lock:
            found = self._links.pop(_hash(key), None)
        return found.identity if found and found.until > self.clock() else None

    def begin(self, identity: Identity) -> str:
        """A session's secret, for a cookie."""
        secret = self.chance(32)
        key = _hash(secret)
        known = Identity(identity.actor, identity.role, identity.proof, identity.token, self.chance(32), key)
        with self._lock:
            now = self.clock()
            self._sessions = {one: held for one, held in self._sessions.items() if held.until > now}
            while len(self._sessions) >= SESSIONS:
                self._sessions.pop(next(iter(self._sessions)))
            self._sessions[key] = _Session(known, now + SESSION_SECONDS)
        return secret

    def find(self, secret: str) -> Identity | None:
        key = _hash(secret)
        with self._lock:
            found = self._sessions.pop(key, None)
            if found is None or found.until <= self.clock():
                return None
            found.until = self.clock() + SESSION_SECONDS
            self._sessions[key] = found  # the latest used stands last
            return found.identity

    def holds(self, identity: Identity) -> bool:
        """Whether a session that was found before has not ended or grown old; asking does not prolong it."""
        with self._lock:
            found = self._sessions.get(identity.session)
            return found is not None and found.until > self.clock()

    def end(self, identity: Identity) -> None:
        with self._lock:
            self._sessions.pop(identity.session, None)


@dataclass(frozen=True)
class Door:
    """Tells who a request is from. `cookie`: the name of this workspace's, as browsers share them between ports."""

    tokens: Tokens
    sessions: Sessions
    cookie: str

    def identify(self, connection: HTTPConnection) -> Identity | None:
        """The identity; None for nobody. A token in the header counts, and a wrong one is not mended by a cookie."""
        header = connection.headers.get("authorization")
        if header is not None:
            kind, _, text = header.partition(" ")
            return self.of_token(text.strip()) if kind.lower() == "bearer" else None
        secret = connection.cookies.get(self.cookie)
        found = self.sessions.find(secret) if secret else None
        return found if found and self.still_holds(found) else None

    def of_token(self, text: str) -> Identity | None:
        """Whom this token is for; None for none. ServingUnavailable when the tokens cannot be read."""
        token = self._told(lambda: self.tokens.find(text))
        if token is None:
            return None
        return Identity(token.actor, token.role, text if is_person(token.actor) else "", token)

    def still_holds(self, identity: Identity) -> bool:
        """Whether its token has not been revoked meanwhile, and its session goes on."""
        if identity.session and not self.sessions.holds(identity):
            return False
        token = identity.token
        return token is None or self._told(lambda: self.tokens.holds(token))

    def broken(self) -> bool:
        """Whether the tokens cannot be read, so that nobody who shows one can be let in."""
        try:
            self._told(self.tokens.listed)
        except ServingUnavailable:
            return True
        return False

    def _told(self, look: Callable[[], T]) -> T:
        """What is answered to anybody names no path and quotes nothing of the file."""
        try:
            return look()
        except ThtError as error:
            log.warning("tokens: %s; %s", error.message, error.hint)
            told = "the tokens of this workspace cannot be read, so nobody can be let in by one"
            raise ServingUnavailable(told, "the server's log says what to mend") from error


def csrf_matches(identity: Identity, given: object) -> bool:
    """Whether a form was made by this server for this browser's session."""
    return isinstance(given, str) and bool(identity.csrf) and hmac.compare_digest(_hash(identity.csrf), _hash(given))


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
