"""One visit to a page: who asks, what was sent; and what a page answers: itself, or where to go after an act."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.knowledge import require_whole
from adapters.ledger import By
from adapters.serving.identity import Identity
from adapters.workspace import Workspace
from domain.errors import InvalidInput, ThtError
from projections.scope import Reader

FURTHEST = 10**9  # records that may be passed over
PAGE = 25


@dataclass(frozen=True, slots=True)
class Notice:
    """A line about what an act came to. `url`: where that can be looked at."""

    text: str
    failed: bool = False
    url: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A template with what it shows."""

    template: str
    shown: dict[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Moved:
    """An act is done: which page comes next, and what it says on top."""

    url: str
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Visit:
    """`path`, `query` and `form` are what the address and the form say; a form's fields are text.

    `error`: why the act that the form asked for was refused; the form is then shown again as it was filled in.
    """

    workspace: Workspace
    identity: Identity
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    page_limit: int = PAGE
    error: ThtError | None = None

    @property
    def reader(self) -> Reader:
        return self.identity.reader

    @property
    def proof(self) -> str:
        return self.identity.proof

    def by(self) -> By:
        """Who acts, with the reason in the form."""
        return self.identity.by(self.said("reason"))

    def said(self, name: str) -> str:
        """A field of the form as it was written, without white space around it; '' without one."""
        return self.form.get(name, "").replace("\r\n", "\n").strip()

    def asked(self, name: str, among: tuple[str, ...] = ()) -> str:
        """A part of the query; the first of `among` when nothing is asked for, InvalidInput for none of them."""
        given = self.query.get(name, "").strip()
        if not among or given in among:
            return given
        if given:
            raise InvalidInput(f"there is no {name} {given!r}", f"one of {', '.join(one or 'all' for one in among)}")
        return among[0]

    def offset(self, name: str = "from") -> int:
        """How many records to pass over. InvalidInput for what is no number."""
        given = self.asked(name) or "0"
        if not given.isascii() or not given.isdecimal() or int(given[:12]) > FURTHEST:
            raise InvalidInput(f"{given!r} is no place in a list", "follow the links below the list")
        return int(given)

    @property
    def size(self) -> int:
        return min(PAGE, self.page_limit)

    def require_whole(self, what: str) -> None:
        """AccessDenied for what shows the whole workspace, where anything is closed to the reader."""
        require_whole(self.workspace, self.reader, what)


Show = Callable[[Visit], Page]
Act = Callable[[Visit], Moved | Page]  # a page when something of it failed, with what was filled in


@dataclass(frozen=True, slots=True)
class PageRoute:
    """A page under an address. `acts`: what its forms can ask for, by the value of their field `act`."""

    path: str
    show: Show
    acts: Mapping[str, Act] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Paging:
    """Where a page stands in its list, and the addresses of those before and after it."""

    first: int
    last: int
    total: int
    before: str = ""
    after: str = ""
