"""S-13, S-12: `tht erase`. Afterwards no byte of any file of the home holds the text, and all else still holds."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from adapters.qdrant_edge import EdgeStore
from tests.cli.conftest import Tht
from tests.cli.workbench import HEAVY, Bench, imported_by

WORDS = ("Quokkaspiegel", "Blargonauta", "Ξυλότροφος", "xylotroph")
SUBJECT, DETAIL, RATIONALE, CONTEXT = (f"{word} of the ward" for word in WORDS)
KEPT = "Zebrafink"


@pytest.fixture
def bench(tht: Tht, tmp_path: Path) -> Bench:
    """Two memories in an index, the first with words that stand nowhere else, and a search that was logged."""
    made = Bench(tmp_path / "home", tht)
    made.ok("session", "open", "s1", "--question", "Quante ablazioni per anno?", "--actor", "human:anna")
    more = ("--rationale", RATIONALE, "--question-context", CONTEXT, "--concept", WORDS[0])
    made.clarify("s1", SUBJECT, DETAIL, *more)
    made.clarify("s1", KEPT, f"{KEPT} stays")
    assert [made.promote("s1", 1), made.promote("s1", 2)] == ["mem-0001", "mem-0002"]
    made.ok("index", "rebuild")
    assert made.json("memory", "search", WORDS[0])["hits"]
    return made


def holding(folder: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """The words that stand in any file, in UTF-8 or UTF-16, however they are written; and in which."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    found: dict[str, list[str]] = {}
    for path in files:
        content = b"".join(path.read_bytes().split(bytes(4096)))  # the engine keeps megabytes of zeros
        for word in words:
            forms = {word, word.lower(), word.upper(), word.casefold()}
            coded = [form.encode(code) for form in forms for code in ("utf-8", "utf-16-le", "utf-16-be")]
            if any(form in content for form in coded):
                found.setdefault(word, []).append(path.name)
    return found


def erase(bench: Bench, *arguments: str) -> dict[str, Any]:
    done: dict[str, Any] = bench.json("erase", *arguments, "--yes", "--actor", "human:anna", "--reason", "asked to")
    return done


def test_after_it_no_file_of_the_home_holds_the_text(bench: Bench, tmp_path: Path) -> None:
    """S-13: ledger, views, index, cache and their logs, now and after a rebuild; exports and backups made later."""
    before = holding(bench.folder, (*WORDS, KEPT))
    assert {word for word in WORDS if "views.sqlite3" in before[word]} == {*WORDS}
    assert any("page" in name for name in before[WORDS[0]])  # in the index
    head = bench.json("ledger", "head")
    keys = keys_of(bench, "mem-0001", "s1:1")
    vectors = vectors_of(bench)
    done = erase(bench, "mem-0001")
    assert (done["records"], done["events"], done["index"]) == (["mem-0001", "s1:1"], 2, "rebuilt")
    assert set(holding(bench.folder, (*WORDS, KEPT))) == {KEPT}
    assert not [key for key in keys if any(key in path.read_bytes() for path in bench.folder.rglob("ledger*"))]
    left = set(vectors_of(bench))
    assert len(left) == bench.json("index", "status")["coverage"]["live"]  # of what is live, and of nothing else
    assert left < set(vectors)
    assert bench.json("verify")["findings"] == []
    kept = f"{head['position']}:{head['chain' if 'chain' in head else 'head']}"
    assert bench.json("ledger", "verify", "--head", kept)["ok"]
    assert bench.json("ledger", "head")["position"] == head["position"] + 2

    bench.ok("projection", "rebuild")
    bench.ok("index", "rebuild")
    (tmp_path / "out").mkdir()
    bench.ok("export", str(tmp_path / "out" / "ledger.jsonl"))
    bench.ok("backup", str(tmp_path / "out" / "backup.zip"))
    bench.ok("registry", "export", "--all", str(tmp_path / "out" / "registry.jsonl"))
    assert set(holding(bench.folder, (*WORDS, KEPT))) == {KEPT}
    assert holding(tmp_path / "out", WORDS) == {}
    assert bench.json("verify")["findings"] == []


def keys_of(bench: Bench, *records: str) -> list[bytes]:
    db = sqlite3.connect(bench.ledger)
    rows = db.execute(f"SELECT key FROM seals WHERE record IN ({', '.join('?' * len(records))})", records).fetchall()
    db.close()
    assert len(rows) == len(records)
    return [row[0] for row in rows]


def vectors_of(bench: Bench) -> list[bytes]:
    db = sqlite3.connect(bench.folder / "vectors.sqlite3")
    rows = db.execute("SELECT text_sha256 FROM vector").fetchall()
    db.close()
    return [row[0] for row in rows]


def test_what_was_erased_says_so_wherever_it_is_read(bench: Bench) -> None:
    erase(bench, "mem-0001")
    shown = bench.json("registry", "show", "mem-0001")
    assert (shown["status"], shown["subject"], shown["concepts"]) == ("erased", "[erased]", [])
    assert (shown["status_by"], shown["status_reason"]) == ("human:anna", "asked to")
    assert [one["id"] for one in bench.json("registry", "list", "--status", "erased")["memories"]] == ["mem-0001"]
    assert [one["id"] for one in bench.json("registry", "list")["memories"]] == ["mem-0002"]
    summary = {one["seq"]: one for one in bench.json("session", "summary", "s1")["memories"]}
    assert (summary[1]["subject"], summary[1]["flag"], summary[2]["subject"]) == ("[erased]", "erased", KEPT)
    history = bench.json("audit", "memory", "mem-0001")["history"]
    assert [line["kind"] for line in history][-1] == "text_erased"
    told = json.dumps(bench.json("audit", "log")) + json.dumps(bench.json("audit", "session", "s1"))
    told += json.dumps(bench.json("ledger", "log")) + json.dumps(bench.json("audit", "session", "s1", "--at", "2"))
    assert "[erased]" in told
    assert not [word for word in WORDS if word in told]
    assert [hit["id"] for hit in bench.json("memory", "search", "erased ward")["hits"]] == ["mem-0002"]


def test_it_never_comes_back(bench: Bench) -> None:
    erase(bench, "mem-0001")
    assert bench.error("registry", "restore", "mem-0001", "--actor", "human:bruno")["type"] == "MemoryNotLive"
    seq = bench.clarify("s1", SUBJECT, DETAIL)
    page = bench.json("memory", "promote", "--session", "s1", "--preview")["candidates"]
    assert [(one["seq"], one["known_as"]) for one in page] == [(seq, "mem-0001")]
    chosen = ("--session", "s1", "--seq", str(seq), "--revision", page[0]["revision"], "--reviewer", "human:bruno")
    assert bench.error("memory", "save-one", *chosen)["message"] == "mem-0001 was erased"


def test_again_it_cleans_again_and_says_so(bench: Bench) -> None:
    first = erase(bench, "mem-0001")
    head = bench.json("ledger", "head")
    (bench.folder / "views.rebuild.sqlite3").write_text(f"left by a killed rebuild: {WORDS[0]}")
    again = erase(bench, "mem-0001")
    assert (again["records"], again["already"], again["events"]) == ([], first["records"], 0)
    assert bench.json("ledger", "head") == head
    assert holding(bench.folder, WORDS) == {}
    assert "erased already" in bench.ok("erase", "mem-0001", "--yes", "--actor", "human:anna")


def test_only_a_person_and_only_when_it_is_meant(bench: Bench) -> None:
    head = bench.json("ledger", "head")
    assert bench.error("erase", "mem-0001", "--yes", "--actor", "agent:coder-1")["type"] == "ReviewerNeeded"
    assert "--yes" in bench.error("erase", "mem-0001", "--actor", "human:anna")["hint"]
    assert bench.error("erase", "--yes", "--actor", "human:anna", code=2)["type"] == "InvalidInput"
    planned = bench.json("erase", "mem-0001", "--dry-run", "--actor", "human:anna")
    assert (planned["records"], planned["events"], planned["dry_run"]) == (["mem-0001", "s1:1"], 2, True)
    assert bench.json("ledger", "head") == head
    assert set(holding(bench.folder, WORDS)) == {*WORDS}


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        ("mem-9999", "UnknownMemory"),
        ("s1:9", "UnknownDecision"),
        ("session:s9", "UnknownSession"),
        ("s9:1", "UnknownRecord"),
        ("nothing", "UnknownRecord"),
    ],
)
def test_what_is_not_there_is_refused(bench: Bench, record: str, kind: str) -> None:
    """S-03"""
    head = bench.json("ledger", "head")
    assert bench.error("erase", record, "--yes", "--actor", "human:anna")["type"] == kind
    assert bench.error("erase", "mem-0001", record, "--yes", "--actor", "human:anna")["type"] == kind
    assert bench.json("ledger", "head") == head


def test_a_decision_goes_with_its_memory_and_a_session_with_all_of_them(bench: Bench) -> None:
    refused = bench.error("erase", "s1:1", "--yes", "--actor", "human:anna")
    assert "mem-0001" in refused["message"]
    assert refused["hint"] == "tht erase mem-0001 erases both"
    refused = bench.error("erase", "session:s1", "--yes", "--actor", "human:anna")
    assert "mem-0001, mem-0002" in refused["message"]
    done = erase(bench, "session:s1", "--with-memories")
    assert sorted(done["records"]) == ["mem-0001", "mem-0002", "s1:1", "s1:2", "session:s1"]
    assert holding(bench.folder, (*WORDS, KEPT, "ablazioni")) == {}
    assert bench.json("session", "show", "s1")["question"] == "[erased]"
    assert bench.json("verify")["findings"] == []


def test_the_same_key_erases_once(bench: Bench) -> None:
    key = ("--idempotency-key", "k1")
    first = erase(bench, "mem-0001", *key)
    head = bench.json("ledger", "head")
    again = erase(bench, "mem-0001", *key)
    assert again["already"] == first["records"]
    assert bench.json("ledger", "head") == head


def test_without_a_model_the_index_is_emptied_rather_than_kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "none")
    assert erase(bench, "mem-0001")["index"] == "emptied"
    assert set(holding(bench.folder, (*WORDS, KEPT))) == {KEPT}
    assert vectors_of(bench) == []
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    assert [hit["id"] for hit in bench.json("memory", "search", KEPT)["hits"]] == ["mem-0002"]
    assert bench.json("verify")["findings"] == []


def test_without_an_index_there_is_nothing_to_make(bench: Bench) -> None:
    shutil.rmtree(bench.folder / "index")
    assert erase(bench, "mem-0001")["index"] == "none"
    assert not (bench.folder / "index").exists()
    assert holding(bench.folder, WORDS) == {}


def test_traces_that_somebody_keeps_open_are_named(bench: Bench) -> None:
    """It is erased all the same, and running it again ends what was left."""
    index = EdgeStore(bench.folder / "index").current()
    assert index is not None
    refused = bench.error("erase", "mem-0001", "--yes", "--actor", "human:anna", code=3)
    assert "traces may be left" in refused["message"]
    assert "again" in refused["hint"]
    assert bench.json("registry", "show", "mem-0001")["subject"] == "[erased]"
    index.close()
    assert erase(bench, "mem-0001")["already"] == ["mem-0001", "s1:1"]
    assert holding(bench.folder, WORDS) == {}


def test_a_reason_that_quotes_it_is_named(bench: Bench) -> None:
    """Nothing takes a word out of an append-only ledger that was not sealed: whoever erases has to know."""
    bench.ok("registry", "retire", "mem-0001", "--reason", f"wrong: {DETAIL}", "--actor", "human:anna")
    position = bench.json("ledger", "head")["position"]
    done = erase(bench, "mem-0001")
    assert done["quoted_at"] == [position]


def test_it_loads_no_model(bench: Bench) -> None:
    loaded = imported_by("erase", "mem-0001", "--yes", "--actor", "human:anna", "--home", str(bench.home))
    assert loaded & {"torch", "sentence_transformers", "transformers"} == set()
    assert "cryptography" not in imported_by("--help")
    assert imported_by("audit", "log", "--home", str(bench.home)) & HEAVY == set()


def test_of_many_records_as_many_are_named_as_can_be_looked_through(tht: Tht) -> None:
    """S-13: how many there are comes first; a program gets every one."""
    person = ("--actor", "human:anna", "--about", "person:mario", "--domain", "people", "--on-conflict", "keep_both")
    ids = [
        tht.json("fact", "propose", f"Mario has key {number}", "--topic", f"key {number}", *person)["fact_id"]
        for number in range(22)
    ]
    planned = tht("erase", *ids, "--dry-run", "--actor", "human:anna").out
    assert planned.startswith("22 records (")
    assert "and 2 more; --json lists all): 22 events would become unreadable" in planned
    assert (ids[19] in planned, ids[20] in planned) == (True, False)
    assert tht.json("erase", *ids, "--dry-run", "--actor", "human:anna")["records"] == ids
    missed = tht("erase", "--about", "mario", "--yes", "--actor", "human:anna", "--json")
    assert "did you mean person:mario?" in missed.error["hint"]
