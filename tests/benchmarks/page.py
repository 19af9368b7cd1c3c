"""One Markdown page of all that was measured: every build/*.json as tables, with plots of recall, speed and scale.

python tests/benchmarks/page.py build writes bench.md and its bench-*.svg there
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks import scale
from tests.benchmarks.drawing import Line, bars, plot

Row = Mapping[str, Any]


def write_page(folder: Path) -> Path:
    """Reads the files by name, writes the page and its plots. One that is no JSON raises: a page with a hole would not
    tell."""
    parts = ["# What was measured", "", "Each figure is of one run on one machine; ratios within a run hold elsewhere."]
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        parts += ["", f"## {path.stem}", ""]
        for title, svg in PLOTS.get(path.name, lambda _: ())(found):
            image = folder / f"bench-{re.sub('[^a-z0-9]+', '-', title.lower())}.svg"
            image.write_text(svg, encoding="utf-8")
            parts += [f"![{title}]({image.name})", ""]
        parts += scale.table(scale_rows(found)) if path.name == "scale.json" else tables("", found)
    page = folder / "bench.md"
    page.write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")
    return page


def scale_rows(found: Any) -> list[scale.Size]:
    return [scale.Size(**row) for row in found["rows"]]


def recall_plot(found: Any) -> Iterator[tuple[str, str]]:
    groups = {
        name: {mode: one["mrr"] for mode, one in modes.items() if isinstance(one, Mapping) and "mrr" in one}
        for name, modes in found["sets"].items()
    }
    yield "Mean reciprocal rank", bars("Mean reciprocal rank by question set and mode", groups)


def speed_plot(found: Any) -> Iterator[tuple[str, str]]:
    """The medians of what was measured at several sizes."""
    points: dict[str, list[tuple[float, float]]] = {}
    for row in found["rows"]:
        if row["unit"] == "ms" and row["what"].endswith(", p50"):
            points.setdefault(row["what"].removesuffix(", p50"), []).append((row["n"], row["value"]))
    lines = [Line(name, tuple(of)) for name, of in points.items() if len(of) > 1]
    if lines:
        yield "Milliseconds by facts", plot("Milliseconds, p50", "facts in the workspace", lines)


PLOTS = {
    "recall.json": recall_plot,
    "scale.json": lambda found: scale.plots(scale_rows(found)),
    "speed.json": speed_plot,
}


def tables(name: str, value: Any) -> Iterator[str]:
    """Rows become a table, a mapping of like mappings too; what is nested deeper gets a heading of its own."""
    if isinstance(value, Mapping):
        inner = {key: one for key, one in value.items() if isinstance(one, Mapping | list)}
        plain = {key: one for key, one in value.items() if key not in inner}
        if plain:
            yield from table([{"what": key, "value": one} for key, one in plain.items()])
        if inner and all(isinstance(one, Mapping) and is_flat(one) for one in inner.values()):
            yield from table([{"": key} | dict(one) for key, one in inner.items()])
            return
        for key, one in inner.items():
            if key != "rows":
                yield from (f"### {name} {key}".replace("  ", " "), "")
            yield from tables(f"{name} {key}".strip(), one)
    elif isinstance(value, list) and all(isinstance(one, Mapping) for one in value):
        yield from table(value)
    else:
        yield from ("\n".join(f"- {cell(one)}" for one in (value if isinstance(value, list) else [value])), "")


def is_flat(row: Row) -> bool:
    return not any(isinstance(one, Mapping | list) for one in row.values())


def table(rows: Sequence[Row]) -> Iterator[str]:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(cell(row.get(key, '')) for key in columns)} |"
    yield ""


def cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value if value is not None else "").replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    print(write_page(Path(sys.argv[1])))
