"""Refs: how records of every kind are named beside each other, `memory:mem-0001` and `fact:fact-…`."""

from __future__ import annotations

MEMORY, FACT = "memory", "fact"
KINDS = (MEMORY, FACT)


def ref_of(kind: str, record_id: str) -> str:
    return f"{kind}:{record_id}"


def memory_ref(memory_id: str) -> str:
    return ref_of(MEMORY, memory_id)


def fact_ref(fact_id: str) -> str:
    return ref_of(FACT, fact_id)


def id_of(ref: str) -> str:
    """The id of the memory or fact that a ref names."""
    return ref.partition(":")[2]


def kind_of(ref: str) -> str:
    return ref.partition(":")[0]
