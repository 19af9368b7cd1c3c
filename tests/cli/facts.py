"""Facts as the tests propose, list and search them."""

from __future__ import annotations

from typing import Any

from tests.cli.conftest import Tht

ADA = ("--actor", "human:ada")


def propose(tht: Tht, content: str, *more: str, topic: str = "t", domain: str = "d") -> dict[str, Any]:
    told: dict[str, Any] = tht.json("fact", "propose", content, "--domain", domain, "--topic", topic, *more)
    return told


def listed(tht: Tht, *more: str) -> list[str]:
    return [str(one["content"]) for one in tht.json("fact", "list", *more)["facts"]]


def searched(tht: Tht, question: str, *more: str) -> list[str]:
    return [str(one["content"]) for one in tht.json("fact", "search", question, *more)["hits"]]
