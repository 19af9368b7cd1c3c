"""View `access`: the domains with their labels and repositories, and one row a grant with who set it."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any, cast

from domain.access import DomainCreated, GrantChanged, Permission, Repo
from domain.event import Envelope, iso_utc
from projections.tables.access import DOMAINS, GRANTS, AccessTables
from projections.view import View


class AccessView(AccessTables, View):
    concerned = (DomainCreated, GrantChanged)

    def apply(self, db: sqlite3.Connection, envelope: Envelope) -> None:
        match envelope.event:
            case DomainCreated() as event:
                origin = (envelope.actor, iso_utc(envelope.at), envelope.position)
                db.execute(
                    f"INSERT INTO {DOMAINS} VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (event.domain, event.label, event.repo, event.repo_name, *origin),
                )
                for role in event.writers:
                    _set(db, event.domain, role, "write", envelope, seeded=True)
            case GrantChanged(domain=domain, role=role, permission=permission):
                if permission is None:
                    db.execute(f"DELETE FROM {GRANTS} WHERE role = ? AND domain = ?", (role, domain))
                else:
                    _set(db, domain, role, permission, envelope, seeded=False)
            case _:
                return


def _set(
    db: sqlite3.Connection, domain: str, role: str, permission: Permission, envelope: Envelope, *, seeded: bool
) -> None:
    db.execute(
        f"INSERT OR REPLACE INTO {GRANTS} VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (
            domain,
            role,
            permission,
            int(seeded),
            envelope.actor,
            envelope.reason,
            iso_utc(envelope.at),
            envelope.position,
        ),
    )


# -- queries -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DomainRow:
    """`at` is ISO 8601 in UTC."""

    id: str
    label: str
    repo: str
    repo_name: str
    by: str
    at: str
    position: int

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "label": self.label,
            "repo": self.repo or None,
            "repo_name": self.repo_name or None,
            "by": self.by,
            "at": self.at,
            "position": self.position,
        }


@dataclass(frozen=True, slots=True)
class GrantRow:
    """`seeded`: the row came with the domain; else somebody set it."""

    domain: str
    role: str
    permission: Permission
    seeded: bool
    by: str
    reason: str
    at: str
    position: int

    def as_json(self) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "role": self.role,
            "permission": self.permission,
            "seeded": self.seeded,
            "by": self.by,
            "reason": self.reason,
            "at": self.at,
            "position": self.position,
        }


def domains(db: sqlite3.Connection) -> list[DomainRow]:
    """Every domain by id."""
    return [DomainRow(**dict(row)) for row in db.execute(f"SELECT * FROM {DOMAINS} ORDER BY id")]


def find_domain(db: sqlite3.Connection, domain_id: str) -> DomainRow | None:
    row = db.execute(f"SELECT * FROM {DOMAINS} WHERE id = ?", (domain_id,)).fetchone()
    return DomainRow(**dict(row)) if row else None


def repos(db: sqlite3.Connection) -> list[Repo]:
    """The repositories that have a domain, by slug."""
    rows = db.execute(f"SELECT repo, max(repo_name) FROM {DOMAINS} WHERE repo <> '' GROUP BY repo ORDER BY repo")
    return [Repo(str(row[0]), str(row[1])) for row in rows]


def grants(db: sqlite3.Connection, *, role: str = "", domain: str = "") -> list[GrantRow]:
    """The grant rows by domain and role, of one role or domain where it is named."""
    rows = db.execute(
        f"SELECT * FROM {GRANTS} WHERE ? IN ('', role) AND ? IN ('', domain) ORDER BY domain, role", (role, domain)
    )
    return [_grant(row) for row in rows]


def levels(db: sqlite3.Connection, role: str) -> dict[str, Permission]:
    """What a role may do, by domain, where a row says so."""
    return dict(db.execute(f"SELECT domain, permission FROM {GRANTS} WHERE role = ?", (role,)).fetchall())


def find_grant(db: sqlite3.Connection, role: str, domain: str) -> GrantRow | None:
    row = db.execute(f"SELECT * FROM {GRANTS} WHERE role = ? AND domain = ?", (role, domain)).fetchone()
    return _grant(row) if row else None


def _grant(row: sqlite3.Row) -> GrantRow:
    return GrantRow(
        row["domain"],
        row["role"],
        cast("Permission", row["permission"]),
        bool(row["seeded"]),
        row["by"],
        row["reason"],
        row["at"],
        row["position"],
    )
