"""One Markdown page of all that was measured: every build/*.json as tables, and the plots of scale.

python tests/benchmarks/page.py build > build/bench.md
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks import scale

Row = Mapping[str, Any]


def page(folder: Path) -> str:
    """The files by name; one that is no JSON raises, as a page with a hole would not tell."""
    parts = ["# What was measured", "", "Each figure is of one run on one machine; ratios within a run hold elsewhere."]
    for path in sorted(folder.glob("*.json")):
        found = json.loads(path.read_text("utf-8"))
        parts.append("")
        if path.name == "scale.json":
            parts.append(scale.page([scale.Size(**row) for row in found["rows"]]).replace("# ", "## ", 1))
        else:
            parts += [f"## {path.stem}", "", *tables("", found)]
    return "\n".join(parts).rstrip() + "\n"


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
    sys.stdout.write(page(Path(sys.argv[1])))
