"""The ledgers that the contract is run on: a new backend joins in ledgers.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import Ledger
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
