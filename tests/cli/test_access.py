"""`tht domain` and `tht grant`: who reads and writes what, who says so, and what a closed domain lets through."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tht

CODER = ("--actor", "agent:coder-1", "--role", "coder")
QA = ("--actor", "agent:qa-1", "--role", "qa")
ADA = ("--actor", "human:ada")
TASK = "Please bring the build tooling to the newest pnpm version"


@pytest.fixture
def stocked(tht: Tht) -> Tht:
    """Domains `architecture` and `security`, each with a fact and a policy."""
    for domain, rule, fact in (
        ("architecture", "Always use pnpm", "The build tooling uses pnpm version 9"),
        ("security", "Never print secrets", "The build tooling holds the pnpm signing secret"),
    ):
        tht.json("fact", "propose", fact, "--domain", domain, "--topic", "tooling", *CODER)
        tht.json("policy", "propose", rule, "--domain", domain, *CODER)
    return tht


def close(tht: Tht, *domains: str, role: str = "qa") -> None:
    for domain in domains:
        words = ("--role", role, "--domain", domain, "--permission", "none", "--reason", "not their business")
        tht.json("grant", "set", *words, *ADA)


# -- domains -----------------------------------------------------------------------------------------------------------


def test_the_same_name_in_both_scopes_is_two_domains(tht: Tht) -> None:
    tht.json("domain", "create", "Data Model", *ADA)
    made = tht.json("domain", "create", "Data Model", "--repo", "acme/shop", *ADA)
    assert made["domain"] == "repo:shop/data-model"
    assert tht.refused("domain", "create", "data model", *ADA) == "AlreadyThere"
    found = tht.json("domain", "list")["domains"]
    assert [(one["id"], one["label"], one["repo_name"]) for one in found] == [
        ("data-model", "Data Model", None),
        ("repo:shop/data-model", "Data Model", "acme/shop"),
    ]
    first, *_ = tht.json("domain", "list", "--repo", "acme/shop")["domains"]
    assert first["id"] == "repo:shop/data-model"
    roles = {one["role"] for one in tht.json("domain", "show", "data-model", "--repo", "shop")["grants"]}
    assert {"ceo", "coder", "reviewer", "qa", "designer", "security", "devops", "pm", "general"} == roles


def test_an_unknown_repository_names_the_near_ones(tht: Tht) -> None:
    tht.json("domain", "create", "architecture", "--repo", "acme/shop", *ADA)
    said = tht("domain", "show", "architecture", "--repo", "acme/shoop", "--json")
    assert said.error["type"] == "UnknownRepoScope"
    assert "acme/shop" in said.error["hint"]


def test_the_workspaces_own_roles_are_seeded_too(tht: Tht) -> None:
    tht.json("init")
    tht.json("config", "set", "access.roles", "Data Steward, auditor")
    tht.json("domain", "create", "architecture", *ADA)
    found = tht.json("grant", "explain", "--role", "data steward", "--domain", "architecture")
    assert (found["role"], found["permission"], found["row"]["seeded"]) == ("data-steward", "write", True)


@pytest.mark.parametrize("actor", ["agent:coder-1", "tool:importer"])
def test_only_people_make_domains_and_set_grants(stocked: Tht, actor: str) -> None:
    """Nor does a role help: an agent opens no door for itself."""
    role = ("--role", "ceo", "--domain", "security", "--permission", "none")
    before = stocked.position()
    assert stocked.refused("domain", "create", "x", "--actor", actor) == "ReviewerNeeded"
    assert stocked.refused("grant", "set", *role, "--actor", actor) == "ReviewerNeeded"
    assert stocked.position() == before


def test_a_person_shows_a_token_where_the_workspace_asks_for_one(stocked: Tht) -> None:
    stocked.json("config", "set", "review.require_token", "true")
    words = ("--role", "qa", "--domain", "security", "--permission", "none")
    assert stocked.refused("grant", "set", *words, *ADA) == "ReviewerNeeded"


# -- grants ------------------------------------------------------------------------------------------------------------


def test_explain_says_which_row_decides_and_who_set_it(stocked: Tht) -> None:
    asked = ("grant", "explain", "--role", "qa", "--domain", "security")
    assert stocked.json(*asked)["row"]["seeded"] is True
    close(stocked, "security")
    found = stocked.json(*asked)
    assert (found["permission"], found["decided_by"]) == ("none", "row")
    row = found["row"]
    assert (row["by"], row["reason"], row["seeded"]) == ("human:ada", "not their business", False)
    assert row["at"]
    said = stocked(*asked).out
    assert "qa has none for security" in said
    assert "human:ada" in said


def test_without_a_row_the_default_decides(stocked: Tht) -> None:
    """S-54: a row that is taken away is no row, and not the row `none`."""
    asked = ("grant", "explain", "--role", "intern", "--domain", "security")
    found = stocked.json(*asked)
    assert (found["permission"], found["decided_by"], found["default"]) == ("read", "default", "read")
    close(stocked, "security", role="intern")
    words = ("--role", "intern", "--domain", "security", "--permission", "default")
    stocked.json("grant", "set", *words, *ADA)
    assert stocked.json(*asked) == found
    stocked.json("config", "set", "access.default", "none")
    assert stocked.json(*asked)["permission"] == "none"


def test_a_grant_that_changes_nothing_or_names_nothing_is_refused(stocked: Tht) -> None:
    """S-03."""
    close(stocked, "security")
    before = stocked.position()
    for domain, error in (("security", "NothingChanged"), ("nowhere", "UnknownDomain")):
        words = ("--role", "qa", "--domain", domain, "--permission", "none")
        assert stocked.refused("grant", "set", *words, *ADA) == error
    assert stocked.position() == before


def test_a_retry_with_the_same_key_sets_once(stocked: Tht) -> None:
    words = ("--role", "qa", "--domain", "security", "--permission", "none", "--idempotency-key", "k1")
    first = stocked.json("grant", "set", *words, *ADA)
    again = stocked.json("grant", "set", *words, *ADA)
    assert (again["position"], again["already"]) == (first["position"], True)


def test_a_dry_run_sets_nothing(stocked: Tht) -> None:
    words = ("--role", "qa", "--domain", "security", "--permission", "none", "--dry-run")
    before = stocked.position()
    assert [one["type"] for one in stocked.json("grant", "set", *words, *ADA)["events"]] == ["grant_changed"]
    assert stocked.position() == before


# -- what a closed domain lets through ---------------------------------------------------------------------------------


def everything_said(tht: Tht, *who: str) -> str:
    """All that the reading commands of this reader print, as JSON and for people."""
    commands = (
        ("domain", "list"),
        ("grant", "list"),
        ("policy", "list", "--all"),
        ("fact", "list", "--status", "all"),
        ("fact", "search", TASK),
        ("preamble", TASK),
    )
    said = [tht(*who, *command, *form) for command in commands for form in ((), ("--json",))]
    assert [one.code for one in said] == [0] * len(said)
    return "\n".join(one.out + one.err for one in said)


def test_a_role_with_none_everywhere_sees_nothing_by_any_path(stocked: Tht) -> None:
    """S-54: zero results in search, lists and preamble; not even a name."""
    assert "pnpm" in everything_said(stocked, *QA)
    close(stocked, "architecture", "security")
    said = everything_said(stocked, *QA)
    for word in ("version 9", "signing", "Always use", "Never print", "policy-", "fact-", "architecture"):
        assert word not in said.replace(TASK, "")
    assert stocked.json("domain", "list", *QA)["domains"] == []
    assert stocked.json("policy", "list", "--all", *QA)["policies"] == []
    made = stocked.json("preamble", TASK, *QA)
    assert (made["policies"], made["facts"], made["left_out"]) == ([], [], 0)


def test_denied_is_not_nothing_found(stocked: Tht) -> None:
    """S-55: distinguishable, and the same answer however much is closed."""
    close(stocked, "security", "architecture")
    close(stocked, "security", role="pm")
    for command in (("domain", "list"), ("policy", "list"), ("preamble", TASK), ("fact", "search", TASK)):
        nothing = stocked.json(*command, "--actor", "agent:x", "--role", "designer")
        assert nothing["denied"] is None
        told = [stocked.json(*command, "--actor", "agent:x", "--role", role)["denied"] for role in ("qa", "pm")]
        assert told == ["denied: some domains are closed to role qa", "denied: some domains are closed to role pm"]
    stocked.json("domain", "create", "sales", *ADA)
    close(stocked, "sales")
    assert stocked.json("policy", "list", *QA)["denied"] == "denied: some domains are closed to role qa"


def test_the_load_of_the_policies_counts_nothing_that_is_closed(stocked: Tht) -> None:
    """S-55: no counts."""
    stocked.json("config", "set", "policy.budget", "5")
    close(stocked, "architecture", "security")
    found = stocked.json("policy", "list", *QA)
    assert (found["total"], found["load"]["characters"], found["load"]["longest"]) == (0, 0, [])


@pytest.mark.parametrize(
    "command",
    [
        ("domain", "show", "security"),
        ("grant", "list", "--domain", "security"),
        ("policy", "list", "--domain", "security"),
        ("fact", "list", "--domain", "security"),
    ],
)
def test_naming_a_closed_domain_is_denied(stocked: Tht, command: tuple[str, ...]) -> None:
    """S-55."""
    close(stocked, "security")
    assert stocked.refused("--role", "qa", *command, "--actor", "agent:qa-1") == "AccessDenied"


@pytest.mark.parametrize("command", [("export",), ("backup", "b.zip"), ("ledger", "log"), ("audit", "log")])
def test_what_shows_the_whole_workspace_is_denied_where_anything_is_closed(
    stocked: Tht, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-54: no export, backup or log goes round the grants; without a closed domain they are as they were."""
    monkeypatch.chdir(tmp_path)
    reader = ("--role", "qa", "--actor", "human:qa" if command[0] in ("export", "backup") else "agent:qa-1")
    assert stocked(*reader, *command).code == 0
    close(stocked, "security")
    assert stocked.refused(*reader, *command) == "AccessDenied"
    assert stocked(*ADA, *command[:1], *(("c.zip",) if "backup" in command else command[1:])).code == 0
    stocked.json("config", "set", "access.default", "none")
    assert stocked.refused("--actor", "agent:x", *command) == "AccessDenied"


def test_naming_the_policy_of_a_closed_domain_is_denied(stocked: Tht) -> None:
    (policy,) = stocked.json("policy", "list", "--domain", "security")["policies"]
    close(stocked, "security")
    assert stocked.refused("policy", "show", policy["id"], *QA) == "AccessDenied"
    assert stocked.refused("policy", "deactivate", policy["id"], *QA) == "InsufficientMemoryPermission"


def test_where_the_default_is_none_nobody_learns_which_domains_there_are(stocked: Tht) -> None:
    """S-54, fail-closed: a domain that is not there and one that is closed give one answer."""
    stocked.json("config", "set", "access.default", "none")
    reader = ("--role", "intern", "--actor", "agent:x")
    for command in (("domain", "show"), ("grant", "list", "--domain"), ("policy", "list", "--domain")):
        said = [stocked(*reader, *command, name, "--json") for name in ("security", "nowhere")]
        assert [one.error["type"] for one in said] == ["AccessDenied"] * 2
        assert said[0].error["message"] == said[1].error["message"]
    explained = [
        stocked.json(*reader, "grant", "explain", "--role", "intern", "--domain", name) for name in ("security", "x")
    ]
    assert [one["permission"] for one in explained] == ["none", "none"]
    assert [one["row"] for one in explained] == [None, None]


def test_of_a_closed_domain_a_role_may_ask_why_for_itself_only(stocked: Tht) -> None:
    close(stocked, "security")
    asked = ("grant", "explain", "--domain", "security", "--actor", "agent:qa-1", "--role")
    assert stocked.json("--role", "qa", *asked, "qa")["permission"] == "none"
    assert stocked.refused("--role", "qa", *asked, "ceo") == "AccessDenied"


def test_near_names_of_closed_repositories_are_not_told(tht: Tht) -> None:
    """S-55: a hint leaks no name either."""
    tht.json("domain", "create", "architecture", "--repo", "acme/shop", *ADA)
    wrong = ("policy", "list", "--domain", "architecture", "--repo", "shoop", *QA, "--json")
    assert "acme/shop" in tht(*wrong).error["hint"]
    close(tht, "repo:shop/architecture")
    said = tht(*wrong)
    assert said.error["type"] == "UnknownRepoScope"
    assert "acme" not in said.err


def test_a_person_in_a_role_is_bound_by_it(stocked: Tht) -> None:
    close(stocked, "architecture", "security")
    assert stocked.json("policy", "list", *ADA, "--role", "qa")["total"] == 0
    assert stocked.json("policy", "list", *ADA)["total"] == 2


def test_the_role_may_come_from_the_environment(stocked: Tht, monkeypatch: pytest.MonkeyPatch) -> None:
    close(stocked, "architecture", "security")
    monkeypatch.setenv("THT_ROLE", "QA")
    assert stocked.json("policy", "list")["total"] == 0


def test_all_of_it_verifies(stocked: Tht) -> None:
    close(stocked, "architecture", "security")
    assert stocked("verify").code == 0
