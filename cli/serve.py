"""`tht serve`: one process for agents, programs and people."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from cli.arguments import reviewer_token
from cli.options import Run, common, pass_run
from cli.output import note, print_json
from domain.errors import ServingUnavailable

if TYPE_CHECKING:
    from adapters.serving.services import Services

NEEDED = ("uvicorn", "starlette", "sse_starlette", "prometheus_client", "mcp")
INSTALL = "pip install 'thoth-memory[serve]'"


@click.command("serve")
@click.option("--http", "address", default="127.0.0.1:8765", show_default=True, metavar="HOST:PORT", help="Where.")
@click.option("--mcp", "with_mcp", is_flag=True, help="The Model Context Protocol at /mcp too.")
@click.option("--allow-host", "hosts", multiple=True, metavar="HOST", help="A further name of this server; repeatable.")
@common
@pass_run
def serve_command(run: Run, address: str, with_mcp: bool, hosts: tuple[str, ...]) -> None:
    """Serve web pages, JSON-RPC and MCP, until Ctrl-C.

    The acting person logs in by the link that is printed, good once; others show a token (tht token create). Reachable
    from other machines only when HOST says so and a token exists.
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise ServingUnavailable(f"tht serve needs more than is installed: {', '.join(missing)}", INSTALL)
    from adapters.serving.identity import Identity
    from adapters.serving.run import parse_address, serve
    from adapters.serving.services import Settings
    from domain.text import is_person

    host, port = parse_address(address)
    with run.opened() as workspace:
        reader = run.reader(workspace)
    local = Identity(reader.actor, reader.role, reviewer_token("") if is_person(reader.actor) else "")
    settings = Settings(run.home_path, run.workspace_name, local, host, port, hosts, with_mcp)
    serve(settings, lambda url, services: _told(run, url, services))
    note(run, "stopped")


def _told(run: Run, url: str, services: Services) -> None:
    link = services.login_link(url) if services.settings.loopback else None
    if run.json:
        print_json({"url": url, "login": link, "actor": services.settings.local.actor})
    else:
        click.echo(url)
        if link:
            note(run, f"log in as {services.settings.local.actor}, once, within ten minutes:")
            click.echo(link)
    sys.stdout.flush()
