"""A server with the small world in it, and a real Chromium: no other host, no complaint in its console."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from tests.conftest import skip_or_fail
from tests.serving.conftest import ROOT, Start, home, start  # noqa: F401  fixtures
from tests.web.world import World, build

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1100, "height": 800}


# Playwright's event loop goes on in the thread that began it, where no other test could then run one of its own: so the
# browser, and every test that uses it, has a thread for itself.
STAGE = ThreadPoolExecutor(1, "browser")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool:
    """The tests of this folder run where their browser is."""
    names = inspect.signature(pyfuncitem.obj).parameters
    STAGE.submit(pyfuncitem.obj, **{name: pyfuncitem.funcargs[name] for name in names}).result()
    return True


@pytest.fixture(scope="session")
def world_home(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Made once; tests work on copies."""
    return build(tmp_path_factory.mktemp("world") / "home")


@pytest.fixture
def world(world_home: World, own_environment: None, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    copy = Path(os.environ["THT_HOME"])
    shutil.copytree(world_home.home, copy)
    return World(copy, world_home.facts, world_home.policy, world_home.held, world_home.conflict, world_home.memory)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests: each gets a context of its own, which is a profile of its own."""
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        skip_or_fail("no Chromium; on Debian: apt-get install chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        skip_or_fail("no playwright; pip install 'thoth-memory[test]'")
    playwright = STAGE.submit(lambda: sync_playwright().start()).result()
    try:
        browser = STAGE.submit(lambda: playwright.chromium.launch(executable_path=path, args=FLAGS)).result()
        yield browser
        STAGE.submit(browser.close).result()
    finally:
        STAGE.submit(playwright.stop).result()


@dataclass
class Desk:
    """A person at a browser. `wrong`: what its console complained of; `foreign`: hosts that it was sent to."""

    context: BrowserContext
    page: Page
    url: str
    wrong: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        answer = self.page.goto(self.url + path)
        assert answer is not None
        assert answer.status == 200, f"{path}: {answer.status}"
        return self.page

    @property
    def told(self) -> str:
        """What the page says an act came to."""
        return self.page.locator(".told").first.inner_text()

    def fits(self) -> bool:
        """Whether nothing of the page lies beside the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))

    def watch(self, page: Page) -> None:
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", self._asked)

    def _said(self, message: Any) -> None:
        # a page that the server refuses is reported as one that "failed to load": that is no fault of the page
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.wrong.append(message.text)

    def _asked(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme != "data" and f"{parts.scheme}://{parts.netloc}" != self.url:
            self.foreign.append(request.url)


Sit = Callable[..., Desk]


@dataclass(frozen=True)
class Shared:
    """A server that reading tests share."""

    url: str
    world: World
    state: Any


@pytest.fixture
def sit(chromium: Browser) -> Iterator[Sit]:
    """Opens browsers, and looks after each test whether all was well in them."""
    desks: list[Desk] = []

    def opened(url: str, *, link: str = "", state: Any = None, **options: Any) -> Desk:
        context = chromium.new_context(viewport=options.pop("viewport", DESK), storage_state=state, **options)
        context.set_default_timeout(10_000)
        desk = Desk(context, context.new_page(), url)
        desk.watch(desk.page)
        desks.append(desk)
        if link:
            desk.page.goto(link)
        return desk

    yield opened
    for desk in desks:
        STAGE.submit(desk.context.close).result()
    assert [one for desk in desks for one in desk.wrong] == []
    assert [one for desk in desks for one in desk.foreign] == []


@pytest.fixture
def ada(world: World, start: Start, sit: Sit) -> Desk:  # noqa: F811
    """Ada at a browser, with a server of her own."""
    live = start()
    return STAGE.submit(lambda: sit(live.url, link=live.link)).result()


@pytest.fixture(scope="session")
def shared(chromium: Browser, world_home: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """One server for all tests that only read."""
    with _served(chromium, world_home, tmp_path_factory.mktemp("read") / "home") as served:
        yield served


@pytest.fixture(scope="module")
def acting(chromium: Browser, world_home: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """One server for the tests of a module that write, each about other records."""
    with _served(chromium, world_home, tmp_path_factory.mktemp("write") / "home") as served:
        yield served


def _logged_in(chromium: Browser, link: str) -> Any:
    """The cookies of a browser that has opened the link."""
    context = chromium.new_context()
    context.new_page().goto(link)
    state = context.storage_state()
    context.close()
    return state


@contextmanager
def _served(chromium: Browser, made: World, copy: Path) -> Iterator[Shared]:
    shutil.copytree(made.home, copy)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THT_")}
    environment |= {"THT_HOME": str(copy), "THT_EMBEDDER_MODEL": "hash", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-c", "from cli.main import main; main()", "serve", "--http", "127.0.0.1:0", "--json"]
    process = subprocess.Popen(
        [*command, "--actor", "human:ada"], stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        state = STAGE.submit(_logged_in, chromium, told["login"]).result()
        yield Shared(told["url"], World(copy, made.facts, made.policy, made.held, made.conflict, made.memory), state)
    finally:
        process.terminate()
        process.wait(30)
        assert process.stdout is not None
        process.stdout.close()
