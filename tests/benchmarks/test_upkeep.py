"""The upkeep table runs through on a small history: what it says of quality holds at any size; no time is tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def test_the_upkeep_table_has_its_rows_and_nothing_is_worse(tmp_path: Path) -> None:
    """S-43."""
    script, out = Path(__file__).with_name("upkeep.py"), tmp_path / "upkeep.json"
    command: list[str | Path] = [sys.executable, script, "--sizes", "60,120", "--questions", "10", "--json", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(out.read_text("utf-8"))["rows"]
    assert {row["n"] for row in rows} == {60, 120}
    held = {what: [row["ratio"] for row in rows if row["what"] == what] for what in {row["what"] for row in rows}}
    assert held["facts merged"] == held["live facts as before after it"] == [1.0, 1.0]
    assert held["questions answered worse"] == held["rows that a second run makes"] == [0.0, 0.0]
    assert all(ratio >= 1.0 for ratio in held["mean reciprocal rank after it"])
    assert {"consolidate", "harmonize", "undo", "beliefs formed"} <= set(held)
