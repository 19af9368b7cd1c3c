"""Every page in a real Chromium: light, dark, on a phone; accessible, quiet, and asking no other host."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.conftest import PHONE, Desk, Shared, Sit

if TYPE_CHECKING:
    from tests.web.world import World

SETTINGS = "/workspaces/default/settings/memory"


def pages(world: World) -> list[str]:
    gateway = next(fact for content, fact in world.facts.items() if "8443" in content)
    return [
        "/",
        SETTINGS,
        f"{SETTINGS}?q=which+port+does+the+gateway+use",
        f"{SETTINGS}/policies",
        f"{SETTINGS}/policies?policy={world.policy}",
        f"{SETTINGS}/graph",
        f"{SETTINGS}/domains?role=qa&domain=cardiology",
        f"{SETTINGS}/conflicts",
        f"{SETTINGS}/conflicts?state=all",
        f"{SETTINGS}/beliefs",
        f"/facts/{gateway}",
        "/sessions",
        "/sessions/session-0",
        "/sessions/session-2",
        "/review",
        "/registry",
        f"/registry/{world.memory}",
        "/health",
        "/audit",
    ]


def violations(desk: Desk, *rules: str) -> list[str]:
    """What axe-core finds that is serious or critical, by all rules or some."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"runOnly": list(rules), "resultTypes": ["violations"]} if rules else {"resultTypes": ["violations"]}
    found = Axe().run(desk.page, options=options).response["violations"]
    return [
        f"{desk.page.url}: {one['id']}: {[node['html'][:160] for node in one['nodes']]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize(("scheme", "rules"), [("light", ()), ("dark", ("color-contrast",))])
def test_every_page_is_accessible(shared: Shared, sit: Sit, scheme: str, rules: tuple[str, ...]) -> None:
    desk = sit(shared.url, state=shared.state, color_scheme=scheme, bypass_csp=True)  # for axe, which is put into it
    found: list[str] = []
    for path in pages(shared.world)[:: 2 if rules else 1]:
        desk.open(path)
        if path.endswith("/graph"):
            desk.page.wait_for_selector("[data-drawn]")
        desk.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        found += violations(desk, *rules)
    assert found == []
    desk.page.evaluate("document.querySelector('h1').style.cssText = 'color: #777; background: #888'")
    assert violations(desk, *rules)  # what is planted is found


def test_every_page_fits_a_phone(shared: Shared, sit: Sit) -> None:
    desk = sit(shared.url, state=shared.state, viewport=PHONE)
    wide = []
    for path in pages(shared.world):
        desk.open(path)
        desk.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        if not desk.fits():
            wide.append(path)
    assert wide == []


def test_dark_is_dark_and_light_is_light(shared: Shared, sit: Sit) -> None:
    grounds = {}
    for scheme in ("light", "dark"):
        desk = sit(shared.url, state=shared.state, color_scheme=scheme)
        desk.open("/")
        grounds[scheme] = desk.page.evaluate("getComputedStyle(document.body).backgroundColor")
    red = {scheme: int(ground.removeprefix("rgb(").split(",")[0]) for scheme, ground in grounds.items()}
    assert red["light"] > 200
    assert red["dark"] < 60


def test_the_keyboard_reaches_the_content_and_shows_where_it_is(shared: Shared, sit: Sit) -> None:
    desk = sit(shared.url, state=shared.state)
    page = desk.open("/sessions")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    assert outline == "solid"


def test_the_graph_is_drawn_the_same_each_time_and_explored_by_keys(shared: Shared, sit: Sit) -> None:
    places = []
    for _ in range(2):
        desk = sit(shared.url, state=shared.state)
        page = desk.open(f"{SETTINGS}/graph")
        page.wait_for_selector("[data-drawn]")
        places.append(page.eval_on_selector_all(".node", "all => all.map(one => one.getAttribute('transform'))"))
    assert places[0] == places[1]
    assert len(places[0]) >= 6
    page.locator(".node.fact").first.focus()
    assert page.locator(".panel a").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelector('.panel').textContent.includes('drawn')")
    before = page.locator(".graph svg > g").get_attribute("transform")
    page.locator(".graph svg").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("+")
    assert page.locator(".graph svg > g").get_attribute("transform") != before
    page.get_by_text("As a list").click()
    assert page.locator("[data-listing] li").count() >= 6
    page.locator(".panel a").click()
    page.wait_for_url("**/facts/*")


def test_pages_work_without_script(shared: Shared, sit: Sit) -> None:
    desk = sit(shared.url, state=shared.state, java_script_enabled=False)
    page = desk.open(f"{SETTINGS}/graph")
    assert page.locator("[data-listing] li").count() >= 6
    page = desk.open("/review")
    assert page.locator("input[type=radio][value=promote]").count() == 5
