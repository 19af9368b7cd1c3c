"""The short form of tests/benchmarks/serving.py: twenty clients at once, nothing lost, nothing untold."""

from __future__ import annotations

from tests.benchmarks.serving import measure


def test_twenty_clients_lose_nothing_and_watchers_are_told_everything() -> None:
    found = measure(20, 6.0)
    assert found["ok"], found
    assert found["watchers"]["count"] == 2
    assert found["watchers"]["changes"] >= found["proposals"]["acknowledged"] > 0
