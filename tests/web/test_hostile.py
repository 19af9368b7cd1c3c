"""Hostile words in every field: shown as text, on every page; Markdown is rendered and harmless."""

from __future__ import annotations

import re
from html import escape, unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

import pytest

from adapters.access import Access
from adapters.facts import Facts
from adapters.ledger import By
from adapters.policies import Policies
from adapters.review import Review, Verdict
from adapters.sessions import Sessions
from adapters.web.addresses import review_url, session_url
from adapters.web.render import markdown, visible
from adapters.workspace import open_workspace
from domain.propose import NewFact
from domain.session import NewDecision
from tests.web.conftest import SETTINGS, Browser

if TYPE_CHECKING:
    from tests.web.world import World

SCRIPT = "<script>alert(1)</script>"
TAGS = f'{SCRIPT}<img src=x onerror=alert(1)>"\' onmouseover="alert(1)'
TRICKS = f"{TAGS} [click](javascript:alert(1)) ![x](https://evil.example/x.png) <b onclick=x>b</b> {{{{7*7}}}}"
ADA, AUTHOR = By("human:ada", reason=TAGS), By("agent:linker", "coder", TAGS)
IDS = ("a/b?c=d#e", "<script>alert(1)</script>", "../é&x=y")


@pytest.fixture
def hostile(world: World) -> World:
    with open_workspace(world.home, "default") as workspace:
        facts, sessions, review = Facts(workspace), Sessions(workspace), Review(workspace)
        first, _ = facts.propose("architecture", NewFact(f"One {TRICKS}", f"t {TAGS}"[:100], ADA.actor), ADA)
        second, _ = facts.propose("architecture", NewFact(f"Two {TRICKS}", f"t {TAGS}"[:100], ADA.actor), ADA,
                                  on_conflict="ask")  # fmt: skip
        facts.link(first.fact_id, second.fact_id, "related_to", 1.0, ADA)
        Policies(workspace).propose("architecture", f"Rule {TRICKS}", ADA, derived_from=[first.fact_id])
        Access(workspace).create("Plain", ADA)
        for number, session_id in enumerate(IDS):
            sessions.open(session_id, f"Question {TRICKS}", AUTHOR)
            said = NewDecision("concept_clarified", f"Subject {number} {TAGS}", TRICKS, TRICKS, "F1", TRICKS, (TAGS,))
            sessions.record(session_id, said, AUTHOR)
            sessions.record(session_id, NewDecision("concept_clarified", f"No {number} {TAGS}", TRICKS), AUTHOR)
            one, two = review.preview(session_id).candidates
            verdicts = [
                Verdict(session_id, one.candidate.seq, one.candidate.revision, "promote", reason=TAGS),
                Verdict(session_id, two.candidate.seq, two.candidate.revision, "decline", reason=TAGS),
            ]
            if number:
                assert all(one.error is None for one in review.batch(verdicts, ADA))
        world.facts = {"one": first.fact_id, "two": second.fact_id}
    return world


class Reading(HTMLParser):
    """Reads a page as a browser does: what is a tag or an attribute, and not only looks like one."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("img", "iframe", "style", "object", "embed", "base", "b") and given:
            self.wrong.append(f"<{tag}>")
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.wrong.append("<script>")
        for name, value in given.items():
            if name.startswith("on") or name == "style":
                self.wrong.append(name)
            if name in ("href", "src", "action") and not value.startswith(
                ("/", "#", "https://evil.example", "mailto:")
            ):
                self.wrong.append(value)
        if given.get("href", "").startswith("https://") and "noopener" not in given.get("rel", ""):
            self.wrong.append(given["href"])


def harmless(html: str) -> None:
    reading = Reading()
    reading.feed(html)
    assert reading.wrong == []


def test_no_page_obeys_what_is_stored(hostile: World, ada: Browser) -> None:
    pages = ["/", SETTINGS, f"{SETTINGS}?q={quote(TRICKS)}", "/sessions",
             "/registry", "/audit", f"/audit?actor=human:ada&session_id={quote(TAGS)}", "/review"]  # fmt: skip
    pages += [f"{SETTINGS}/{tab}" for tab in ("policies", "graph", "domains", "conflicts?state=all", "beliefs")]
    pages += [f"/facts/{one}" for one in hostile.facts.values()]
    pages += [f"/registry/mem-{number:04}" for number in (2, 3)]
    refused = ada.get(f"{SETTINGS}?q=click&kind={quote(TAGS)}")
    assert refused.status_code == 422
    harmless(refused.text)
    shown = 0
    for page in pages:
        html = ada.page(page)
        harmless(html)
        shown += html.count("&lt;script&gt;")
    assert shown > 20


@pytest.mark.parametrize("session", IDS)
def test_an_id_is_quoted_whole_in_addresses(hostile: World, ada: Browser, session: str) -> None:
    listed = ada.page("/sessions")
    address = f"/sessions/{quote(session, safe='')}"
    assert f'href="{address}"' in listed
    for path in (address, f"/review/{quote(session, safe='')}"):
        html = ada.page(path)
        harmless(html)
        assert escape(session) in html
    html = ada.page(address)
    assert "Question &lt;script&gt;" in html
    then = re.findall(r'href="([^"]+\?at=\d+)"', html)
    assert then
    assert "As it was at position" in ada.page(then[0].replace("&amp;", "&"))


def resolved(address: str) -> str:
    """Where a browser goes: it takes `%2e` for a dot, and then resolves dots (WHATWG URL)."""
    path, mark, query = address.partition("?")
    dotted = [re.sub("%2e", ".", one, flags=re.I) if len(one) <= 6 else one for one in path.split("/")]
    return urljoin("http://tht", "/".join(dotted) + mark + query).removeprefix("http://tht")


DOTTED = (".", "..", "...", "../..", "./", "a/../b", "..;", ".\\")


def test_every_id_of_a_session_has_an_address_that_survives_a_browser(world: World, ada: Browser) -> None:
    with open_workspace(world.home, "default") as workspace:
        for session_id in DOTTED:
            Sessions(workspace).open(session_id, f"Question of {session_id}", AUTHOR)
            said = NewDecision("concept_clarified", f"Subject of {session_id}", "It is clear")
            Sessions(workspace).record(session_id, said, AUTHOR)
    for session_id in (*DOTTED, "%2e", "%2E%2e"):
        for address in (session_url(session_id), review_url(session_id)):
            assert resolved(address) == address
    listed = ada.page("/sessions")
    for session_id in DOTTED:
        for address in (session_url(session_id), review_url(session_id)):
            assert f"Subject of {session_id}" in ada.page(address)
        assert f'href="{escape(session_url(session_id))}"' in listed
        then = re.findall(r'href="([^"]+[?;]at=\d+)"', ada.page(session_url(session_id)))
        assert f"Question of {session_id}" in ada.page(unescape(then[0]))
    (form,) = re.findall(r'<form method="post" action="([^"]*)" class="ballot"', ada.page(review_url("..")))
    revision = re.findall(r'name="(revision-\d+)" value="([^"]*)"', ada.page(review_url("..")))
    there, told = ada.does(unescape(form), "decide", session="..", seqs="1", reason="a test",
                           **dict(revision), **{"action-1": "promote"})  # fmt: skip
    assert "seq 1" in told
    assert resolved(there) == there


def test_an_error_repeats_hostile_words_as_text(ada: Browser) -> None:
    for path in (f"/sessions/{quote(TAGS, safe='')}", f"/registry/{quote(TAGS, safe='')}",
                 f"{SETTINGS}?domain={quote(TAGS)}", f"/audit?kind={quote(TAGS)}"):  # fmt: skip
        answer = ada.get(path)
        assert answer.status_code >= 400
        harmless(answer.text)
    answer = ada.send(SETTINGS, "propose", form="propose", content=TRICKS, domain=TAGS, topic=TAGS, confidence=TAGS)
    assert answer.status_code == 422
    harmless(answer.text)
    assert answer.text.count("&lt;script&gt;") >= 3


@pytest.mark.parametrize(
    "text",
    [
        TRICKS,
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<javascript:alert(1)>",
        "[x]: javascript:alert(1)\n\n[x]",
        "<a href='javascript:alert(1)'>x</a>",
        "<svg><script>alert(1)</script></svg>",
        "```html\n<script>alert(1)</script>\n```",
        '[a](https://evil.example "onclick=alert(1)")',
        "<iframe src=//evil.example></iframe><style>*{display:none}</style><form action=//evil.example>",
        "# Heading\n\n<h1>Heading</h1>",
        "a" * 10 + "[" * 5000,
        "\x00\u202e\u2066evil",
    ],
)
def test_markdown_is_rendered_and_harmless(text: str) -> None:
    made = str(markdown(text))
    harmless(made)
    assert not re.search(r"<(script|style|iframe|form|svg|h1|input)\b", made)
    assert "\u202e" not in made


def test_a_link_in_markdown_gives_nothing_away() -> None:
    made = str(markdown("**Read** [this](https://example.org/a?b=c) and `code`"))
    assert '<a href="https://example.org/a?b=c" rel="noopener noreferrer nofollow">this</a>' in made
    assert "<strong>Read</strong>" in made


def test_signs_that_reorder_or_break_a_line_are_shown_as_such() -> None:
    assert visible("a\u202eb\x1b[2Jc\ud800") == "a�b�[2Jc�"
    assert visible("Καρδιά è\n\tok") == "Καρδιά è\n\tok"
