"""docs/postgres.md promises version 13, and the tests run on a newer one: what came later is not written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ADAPTERS = Path(__file__).resolve().parents[2] / "adapters"
NEWER = {  # by the version that brought it; settings that older servers do not know are set where pg_settings has them
    14: r"OR REPLACE TRIGGER|BEGIN ATOMIC|SEARCH (?:DEPTH|BREADTH) FIRST|SET (?:LOCAL |SESSION )?idle_session_timeout|"
    r"\b(?:date_bin|string_to_table|unistr|bit_count|trim_array|bit_xor|pg_current_xact_id_if)\(",
    15: r"MERGE INTO|NULLS NOT DISTINCT|security_invoker|\bregexp_(?:count|like|substr|instr)\(",
    16: r"\bIS JSON\b|\b(?:any_value|array_sample|array_shuffle|json_array|json_objectagg)\(",
    17: r"SET (?:LOCAL |SESSION )?transaction_timeout|"
    r"\b(?:json_table|json_value|json_query|json_exists|to_bin|to_oct)\(",
    18: r"NOT ENFORCED|RETURNING (?:OLD|NEW)\.|WITHOUT OVERLAPS|\b(?:uuidv7|uuidv4|casefold|array_sort|crc32c?)\(",
}
SOURCES = sorted(path for path in ADAPTERS.glob("*.py") if "psycopg" in path.read_text(encoding="utf-8"))


def newer(text: str) -> list[str]:
    return [f"{found[0]} ({version})" for version, words in NEWER.items() for found in re.finditer(words, text, re.I)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_statement_needs_a_later_version(path: Path) -> None:
    assert newer(path.read_text(encoding="utf-8")) == []


def test_that_would_be_found() -> None:
    assert newer("CREATE OR REPLACE TRIGGER a BEFORE INSERT") == ["OR REPLACE TRIGGER (14)"]
    assert len(SOURCES) >= 4
