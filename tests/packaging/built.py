"""What a release is made of: sdist and wheel from a clean copy of the tree, and environments to install it into."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path

from tests.docs.licences import needed

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("domain", "projections", "adapters", "cli")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
PATIENCE = 240  # seconds
_HOOKS = (
    "import sys; from setuptools import build_meta as backend\n"
    "for hook in ('build_sdist', 'build_wheel'):\n"
    "    if hook in sys.argv[2:]: print(getattr(backend, hook)(sys.argv[1]))"
)


@dataclass(frozen=True)
class Built:
    """The wheel is made from the sdist, so that a file which the sdist lacks is missing in both."""

    sdist: Path
    wheel: Path


def run(
    command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, cwd=cwd, env=env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def build(folder: Path) -> Built:
    """By the hooks that pip and build call, without a network: setuptools is pinned and here."""
    tree, out = folder / "tree", folder / "out"
    out.mkdir()
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    run([sys.executable, "-c", _HOOKS, out, "build_sdist"], cwd=tree)
    (sdist,) = out.glob("*.tar.gz")
    with tarfile.open(sdist) as packed:
        packed.extractall(folder / "unpacked", filter="data")
    (source,) = (folder / "unpacked").iterdir()
    run([sys.executable, "-c", _HOOKS, out, "build_wheel"], cwd=source)
    (wheel,) = out.glob("*.whl")
    return Built(sdist, wheel)


def base_requirements(folder: Path) -> Path:
    """A folder with what everybody gets and nothing of an extra: links to what is installed here."""
    folder.mkdir()
    for name in needed(""):
        found = distribution(name)
        here = Path(str(found.locate_file("")))
        tops = {path.parts[0] for path in found.files or () if path.parts[0] not in ("..", "__pycache__")}
        for top in tops:
            target = folder / top
            if not target.exists():
                target.symlink_to(here / top, target_is_directory=(here / top).is_dir())
    return folder


def environment_with(wheel: Path, folder: Path, requirements: Path) -> Path:
    """A clean environment with the wheel; gives its folder of programs."""
    venv.create(folder, symlinks=os.name != "nt", with_pip=False)
    bin_ = folder / ("Scripts" if os.name == "nt" else "bin")
    (site,) = folder.rglob("site-packages")
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", bin_ / "python", "--disable-pip-version-check"]
    run([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel])
    (site / "requirements.pth").write_text(f"{requirements}\n", encoding="utf-8")
    return bin_
