"""Entry point of `tht`: the command tree, loaded as it is needed, and the only place where errors become exit codes."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from cli.options import common
from domain.errors import ThtError

# command: (module, what it is for). Modules are imported only when their command runs.
COMMANDS = {
    "demo": ("cli.demo", "The main job on a small example, explained step by step."),
    "init": ("cli.setup", "Make a workspace."),
    "config": ("cli.setup", "List the settings with value and origin, or change one."),
    "status": ("cli.health", "Where projections, index and ledger stand."),
    "doctor": ("cli.health", "Look for what may give trouble, and say how to mend it."),
    "verify": ("cli.health", "Check ledger, views, index and invariants against each other."),
    "session": ("cli.session", "Sessions: open, record, walk and roll back phases, close, summarise."),
    "memory": ("cli.memory", "Memories: promote, decline, defer, search, reuse, history."),
    "review": ("cli.review", "The review queue as one checklist."),
    "registry": ("cli.registry", "The registry of memories: list, show, export, merge, supersede, retire, restore."),
    "fact": ("cli.fact", "Facts: propose, search, show, list, correct, supersede, retire, restore, link."),
    "conflicts": ("cli.conflicts", "Facts that contradict each other, or may: list, show, resolve."),
    "policy": ("cli.policy", "Policies: propose, list, show, supersede, activate, deactivate."),
    "domain": ("cli.domain", "Domains, which group facts and policies: create, list, show, close."),
    "grant": ("cli.domain", "Grants: which role reads and writes which domain: set, list, explain."),
    "notes": ("cli.notes", "An agent's own notes and observations: show, update, observe."),
    "remember": ("cli.notes", "Keep something in mind, for a session or a while; or list what is."),
    "preamble": ("cli.preamble", "What reaches an agent's prompt: policies, its notes, a few facts."),
    "consolidate": ("cli.upkeep", "Expire, raise, merge and prune; every run can be undone."),
    "harmonize": ("cli.upkeep", "Turn agreement into beliefs, contradictions into conflicts."),
    "harvest": ("cli.upkeep", "A meeting's decisions as facts."),
    "maintain": ("cli.upkeep", "Consolidate and harmonize on a schedule, in the foreground."),
    "audit": ("cli.audit", "Why is it so: who did what, when, why, and what followed."),
    "projection": ("cli.projection", "The SQL views: list, status, replay, rebuild, verify, follow."),
    "index": ("cli.index", "The vector index: status, rebuild, verify."),
    "ledger": ("cli.ledger", "The ledger itself: verify, head, export, copy, log."),
    "import": ("cli.exchange", "Take in sessions, an old registry, or a whole exported ledger."),
    "export": ("cli.exchange", "Write the whole ledger out, losslessly."),
    "erase": ("cli.erase", "Make a text unreadable for good, everywhere."),
    "backup": ("cli.exchange", "Copy ledger and settings into one file."),
    "restore": ("cli.exchange", "Bring a backup back, never over a longer history."),
    "mcp": ("cli.mcp", "The memory for an agent, over MCP on stdin and stdout."),
    "serve": ("cli.serve", "Serve web pages, JSON-RPC and MCP to people, programs and agents."),
    "token": ("cli.token", "Tokens for tht serve: create, list, revoke."),
    "completion": ("cli.setup", "Shell completion for bash, zsh and fish."),
}


class Tree(click.Group):
    """A group whose commands live in modules of their own."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(COMMANDS[cmd_name][0])
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=Tree, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(package_name="thoth-memory", prog_name="tht")
@common
def tht() -> None:
    """Memory for teams of AI agents and the people who review them, kept as a ledger.

    Every change is an immutable event; everything that can be read is a view that can be deleted and replayed.

    Exit codes: 0 done; 1 refused or drift found; 2 usage; 3 something it needs is unavailable.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run `tht`. Exits with 0, 1, 2 or 3; never a traceback, unless THT_DEBUG is set."""
    os.umask(0o077)  # whatever is made is its owner's only
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them reads every installed package
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.stdin = sys.stdin or open(os.devnull, encoding="utf-8")  # noqa: SIM115  a stream that the caller has closed
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run(given))


def _run(given: list[str]) -> int:
    as_json = "--json" in given
    try:
        result = tht.main(args=given, prog_name="tht", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except ThtError as error:
        return _complain(error.type, error.message, error.hint, error.exit_code, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.UsageError as error:
        usage = error.ctx.command_path + " --help lists what it takes" if error.ctx else ""
        return _complain("Usage", error.format_message(), usage, 2, as_json)
    except click.ClickException as error:
        return _complain("Usage", error.format_message(), "", 2, as_json)
    except (click.Abort, KeyboardInterrupt):
        return _complain("Stopped", "stopped; what was acknowledged before is kept", "", 1, as_json)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader has gone: nothing left to say
        return 1
    except sqlite3.DatabaseError as error:  # of the views: the ledger and the vector cache speak for themselves
        hint = "they hold nothing of their own: tht projection rebuild makes them anew"
        return _complain("HomeNotWritable", f"the views cannot be read: {error}", hint, 3, as_json)
    except OSError as error:
        return _complain("HomeNotWritable", str(error), "check the disk and the permissions of the home", 3, as_json)
    except Exception as error:
        if os.environ.get("THT_DEBUG"):
            raise
        hint = "this is a fault of tht: run it again with THT_DEBUG=1 and report what it prints"
        return _complain("InternalError", f"{type(error).__name__}: {error}", hint, 1, as_json)


def _complain(kind: str, message: str, hint: str, code: int, as_json: bool) -> int:
    if as_json:
        print(json.dumps({"error": {"type": kind, "message": message, "hint": hint}}), file=sys.stderr)
    else:
        told = f"error: {message}" + (f"\n  → {hint}" if hint else "")
        print("".join(one if one.isprintable() or one == "\n" else "�" for one in told), file=sys.stderr)
    return code
