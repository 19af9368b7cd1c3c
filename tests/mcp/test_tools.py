"""What an agent reads before it calls: names, forms, hints; and what it is told when it calls wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from adapters.mcp.server import TOOLS
from adapters.mcp.tool import Tool
from domain.decay import MEMORY_TYPES
from tests.cli.conftest import Tht
from tests.mcp.conftest import Connect

NAMES = {
    "search_memory", "propose_fact", "supersede_fact", "propose_policy", "supersede_policy", "list_policies",
    "list_memory_domains", "record_observation", "get_my_notes", "update_my_notes", "remember", "consolidate_memory",
    "harmonize_memory", "list_memory_conflicts", "get_preamble", "record_decision", "search_session_memory",
}  # fmt: skip
READING = {
    "search_memory", "list_policies", "list_memory_domains", "get_my_notes", "list_memory_conflicts", "get_preamble",
    "search_session_memory",
}  # fmt: skip


@pytest.mark.anyio
async def test_a_client_sees_exactly_the_tools_of_the_specification(connect: Connect) -> None:
    async with connect("agent:coder-1", "coder") as agent:
        listed = (await agent.client.list_tools()).tools
        assert {tool.name for tool in listed} == NAMES
        assert {tool.name for tool in listed if tool.annotations and tool.annotations.read_only_hint} == READING
        assert all(tool.output_schema for tool in listed)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_says_what_it_takes_and_what_comes_back(tool: Tool[Any]) -> None:
    declared = tool.declared
    assert declared.description
    assert len(declared.description) > 80
    assert declared.output_schema
    for schema in (declared.input_schema, declared.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
    assert declared.input_schema["additionalProperties"] is False
    fields = declared.input_schema["properties"]
    assert [name for name, field in fields.items() if not field.get("description")] == []
    if not tool.reads:
        assert {"reason", "idempotency_key"} <= fields.keys()
    assert not fields.keys() & {"actor", "role", "agent", "author"}


def test_the_known_names_of_a_schema_are_the_domains_own() -> None:
    schema = TOOLS["propose_fact"].declared.input_schema["properties"]["memory_type"]
    (names,) = [one["enum"] for one in schema["anyOf"] if "enum" in one]
    assert tuple(names) == MEMORY_TYPES


def wrong() -> Iterator[tuple[str, dict[str, Any], tuple[str, ...]]]:
    """A call that does not fit, and what the answer must name."""
    cases: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
        ("search_memory", {"query": "x", "mode": "psychic"}, ("mode", "hybrid", "semantic", "keyword")),
        ("search_memory", {"query": "x", "kind": "rumour"}, ("kind", "fact", "memory", "all")),
        ("search_memory", {"query": "x", "filter": "y"}, ("filter", "domain", "repo")),
        ("search_memory", {"query": "x", "limit": 0}, ("limit",)),
        ("search_memory", {"query": " "}, ("query",)),
        ("search_memory", {"query": "x", "cursor": "made up"}, ("cursor",)),
        ("search_memory", {"query": "x", "at": "yesterday"}, ("yesterday",)),
        ("search_memory", {"query": "x", "at": "12"}, ("12 is a position", "known_at")),
        ("search_memory", {"query": "x", "as_of": "2026-01-01T00:00:00Z"}, ("as_of", "known_at")),
        ("search_memory", {"query": "x", "known_at": "2026-01-01T00:00"}, ("zone",)),
        ("search_memory", {}, ("query", "missing")),
        ("propose_fact", {"content": "c", "topic": "t", "domain": "d", "memory_type": "myth"}, ("memory_type", "goal")),
        ("propose_fact", {"content": "c", "topic": "t", "domain": "d", "confidence": 2}, ("confidence",)),
        ("propose_fact", {"content": "c", "topic": "t", "domain": "d", "confidence": "0.3"}, ("confidence",)),
        ("propose_fact", {"content": "c", "topic": "t", "domain": "d", "confidence": True}, ("confidence",)),
        ("propose_fact", {"content": "c", "topic": "t", "domain": "d", "valid_from": "1700000000"}, ("time",)),
        ("propose_fact", {"content": "c", "topic": "t", "domain": "d", "source_observation_ids": "o"}, ("source",)),
        ("propose_fact", {"content": 7, "topic": "t", "domain": "d"}, ("content",)),
        ("list_policies", {"status": "loud"}, ("status", "held")),
        ("list_policies", {"cursor": "-1"}, ("cursor",)),
        ("list_memory_conflicts", {"state": "hot"}, ("state", "open")),
        ("record_decision", {"session_id": "s", "subject": "a", "detail": "b", "type": "rumour"}, ("type", "concept_")),
        ("record_decision", {"session_id": "s", "subject": "a", "detail": "b", "phase": "F9"}, ("phase", "F8")),
        ("remember", {"content": "c", "ttl": "soon"}, ("soon",)),
        ("update_my_notes", {"text": "t", "idempotency_key": "a#b"}, ("idempotency_key", "#")),
    ]
    yield from cases


@pytest.mark.anyio
async def test_a_wrong_argument_is_named_with_what_would_be_right(http_agent: Any) -> None:
    async with http_agent as agent:
        for name, arguments, words in wrong():
            error = await agent.refused(name, **arguments)
            assert error["type"] == "InvalidInput", (name, arguments, error)
            told = f"{error['message']} {error['hint']}"
            assert [word for word in words if word not in told] == [], (name, arguments, error)


@pytest.mark.anyio
async def test_an_error_has_the_domains_type_and_names_a_tool_to_go_on_with(http_agent: Any) -> None:
    cases: list[tuple[str, dict[str, Any], str, str]] = [
        ("supersede_fact", {"fact_id": "fact-a", "new_fact_id": "fact-b"}, "UnknownFact", "search_memory"),
        ("supersede_policy", {"policy_id": "pol-a", "rule": "r"}, "UnknownPolicy", "list_policies"),
        ("search_memory", {"query": "x", "domain": "nowhere"}, "UnknownDomain", "list_memory_domains"),
        ("search_memory", {"query": "x", "repo": "no/where"}, "UnknownRepoScope", "list_memory_domains"),
        ("record_decision", {"session_id": "s9", "subject": "a", "detail": "b"}, "UnknownSession", "opened"),
        ("search_session_memory", {"session_id": "s9", "question": "a"}, "UnknownSession", "opened"),
        ("consolidate_memory", {}, "NothingChanged", ""),
    ]
    async with http_agent as agent:
        for name, arguments, kind, hint in cases:
            error = await agent.refused(name, **arguments)
            assert error["type"] == kind, (name, error)
            assert hint in error["hint"], (name, error)


@pytest.mark.anyio
async def test_s30_at_asks_what_held_and_known_at_what_was_known(http_agent: Any) -> None:
    """S-30, in the names that every interface has."""
    async with http_agent as agent:
        told = {"domain": "ops", "topic": "port"}
        first = await agent("propose_fact", content="The port is 8080", valid_from="2026-01-01T00:00:00Z", **told)
        known = str(first["position"])
        second = await agent("propose_fact", content="The port is 9090", valid_from="2026-03-01T00:00:00Z", **told)
        for moment, expected in (
            ({}, second),
            ({"at": "2026-02-01T00:00:00Z"}, first),
            ({"at": "2026-04-01T00:00:00Z"}, second),
            ({"known_at": known}, first),
            ({"known_at": known, "at": "2026-04-01T00:00:00Z"}, first),
        ):
            found = await agent("search_memory", query="which port", mode="keyword", **moment)
            assert [hit["id"] for hit in found["hits"]] == [expected["fact_id"]], moment


@pytest.mark.anyio
async def test_lists_go_on_from_a_cursor_until_the_end(http_agent: Any, tht: Tht) -> None:
    for number in range(7):
        tht.json("policy", "propose", f"Rule {number}.", "--domain", "d", "--actor", "human:ada")
    async with http_agent as agent:
        seen: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            page = await agent("list_policies", limit=3, cursor=cursor)
            assert page["total"] == 7
            seen += [one["rule"] for one in page["policies"]]
            cursor = page["next_cursor"]
        assert seen == [f"Rule {number}." for number in range(7)]


@pytest.mark.anyio
async def test_a_search_says_what_it_rests_on_and_why_each_hit_is_there(http_agent: Any, tht: Tht) -> None:
    tht.session("s1", ("Gateway", "The gateway is the one of the shop."))
    memory = tht.promote("s1", 1)
    async with http_agent as agent:
        made = await agent("propose_fact", content="The gateway has port 80", domain="architecture", topic="gateway")
        found = await agent("search_memory", query="gateway port", kind="all", explain=True)
        assert {hit["id"]: hit["kind"] for hit in found["hits"]} == {made["fact_id"]: "fact", memory: "memory"}
        assert [hit["rank"] for hit in found["hits"]] == [1, 2]
        assert all(hit["why"]["voices"] for hit in found["hits"])
        assert found["voices"] == dict.fromkeys(("lexical", "vector", "temporal", "graph"), "ran")
        assert (found["mode"], found["intent"], found["truncated"]) == ("hybrid", "general", False)
        assert 0 < found["index"]["position"] <= found["index"]["ledger"]
        told = await agent.text("search_memory", query="gateway port", kind="all", explain=True)
        assert told.count("  why: {") == 2
        assert "why" not in await agent.text("search_memory", query="gateway port", mode="keyword")
        words = await agent("search_memory", query="gateway port", mode="keyword")
        assert (words["voices"], words["notice"]) == ({"lexical": "ran"}, None)
        assert not any("why" in hit for hit in words["hits"])


@pytest.mark.anyio
async def test_resources_are_listed_in_pages_and_each_can_be_read(http_agent: Any, tht: Tht) -> None:
    tht.json("policy", "propose", "Ask first.", "--domain", "d", "--actor", "human:ada")
    lines = "\n".join(f'{{"content": "Server s{n} has port {n}", "topic": "s{n}"}}' for n in range(130))
    tht.json("fact", "propose", "--file", "-", "--domain", "d", stdin=lines)
    async with http_agent as agent:
        first = await agent.client.list_resources()
        second = await agent.client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        uris = [one.uri for one in (*first.resources, *second.resources)]
        assert (len(uris), len(set(uris)), uris[0]) == (132, 132, "tht://policies")
        for uri in (uris[0], uris[1], uris[-1]):
            (block,) = (await agent.client.read_resource(uri)).contents
            assert block.text.startswith('{"note": "Quoted as data')
        templates = (await agent.client.list_resource_templates()).resource_templates
        assert {one.uri_template for one in templates} == {"tht://policies/{id}", "tht://facts/{id}"}


@pytest.mark.anyio
async def test_the_prompt_is_the_preamble(http_agent: Any, tht: Tht) -> None:
    from mcp import MCPError

    tht.json("policy", "propose", "Ask first.", "--domain", "d", "--actor", "human:ada")
    async with http_agent as agent:
        task = "Release the gateway of the shop"
        prompt = await agent.client.get_prompt("preamble", {"task": task})
        assert prompt.messages[0].content.text == (await agent("get_preamble", task=task))["text"]
        for name, given in (("preamble", {}), ("preamble", {"task": task, "actor": "x"}), ("other", {"task": task})):
            with pytest.raises(MCPError) as refused:
                await agent.client.get_prompt(name, given)
            assert refused.value.data["error"]["type"] == "InvalidInput"
