"""`tht policy`: the rules that every dispatch carries. What is not first hand waits for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from adapters.policies import Listed, Policies, Shown
from cli.arguments import FACT, POLICY, at_option, position_of, reviewer_token, text_or_stdin
from cli.options import Commands, Run, common, mutating, paged, pass_run
from cli.output import cut_note, note, printable, show, show_committed, table, time_text
from domain.policy import STATUSES
from domain.policy_events import PolicyProposed
from projections.policies import PolicyRow

if TYPE_CHECKING:
    from rich.console import RenderableType

    from adapters.ledger import Committed

policy_argument = click.argument("policy_id", metavar="POLICY", type=POLICY)
role_option = click.option("--for-role", default="", metavar="ROLE", help="Whom the rule addresses; all may read it.")
from_option = click.option(
    "--from", "sources", multiple=True, type=FACT, metavar="FACT", help="A fact that it is derived from; repeatable."
)


@click.group("policy", cls=Commands)
@common
def policy_command() -> None:
    """Policies: what agents must do. Every active one goes into every dispatch."""


@policy_command.command("propose")
@click.argument("rule", metavar="RULE|-")
@click.option("--domain", required=True, metavar="DOMAIN", help="Where it belongs; made when it is not there.")
@click.option("--repo", default="", metavar="REPO", help="Of this repository: a slug or owner/name.")
@role_option
@from_option
@mutating
@pass_run
def propose(
    run: Run,
    rule: str,
    domain: str,
    repo: str,
    for_role: str,
    sources: tuple[str, ...],
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """Propose a rule. Active at once, unless it rests on what a tool said or what came from elsewhere."""
    with run.opened(create=True, dry_run=dry_run) as workspace:
        policy_id, done = Policies(workspace).propose(
            domain,
            text_or_stdin(rule),
            run.by(workspace, reason, key, dry_run),
            repo=repo,
            required_role=for_role,
            derived_from=sources,
        )
        told = f"{policy_id} is {'active' if not _held(done) else f'held: {_held(done)}'}"
        would = f"{policy_id} would be {'active' if not _held(done) else f'held: {_held(done)}'}"
        show_committed(run, done, told, dry_run=dry_run, would=would, policy_id=policy_id, held=_held(done) or None)


@policy_command.command("list")
@click.option("--domain", default="", metavar="DOMAIN", help="Only this domain.")
@click.option("--repo", default="", metavar="REPO", help="Of this repository: a slug or owner/name.")
@click.option("--status", type=click.Choice(STATUSES), default="active", show_default=True, help="Only these.")
@click.option("--all", "everything", is_flag=True, help="Of every status.")
@at_option
@paged
@pass_run
def list_command(
    run: Run, domain: str, repo: str, status: str, everything: bool, at: str, limit: int, offset: int
) -> None:
    """The policies that you may read, and whether the active ones are over the budget (policy.budget)."""
    with run.opened() as workspace:
        found = Policies(workspace).list(
            run.reader(workspace),
            status="" if everything else status,
            domain=domain,
            repo=repo,
            at=position_of(workspace, at),
            limit=limit,
            offset=offset,
        )
        show(run, found.as_json(), lambda: _table(found, offset))
        note(run, found.load.warning)
        note(run, "" if run.json else found.denied)


@policy_command.command("show")
@policy_argument
@at_option
@common
@pass_run
def show_command(run: Run, policy_id: str, at: str) -> None:
    """A policy: its rule, what it is derived from, how it stands and what happened to it."""
    with run.opened() as workspace:
        found = Policies(workspace).get(run.reader(workspace), policy_id, at=position_of(workspace, at))
        show(run, found.as_json(), lambda: _page(found))


@policy_command.command("supersede")
@policy_argument
@click.argument("rule", metavar="RULE|-")
@role_option
@from_option
@mutating
@pass_run
def supersede(
    run: Run, policy_id: str, rule: str, for_role: str, sources: tuple[str, ...], reason: str, dry_run: bool, key: str
) -> None:
    """Let another rule take its place. It inherits what the old one was derived from."""
    with run.opened() as workspace:
        by = run.by(workspace, reason, key, dry_run)
        new, done = Policies(workspace).supersede(
            policy_id, text_or_stdin(rule), by, required_role=for_role, derived_from=sources
        )
        held = _held(done)
        told = f"{new} is held ({held}); until then {policy_id} stays" if held else f"{new} takes {policy_id}'s place"
        would = f"{new} would be held ({held})" if held else f"{new} would take {policy_id}'s place"
        more = {"policy_id": new, "supersedes": policy_id, "held": held or None}
        show_committed(run, done, told, dry_run=dry_run, would=would, **more)


@policy_command.command("activate")
@policy_argument
@mutating
@pass_run
def activate(run: Run, policy_id: str, reason: str, dry_run: bool, key: str) -> None:
    """Into every dispatch. What is held needs a person who did not propose it."""
    with run.opened() as workspace:
        policies = Policies(workspace, reviewer_token(""))
        done = policies.activate(policy_id, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"{policy_id} is active", dry_run=dry_run, policy_id=policy_id)


@policy_command.command("deactivate")
@policy_argument
@mutating
@pass_run
def deactivate(run: Run, policy_id: str, reason: str, dry_run: bool, key: str) -> None:
    """Out of every dispatch, until it is activated again."""
    with run.opened() as workspace:
        done = Policies(workspace).deactivate(policy_id, run.by(workspace, reason, key, dry_run))
        show_committed(run, done, f"{policy_id} is inactive", dry_run=dry_run, policy_id=policy_id)


def _held(done: Committed) -> str:
    return next((event.held for event in done.events(PolicyProposed)), "")


def _table(found: Listed, offset: int) -> RenderableType:
    columns = ("id", "rule", "status, for, by")
    cut = cut_note(len(found.policies), found.total, offset)
    return table("Policies", columns, [_row(one) for one in found.policies], cut=cut)


def _row(policy: PolicyRow) -> tuple[object, ...]:
    addressed = f"for {policy.required_role}" if policy.required_role else ""
    stands = (_status(policy), addressed, policy.proposed_by)
    return policy.id, f"[{policy.domain}] {policy.rule}", "\n".join(part for part in stands if part)


def _status(policy: PolicyRow) -> str:
    if policy.status == "held":
        return f"held: {policy.held}"
    return f"superseded by {policy.superseded_by}" if policy.status == "superseded" else policy.status


def _page(found: Shown) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    policy = found.policy
    parts: list[RenderableType] = [Text(printable(f"{policy.id}  [{policy.domain}]"), style="bold")]
    parts.append(Text(printable(policy.rule)))
    own = ", self-reviewed" if policy.self_reviewed else ""
    parts.append(
        Text(printable(f"{_status(policy)}{own}; proposed by {policy.proposed_by} at {time_text(policy.proposed_at)}"))
    )
    if policy.required_role:
        parts.append(Text(f"For {policy.required_role}"))
    if policy.derived_from:
        parts.append(Text(f"Derived from {', '.join(policy.derived_from)}"))
    rows = [(step.position, time_text(step.at), step.kind, step.what, step.by, step.reason) for step in found.history]
    parts.append(table("History", ("position", "at (UTC)", "what happened", "more", "by", "reason"), rows))
    return Group(*parts)
