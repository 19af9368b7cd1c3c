"""The quality table of recall: what is found, in which place, and how fast, on every set of a folder.

    python tests/benchmarks/recall.py --data DIR --json OUT [--embedder NAME] [--sample N]

A set is a subfolder with `queries.jsonl` (`query`, and `gold` or `gold_sessions`: ids) and `documents.jsonl` (`id`,
`text`) or `sessions.jsonl` (`id` or `session_id`, and `turns`, `decisions` or `text`). Each document becomes a fact of
a new workspace, proposed as `tht fact propose --file` does, and is searched for as `tht fact search` does. Beside it,
in the same run: plain BM25, plain dense and their equal RRF. R@k: one that is right among the first k; MRR over all
that is found. Weights are tuned on the even-numbered questions; the odd ones are the `other half`. Nothing fails here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from adapters.facts import Facts, Line
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import RAN, Recalling
from adapters.workspace import Workspace, create_workspace
from domain.propose import NewFact
from projections.scope import Reader
from tests.benchmarks.plain import Bm25, Dense, Encode, encoder, rrf

ASKER = By("human:benchmark", dry_run=True)  # a dry run: what was shown is not recorded
LIMIT, DEEP = 10, 100  # hits that are asked for and timed; asked for again, not timed, to place what was missed
MODES = ("keyword", "semantic", "hybrid")
PLAIN = ("bm25", "dense", "rrf")
MARGIN = 0.005
# R@1, R@5, MRR over the whole set: plain BM25, dense, and what hybrid is to reach with MiniLM.
GOALS = {
    "bird": ((0.684, 0.853, 0.758), (0.554, 0.772, 0.649), (0.71, 0.875, 0.785)),
    "locomo": ((0.674, 0.897, 0.770), (0.460, 0.766, 0.597), (0.73, 0.93, 0.815)),
    "squad_it": ((0.797, 0.929, 0.856), (0.375, 0.595, 0.480), (0.845, 0.95, 0.89)),
    "xquad_el": ((0.894, 0.960, 0.926), (0.106, 0.250, 0.190), (0.945, 0.995, 0.968)),
}


@dataclass(frozen=True)
class Document:
    id: str
    text: str
    domain: str


@dataclass(frozen=True)
class Question:
    number: int  # in its file, from 0
    text: str
    gold: frozenset[str]
    domain: str  # the one it is asked in when the search is scoped; empty: it is not


@dataclass(frozen=True)
class Set:
    name: str
    documents: list[Document]
    questions: list[Question]


@dataclass(frozen=True)
class Asked:
    """One question as one way of searching answered it. `rank` of the first right one from 1, 0 when it is missed."""

    number: int
    rank: int
    ms: float


Figures = dict[str, Any]
Find = Callable[[Question, int], Sequence[str]]  # the documents that are found, best first, at most so many

# -- sets --------------------------------------------------------------------------------------------------------------


def read_sets(data: Path, sample: int) -> Iterator[Set]:
    for folder in sorted(path for path in data.iterdir() if (path / "queries.jsonl").is_file()):
        files = [folder / name for name in ("documents.jsonl", "sessions.jsonl") if (folder / name).is_file()]
        if files:
            documents = [_document(row, folder.name) for row in _rows(files[0])]
            questions = [_question(number, row) for number, row in enumerate(_rows(folder / "queries.jsonl"))]
            if sample and sample < len(questions):
                questions = sorted(random.Random(7).sample(questions, sample), key=lambda one: one.number)
            yield Set(folder.name, documents, questions)


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _document(row: Mapping[str, Any], name: str) -> Document:
    return Document(str(row.get("id") or row["session_id"]), _text(row), _slug(row.get("database") or name))


def _text(row: Mapping[str, Any]) -> str:
    if "text" in row:
        return str(row["text"])
    if "turns" in row:
        return "\n".join(f"{turn['speaker']}: {turn['text']}" for turn in row["turns"])
    said = [f"{one.get('subject', '')}: {one.get('detail', '')}" for one in row["decisions"]]
    return "\n".join([row.get("question", ""), *said]).strip()


def _question(number: int, row: Mapping[str, Any]) -> Question:
    gold = frozenset(map(str, row.get("gold") or row["gold_sessions"]))
    return Question(number, row["query"], gold, _slug(row.get("database") or ""))


def _slug(text: str) -> str:
    return re.sub(r"[^\w]+", "-", text.lower()).strip("-")


# -- searching ---------------------------------------------------------------------------------------------------------


def propose(workspace: Workspace, documents: Sequence[Document]) -> dict[str, str]:
    """Every document as a fact of its own topic, so that none is merged. Document ids by fact id."""
    by = By(ASKER.actor)
    lines = (Line(number, one.domain, new=NewFact(one.text, one.id, by.actor)) for number, one in enumerate(documents))
    found = {}
    for outcome in Facts(workspace).propose_many(lines, by):
        if outcome.outcome is None:
            raise SystemExit(f"{documents[outcome.number].id} cannot be proposed: {outcome.error}")
        found[outcome.outcome.fact_id] = documents[outcome.number].id
    return found


def product(recalling: Recalling, ids: Mapping[str, str], mode: str, *, scoped: bool) -> Find:
    """The function behind `tht fact search`, MCP and the pages. A voice that could not run stops the benchmark."""

    def find(question: Question, limit: int) -> list[str]:
        domain = question.domain if scoped else ""
        answer = recalling.search(question.text, ASKER, kind="fact", mode=mode, limit=limit, domain=domain)
        if silent := {voice: state for voice, state in answer.voices.items() if state != RAN}:
            raise SystemExit(f"{mode} search without {silent}: {answer.notice}")
        return [ids[hit.id] for hit in answer.hits]

    return find


def ask_plain(documents: Sequence[Document], encode: Encode, questions: Sequence[Question]) -> dict[str, list[Asked]]:
    """What the plain rankings answer. RRF takes what both take, and the fusion; so no question is embedded twice."""
    texts = [one.text for one in documents]
    bm25, dense = Bm25(texts), Dense(texts, encode)
    asked: dict[str, list[Asked]] = {name: [] for name in PLAIN}
    dense.rank("warm")
    for question in questions:
        words, words_ms = _timed(partial(bm25.rank, question.text))
        vectors, vectors_ms = _timed(partial(dense.rank, question.text))
        fused, fusing_ms = _timed(partial(rrf, words, vectors))
        took = (words_ms, vectors_ms, words_ms + vectors_ms + fusing_ms)
        for name, ranking, ms in zip(PLAIN, (words, vectors, fused), took, strict=True):
            place = _place([documents[number].id for number in ranking], question.gold)
            asked[name].append(Asked(question.number, place, ms))
    return asked


def _timed(work: Callable[[], list[int]]) -> tuple[list[int], float]:
    started = time.perf_counter()
    found = work()
    return found, (time.perf_counter() - started) * 1000


def ask(find: Find, questions: Sequence[Question]) -> list[Asked]:
    for question in questions[:3]:
        find(question, LIMIT)  # warm: models loaded, files opened
    return [_ask(find, question) for question in questions]


def _ask(find: Find, question: Question) -> Asked:
    started = time.perf_counter()
    found = find(question, LIMIT)
    taken = (time.perf_counter() - started) * 1000
    rank = _place(found, question.gold)
    if not rank and len(found) >= LIMIT:
        rank = _place(find(question, DEEP), question.gold)
        rank = max(rank, LIMIT + 1) if rank else 0
    return Asked(question.number, rank, taken)


def _place(found: Sequence[str], gold: frozenset[str]) -> int:
    return next((place for place, one in enumerate(found, 1) if one in gold), 0)


# -- figures -----------------------------------------------------------------------------------------------------------


def figures(asked: Sequence[Asked]) -> Figures:
    """Of the whole, and under `half` of the odd-numbered questions, which no weight was tuned on."""
    half = [one for one in asked if one.number % 2]
    return _figures(asked) | ({"half": _figures(half)} if half else {})


def _figures(asked: Sequence[Asked]) -> Figures:
    count, times = len(asked), sorted(one.ms for one in asked)
    quality = {f"r{k}": sum(0 < one.rank <= k for one in asked) / count for k in (1, 5, 10)}
    quality["mrr"] = sum(1 / one.rank for one in asked if one.rank) / count
    return {name: round(value, 4) for name, value in quality.items()} | {
        "p50_ms": round(times[count // 2], 3),
        "p95_ms": round(times[int(count * 0.95)], 3),
    }


def measure(one: Set, folder: Path, model: str, encode: Encode) -> Iterator[tuple[str, str, Figures]]:
    """Row by row: of what (the set, or the set scoped to its domains), by which way of searching, figures."""
    for name, asked in ask_plain(one.documents, encode, one.questions).items():
        yield one.name, name, figures(asked)
    with create_workspace(folder, "default") as workspace:
        workspace.config.set("embedder.model", model)
        ids = propose(workspace, one.documents)
        indexing = Indexing(workspace)
        indexing.catch_up()
        workspace.open_index.keep = True  # as in a process that serves many searches
        recalling = Recalling(workspace, Reader(ASKER.actor), indexing)
        for scoped in (False, True) if all(question.domain for question in one.questions) else (False,):
            for mode in MODES:
                found = figures(ask(product(recalling, ids, mode, scoped=scoped), one.questions))
                yield f"{one.name} scoped" if scoped else one.name, mode, found


# -- the run -----------------------------------------------------------------------------------------------------------


def run(data: Path, model: str, sample: int, tell: Callable[[str], None]) -> dict[str, Any]:
    sets: dict[str, Any] = {}
    encode = encoder(model)
    columns = " ".join(f"{column:>6}" for column in ("R@1", "R@5", "R@10", "MRR"))
    tell(f"{'set':<16} {'search':<9} {columns} {'p50 ms':>8} {'p95 ms':>8}   other half: R@1 R@5 MRR")
    for one in read_sets(data, sample):
        found: dict[str, Any] = {"documents": len(one.documents), "queries": len(one.questions)}
        sets[one.name] = found
        with tempfile.TemporaryDirectory() as folder:
            for what, name, measured in measure(one, Path(folder), model, encode):
                (found if what == one.name else found.setdefault("scoped", {}))[name] = measured
                tell(_line(what, name, measured) + _goal(what, name))
        for what, rows in ((one.name, found), (f"{one.name} scoped", found.get("scoped"))):
            if rows:
                rows["hybrid"]["least_difference"] = round(_difference(rows), 4)
                tell(_verdict(what, rows))
    return {"embedder": model, "sets": sets}


def _line(what: str, name: str, row: Figures) -> str:
    half = row.get("half")
    other = f"   {half['r1']:.3f} {half['r5']:.3f} {half['mrr']:.3f}" if half else ""
    quality = " ".join(f"{row[key]:>6.3f}" for key in ("r1", "r5", "r10", "mrr"))
    return f"{what:<16} {name:<9} {quality} {row['p50_ms']:>8.1f} {row['p95_ms']:>8.1f}{other}"


def _goal(what: str, name: str) -> str:
    column = {"bm25": 0, "dense": 1, "hybrid": 2}.get(name)
    if what not in GOALS or column is None:
        return ""
    wanted = " ".join(f"{value:.3f}" for value in GOALS[what][column])
    return f"   {'goal ≥' if name == 'hybrid' else 'published'} {wanted}"


def _verdict(what: str, rows: Mapping[str, Any]) -> str:
    worst = _difference(rows)
    answer = "yes" if worst >= -MARGIN else "no"
    return f"{what}: hybrid ≥ the better of keyword and semantic − {MARGIN}: {answer} (least difference {worst:+.4f})"


def _difference(rows: Mapping[str, Any]) -> float:
    """How far hybrid is above the better of the others, at its worst of R@1, R@5 and MRR."""

    def better(key: str) -> float:
        return max(float(rows[mode][key]) for mode in MODES if mode != "hybrid")

    return min(float(rows["hybrid"][key]) - better(key) for key in ("r1", "r5", "mrr"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of sets")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument(
        "--embedder", default="minilm", help="as embedder.model: minilm, hash, a model's name or folder"
    )
    parser.add_argument("--sample", type=int, default=0, help="so many questions a set, always the same ones; 0: all")
    options = parser.parse_args()
    for name in [name for name in os.environ if name.startswith("THT_")]:
        del os.environ[name]  # what is measured is what is configured here
    if not options.data.is_dir():
        raise SystemExit(f"no folder of question sets: {options.data}")
    found = run(options.data, options.embedder, options.sample, lambda line: print(line, flush=True))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
