"""Every SQL view of this program: its tables, which is all that a reader needs, and its folding."""

from __future__ import annotations

from projections.tables.access import AccessTables
from projections.tables.beliefs import BeliefTables
from projections.tables.conflicts import ConflictTables
from projections.tables.counters import CounterTables
from projections.tables.decisions import DecisionTables
from projections.tables.facts import FactTables
from projections.tables.links import LinkTables
from projections.tables.notes import NoteTables
from projections.tables.policies import PolicyTables
from projections.tables.registry import RegistryTables
from projections.tables.timeline import TimelineTables
from projections.view import Tables, View


def make_views() -> list[View]:
    """Every SQL view of this program."""
    return [tables.loaded() for tables in declared_tables()]


def declared_tables() -> list[Tables]:
    """The tables of every SQL view of this program."""
    return [
        DecisionTables(),
        RegistryTables(),
        TimelineTables(),
        AccessTables(),
        FactTables(),
        ConflictTables(),
        LinkTables(),
        CounterTables(),
        PolicyTables(),
        NoteTables(),
        BeliefTables(),
    ]
