"""A reviewer at a real browser, with the keyboard alone: what is decided is everywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.browser.conftest import PHONE, Desk, Sit
from tests.serving.conftest import ROOT, Start, eventually

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.web.world import World


def tht(*arguments: str) -> Any:
    """What a real `tht` command beside the server says."""
    command = [sys.executable, "-c", "from cli.main import main; main()", *arguments, "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout)


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def marks(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all("[data-review] input:checked", "all => all.map(one => one.value)")
    return found


def test_five_candidates_are_decided_by_keys_and_everything_follows(world: World, ada: Desk) -> None:
    page = ada.open("/review")
    assert marks(page) == ["promote"] * 5
    press(page, "?")
    assert page.locator("[data-keys]").is_visible()
    press(page, "Escape")
    # the first stays promoted, with a reason
    press(page, "r")
    page.keyboard.type("agreed with the data team")
    press(page, "Enter")
    # the second is declined by Space, the third merged into the memory that says the same
    press(page, "j", "Space", "j", "m")
    assert page.evaluate("document.activeElement.value") == world.memory
    press(page, "Escape")
    # the fourth is deferred, the fifth edited; back to the fourth and on again
    press(page, "j", "d", "j", "e")
    press(page, "Control+a")
    page.keyboard.type("A school that is open on the day of the question")
    press(page, "Escape", "k", "j")
    assert marks(page) == ["promote", "decline", "merge", "defer", "edit"]
    assert page.locator("[data-count]").inner_text() == "promote 1, merge 1, decline 1, defer 1, edit 1"
    press(page, "Enter")
    assert page.locator("[data-confirm]").is_visible()
    press(page, "Enter")
    page.wait_for_url("**/review/session-1?after=5")
    told = ada.told
    assert "seq 1: promoted, mem-0002" in told
    assert f"seq 3: merged into {world.memory}" in told
    assert "seq 5: edited, now seq 9" in told
    assert page.evaluate("document.activeElement.classList.contains('told')")  # it is read out

    # the registry, the summary, the index and the audit follow
    page = ada.open("/registry/mem-0002")
    assert "Free Meal Count" in page.locator("main").inner_text()
    page = ada.open("/sessions/session-1")
    memories = page.locator("section[aria-labelledby=memories]").inner_text()
    assert memories.index("Eligible free rate") < memories.index("Continuation school")
    page = ada.open("/audit?kind=memory_promoted&session_id=session-1")
    assert "because: agreed with the data team" in page.locator("main").inner_text()
    eventually(lambda: bool(tht("index", "status")["lag"] == 0))
    found = tht("memory", "search", "eligible free rate for K-12")
    assert "mem-0002" in [hit["id"] for hit in found["hits"]]
    summary = tht("session", "summary", "session-1")
    assert [(one["seq"], one["state"]) for one in summary["memories"]][-1] == (2, "declined")


def test_the_queue_is_walked_on_a_phone_by_touch_and_without_script(world: World, start: Start, sit: Sit) -> None:
    live = start()
    desk = sit(live.url, link=live.link, viewport=PHONE, has_touch=True, is_mobile=True)
    page = desk.open("/review")
    page.locator("[data-candidate='2'] .verdict label", has_text="Defer").tap()
    page.locator("[data-candidate='4'] .verdict label", has_text="Merge").tap()
    assert page.locator("#memory-4").is_visible()
    page.locator("[data-candidate='4'] .verdict label", has_text="Leave").tap()
    assert not page.locator("#memory-4").is_visible()
    assert desk.fits()
    page.locator("button.main", has_text="Submit these 5").tap()
    page.wait_for_url("**/review/session-1?after=5")
    assert "seq 2: deferred" in desk.told
    page.locator("button.main", has_text="Submit these 2").tap()
    page.wait_for_url("**/review/session-2")
    # the last session without script: a plain form
    plain = sit(live.url, state=desk.context.storage_state(), java_script_enabled=False)
    page = plain.open("/review/session-2")
    page.locator("[data-candidate='1'] .verdict label", has_text="Defer").click()
    page.fill("#reason-1", "ask the author first")
    page.locator(".submit button.main").click()
    page.wait_for_url("**/review?seen=all")
    assert "seq 1: deferred" in plain.told
    assert "You have been through the queue" in page.locator("main").inner_text()
