"""Scope: what a reader may see. The one place where grants close reads; every read path asks it before it ranks."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from domain.access import Decision, Permission, decide
from domain.errors import AccessDenied
from domain.text import is_person
from projections import access


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads. A person who acts in no role is not bound by grants; an agent or tool without one has no rows."""

    actor: str
    role: str = ""

    @property
    def unbound(self) -> bool:
        return not self.role and is_person(self.actor)


@dataclass(frozen=True, slots=True)
class Scope:
    """The domains that a reader sees: all but `closed`, or only `opened` where the default is none.

    `denied` is what a reader may know: that something is closed to them, not what or how much.
    """

    reader: Reader
    closed: frozenset[str] = frozenset()
    opened: frozenset[str] | None = None

    def sees(self, domain: str) -> bool:
        return domain not in self.closed and (self.opened is None or domain in self.opened)

    @property
    def limited(self) -> bool:
        return bool(self.closed) or self.opened is not None

    @property
    def denied(self) -> str:
        """The notice for an answer from which closed domains were left out; empty when none is."""
        who = f"role {self.reader.role}" if self.reader.role else self.reader.actor
        return f"denied: some domains are closed to {who}" if self.limited else ""

    def where(self, column: str) -> tuple[str, tuple[str, ...]]:
        """An SQL condition on a column that holds domain ids, with its parameters."""
        conditions, values = ["1"], []
        for test, names in (("NOT IN", self.closed), ("IN", self.opened)):
            if names or (names is not None and test == "IN"):
                conditions.append(f"{column} {test} ({', '.join('?' * len(names))})")
                values += sorted(names)
        return " AND ".join(conditions), tuple(values)

    def require(self, domain: str) -> None:
        """AccessDenied where the domain is closed to the reader."""
        if not self.sees(domain):
            raise AccessDenied(self.denied.replace("some domains are", "the domain is"))

    def require_all(self, what: str) -> None:
        """AccessDenied for what shows the whole workspace, when anything is closed to the reader."""
        if self.limited:
            raise AccessDenied(f"denied: {what} shows every domain, and some are closed to {self.reader.role}")


def everything(actor: str = "human:system") -> Scope:
    """The scope of the program itself, which prints nothing to anybody: upkeep, verify, the index."""
    return Scope(Reader(actor))


def scope_of(db: sqlite3.Connection, reader: Reader, default: Permission = "read") -> Scope:
    """What a reader may see, by the grant rows and the workspace's default (`access.default`)."""
    if reader.unbound:
        return Scope(reader)
    rows = access.levels(db, reader.role) if reader.role else {}
    if default == "none":
        return Scope(reader, opened=frozenset(domain for domain, level in rows.items() if level != "none"))
    return Scope(reader, closed=frozenset(domain for domain, level in rows.items() if level == "none"))


def decision_for(db: sqlite3.Connection, reader: Reader, domain: str, default: Permission = "read") -> Decision:
    """What a reader may do in one domain, and whether a row says so."""
    row = access.find_grant(db, reader.role, domain) if reader.role else None
    return decide(row.permission if row else None, default, person=reader.unbound)
