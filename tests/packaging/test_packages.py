"""What is released is whole: sdist and wheel, installed where nothing but the base requirements is."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from cli.main import COMMANDS
from tests.packaging.built import PACKAGES, ROOT, VERSION, Built, base_requirements, build, environment_with, run

LONG = os.environ.get("CRASH_EVERY_STEP") == "1"  # make test-long


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def programs(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    return environment_with(built.wheel, folder / "env", base_requirements(folder / "requirements"))


def tracked() -> set[str]:
    """Every file of the packages, as they lie in the tree."""
    found = (path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def test_the_wheel_has_every_file_of_the_packages_and_no_other(built: Built) -> None:
    with zipfile.ZipFile(built.wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
        metadata = packed.read(f"thoth_memory-{VERSION}.dist-info/METADATA").decode()
        licences = [name for name in packed.namelist() if name.endswith("/LICENSE")]
    assert names == tracked()
    assert {Path(name).suffix for name in names} >= {".py", ".html", ".css", ".js", ".svg"}
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: MIT" in metadata
    assert len(licences) == 1


def test_the_sdist_has_what_it_takes_to_build_it_again(built: Built) -> None:
    with tarfile.open(built.sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert names >= tracked() | {"pyproject.toml", "README.md", "LICENSE"}


def test_it_says_its_version_and_every_command_explains_itself(programs: Path) -> None:
    tht = programs / "tht"
    assert VERSION in run([tht, "--version"]).stdout
    said = run([tht, "--help"], env=os.environ | {"NO_COLOR": "1"}).stdout
    assert [name for name in COMMANDS if f" {name}" not in said] == []


def test_the_extras_are_not_there_and_it_says_so(programs: Path, tmp_path: Path) -> None:
    """Else the next test proves nothing: what it runs on is the base install."""
    python = programs / "python"
    missing = (
        "import importlib.util as u; names = ['torch', 'psycopg', 'starlette', 'mcp', 'jinja2', 'pytest'];"
        "print([name for name in names if u.find_spec(name)])"
    )
    assert run([python, "-c", missing], cwd=tmp_path).stdout.strip() == "[]"
    where = run([python, "-c", "import cli; print(cli.__file__)"], cwd=tmp_path).stdout
    assert str(programs.parent) in where


def test_the_demo_works_from_the_wheel(programs: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("THT_", "PYTHON"))}
    done = run([programs / "tht", "demo", "--json"], cwd=tmp_path, env=environment)
    answer = json.loads(done.stdout)
    assert len(answer["checks"]) > 10
    assert [one for one in answer["checks"] if not one["ok"]] == []


def test_the_pages_find_their_templates_and_styles_in_the_wheel(built: Built, tmp_path: Path) -> None:
    """With the extra [serve], which is here: the packages alone come from the wheel."""
    with zipfile.ZipFile(built.wheel) as packed:
        packed.extractall(tmp_path / "installed")
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from adapters.web import render\n"
        "assert render.__file__.startswith(sys.argv[1]), render.__file__\n"
        "pages = render.environment()\n"
        "print([name for name in pages.list_templates() if pages.get_template(name)])\n"
        "print([path.name for path in (render.FOLDER / 'static').iterdir()])"
    )
    templates, statics = run(
        [sys.executable, "-I", "-c", script, tmp_path / "installed"], cwd=tmp_path
    ).stdout.splitlines()
    web = ROOT / "adapters" / "web"
    assert set(ast.literal_eval(templates)) == {path.name for path in (web / "templates").iterdir()}
    assert set(ast.literal_eval(statics)) == {path.name for path in (web / "static").iterdir()}


PYTHONS = ("3.11", "3.12", "3.13", "3.14")


@pytest.mark.skipif(not LONG, reason="make test-long: installs from the package index")
@pytest.mark.parametrize("version", PYTHONS)
def test_it_installs_and_works_on_every_python_at_hand(built: Built, tmp_path: Path, version: str) -> None:
    python = interpreter(version)
    if not python:
        pytest.skip(f"no Python {version} at hand")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("THT_", "PYTHON"))}
    run([python, "-m", "venv", tmp_path / "env"], env=environment)
    bin_ = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip: list[str | Path] = [bin_ / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--constraint", ROOT / "constraints.txt", built.wheel], env=environment)
    assert VERSION in run([bin_ / "tht", "--version"], env=environment).stdout
    answer = json.loads(run([bin_ / "tht", "demo", "--json"], cwd=tmp_path, env=environment).stdout)
    assert [one for one in answer["checks"] if not one["ok"]] == []


def interpreter(version: str) -> str:
    """A Python of this version that really starts; on the path, or where pyenv keeps it. Empty when there is none."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for one in [shutil.which(f"python{version}"), *map(str, kept)]:
        if one and says_version(one).startswith(version):
            return one
    return ""


def says_version(python: str) -> str:
    """Empty for a stand-in that starts nothing, as pyenv leaves them."""
    command = [python, "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout
