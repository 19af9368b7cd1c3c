"""The scale table runs through on a small history, and the page of all tables can be drawn. No figure is tested."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.benchmarks.drawing import WIDTH, Line, bars, plot
from tests.benchmarks.page import write_page


def test_scale_is_measured_printed_and_drawn(tmp_path: Path) -> None:
    script = Path(__file__).with_name("scale.py")
    command = [sys.executable, str(script), "--most", "1000", "--json", str(tmp_path / "scale.json")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "| rebuild every SQL view beside the old, CPU µs an event |" in done.stdout
    (row,) = json.loads((tmp_path / "scale.json").read_text("utf-8"))["rows"]
    assert row["events"] >= 1_000
    assert all(value > 0 for value in row.values())
    rows = [
        {"what": f"search | {mark}, p50", "n": n, "value": n / 100, "unit": "ms", "ratio": 0.5}
        for mark in "ab"
        for n in (1000, 10_000)
    ]
    (tmp_path / "speed.json").write_text(json.dumps({"rows": rows}))
    nested = {"embedder": "hash", "sets": {"bird": {"queries": 2, "bm25": {"mrr": 0.5}, "dense": {"mrr": 0.25}}}}
    (tmp_path / "recall.json").write_text(json.dumps(nested))
    drawn = write_page(tmp_path).read_text("utf-8")
    assert "| search \\| a, p50 | 1,000 | 10.000 | ms | 0.500 |" in drawn
    assert "| bm25 | 0.500 |" in drawn
    assert "| ledger on disk, bytes an event |" in drawn
    shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", drawn)
    assert len(shown) == 4
    for name in shown:
        for text in ElementTree.parse(tmp_path / name).iter("{http://www.w3.org/2000/svg}text"):
            end = float(text.attrib["x"]) + (0 if "text-anchor" in text.attrib else 6 * len(text.text or ""))
            assert end < WIDTH, f"cut off: {text.text}"


def test_bars_are_as_long_as_their_figures() -> None:
    svg = ElementTree.fromstring(bars("How good?", {"bird": {"bm25": 0.5, "<hybrid>": 1.0}, "locomo": {"bm25": 0.25}}))
    wide = [float(one.attrib["width"]) for one in svg.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert [one / wide[1] for one in wide] == [0.5, 1.0, 0.25]
    said = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [one for one in said if str(one)[0].isdigit()] == ["0.500", "1.000", "0.250"]
    assert "<hybrid>" in said


def test_a_plot_is_sound_xml_with_a_line_and_a_key_for_each_row() -> None:
    lines = [Line(f"no. {number} <&>", ((1e3, 10.0 * number), (1e4, 25.0 * number))) for number in range(1, 5)]
    svg = ElementTree.fromstring(plot("Cost & size", "events", lines))
    names = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [line.name for line in lines] == [name for name in names if str(name).startswith("no.")]
    circles = list(svg.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 8
    assert all(0 < float(one.attrib["cx"]) < WIDTH and 0 < float(one.attrib["cy"]) < 340 for one in circles)
    first, second = circles[:2]
    assert float(first.attrib["cy"]) > float(second.attrib["cy"]), "more stands higher"
