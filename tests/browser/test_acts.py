"""What people do on the pages, in a real browser: each act is said, and stands in the audit with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.browser.conftest import Shared, Sit
from tests.browser.test_pages_look import SETTINGS
from tests.serving.conftest import make_token

if TYPE_CHECKING:
    from playwright.sync_api import Page

REASON = "because I looked it up"


def act(page: Page, name: str, button: str, **fields: str) -> None:
    """Opens an act, fills in its form, and sends it with a reason. `fields`: by label, _ for a space."""
    page.locator("summary", has_text=name).first.click()
    form = page.locator("details[open] > form", has=page.get_by_role("button", name=button, exact=True)).first
    for label, value in (fields | {"Reason": REASON}).items():
        form.get_by_label(label.replace("_", " "), exact=True).fill(value)
    form.get_by_role("button", name=button, exact=True).click()


def test_facts_are_added_corrected_retired_and_restored(acting: Shared, sit: Sit) -> None:
    ada = sit(acting.url, state=acting.state)
    page = ada.open(SETTINGS)
    act(page, "Add a fact", "Record the fact", What_holds="The mailer sends from port 2525", New_domain="mail",
        Topic="mailer")  # fmt: skip
    page.wait_for_url("**/facts/*")
    assert "The fact is recorded." in ada.told
    first = page.url
    act(page, "Correct", "Correct it", What_holds="The mailer sends from port 2526")
    page.wait_for_url(lambda url: url != first)
    second = page.url.rpartition("/")[2]
    assert "the old wording never held" in ada.told
    act(page, "Retire", "Retire it")
    page.wait_for_selector(".badge.retired")
    act_open = page.locator("details[open] > form", has=page.get_by_role("button", name="Restore it"))
    act_open.get_by_label("Reason").fill(REASON)
    act_open.get_by_role("button", name="Restore it").click()
    page.wait_for_selector(".badge.live")
    act(page, "Link", "Link them", With_the_fact=next(iter(acting.world.facts.values())))
    page.wait_for_selector("text=It is linked with")
    page = ada.open(f"/audit?record={second}")
    said = page.locator("main").inner_text()
    for kind in ("fact proposed", "fact retired", "fact restored", "fact linked"):
        assert kind in said
    assert said.count(f"because: {REASON}") >= 4
    page = ada.open(SETTINGS)
    page.get_by_label("Search, as agents search").fill("which port does the mailer use")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits")
    assert "2526" in page.locator(".hits li").first.inner_text()
    page.locator(".why summary").first.click()
    assert page.locator(".why[open]").first.inner_text()


def test_policies_grants_and_conflicts_are_decided(acting: Shared, sit: Sit) -> None:
    ada = sit(acting.url, state=acting.state)
    page = ada.open(f"{SETTINGS}/policies")
    act(page, "Add a policy", "Record the policy", The_rule="Mail only in the morning", New_domain="mail")
    page.wait_for_url("**policy=*")
    act(page, "Deactivate", "Deactivate it")
    page.wait_for_selector(".badge.inactive")
    act(page, "Activate", "Activate it")
    page.wait_for_selector(".badge.active")
    page = ada.open(f"{SETTINGS}/domains")
    card = page.locator("section.card", has_text="architecture")
    card.locator("summary").click()
    card.get_by_label("Role").fill("pm")
    card.get_by_label("May").select_option("none")
    card.get_by_label("Reason").fill(REASON)
    card.get_by_role("button", name="Set it").click()
    page.wait_for_selector("text=pm has none in architecture from now on.")
    page.locator("summary", has_text="Explain").click()
    page.get_by_label("What may the role").select_option("pm")
    page.get_by_label("do in").select_option("architecture")
    page.get_by_role("button", name="Explain").click()
    assert "pm has none for architecture" in page.locator(".explained").inner_text()
    page = ada.open(f"{SETTINGS}/conflicts")
    page.get_by_label("Merge them").check()
    page.get_by_label("What both meant").fill("The gateway retries three to five times")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Decide", exact=True).click()
    page.wait_for_selector(".badge.merged")
    assert "says what both meant" in ada.told
    page = ada.open("/audit?actor=human:ada")
    said = page.locator("main").inner_text()
    for kind in ("policy proposed", "policy deactivated", "policy activated", "grant changed", "conflict resolved"):
        assert kind in said


def test_a_memory_is_retired_and_restored_and_health_verifies(acting: Shared, sit: Sit) -> None:
    ada = sit(acting.url, state=acting.state)
    page = ada.open(f"/registry/{acting.world.memory}")
    act(page, "Retire", "Retire it")
    page.wait_for_selector(".badge.retired")
    page.get_by_label("Reason").fill(REASON)
    page.get_by_role("button", name="Restore it").click()
    page.wait_for_selector(".badge.live")
    act(page, "Supersede", "Supersede it", The_memory_that_holds_now="mem-9999")
    page.wait_for_selector("[role=alert]")
    assert "there is no memory 'mem-9999'" in page.locator("[role=alert]").inner_text().lower()
    assert page.locator("#supersede-successor").input_value() == "mem-9999"  # nothing typed is lost
    assert page.locator("#supersede-reason").input_value() == REASON
    page = ada.open("/health")
    page.get_by_role("button", name="Verify now").click()
    page.wait_for_selector(".good-box")
    assert "all hold" in page.locator(".good-box").inner_text()


def test_a_person_logs_in_with_a_token_and_out(acting: Shared, sit: Sit) -> None:
    desk = sit(acting.url)
    page = desk.page
    page.goto(f"{acting.url}/sessions")
    page.get_by_label("Token").fill(make_token(acting.world.home, "human:bob", person=True))
    page.keyboard.press("Enter")
    page.wait_for_selector("text=human:bob")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")
    page.goto(f"{acting.url}/registry")
    assert page.url.endswith("/login")


def test_hostile_words_are_shown_and_never_run(acting: Shared, sit: Sit) -> None:
    words = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script> [x](javascript:alert(1))"
    ada = sit(acting.url, state=acting.state)
    page = ada.open(SETTINGS)
    act(page, "Add a fact", "Record the fact", What_holds=words, New_domain="mail", Topic="<b>bold</b>")
    page.wait_for_url("**/facts/*")
    assert page.locator("h1").inner_text() == words
    fact = page.url.rpartition("/")[2]
    act(page, "Link", "Link them", With_the_fact=next(iter(acting.world.facts.values())))
    page.wait_for_selector("text=It is linked with")
    page = ada.open(f"{SETTINGS}/graph?around={fact}")
    page.wait_for_selector("[data-drawn]")
    assert words[:40] in page.locator(".panel").inner_text()
    assert "run" not in page.title()
    assert page.locator("main img").count() == 0
