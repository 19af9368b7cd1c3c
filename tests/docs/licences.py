"""docs/licences.md, from the metadata of what is installed: python -m tests.docs.licences > docs/licences.md"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
OURS = "thoth-memory"
_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("", *_PROJECT["optional-dependencies"])  # "" is what everybody gets

PERMISSIVE = frozenset(
    {
        "MIT", "MIT-0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception",
        "ISC", "PSF-2.0", "Zlib", "CC0-1.0", "BSL-1.0", "CNRI-Python",
    }
)  # fmt: skip
# What is not permissive and is taken all the same. Who adds a line here has read that licence.
ALLOWED: Mapping[str, str] = {
    "psycopg": "LGPL: imported as it is, unchanged and replaceable; in the extra `[postgres]` alone",
    "psycopg-binary": "LGPL: as psycopg, whose C part it is",
    "psycopg-pool": "LGPL: as psycopg",
    "certifi": "MPL: a list of certificates, unchanged; the MPL binds changes to its own files",
    "tqdm": "MPL in part: imported by sentence-transformers, unchanged",
    "hypothesis": "MPL: in tests alone, unchanged",
    "pathspec": "MPL: used by mypy, in tests alone",
    "pyte": "LGPL: in tests alone, unchanged",
}
# What a platform other than the one at hand needs, read by hand where the package is published.
ELSEWHERE: Mapping[str, str] = {"colorama": "BSD-3-Clause", "pywin32": "PSF-2.0", "tzdata": "Apache-2.0"}

# The names that older metadata uses, by how they begin.
_OTHER_NAMES = (
    (r"(the )?mit( license)?\b", "MIT"),
    (r"bsd 2-clause|bsd-2-clause", "BSD-2-Clause"),
    (r"bsd 3-clause|3-clause bsd|bsd-3-clause", "BSD-3-Clause"),
    (r"bsd\b", "BSD"),
    (r"apache\b", "Apache-2.0"),
    (r"isc\b", "ISC"),
    (r"mozilla public license 2\.0|mpl-2\.0", "MPL-2.0"),
    (r"gnu lesser general public license v3", "LGPL-3.0-only"),
)


@dataclass(frozen=True)
class Licensed:
    """One package: which release is pinned, under what, and for whom it is needed."""

    name: str
    version: str
    licence: str
    needed_by: str

    @property
    def objection(self) -> str:
        """Why it may not be used; empty when it may."""
        if self.licence and is_permissive(self.licence):
            return ""
        if self.name in ALLOWED:
            return ""
        return f"{self.name} {self.version}: {self.licence or 'no licence that we know'} is not permissive"


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression of AND, OR and parentheses leaves a permissive choice."""
    parts = re.split(r"\s+AND\s+", expression.replace("(", " ").replace(")", " ").strip())
    return all(any(one.strip() in PERMISSIVE for one in re.split(r"\s+OR\s+", part)) for part in parts)


def licence_of(found: Distribution) -> str:
    """As SPDX where it can be told: the expression, else the classifiers, the old field, or the licence's own title."""
    old = _field(found, "License")
    if expression := _field(found, "License-Expression"):
        return expression
    classified = [
        one.rpartition("::")[2].strip() for one in found.metadata.get_all("Classifier") or [] if one[:7] == "License"
    ]
    named = [_spdx(one) for one in classified] or [_spdx(one) for one in old.split(" AND ")]
    if all(named):
        field = [_spdx(one) for one in re.split(r" AND |, ", old)]
        return " AND ".join(field if all(field) and len(field) >= len(named) else named)
    return _spdx(_title(found))


def _field(found: Distribution, name: str) -> str:
    """The first that the metadata have of this name; empty when they have none."""
    return str(next(iter(found.metadata.get_all(name) or []), ""))


def _spdx(name: str) -> str:
    if name in PERMISSIVE:
        return name
    return next((spdx for pattern, spdx in _OTHER_NAMES if re.match(pattern, name.strip(), re.IGNORECASE)), "")


def _title(found: Distribution) -> str:
    for name in found.metadata.get_all("License-File") or []:
        text = found.read_text(f"licenses/{name}") or found.read_text(name) or ""
        return text.strip().partition("\n")[0]
    return ""


def pinned(root: Path = ROOT) -> dict[str, str]:
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    parts = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in parts}


def needed(extra: str) -> set[str]:
    """The names of all that thoth-memory[extra] brings here, itself left out."""
    found: set[tuple[str, str]] = set()
    waiting = {(OURS, extra)}
    while waiting:
        name, wanted = waiting.pop()
        found.add((name, wanted))
        for requirement in _requirements(name, wanted):
            asked = {(canonicalize_name(requirement.name), one) for one in ("", *requirement.extras)}
            waiting |= asked - found
    return {name for name, _ in found} - {OURS}


def _requirements(name: str, extra: str) -> Iterator[Requirement]:
    if name == OURS:  # what is installed of it may be an older state
        own = _PROJECT["optional-dependencies"][extra] if extra else _PROJECT["dependencies"]
        yield from map(Requirement, own)
        return
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        return
    for requirement in map(Requirement, lines):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def packages() -> list[Licensed]:
    """Every pinned package, by name."""
    by_extra = {extra: needed(extra) for extra in EXTRAS}
    rows = []
    for name, version in sorted(pinned().items()):
        try:
            licence = licence_of(distribution(name))
        except PackageNotFoundError:
            licence = ELSEWHERE.get(name, "")
        extras = [extra for extra in EXTRAS if name in by_extra[extra]]
        if "" in extras:
            needs = "all"
        else:
            needs = ", ".join(f"`[{extra}]`" for extra in extras) or "another platform"
        rows.append(Licensed(name, version, licence, "another platform" if name in ELSEWHERE else needs))
    return rows


def page() -> str:
    """The Markdown page."""
    lines = [
        "# Licences of what is used",
        "",
        "Made by `python -m tests.docs.licences > docs/licences.md` from what is installed; do not edit. `tht` is",
        "under the [MIT licence](../LICENSE). Each package below is used unchanged, at the release that",
        "`constraints.txt` pins. A test fails on a licence that is unknown, or not permissive and not allowed by name.",
        "CUDA libraries that an unqualified torch brings on Linux are not listed: torch names them, on NVIDIA terms.",
        "",
        "| package | release | licence | for |",
        "|---|---|---|---|",
    ]
    rows = packages()
    lines += [f"| {one.name} | {one.version} | {one.licence or '?'} | {one.needed_by} |" for one in rows]
    lines += ["", "## Not permissive, and why they are used", "", "| package | why |", "|---|---|"]
    lines += [f"| {one.name} | {ALLOWED[one.name]} |" for one in rows if one.name in ALLOWED]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
