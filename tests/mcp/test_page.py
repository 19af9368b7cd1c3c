"""docs/mcp.md: its configurations start what they say, and its tables name what is there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adapters.mcp.resources import POLICIES, TEMPLATES
from adapters.mcp.server import TOOLS
from tests.cli.conftest import Tht
from tests.docs.test_readme import steps
from tests.mcp.conftest import ROOT, Agent, Served, over_http, stdio_parameters

PAGE = (ROOT / "docs" / "mcp.md").read_text("utf-8")


def configured() -> list[dict[str, Any]]:
    """The servers of the page's configurations, as a client reads them."""
    return [json.loads(block)["mcpServers"]["tht"] for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]


@pytest.mark.anyio
async def test_the_command_of_the_page_starts_an_agents_server(home: Path) -> None:
    from mcp import Client

    (stdio,) = [one for one in configured() if "command" in one]
    assert (stdio["command"], stdio["args"][0]) == ("tht", "mcp")
    async with Client(stdio_parameters(*stdio["args"][1:])) as client:
        assert (await Agent(client)("get_my_notes"))["agent"] == "agent:coder-1"


@pytest.mark.anyio
async def test_the_address_and_header_of_the_page_reach_the_server(served: Served) -> None:
    (http,) = [one for one in configured() if "url" in one]
    assert (http["type"], http["headers"]) == ("http", {"Authorization": "Bearer ${THT_TOKEN}"})
    assert http["url"].endswith(":8765/mcp")
    async with over_http(served.url, served.token("agent:coder-1", "coder")) as agent:
        assert (await agent("get_my_notes"))["agent"] == "agent:coder-1"


def test_the_commands_of_the_page_run(tht: Tht) -> None:
    found = [step.command.split() for step in steps("docs/mcp.md")]
    assert [words[:2] for words in found] == [["tht", "init"], ["tht", "token"]]
    for words in found:
        assert tht(*words[1:]).code == 0


def test_the_page_names_every_tool_and_resource() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"\w+", row)} == set(TOOLS)
    for uri in (POLICIES, *(one.uri_template.replace("{id}", "ID") for one in TEMPLATES)):
        assert f"`{uri}`" in PAGE
