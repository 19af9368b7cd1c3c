"""Every page answers, says what it should, and is closed to whom it should be."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

import pytest

from adapters.web.pages import PAGES
from tests.serving.conftest import ROOT
from tests.web.conftest import SETTINGS, Browser, error_in

if TYPE_CHECKING:
    from tests.serving.conftest import Server
    from tests.web.world import World


def address(path: str, world: World) -> str:
    return (
        path.replace("{workspace}", "default")
        .replace("{fact}", next(iter(world.facts.values())))
        .replace("{session:path}", "session-1")
        .replace("{memory}", world.memory)
    )


@pytest.mark.parametrize("path", [one.path for one in PAGES])
def test_every_page_answers_whoever_is_logged_in_and_nobody_else(
    server: Server, world: World, ada: Browser, path: str
) -> None:
    html = ada.page(address(path, world))
    assert html.startswith("<!doctype html>")
    assert len(re.findall(r"<h1[ >]", html)) == 1
    assert "<style" not in html
    assert not re.search(r"<[^>]+\s(style|on\w+)=", html)
    assert not re.search(r"<script(?![^>]*\ssrc=\"/static/)", html)
    assert set(re.findall(r"(?:src|action)=\"(?!/)([^\"]*)", html)) == set()
    nobody = server.client.get(address(path, world), follow_redirects=False)
    assert (nobody.status_code, nobody.headers["location"]) == (303, "/login")


@pytest.mark.parametrize("name", ["tht.css", "tht.js", "review.js", "graph.js", "icon.svg"])
def test_the_pages_own_files_are_served_and_kept_by_the_browser(server: Server, name: str) -> None:
    answer = server.client.get(f"/static/{name}")
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-cache"
    again = server.client.get(f"/static/{name}", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304
    assert "http://" not in answer.text.replace("http://www.w3.org", "")
    assert "https://" not in answer.text


@pytest.mark.parametrize(
    "path", ["/static/../pages.py", "/static/..%2fpages.py", "/static/%2e%2e/pages.py", "/static/"]
)
def test_nothing_beside_them_is_served(server: Server, path: str) -> None:
    assert server.client.get(path).status_code in (404, 405)


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/sessions/none", 404, "there is no session"),
        ("/registry/mem-9999", 404, "there is no memory"),
        ("/facts/fact-none", 404, "there is no fact"),
        (f"{SETTINGS}?from=-1", 422, "is no place in a list"),
        (f"{SETTINGS}/policies?policy=policy-none", 404, "there is no policy"),
        (f"{SETTINGS}/conflicts?conflict=conflict-none", 404, "there is no conflict"),
        ("/workspaces/other/settings/memory", 404, "this server serves the workspace default"),
        ("/review/session-1?after=x", 422, "is no seq"),
        ("/audit?kind=nonsense", 422, "is no kind of event"),
        ("/sessions/session-1?at=99999", 422, "the ledger has positions"),
    ],
)
def test_what_is_not_there_is_said_on_a_page_with_what_to_do(ada: Browser, path: str, status: int, said: str) -> None:
    answer = ada.get(path)
    assert answer.status_code == status
    assert said in error_in(answer.text).lower() or said in error_in(answer.text)
    assert answer.headers["content-type"].startswith("text/html")


def test_templates_and_files_are_part_of_what_is_installed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["adapters.web"]
    web = ROOT / "adapters" / "web"
    taken = {path for pattern in patterns for path in web.glob(pattern)}
    assert {path for path in web.rglob("*.*") if path.suffix not in (".py", ".pyc")} == taken


def test_an_address_without_a_page_is_answered_with_one(ada: Browser) -> None:
    wanted = ada.headers | {"accept": "text/html"}
    for path in ("/nothing", "/static/nothing.js"):
        answer = ada.server.client.get(path, headers=wanted)
        assert (answer.status_code, "There is no such page." in answer.text) == (404, True)
        assert "<h1>There is nothing here</h1>" in answer.text


def test_the_start_says_what_waits(ada: Browser) -> None:
    html = ada.page("/")
    assert re.search(r"<b>2</b>\s*sessions wait for review", html)
    assert re.search(r"<b>1</b>\s*open conflict", html)
    assert re.search(r"<b>1</b>\s*policy waits to be let in", html)
    assert "upkeep run" in html


def test_a_search_finds_what_rpc_finds_in_the_same_order_and_says_why(server: Server, ada: Browser) -> None:
    question = "which port does the gateway listen on"
    html = ada.page(f"{SETTINGS}?q={question.replace(' ', '+')}")
    shown = re.findall(r'<p class="subject"><a href="/facts/(fact-\w+)"', html)
    found = server.caller("human:ada")("memory_fact.search", question=question, limit=10)
    hits = found.get("hits", found.get("facts"))
    assert shown == [one["id"] for one in hits]
    assert len(shown) >= 2
    assert html.count("Why it stands here") == len(shown)
    if "hits" in found:
        assert html.count("× confidence") == len(shown)


def test_facts_are_listed_by_domain_topic_author_and_status(world: World, ada: Browser) -> None:
    html = ada.page(f"{SETTINGS}?domain=architecture&author=agent:qa-1")
    assert "Nightly backups" in html
    assert "The gateway listens" not in html
    assert "Only domain <strong><bdi>architecture</bdi></strong>" in html
    superseded = re.search(r'href="([^"]+status=superseded[^"]*)"', html)
    assert superseded
    assert "domain=architecture" in superseded.group(1)
    ended = ada.page(f"{SETTINGS}?status=superseded")
    assert "Redis holds sessions for 30 minutes" in ended
    assert '<span class="badge superseded">' in ended
    assert "Staging runs" not in ada.page(f"{SETTINGS}?topic=release")


def test_a_session_is_shown_with_what_stands_and_what_does_not(ada: Browser) -> None:
    html = ada.page("/sessions/session-2")
    assert '<li class="retracted"' in html
    assert '<li class="effective"' in html
    assert "retracted: seq 2" in html
    assert "because: the question does not ask for it" in html
    then = ada.page("/sessions/session-2?at=52")
    assert "As it was at position 52" in then
    assert '<li class="retracted"' not in then


def test_the_memories_of_a_session_stand_approved_then_declined(ada: Browser) -> None:
    ada.send("/review/session-2", "decide", session="session-2", seqs="1", **{
        "action-1": "decline", "revision-1": revision(ada, "session-2", 1), "reason-1": "too narrow"})  # fmt: skip
    html = ada.page("/sessions/session-2")
    assert "Declined" in html
    assert "because: too narrow" in html
    approved = ada.page("/sessions/session-0")
    assert approved.index(">Approved<") < approved.index("<code>ablazione_transcatetere = TRUE</code>")


def revision(browser: Browser, session: str, seq: int) -> str:
    found = re.search(rf'name="revision-{seq}" value="(\w+)"', browser.page(f"/review/{session}"))
    assert found
    return found.group(1)


def test_a_fact_says_why_it_is_believed(world: World, ada: Browser) -> None:
    gateway = next(fact for content, fact in world.facts.items() if "8443" in content)
    html = ada.page(f"/facts/{gateway}")
    assert "2 independent origins" in html
    assert world.policy in html
    assert 'class="line" points="' in html
    assert "said again by agent:qa-1" in html


def test_a_closed_domain_is_seen_on_no_page(server: Server, world: World) -> None:
    """qa has none in cardiology."""
    qa = Browser(server, "agent:qa-1", "qa")
    closed = next(fact for content, fact in world.facts.items() if "ablazione" in content)
    for path in ("", "?q=ablazione", "/policies", "/graph", "/domains", "/conflicts?state=all", "/beliefs"):
        html = qa.page(SETTINGS + path)
        assert "Un&#39;ablazione" not in html
        assert "Denied: some domains are closed to role qa." in html
    assert "cardiology" not in qa.page(SETTINGS)
    for path in (f"/facts/{closed}", f"{SETTINGS}?domain=cardiology", f"{SETTINGS}/graph?around={closed}"):
        answer = qa.get(path)
        assert answer.status_code == 403
        assert "ablazione" not in answer.text.replace("closed", "")
    assert qa.get("/audit").status_code == 403
    assert qa.send("/health", "verify").status_code == 403
    assert "Latest" not in qa.page("/")
    data = qa.get(f"{SETTINGS}/graph.json")
    assert closed not in data.text
    assert qa.get(f"{SETTINGS}/graph.json?around={closed}").status_code == 403


def test_the_graph_is_told_as_data(world: World, ada: Browser) -> None:
    gateway = next(fact for content, fact in world.facts.items() if "8443" in content)
    told = ada.get(f"{SETTINGS}/graph.json").json()
    assert {one["kind"] for one in told["nodes"]} == {"fact", "policy"}
    ids = {one["id"] for one in told["nodes"]}
    assert all(edge["source"] in ids and edge["target"] in ids for edge in told["edges"])
    around = ada.get(f"{SETTINGS}/graph.json?around={gateway}").json()
    facts = [edge for edge in around["edges"] if edge["kind"] != "derived_from"]
    assert facts
    assert all(gateway in (edge["source"], edge["target"]) for edge in facts)
    assert ada.get(f"{SETTINGS}/graph.json?around=fact-none").status_code == 404


def test_health_verifies_and_says_what_mends(server: Server, world: World, ada: Browser) -> None:
    html = ada.page("/health")
    assert re.search(r"<dt>Chain head</dt><dd><code>[0-9a-f]{64}</code>", html)
    assert str(world.home) in html
    assert str(world.home) not in Browser(server, "agent:coder-1", "coder").page("/health")
    assert "all hold" in ada.send("/health", "verify").text
    import sqlite3

    with sqlite3.connect(world.home / "default" / "views.sqlite3") as db:
        table = db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'registry%memories'").fetchone()[0]
        db.execute(f"UPDATE {table} SET status = 'retired'")
    found = ada.send("/health", "verify").text
    assert "Mend it with:" in found
    assert "tht projection rebuild" in found


def test_the_audit_is_filtered_and_paged(ada: Browser) -> None:
    html = ada.page("/audit?actor=human:ada&kind=grant_changed")
    assert html.count("<strong>grant changed</strong>") == 2
    assert "fact proposed" not in html
    first = ada.page("/audit")
    after = re.search(r'<a href="([^"]+)" rel="next"', first)
    assert after
    second = ada.page(after.group(1).replace("&amp;", "&"))
    assert 'rel="prev"' in second
    assert set(re.findall(r'· <span class="n">(\d+)</span>', first)).isdisjoint(
        re.findall(r'· <span class="n">(\d+)</span>', second)
    )


@pytest.mark.parametrize(
    ("path", "known"),
    [
        (f"{SETTINGS}?q=gateway&mode=psychic", "hybrid, semantic, keyword"),
        (f"{SETTINGS}?mode=psychic", "hybrid, semantic, keyword"),
        (f"{SETTINGS}?q=gateway&kind=rumour", "fact, memory, all"),
        (f"{SETTINGS}?status=liv", "live, superseded, retired, erased, all"),
        ("/registry?status=liv", "live, merged"),
        ("/sessions?status=ajar", "all, open, closed"),
        (f"{SETTINGS}/policies?status=liv", "active, held"),
        (f"{SETTINGS}/conflicts?state=liv", "open, moot"),
    ],
)
def test_what_a_list_cannot_be_asked_for_is_said_with_what_it_can(ada: Browser, path: str, known: str) -> None:
    answer = ada.get(path)
    assert answer.status_code == 422
    assert known in error_in(answer.text)
