"""What people do on the pages: each act with its reason in the audit, each refusal with the form still filled in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from adapters.workspace import open_workspace
from tests.serving.conftest import make_token
from tests.web.conftest import SETTINGS, Browser, error_in, told_in

if TYPE_CHECKING:
    from tests.serving.conftest import Server
    from tests.web.world import World

REASON = "because I looked it up"


def acts(server: Server, record: str) -> list[tuple[str, str, str]]:
    """Kind, actor and reason of what the audit has about a record."""
    found = server.caller("human:auditor")("audit.log", record=record, limit=200)
    return [(one["kind"], one["actor"], one["reason"]) for one in found["events"]]


def fact_id(there: str) -> str:
    found = re.search(r"fact-[a-z2-7]{12}", there)
    assert found, there
    return found.group(0)


# -- facts


def test_a_fact_is_added_corrected_superseded_retired_and_restored(server: Server, ada: Browser) -> None:
    there, told = ada.does(
        SETTINGS, "propose", content="The mailer sends from port 2525", domain="", new_domain="mail", topic="mailer",
        reason=REASON,
    )  # fmt: skip
    first = fact_id(there)
    assert "The fact is recorded." in told
    there, told = ada.does(f"/facts/{first}", "correct", content="The mailer sends from port 2526", reason=REASON)
    second = fact_id(there)
    assert "the old wording never held" in told
    assert "superseded" in ada.page(f"/facts/{first}")
    there, _ = ada.does(SETTINGS, "propose", content="Mail leaves through the relay in Essen", domain="mail",
                        topic="relay", reason=REASON)  # fmt: skip
    third = fact_id(there)
    _, told = ada.does(f"/facts/{second}", "supersede", successor=third, reason=REASON)
    assert f"{third} takes its place" in told
    ada.does(f"/facts/{second}", "restore", reason=REASON)
    _, told = ada.does(f"/facts/{third}", "retire", reason=REASON)
    assert "retired" in told
    _, told = ada.does(f"/facts/{second}", "link", to=a_fact(server), kind="references", weight="0,5", reason=REASON)
    assert "It is linked with" in told
    kinds = {("fact_proposed", "human:ada", REASON), ("fact_superseded", "human:ada", REASON)}
    assert kinds <= {*acts(server, first), *acts(server, second)}
    assert ("fact_restored", "human:ada", REASON) in acts(server, second)
    assert ("fact_linked", "human:ada", REASON) in acts(server, second)
    assert ("fact_retired", "human:ada", REASON) in acts(server, third)


def a_fact(server: Server) -> str:
    found = server.caller("human:ada")("memory_fact.getByWorkspace", limit=1)
    return str(found["facts"][0]["id"])


def test_what_rests_on_a_retired_fact_is_named(world: World, ada: Browser) -> None:
    gateway = next(fact for content, fact in world.facts.items() if "8443" in content)
    _, told = ada.does(f"/facts/{gateway}", "retire", reason=REASON)
    assert f"Look again at {world.policy}" in told


def test_a_conflict_that_a_new_fact_meets_is_told(ada: Browser) -> None:
    _, told = ada.does(SETTINGS, "propose", content="Redis holds sessions for 60 minutes", domain="architecture",
                       topic="cache", reason=REASON)  # fmt: skip
    assert "It takes the place of fact-" in told
    assert "A conflict was found" in told


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"content": "", "domain": "mail", "topic": "x"}, "content"),
        ({"content": "Ports are open", "domain": "", "topic": "x"}, "domain"),
        ({"content": "Ports are open", "domain": "mail", "topic": ""}, "topic"),
        ({"content": "Ports are open", "domain": "mail", "topic": "x", "confidence": "much"}, "is no number"),
        ({"content": "Ports are open", "domain": "mail", "topic": "x", "confidence": "7"}, "confidence"),
        ({"content": "Ports are open", "domain": "mail", "topic": "x", "valid_from": "monday"}, "is no time"),
        ({"content": "Ports are open", "domain": "mail", "topic": "x", "sources": "obs-none"}, "obs-none"),
        ({"content": "Ports are open", "domain": "mail", "topic": "x", "on_conflict": "fight"}, "no way to meet"),
    ],
)
def test_a_refused_form_comes_back_as_it_was_filled_in(ada: Browser, fields: dict[str, str], said: str) -> None:
    answer = ada.send(SETTINGS, "propose", form="propose", reason="my <reason>", **fields)
    assert answer.status_code in (400, 404, 422)
    assert said in error_in(answer.text).lower()
    assert 'value="my &lt;reason&gt;"' in answer.text
    if fields["content"]:
        assert f">\n{fields['content']}</textarea>" in answer.text
    assert re.search(r'<details class="act add" open>', answer.text)


# -- policies, grants, conflicts


def test_a_policy_is_proposed_superseded_taken_out_and_back(server: Server, ada: Browser) -> None:
    page = f"{SETTINGS}/policies"
    there, _ = ada.does(page, "propose", rule="Mail only in the morning", new_domain="mail", reason=REASON)
    first = there.rpartition("policy=")[2]
    there, told = ada.does(page, "supersede", policy=first, rule="Mail only before nine", reason=REASON)
    second = there.rpartition("policy=")[2]
    assert first != second
    assert f"takes the place of {first}" in told
    ada.does(page, "deactivate", policy=second, reason=REASON)
    assert "inactive" in ada.page(f"{page}?policy={second}")
    ada.does(page, "activate", policy=second, reason=REASON)
    told_kinds = {kind for kind, actor, reason in acts(server, second) if (actor, reason) == ("human:ada", REASON)}
    assert {"policy_proposed", "policy_deactivated", "policy_activated"} <= told_kinds
    status, said = ada.refused(page, "deactivate", policy="policy-none", reason=REASON)
    assert (status, "there is no policy" in said.lower()) == (404, True)


def test_a_policy_that_waits_is_let_in_by_a_person(server: Server, world: World, ada: Browser) -> None:
    page = f"{SETTINGS}/policies"
    html = ada.page(f"{page}?status=held")
    assert "Waits for a person: proposed by tool:linter." in html
    status, said = Browser(server, "agent:coder-1", "coder").refused(page, "activate", policy=world.held)
    assert (status, "ReviewerNeeded" in said) == (400, True)
    _, told = ada.does(page, "activate", policy=world.held, reason=REASON)
    assert "every dispatch carries it" in told
    assert {("policy_activation_refused", "agent:coder-1", ""), ("policy_activated", "human:ada", REASON)} <= {
        *acts(server, world.held)
    }


def test_where_reviewers_prove_themselves_a_browser_does_so_by_its_token(server: Server, world: World) -> None:
    with open_workspace(world.home, "default") as workspace:
        workspace.config.set("review.require_token", True)
        workspace.config.save()
    unproven = Browser(server, "human:ada")
    status, said = unproven.refused("/registry/mem-0001", "retire", reason=REASON)
    assert (status, "in a browser log in with one of tht token create" in said) == (400, True)
    token = make_token(server.home, "human:ada", person=True)
    entered = server.client.post("/login", data={"token": token}, follow_redirects=False)
    assert entered.status_code == 303
    proven = Browser(server, "human:ada")
    proven.cookie = server.client.cookies[server.services.door.cookie]
    found = server.services.door.sessions.find(proven.cookie)
    assert found is not None
    proven.csrf = found.csrf
    _, told = proven.does("/registry/mem-0001", "retire", reason=REASON)
    assert "mem-0001 is retired" in told


def test_a_domain_is_made_and_its_grants_are_set_and_explained(server: Server, ada: Browser) -> None:
    page = f"{SETTINGS}/domains"
    _, told = ada.does(page, "create", domain="Legal", reason=REASON)
    assert "The domain legal is made." in told
    _, told = ada.does(page, "grant", domain="legal", role="coder", permission="none", reason=REASON)
    assert "coder has none in legal" in told
    html = ada.page(f"{page}?role=coder&domain=legal")
    assert "coder has none for legal" in html
    assert REASON in html
    _, told = ada.does(page, "grant", domain="legal", role="codr", permission="read", reason=REASON)
    assert "No role codr is known here yet" in told
    _, told = ada.does(page, "grant", domain="legal", role="coder", permission="default", reason=REASON)
    assert "what the default gives" in told
    changed = server.caller("human:auditor")("audit.log", kind="grant_changed", limit=50)["events"]
    assert [(one["actor"], one["reason"]) for one in changed][-3:] == [("human:ada", REASON)] * 3
    status, said = ada.refused(page, "grant", domain="legal", role="coder", permission="all", reason=REASON)
    assert (status, "is no permission" in said) == (422, True)
    status, said = ada.refused(page, "create", domain="Legal")
    assert (status, "AlreadyThere" in said) == (400, True)


def test_a_conflict_is_decided_merged_and_taken_back(server: Server, world: World, ada: Browser) -> None:
    page = f"{SETTINGS}/conflicts"
    status, said = ada.refused(page, "resolve", conflict=world.conflict, choice="", reason=REASON)
    assert (status, "Nothing is chosen" in said) == (422, True)
    both = re.findall(r'name="choice" value="(fact-\w+)"', ada.page(f"{page}?conflict={world.conflict}"))
    assert len(both) == 2
    _, told = ada.does(page, "resolve", conflict=world.conflict, choice=both[0], reason=REASON)
    assert f"{both[0]} stays" in told
    ada.does(page, "resolve", conflict=world.conflict, choice="reopen", reason=REASON)
    _, told = ada.does(page, "resolve", conflict=world.conflict, choice="merge",
                       content="The gateway retries three to five times", reason=REASON)  # fmt: skip
    assert "says what both meant" in told
    ada.does(page, "resolve", conflict=world.conflict, choice="both", reason=REASON)
    done = acts(server, world.conflict)
    assert ("conflict_resolved", "human:ada", REASON) in done
    assert ("conflict_reopened", "human:ada", REASON) in done


# -- the registry


def test_a_memory_is_retired_restored_superseded_and_merged(server: Server, world: World, ada: Browser) -> None:
    other = promote(ada, "session-1", 4)
    _, told = ada.does(f"/registry/{world.memory}", "retire", reason=REASON)
    assert f"{world.memory} is retired" in told
    assert REASON in ada.page(f"/registry/{world.memory}")
    ada.does(f"/registry/{world.memory}", "restore", reason=REASON)
    _, told = ada.does(f"/registry/{world.memory}", "supersede", successor=other, reason=REASON)
    assert f"{other} takes its place" in told
    ada.does(f"/registry/{world.memory}", "restore", reason=REASON)
    ada.does(f"/registry/{world.memory}", "merge", into=other, reason=REASON)
    assert "Merged into" in ada.page(f"/registry/{world.memory}")
    ada.does(f"/registry/{world.memory}", "restore", reason=REASON)
    _, told = ada.does(f"/registry/{world.memory}", "retire", source="session-0:1", reason=REASON)
    assert "The source session-0:1 is withdrawn" in told
    status, said = ada.refused(f"/registry/{other}", "merge", into="mem-9999", form="merge", reason="kept")
    assert (status, "there is no memory" in said.lower()) == (404, True)


def promote(browser: Browser, session: str, seq: int) -> str:
    revision = re.search(rf'name="revision-{seq}" value="(\w+)"', browser.page(f"/review/{session}"))
    assert revision
    fields = {f"action-{seq}": "promote", f"revision-{seq}": revision.group(1), f"reason-{seq}": REASON}
    _, told = browser.does(f"/review/{session}", "decide", session=session, seqs=str(seq), **fields)
    found = re.search(r"mem-\d{4}", told)
    assert found, told
    return found.group(0)


# -- whose acts they are


PEOPLES: list[tuple[str, str, dict[str, str]]] = [
    ("/review/session-1", "decide", {"session": "session-1", "seqs": "1", "action-1": "promote"}),
    (f"{SETTINGS}/domains", "create", {"domain": "legal"}),
    (f"{SETTINGS}/domains", "grant", {"domain": "architecture", "role": "coder", "permission": "write"}),
    (f"{SETTINGS}/conflicts", "resolve", {"choice": "both"}),
    ("/registry/mem-0001", "retire", {}),
    ("/registry/mem-0001", "merge", {"into": "mem-0002"}),
]


@pytest.mark.parametrize(("path", "act", "fields"), PEOPLES)
def test_an_agent_does_nothing_that_is_for_people(
    server: Server, world: World, path: str, act: str, fields: dict[str, str]
) -> None:
    fields = fields | ({"conflict": world.conflict} if act == "resolve" else {})
    before = server.client.get("/healthz").json()["ledger"]["position"]
    coder = Browser(server, "agent:coder-1", "coder")
    status, said = coder.refused(path, act, **fields)
    assert (status, "ReviewerNeeded" in said) == (400, True), said
    with_token = server.caller("agent:coder-1", "coder")
    answer: Any = server.client.post(path, data={"act": act, **fields}, headers=with_token.headers)
    assert "ReviewerNeeded" in error_in(answer.text)
    assert server.client.get("/healthz").json()["ledger"]["position"] == before


@pytest.mark.parametrize("csrf", ["", "guessed"])
def test_a_form_of_another_site_is_refused(ada: Browser, csrf: str) -> None:
    status = ada.send("/registry/mem-0001", "retire", csrf=csrf, reason="x").status_code
    assert status == 403
    assert "retired" not in told_in(ada.page("/registry/mem-0001"))
    assert '<span class="badge live">' in ada.page("/registry/mem-0001")


def test_a_form_that_asks_for_nothing_known_is_refused(ada: Browser) -> None:
    assert ada.send("/registry/mem-0001", "explode").status_code == 422
    assert ada.send("/review/session-1", "decide", session="session-1", seqs="1;2").status_code == 422
    many = {f"field-{number}": "x" for number in range(600)}
    assert ada.send("/registry/mem-0001", "retire", **many).status_code == 400


def test_what_an_act_came_to_is_said_once_and_to_whoever_did_it(server: Server, ada: Browser) -> None:
    other = Browser(server, "human:bob")
    answer = ada.send("/registry/mem-0001", "retire", reason=REASON)
    assert answer.status_code == 303
    assert told_in(other.page("/registry/mem-0001")) == ""
    assert "is retired" in told_in(ada.page("/registry/mem-0001"))
    assert told_in(ada.page("/registry/mem-0001")) == ""
