"""What an id stands for, in its own words: for whoever is told of facts, policies and beliefs by id."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator

from adapters.knowledge import seen_by
from adapters.workspace import Workspace
from projections import beliefs, conflicts, fact_queries, policies
from projections.scope import Reader, Scope


def words_of(workspace: Workspace, reader: Reader, ids: Iterable[str]) -> dict[str, str]:
    """The text of each fact, policy, belief (its first fact) and conflict (both facts) by id, within the reader's
    scope; an id of something else, or of what is not there or closed, is left out."""
    with seen_by(workspace, reader) as (db, scope):
        return {one: text for one, text in _words(db, scope, ids) if text}


def _words(db: sqlite3.Connection, scope: Scope, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    held = {one.id: one.facts[:1] for one in beliefs.list_beliefs(db, scope)}

    def fact(fact_id: str) -> str:
        row = fact_queries.find_fact(db, fact_id)
        return row.content if row and scope.sees(row.domain) else ""

    for one in dict.fromkeys(ids):
        if one.startswith("fact-"):
            yield one, fact(one)
        elif one.startswith("policy-"):
            rule = policies.find_policy(db, one)
            yield one, rule.rule if rule and scope.sees(rule.domain) else ""
        elif one.startswith("conflict-"):
            row = conflicts.find_conflict(db, one)
            yield one, " / ".join(text for text in map(fact, row.facts if row else ()) if text)
        else:
            yield one, " / ".join(map(fact, held.get(one, ())))
