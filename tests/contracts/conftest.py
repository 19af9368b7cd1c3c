"""The ledgers and index engines that the contracts are run on: a new one joins in ledgers.py or engines.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import Ledger
from projections.index.port import VectorIndex
from tests.contracts.engines import ENGINES, Opener, opened_again
from tests.contracts.ledgers import BACKENDS, Backend, Postgres


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.__name__)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    if request.param is Postgres:
        request.getfixturevalue("postgres")
    made: Backend = request.param(tmp_path)
    yield made
    made.drop()


@pytest.fixture
def ledger(backend: Backend) -> Iterator[Ledger]:
    made = backend.create()
    yield made
    made.close()


@pytest.fixture(params=ENGINES)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    yield from opened_again(request.param, tmp_path)


@pytest.fixture
def index(opener: Opener) -> Iterator[VectorIndex]:
    """An empty generation of four dimensions."""
    with opener().begin(4) as opened:
        yield opened
