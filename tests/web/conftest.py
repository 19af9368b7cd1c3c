"""The pages of a server in this process, with the small world in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from adapters.serving.app import create_app
from adapters.serving.identity import Identity
from adapters.serving.services import Services
from tests.serving.conftest import BASE, Server, settings
from tests.web.world import World, build

SETTINGS = "/workspaces/default/settings/memory"


@pytest.fixture(scope="session")
def world_home(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Made once; tests work on copies."""
    return build(tmp_path_factory.mktemp("world") / "home")


@pytest.fixture
def world(world_home: World, own_environment: None, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "hash")
    home = Path(os.environ["THT_HOME"])
    shutil.copytree(world_home.home, home)
    return World(home, world_home.facts, world_home.policy, world_home.held, world_home.conflict, world_home.memory)


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    services = Services(settings(world.home))
    with TestClient(create_app(services), base_url=BASE, client=("127.0.0.1", 50000)) as client:
        yield Server(world.home, services, client)


@dataclass
class Browser:
    """Somebody with a session of their own: pages as text, forms as a browser would send them."""

    server: Server
    actor: str
    role: str = ""

    def __post_init__(self) -> None:
        door = self.server.services.door
        self.cookie = door.sessions.begin(Identity(self.actor, self.role))
        found = door.sessions.find(self.cookie)
        assert found is not None
        self.csrf = found.csrf

    @property
    def headers(self) -> dict[str, str]:
        return {"cookie": f"{self.server.services.door.cookie}={self.cookie}"}

    def get(self, path: str) -> Any:
        return self.server.client.get(path, headers=self.headers, follow_redirects=False)

    def page(self, path: str) -> str:
        answer = self.get(path)
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    def send(self, path: str, act: str, *, csrf: str | None = None, **fields: str) -> Any:
        """A form, without following where it leads."""
        data = {"csrf": self.csrf if csrf is None else csrf, "act": act, **fields}
        headers = self.headers | {"origin": BASE}
        return self.server.client.post(path, data=data, headers=headers, follow_redirects=False)

    def does(self, path: str, act: str, **fields: str) -> tuple[str, str]:
        """A form that must be taken; where it leads, and what is said there."""
        answer = self.send(path, act, **fields)
        assert answer.status_code == 303, error_in(answer.text) or answer.text
        there = answer.headers["location"]
        return there, told_in(self.page(there))

    def refused(self, path: str, act: str, **fields: str) -> tuple[int, str]:
        """A form that must be refused; the status, and what the page says."""
        answer = self.send(path, act, **fields)
        assert answer.status_code >= 400, answer.headers
        return answer.status_code, error_in(answer.text)


def told_in(html: str) -> str:
    found = re.search(r'<div role="status".*?</div>', html, re.DOTALL)
    return _text(found.group(0)) if found else ""


def error_in(html: str) -> str:
    found = re.search(r'<div role="alert".*?</div>', html, re.DOTALL)
    return _text(found.group(0)) if found else ""


def _text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


@pytest.fixture
def ada(server: Server) -> Browser:
    return Browser(server, "human:ada")
