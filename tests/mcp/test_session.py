"""An agent's day: preamble, search, propose, a conflict, notes, a clarification, and a memory to reuse."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Tht
from tests.mcp.conftest import Connect

pytestmark = pytest.mark.anyio
TASK = "Tell which port the gateway listens on before the release"


async def test_an_agent_does_its_work(connect: Connect, tht: Tht) -> None:
    tht.json("policy", "propose", "Ask before a release.", "--domain", "release", "--actor", "human:ada")
    tht.session("s1", ("Ablazione", "Procedura con `ablazione_transcatetere = TRUE`."))
    tht.promote("s1", 1)
    tht.json("session", "open", "s2", "--question", "Quante ablazioni nel 2024?", "--actor", "agent:coder-1")
    tht.json("session", "enter", "s2", "--phase", "F2", "--actor", "agent:coder-1")

    async with connect("agent:coder-1", "coder") as agent:
        begun = await agent("get_preamble", task=TASK)
        assert "- [release] Ask before a release." in begun["text"]
        assert (await agent("search_memory", query="gateway port"))["hits"] == []

        seen = await agent("record_observation", text="ss -ltn shows 8080")
        first = await agent(
            "propose_fact",
            content="The gateway listens on port 8080",
            domain="architecture",
            topic="gateway port",
            source_observation_ids=[seen["observation_id"]],
            confidence=0.6,
        )
        assert first["outcome"] == "proposed"
        second = await agent(
            "propose_fact",
            content="The gateway listens on port 9090",
            domain="architecture",
            topic="gateway port",
            on_conflict="ask",
        )
        listed = await agent("list_memory_conflicts")
        assert [one["id"] for one in listed["conflicts"]] == [one["id"] for one in second["conflicts"]]
        assert {fact["id"] for fact in listed["conflicts"][0]["facts"]} == {first["fact_id"], second["fact_id"]}
        ids = [hit["id"] for hit in (await agent("search_memory", query="Which port does the gateway use?"))["hits"]]
        assert sorted(ids) == sorted((first["fact_id"], second["fact_id"]))
        assert ids == [one["id"] for one in tht.json("fact", "search", "Which port does the gateway use?")["hits"]]

        await agent("supersede_fact", fact_id=first["fact_id"], new_fact_id=second["fact_id"], reason="it was moved")
        after = await agent("search_memory", query="Which port does the gateway use?")
        assert [hit["id"] for hit in after["hits"]] == [second["fact_id"]]

        await agent("update_my_notes", text="Ask Ada about the port.\nThen release.")
        assert (await agent("get_my_notes"))["text"] == "Ask Ada about the port.\nThen release."
        assert "Ask Ada about the port.\nThen release." in (await agent("get_preamble", task=TASK))["text"]

        recorded = await agent(
            "record_decision",
            session_id="s2",
            subject="Anno",
            detail="L'anno della procedura, non della dimissione.",
            rationale="Lo dice il reparto.",
            reason="asked the analyst",
        )
        assert recorded["seq"] == 1
        reuse = await agent("search_session_memory", session_id="s2", question="ablazioni")
        assert [hit["id"] for hit in reuse["hits"]] == ["mem-0001"]

    shown = tht.json("session", "show", "s2")["decisions"]
    assert [(one["subject"], one["author"]) for one in shown] == [("Anno", "agent:coder-1")]
    history = tht.json("audit", "fact", first["fact_id"])
    assert "it was moved" in str(history)
    assert "agent:coder-1" in str(history)


async def test_what_is_remembered_is_recalled_and_raised(connect: Connect) -> None:
    async with connect("agent:coder-1", "coder") as agent:
        kept = await agent("remember", content="The nightly build takes forty minutes", importance=0.9)
        found = await agent("search_memory", query="nightly build")
        assert [one["id"] for one in found["remembered"]] == [kept["item_id"]]
        assert [one["id"] for one in (await agent("get_my_notes"))["in_mind"]] == [kept["item_id"]]
        assert (await agent("consolidate_memory", dry_run=True))["raised"]
        ran = await agent("consolidate_memory")
        assert ran["raised"][0][0] == kept["item_id"]
        (hit,) = (await agent("search_memory", query="nightly build"))["hits"]
        assert hit["id"] == ran["raised"][0][1]
        again = await agent.refused("consolidate_memory")
        assert again["type"] == "NothingChanged"


async def test_agreement_of_two_agents_becomes_a_belief(connect: Connect) -> None:
    said = {"backups": "Backups run nightly", "backup": "Backups run nightly on the replica"}
    for number, (topic, content) in enumerate(said.items()):
        async with connect(f"agent:coder-{number}", "coder") as agent:
            await agent("propose_fact", content=content, domain="operations", topic=topic)
    async with connect("agent:qa-1", "qa") as agent:
        planned = await agent("harmonize_memory", dry_run=True)
        ran = await agent("harmonize_memory")
        assert len(planned["formed"]) == len(ran["formed"]) == 1
        assert (await agent.refused("harmonize_memory"))["type"] == "NothingChanged"


async def test_policies_are_proposed_replaced_and_held(connect: Connect) -> None:
    async with connect("agent:coder-1", "coder") as agent:
        made = await agent("propose_policy", domain="release", rule="Ask before a release.", required_role="devops")
        assert made["held"] is None
        new = await agent("supersede_policy", policy_id=made["policy_id"], rule="Ask Ada before a release.")
        listed = await agent("list_policies")
        assert [one["id"] for one in listed["policies"]] == [new["policy_id"]]
        page = {"content": "The page says: deploy on Fridays", "topic": "page", "veracity": "tool"}
        heard = await agent("propose_fact", domain="release", **page)
        hearsay = await agent(
            "propose_policy", domain="release", rule="Deploy on Fridays.", derived_from=[heard["fact_id"]]
        )
        assert hearsay["held"]
        assert "Deploy on Fridays." not in (await agent("get_preamble", task=TASK))["text"]
        held = await agent.text("list_policies", status="held")
        assert "held: " in held
        assert hearsay["policy_id"] in held


async def test_a_retry_with_the_same_key_records_nothing_twice_and_is_its_own(connect: Connect) -> None:
    said = {"content": "The gateway is written in Go", "domain": "architecture", "topic": "gateway language"}
    async with connect("agent:coder-1", "coder") as agent:
        first = await agent("propose_fact", **said, idempotency_key="1")
        again = await agent("propose_fact", **said, idempotency_key="1")
        assert (again["fact_id"], again["position"], again["already"]) == (first["fact_id"], first["position"], True)
        kept = await agent("record_observation", text="seen", idempotency_key="2")
        reused = await agent.refused("record_observation", text="seen otherwise", idempotency_key="2")
        assert reused["type"] == "KeyReused"
    async with connect("agent:coder-2", "coder") as other:
        own = await other("record_observation", text="seen", idempotency_key="2")
        assert not own["already"]
        assert own["observation_id"] != kept["observation_id"]
        assert [one["text"] for one in (await other("get_my_notes"))["observations"]] == ["seen"]
