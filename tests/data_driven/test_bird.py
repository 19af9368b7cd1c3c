"""762 expert-written sessions: taken in, reviewed in one batch, then every view and the index rebuilt from events."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.curation import Curation
from adapters.imports import import_found, look_at
from adapters.indexing import Indexing
from adapters.ledger import By
from adapters.recalling import Recalling
from adapters.review import Review, Verdict
from adapters.session_files import Report
from adapters.sessions import Sessions
from adapters.vector_cache import CachedEmbedder
from adapters.workspace import Workspace, create_workspace, open_workspace
from domain.text import content_key, normal_form
from projections import timeline
from projections.invariants import broken_invariants
from projections.loop import remove_database
from projections.scope import Reader
from projections.timeline import Filter

REVIEWER = By("human:reviewer")


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    from tests.conftest import SHARED_DATA, skip_or_fail

    file = SHARED_DATA / "bird" / "sessions.jsonl"
    if not file.is_file():
        skip_or_fail("no ../shared/data; name its folder in THT_SHARED_DATA")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def imported(lines: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    from tests.conftest import SHARED_DATA

    home = tmp_path_factory.mktemp("bird")
    with create_workspace(home, "default") as workspace:
        workspace.config.set("embedder.model", "hash")
        report = taken(workspace, SHARED_DATA / "bird" / "sessions.jsonl")
        assert (report.new, report.extended, report.known, report.refused) == (762, 0, 0, 0)
        assert (report.decisions, report.clarifications) == (3_117, 1_553)
        yield workspace


def taken(workspace: Workspace, path: Path) -> Report:
    report = import_found(workspace, look_at(path), By("tool:importer"))
    assert isinstance(report, Report)
    return report


def expected_memories(lines: list[dict[str, Any]]) -> dict[str, set[tuple[str, int]]]:
    """Straight from the file: content → every (session, seq) that says it, but for subjects that name a table."""
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for line in lines:
        tables = {normal_form(one["subject"]) for one in line["decisions"] if one["type"] != "concept_clarified"}
        refused = set()
        said: dict[str, list[int]] = defaultdict(list)
        for seq, one in enumerate(line["decisions"], 1):
            if one["type"] == "concept_clarified":
                said[content_key(one["subject"], one["detail"])].append(seq)
                subject = normal_form(one["subject"])
                if subject in tables or subject.startswith(("fact_", "dim_")):
                    refused.add(seq)
        for key, seqs in said.items():
            if seqs[0] not in refused:
                found[key] |= {(line["session_id"], seq) for seq in seqs}
    return found


def test_importing_again_is_a_no_op(imported: Workspace, shared_data: Path) -> None:
    head = imported.ledger.head()
    report = taken(imported, shared_data / "bird" / "sessions.jsonl")
    assert (report.new, report.extended, report.known, report.refused, report.decisions) == (0, 0, 762, 0, 0)
    assert imported.ledger.head() == head


def test_sessions_with_more_than_a_page_of_clarifications_lose_none(
    imported: Workspace, lines: list[dict[str, Any]]
) -> None:
    """S-25 on real input: paging through five at a time shows every candidate once, in order."""
    long = [line for line in lines if sum(1 for one in line["decisions"] if one["type"] == "concept_clarified") > 5]
    assert len(long) == 10
    for line in long:
        clarified = {seq for seq, one in enumerate(line["decisions"], 1) if one["type"] == "concept_clarified"}
        seen: list[int] = []
        covered: set[int] = set()
        while True:
            page = Review(imported).preview(line["session_id"], after=seen[-1] if seen else 0)
            covered |= {one.seq for one in page.refused}
            for shown in page.candidates:
                seen.append(shown.candidate.seq)
                covered |= {shown.candidate.seq, *shown.candidate.covers}
            assert len(page.candidates) <= 5
            if not page.remaining:
                break
        assert seen == sorted(set(seen))
        assert covered == clarified


@pytest.fixture(scope="module")
def promoted(imported: Workspace) -> Workspace:
    verdicts = [Verdict(one.session_id, one.seq, one.revision, "promote") for one in Review(imported).pending()]
    outcomes = Review(imported).batch(verdicts, REVIEWER)
    assert [one.error for one in outcomes if one.error] == []
    assert len(outcomes) == len(verdicts) > 1_500
    return imported


def test_one_memory_for_each_content_with_all_its_sources(promoted: Workspace, lines: list[dict[str, Any]]) -> None:
    """S-08: what several sessions say is one memory, and knows each of them."""
    entries, total = Curation(promoted).list()
    expected = expected_memories(lines)
    assert total == len(expected)
    assert total > 1_000
    held = {
        content_key(entry.record.subject, entry.record.detail): {(one.session_id, one.seq) for one in entry.sources}
        for entry in entries
    }
    assert held == expected
    assert Review(promoted).pending() == []
    assert list(broken_invariants(promoted.ledger.page(0, 100_000))) == []


def test_views_and_index_come_back_byte_for_byte(promoted: Workspace, lines: list[dict[str, Any]]) -> None:
    """S-51, S-45: deleted and replayed, everything that can be read is what it was, and no text is embedded again."""
    indexing = Indexing(promoted)
    assert indexing.rebuild().points > 1_000
    assert isinstance(indexing.embedder, CachedEmbedder)
    assert indexing.embedder.misses > 1_000
    ids = [line["session_id"] for line in lines]
    questions = [line["question"] for line in lines[::40]]
    before = everything_read(promoted, ids, questions)

    promoted.close()
    remove_database(promoted.paths.views)
    shutil.rmtree(promoted.paths.index)
    with open_workspace(promoted.paths.folder.parent, "default") as again:
        again.rebuild_views()
        rebuilt = Indexing(again)
        rebuilt.rebuild()
        assert isinstance(rebuilt.embedder, CachedEmbedder)
        assert rebuilt.embedder.misses == 0
        after = everything_read(again, ids, questions)
    for what, text in before.items():
        assert after[what] == text, what


def everything_read(workspace: Workspace, ids: list[str], questions: list[str]) -> dict[str, str]:
    db = workspace.caught_up()
    recalling = Recalling(workspace, Reader("agent:reader"), Indexing(workspace))
    search = partial(recalling.search, by=By("agent:reader", dry_run=True), kind="memory")
    return {
        "registry": "\n".join(Curation(workspace).export_lines()),
        "registry with sources": "\n".join(Curation(workspace).export_lines(everything=True)),
        "summaries": json.dumps([Sessions(workspace).summary(one).as_json() for one in ids]),
        "audit": "\n".join(map(repr, timeline.lines(db, Filter())[0])),
        "search": json.dumps([[hit.as_json() for hit in search(one).hits] for one in questions]),
    }
