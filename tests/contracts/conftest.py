"""The ledgers that the contract is run on: a new backend joins in ledgers.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.ledger import Ledger
from tests.contracts.ledgers import BACKENDS, Backend


@pytest.fixture(params=BACKENDS, ids=lambda backend: backend.__name__)
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Backend:
    made: Backend = request.param(tmp_path)
    return made


@pytest.fixture
def ledger(backend: Backend) -> Iterator[Ledger]:
    made = backend.create()
    yield made
    made.close()
