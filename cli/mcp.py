"""`tht mcp`: the memory for an agent, over the Model Context Protocol on stdin and stdout."""

from __future__ import annotations

from importlib.util import find_spec

import click

from cli.options import Run, common, pass_run
from domain.errors import ServingUnavailable


@click.command("mcp")
@common
@pass_run
def mcp_command(run: Run) -> None:
    """Serve MCP on stdin and stdout, for an agent's client to start: tht mcp --actor agent:NAME --role ROLE.

    Who speaks is said here and by no tool's argument. It ends when stdin does. Over HTTP: tht serve --mcp.
    The workspace must be there (tht init): one that is mistyped is refused, not made.
    """
    if find_spec("mcp") is None:
        raise ServingUnavailable("tht mcp needs more than is installed: mcp", "pip install 'thoth-memory[serve]'")
    from adapters.mcp.call import accept_speaker
    from adapters.mcp.stdio import serve_stdio

    speaker = accept_speaker(run.given_actor, run.role_name)
    with run.opened() as workspace:
        serve_stdio(workspace, speaker)
