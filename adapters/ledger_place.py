"""Where a workspace's ledger is: in its home, or on the PostgreSQL that the setting `ledger.url` names."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from adapters.config import Config, find_setting, shown_url
from adapters.recorder import Recorder
from adapters.sqlite import LedgerRecorder, has_moved
from domain.errors import LedgerUnavailable, Refused

FUNCTIONS = "POSTGRES_ENABLE_DB_FUNCTIONS"


def is_elsewhere(config: Config) -> bool:
    """Whether the ledger is on a server, and not a file of the home."""
    return bool(config.value("ledger.url"))


def without_url(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables for a workspace whose ledger is to be a file, whatever the others are told."""
    return {name: value for name, value in environment.items() if name != find_setting("ledger.url").variable}


def is_made(config: Config, ledger_file: Path) -> bool:
    """Whether the home has its ledger: the file, or that it has once found its ledger on the server."""
    return "ledger.id" in config.stored if is_elsewhere(config) else ledger_file.exists()


def open_recorder(workspace: str, config: Config, ledger_file: Path) -> Recorder:
    """The tables of the workspace's ledger. Refused where the home has a ledger of its own beside the setting."""
    url = str(config.value("ledger.url"))
    if not url:
        return LedgerRecorder(ledger_file)
    if ledger_file.exists() and not has_moved(ledger_file):
        raise Refused(
            f"the home has a {ledger_file.name}, and ledger.url names another place",
            "tht ledger copy --to URL --move moves it there; unset ledger.url or THT_LEDGER_URL to go on with the file",
        )
    return postgres_recorder(workspace, url, config.environment)


def postgres_recorder(workspace: str, url: str, environment: Mapping[str, str]) -> Recorder:
    """The tables on PostgreSQL. Nothing is connected to yet."""
    found = [name for name, value in environment.items() if name.upper().endswith(FUNCTIONS) and _is_on(value)]
    if found:
        raise Refused(
            f"{found[0]} is set: with it the table lock is dropped, and whoever follows the ledger loses events",
            f"unset {found[0]}",
        )
    try:
        from adapters.postgres import PostgresRecorder
        from adapters.postgres_schema import schema_of
    except ImportError as error:
        raise LedgerUnavailable(
            f"ledger.url needs a package: {error}", "install the extra: pip install 'thoth-memory[postgres]'"
        ) from error
    schema = schema_of(workspace)
    return PostgresRecorder(url, schema, f"{shown_url(url)}, schema {schema}")


def require_same_ledger(workspace: str, config: Config, url: str, ledger_file: Path) -> None:
    """Refused when another way does not lead to the ledger that the home belongs to."""
    there = ""
    if url or ledger_file.exists():
        recorder = postgres_recorder(workspace, url, config.environment) if url else LedgerRecorder(ledger_file)
        with closing(recorder):
            there = recorder.ledger_id()
    if there != config.stored.get("ledger.id"):
        raise Refused(
            f"this workspace's ledger is not there{f', but {there}' if there else ''}",
            "tht ledger copy --to URL --move moves a ledger",
        )


def _is_on(value: str) -> bool:
    return value.strip().lower() not in ("", "n", "no", "f", "false", "off", "0")
