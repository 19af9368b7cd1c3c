"""The scale table runs through on a small history, and the page of all tables can be drawn. No figure is tested."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from tests.benchmarks.drawing import Line, plot
from tests.benchmarks.page import page


def test_scale_is_measured_printed_and_drawn(tmp_path: Path) -> None:
    script = Path(__file__).with_name("scale.py")
    command: list[str | Path] = [sys.executable, script, "--most", "1000", "--json", tmp_path / "scale.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "| rebuild every SQL view beside the old, CPU µs an event |" in done.stdout
    (row,) = json.loads((tmp_path / "scale.json").read_text("utf-8"))["rows"]
    assert row["events"] >= 1_000
    assert all(value > 0 for value in row.values())
    (tmp_path / "speed.json").write_text(json.dumps({"rows": [{"what": "append | one", "n": 1000, "ratio": 0.5}]}))
    nested = {"embedder": "hash", "bird": {"bm25": {"r1": 0.5}, "dense": {"r1": 0.25}}}
    (tmp_path / "recall.json").write_text(json.dumps(nested))
    drawn = page(tmp_path)
    assert "| append \\| one | 1,000 | 0.500 |" in drawn
    assert "| bm25 | 0.500 |" in drawn
    assert drawn.count("<svg") == drawn.count("</svg>") == 2


def test_a_plot_is_sound_xml_with_a_line_and_a_key_for_each_row() -> None:
    lines = [Line(f"no. {number} <&>", ((1e3, 10.0 * number), (1e4, 25.0 * number))) for number in range(1, 5)]
    svg = ElementTree.fromstring(plot("Cost & size", "events", lines))
    names = [one.text for one in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert [line.name for line in lines] == [name for name in names if str(name).startswith("no.")]
    circles = list(svg.iter("{http://www.w3.org/2000/svg}circle"))
    assert len(circles) == 8
    assert all(0 < float(one.attrib["cx"]) < 760 and 0 < float(one.attrib["cy"]) < 340 for one in circles)
    first, second = circles[:2]
    assert float(first.attrib["cy"]) > float(second.attrib["cy"]), "more stands higher"
