"""The tables of view `policies`."""

from __future__ import annotations

from projections.view import Tables

POLICIES = "policies_v1_policies"
HISTORY = "policies_v1_history"


class PolicyTables(Tables):
    name = "policies"
    version = 1
    tables = (POLICIES, HISTORY)
    areas = ("erasure", "policy")
    folded_by = "projections.policies.PoliciesView"
    schema = (
        f"""CREATE TABLE IF NOT EXISTS {POLICIES} (
            position INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            domain TEXT NOT NULL,
            rule TEXT NOT NULL,
            required_role TEXT NOT NULL,
            derived_from TEXT NOT NULL,
            proposed_by TEXT NOT NULL,
            proposed_role TEXT NOT NULL,
            proposed_at TEXT NOT NULL,
            status TEXT NOT NULL,
            held TEXT NOT NULL,
            supersedes TEXT NOT NULL,
            superseded_by TEXT NOT NULL,
            self_reviewed INTEGER NOT NULL,
            changed_by TEXT NOT NULL,
            changed_at TEXT NOT NULL,
            changed_reason TEXT NOT NULL
        ) STRICT""",
        f"""CREATE TABLE IF NOT EXISTS {HISTORY} (
            position INTEGER PRIMARY KEY,
            policy_id TEXT NOT NULL,
            kind TEXT NOT NULL,
            by TEXT NOT NULL,
            role TEXT NOT NULL,
            at TEXT NOT NULL,
            reason TEXT NOT NULL,
            what TEXT NOT NULL
        ) STRICT""",
        f"CREATE INDEX IF NOT EXISTS {POLICIES}_status ON {POLICIES} (status, position)",
        f"CREATE INDEX IF NOT EXISTS {HISTORY}_policy ON {HISTORY} (policy_id, position)",
    )
