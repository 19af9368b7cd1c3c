"""What a SQLite file is made of, compared with what its owner declares: nothing missing, changed or of somebody else.

SQLite keeps the text of each declaration and trusts it, whatever became of it; a trigger of somebody else's would act
on our rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from typing import NamedTuple

PARTS = "SELECT type, name, tbl_name, sql FROM sqlite_schema"


class Part(NamedTuple):
    """A table, index, trigger or view, the table that it belongs to, and the text that declares it."""

    kind: str
    name: str
    table: str
    declaration: str | None


class Difference(NamedTuple):
    kind: str
    what: str
    foreign: bool = False


@cache
def declared_parts(statements: tuple[str, ...]) -> frozenset[Part]:
    """What these declarations make in an empty file, with what SQLite makes beside it by itself."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for statement in statements:
            fresh.execute(statement)
        return frozenset(Part(*row) for row in fresh.execute(PARTS))


def differences(declared: Iterable[Part], held: Iterable[Part]) -> list[Difference]:
    """What the file lacks, has changed, or has beyond what is declared; empty when nothing."""
    wanted = {part[:2]: part for part in declared}
    found = {part[:2]: part for part in held}
    told = []
    for kind, name in sorted(wanted.keys() | found.keys()):
        if (kind, name) not in found:
            told.append(Difference(kind, f"the {kind} {name} is missing"))
        elif (kind, name) not in wanted:
            told.append(Difference(kind, f"the {kind} {name} is not one of its own", foreign=True))
        elif wanted[kind, name] != found[kind, name]:
            told.append(Difference(kind, f"the {kind} {name} is not as it was declared"))
    return told
