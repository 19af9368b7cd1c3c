"""`tht fact search` and `tht memory search`: one ranking, its pages and its explanation, the same each time."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Tht
from tests.cli.searching import ADA, MODES, ids, propose, search

# -- pages, explanations, errors


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("page", [1, 4, 7])
def test_a_cursor_pages_through_everything_once(tht: Tht, mode: str, page: int) -> None:
    for number in range(12):
        propose(tht, f"Gate {number} opens to corridor {number % 3}", f"gate {number}")
    wanted = ("which gate opens to a corridor?", "--mode", mode)
    whole = search(tht, *wanted, "--limit", "100")
    assert (len(whole["hits"]), whole["truncated"], whole["cursor"]) == (12, False, None)
    paged: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = search(tht, *wanted, "--limit", page, *(("--cursor", cursor) if cursor else ()))
        paged += answer["hits"]
        assert answer["truncated"] == bool(answer["cursor"]) == (len(paged) < 12)
        if not answer["truncated"]:
            break
        cursor = answer["cursor"]
    assert [one["id"] for one in paged] == ids(whole)
    assert [one["rank"] for one in paged] == list(range(1, 13))


def test_every_hit_is_explained_in_text_and_for_programs(tht: Tht) -> None:
    tht.json("domain", "create", "d", "--repo", "acme/shop", *ADA)
    own = propose(tht, "The cache of the shop lives one hour", "cache", "--repo", "acme/shop", *ADA)
    propose(tht, "A cache lives as long as its owner", "caches")
    answer = search(tht, "how long does the cache live?", "--explain", "--repo", "shop")
    assert set(answer["voices"]) == {"lexical", "vector", "temporal", "graph"}
    assert set(answer["voices"].values()) == {"ran"}
    for hit in answer["hits"]:
        why = hit["why"]
        assert set(why["voices"]) <= set(answer["voices"])
        product = why["relevance"] * why["decay"] * why["confidence"] * why["boost"]
        assert hit["score"] == pytest.approx(product, abs=1e-5)
        assert why["evidence"]["total"] <= sum(v for name, v in why["evidence"].items() if name != "total") + 1e-3
    assert {hit["id"]: hit["why"]["boost"] for hit in answer["hits"]}[own] == 1.35
    assert all("why" not in hit for hit in search(tht, "how long does the cache live?")["hits"])
    said = tht("fact", "search", "how long does the cache live?", "--explain", "--repo", "shop")
    for word in ("words #1", "meaning #", "repository ×1.35", "mode hybrid", "voices: words, meaning, time, links"):
        assert word in said.out, word
    assert "knows the question's language (en)" in " ".join(said.out.split())


def test_contents_are_whole(tht: Tht) -> None:
    text = "The cache " + " ".join(f"word{number}" for number in range(2_000))
    propose(tht, text)
    assert [hit["content"] for hit in search(tht, "cache")["hits"]] == [text]


def test_memories_and_facts_are_one_ranking(tht: Tht) -> None:
    tht.session("s1", ("ablation", "Ablations are counted by date"))
    memory = tht.promote("s1", 1)
    fact = propose(tht, "Ablations are done on the second floor", "floor")
    both = search(tht, "ablations", "--kind", "all")
    assert {(hit["kind"], hit["id"]) for hit in both["hits"]} == {("memory", memory), ("fact", fact)}
    assert ids(search(tht, "ablations", "--kind", "memory")) == [memory]
    assert ids(search(tht, "ablations")) == [fact]
    assert [hit["id"] for hit in tht.json("memory", "search", "ablations")["hits"]] == [memory]
    said = tht("fact", "search", "ablations", "--kind", "all")
    assert memory in said.out
    assert fact in said.out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--mode", "fuzzy"), "keyword, semantic, hybrid"),
        (("--kind", "rumour"), "fact, memory, all"),
        (("--cursor", "x"), "the one of the answer before"),
        (("--cursor", "-1"), "the one of the answer before"),
        (("--kind", "memory", "--domain", "d"), "ask for facts"),
        (("--kind", "memory", "--topic", "t"), "ask for facts"),
        (("--kind", "memory", "--author", "human:ada"), "ask for facts"),
    ],
)
def test_what_is_not_known_is_an_error_that_lists_what_is(tht: Tht, words: tuple[str, ...], told: str) -> None:
    propose(tht, "x is y")
    said = tht("fact", "search", "x", *words, "--json")
    assert said.code == 2
    assert said.error["type"] == "InvalidInput"
    assert told in said.error["hint"]


def test_what_was_shown_is_recorded_by_ids_alone_and_changes_no_confidence(tht: Tht) -> None:
    """S-41: and not at all where recall.log is off."""
    fact = propose(tht, "The rota changes on Monday", "rota", "--confidence", "0.5", *ADA)
    for mode in MODES:
        search(tht, "when does the rota change", "--mode", mode, "--actor", "agent:b")
    shown = tht.json("fact", "show", fact)
    assert (shown["recall_count"], shown["confidence"], shown["independent_origins"]) == (3, 0.5, 1)
    logged = [one for one in tht.json("audit", "log")["events"] if one["kind"] == "facts_shown"]
    assert len(logged) == 3
    assert all("rota" not in json.dumps(one) for one in logged)
    head = tht.position()
    tht.json("config", "set", "recall.log", "false")
    search(tht, "when does the rota change", "--actor", "agent:b")
    assert tht.position() == head
    assert tht.json("fact", "show", fact)["recall_count"] == 3


def test_a_type_that_nobody_gave_is_not_shown_to_people(tht: Tht) -> None:
    fact = propose(tht, "Deploys run every Friday", "deploys", "--type", "unknown", *ADA)
    assert "unknown" not in tht("fact", "search", "deploys").out + tht("fact", "list").out
    assert tht.json("fact", "show", fact)["memory_type"] == "unknown"


# -- determinism


@pytest.mark.parametrize("mode", MODES)
def test_s45_the_same_ranking_after_every_rebuild_and_ties_by_id(tht: Tht, mode: str) -> None:
    """S-45."""
    for number in range(8):
        propose(tht, f"Gate {'ab'[number % 2]} {number} opens", f"gate {number}")
    tht.json("config", "set", "recall.log", "false")
    wanted = ("which gate opens?", "--mode", mode, "--explain", "--limit", "9")
    first = search(tht, *wanted)
    tht.json("projection", "rebuild")
    tht.json("index", "rebuild")
    again = search(tht, *wanted)
    assert ids(again) == ids(first)
    assert [list(hit["why"]["voices"]) for hit in again["hits"]] == [
        list(hit["why"]["voices"]) for hit in first["hits"]
    ]
