"""`tht domain` and `tht grant`: the domains, and which role reads and writes them. Made and set by people."""

from __future__ import annotations

from collections.abc import Sequence

import click

from adapters.access import Access
from adapters.closing import WAYS, As, Closing
from cli.arguments import reviewer_token
from cli.erase import confirm_erasure
from cli.options import Commands, Run, common, mutating, pass_run
from cli.output import note, show, show_committed, table, time_text
from cli.upkeep import show_ran, show_undone, undo_option
from domain.access import PERMISSIONS, accept_permission
from domain.errors import InvalidInput
from projections.access import DomainRow, GrantRow

repo_option = click.option("--repo", default="", metavar="REPO", help="Of this repository: a slug or owner/name.")
domain_argument = click.argument("domain", metavar="DOMAIN")
role_option = click.option("--role", "role_name", required=True, metavar="ROLE", help="Whose permission.")
domain_option = click.option("--domain", required=True, metavar="DOMAIN", help="For which domain.")


@click.group("domain", cls=Commands)
@common
def domain_command() -> None:
    """Domains group facts and policies: of the workspace, or of a repository."""


@domain_command.command("create")
@domain_argument
@click.option("--repo", default="", metavar="OWNER/NAME", help="The repository it belongs to; known from then on.")
@mutating
@pass_run
def create(run: Run, domain: str, repo: str, reason: str, dry_run: bool, key: str) -> None:
    """Make a domain, with write for every known role."""
    with run.opened(create=True, dry_run=dry_run) as workspace:
        access = Access(workspace, reviewer_token(""))
        name, done = access.create(domain, run.by(workspace, reason, key, dry_run), repo=repo)
        show_committed(run, done, f"the domain {name.id} is there", dry_run=dry_run, domain=name.id)


@domain_command.command("list")
@click.option("--repo", default="", metavar="REPO", help="Those of this repository first.")
@common
@pass_run
def list_command(run: Run, repo: str) -> None:
    """The domains that you may read."""
    with run.opened() as workspace:
        found = Access(workspace).domains(run.reader(workspace), repo=repo)
        columns = ("domain", "label", "repository", "made by", "at (UTC)")
        show(run, found.as_json(), lambda: table("Domains", columns, [_row(one) for one in found.domains]))
        note(run, "" if run.json else found.denied)


@domain_command.command("show")
@domain_argument
@repo_option
@common
@pass_run
def show_command(run: Run, domain: str, repo: str) -> None:
    """A domain and its grants."""
    with run.opened() as workspace:
        row, grants = Access(workspace).domain(run.reader(workspace), domain, repo=repo)
        answer = row.as_json() | {"grants": [one.as_json() for one in grants]}
        title = f"{row.id}: {row.label}, made by {row.by} at {time_text(row.at)}"
        show(run, answer, lambda: table(title, GRANT_COLUMNS, _grants(grants)))


@domain_command.command("close")
@click.argument("domains", metavar="[DOMAIN]…", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every domain of the workspace.")
@click.option("--as", "way", type=click.Choice(WAYS), default=None, help="What that says of all that is in it.")
@click.option("--yes", is_flag=True, help="With --as erased: do not ask; it cannot be undone.")
@undo_option
@mutating
@pass_run
def close(
    run: Run,
    domains: tuple[str, ...],
    everything: bool,
    way: As | None,
    yes: bool,
    undo: str | None,
    reason: str,
    dry_run: bool,
    key: str,
) -> None:
    """End everything in a domain at once: facts are retired, policies deactivated.

    `wrong`: it never held. `was-true`: it held until now. Both are one run that --undo RUN takes back. `erased`: it
    must not be readable any more, whatever became of it.
    """
    with run.opened() as workspace:
        by, closing = run.by(workspace, reason, key, dry_run), Closing(workspace, reviewer_token(""))
        if undo:
            show_undone(run, workspace, undo, "close", by)
            return
        if way is None or bool(domains) == everything:
            raise InvalidInput(
                "name the domains to close, or --all, and say what that is", "--as wrong, was-true or erased"
            )
        if way == "erased":
            confirm_erasure(run, lambda by: closing.erase(domains, by), by, yes=yes)
        else:
            show_ran(run, workspace, closing.close(domains, way, by), dry_run=dry_run)


def _row(row: DomainRow) -> tuple[object, ...]:
    return row.id, row.label, row.repo_name or row.repo, row.by, time_text(row.at)


GRANT_COLUMNS = ("domain", "role", "permission", "set by", "at (UTC)", "reason")


def _grants(rows: Sequence[GrantRow]) -> list[tuple[object, ...]]:
    """What somebody has set first; then one line for the rows that came with a domain."""
    told: list[tuple[object, ...]] = [
        (row.domain, row.role, row.permission, row.by, time_text(row.at), row.reason) for row in rows if not row.seeded
    ]
    seeded: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        if row.seeded:
            seeded.setdefault((row.domain, row.permission, row.by, row.at), []).append(row.role)
    for (domain, permission, by, at), roles in seeded.items():
        told.append((domain, ", ".join(roles), permission, f"{by}, with the domain", time_text(at), ""))
    return told


def about_a_role(command: click.Command) -> click.Command:
    """--role names whom the command is about. Who gives it acts in THT_ROLE, or as in `tht --role ROLE grant …`."""
    command.params = [one for one in command.params if one.name != "role"]
    return command


@click.group("grant", cls=Commands)
@common
def grant_command() -> None:
    """Grants: no row means read (access.default); none closes a domain everywhere; a policy needs write."""


@about_a_role
@grant_command.command("set")
@role_option
@domain_option
@repo_option
@click.option(
    "--permission",
    required=True,
    type=click.Choice((*PERMISSIONS, "default")),
    help="default takes the row away: access.default decides again.",
)
@mutating
@pass_run
def set_command(
    run: Run, role_name: str, domain: str, repo: str, permission: str, reason: str, dry_run: bool, key: str
) -> None:
    """Say what a role may do in a domain."""
    with run.opened() as workspace:
        access, by = Access(workspace, reviewer_token("")), run.by(workspace, reason, key, dry_run)
        unknown = access.unknown_role(role_name)
        changed, done = access.set_grant(domain, role_name, accept_permission(permission), by, repo=repo)
        text = f"{changed.role} has {permission} for {changed.domain}"
        more = {"domain": changed.domain, "role": changed.role, "permission": changed.permission}
        show_committed(run, done, text, dry_run=dry_run, **more)
        note(run, unknown)


@about_a_role
@grant_command.command("list")
@click.option("--role", "role_name", default="", metavar="ROLE", help="Only of this role.")
@click.option("--domain", default="", metavar="DOMAIN", help="Only for this domain.")
@repo_option
@common
@pass_run
def list_grants(run: Run, role_name: str, domain: str, repo: str) -> None:
    """The grant rows of the domains that you may read."""
    with run.opened() as workspace:
        found = Access(workspace).grants(run.reader(workspace), role=role_name, domain=domain, repo=repo)
        show(run, found.as_json(), lambda: table("Grants", GRANT_COLUMNS, _grants(found.grants)))
        note(run, "" if run.json else found.denied)


@about_a_role
@grant_command.command("explain")
@role_option
@domain_option
@repo_option
@common
@pass_run
def explain(run: Run, role_name: str, domain: str, repo: str) -> None:
    """Say what a role may do in a domain, and which row or default decides it, by whom and why."""
    with run.opened() as workspace:
        found = Access(workspace).explain(run.reader(workspace), role_name, domain, repo=repo)
        show(run, found.as_json(), lambda: found.text)
