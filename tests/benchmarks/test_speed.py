"""The speed table runs through on a small history and has the form that other programs read. No figure is tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_speed_table_has_its_rows_and_their_form(tmp_path: Path) -> None:
    script, out = Path(__file__).with_name("speed.py"), tmp_path / "speed.json"
    command = [sys.executable, script, "--sizes", "200,400", "--without-mem0", "--json", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert all(set(row) == {"what", "n", "value", "unit", "against", "ratio", "goal"} for row in rows)
    assert all(row["value"] > 0 and row["ratio"] > 0 and row["against"] for row in rows)
    told = " ".join(row["what"] for row in rows)
    for what in (
        *("append", "rebuild all SQL views", "peak memory", "tht --help", "tht audit session"),
        *("search by words", "rebuild the index of facts", "hybrid search of facts", "keyword search of facts"),
        *("preamble", "propose a fact", "growth: keyword search of facts, p95"),
    ):
        assert what in told
