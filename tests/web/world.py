"""A small workspace in which every page has something to show: sessions, facts, policies, conflicts, a belief."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from adapters.access import Access
from adapters.facts import Facts
from adapters.harmonize import Harmonize
from adapters.ledger import By
from adapters.policies import Policies
from adapters.review import Review, Verdict
from adapters.sessions import Sessions
from adapters.workspace import Workspace, create_workspace
from domain.propose import NewFact
from domain.session import NewDecision

CODER = By("agent:coder-1", "coder", "found while working")
QA = By("agent:qa-1", "qa", "seen in a test run")
ADA, BOB = By("human:ada", reason="checked by hand"), By("human:bob", reason="second pair of eyes")

FACTS = (
    ("architecture", "gateway", "The gateway listens on port 8443 and speaks TLS 1.3 only", CODER),
    ("architecture", "gateway", "The gateway retries a failed request three times before it gives up", CODER),
    ("architecture", "database", "The ledger is kept in PostgreSQL 16 and replicated to the reporting site", CODER),
    ("architecture", "database", "Nightly backups of the ledger are kept for 35 days", QA),
    ("architecture", "cache", "Redis holds sessions for 30 minutes", CODER),
    ("architecture", "cache", "Redis holds sessions for 45 minutes", QA),
    ("deployment", "release", "Releases go out on Tuesdays after the smoke tests have passed", QA),
    ("deployment", "release", "A release is rolled back when the error rate passes 2 percent", CODER),
    ("deployment", "staging", "Staging runs with the data of the week before, anonymised", QA),
    ("team", "reviews", "Ada prefers small pull requests of fewer than 400 lines", CODER),
    ("team", "language", "Η ομάδα γράφει την τεκμηρίωση στα αγγλικά", QA),
    ("deployment", "paths", f"Archives lie under s3://archive/{'0123456789abcdef' * 16}/v1", QA),
    ("cardiology", "ablation", "Un'ablazione è una procedura con ablazione_transcatetere = TRUE", CODER),
)  # fmt: skip

CLARIFIED = (
    ("Eligible free rate for K-12", "Eligible free rate for K-12 = `Free Meal Count (K-12)` / `Enrollment (K-12)`"),
    ("Continuation school", "A school whose `Educational Option Type` is 'Continuation School'"),
    ("Ablation", "A procedure with `ablazione_transcatetere = TRUE`, counted with COUNT(DISTINCT cod_paz) a year"),
    ("Charter funding", "Directly funded means `FundingType = 'Directly funded'`, and never locally funded"),
    ("Active school", "A school with `StatusType = 'Active'` on the day of the question"),
    ("High enrolment", "More than 500 students in grades K to 12"),
    ("Merged district", "A district that was closed after 2010 and whose schools go on in another one"),
)


@dataclass
class World:
    """What was made, by what it is about."""

    home: Path
    facts: dict[str, str] = field(default_factory=dict)
    policy: str = ""
    held: str = ""
    conflict: str = ""
    memory: str = ""


def build(home: Path) -> World:
    """The world in the workspace `default`."""
    world = World(home)
    with create_workspace(home, "default") as workspace:
        _facts(workspace, world)
        _policies(workspace, world)
        _sessions(workspace, world)
        Harmonize(workspace).run(By("human:ada", reason="weekly"))
    return world


def _facts(workspace: Workspace, world: World) -> None:
    facts = Facts(workspace)
    for domain, topic, content, by in FACTS:
        outcome, _ = facts.propose(domain, NewFact(content, topic, by.actor, by.role, veracity="inferred"), by)
        world.facts[content] = outcome.fact_id
    again = NewFact(FACTS[0][2], FACTS[0][1], QA.actor, QA.role)
    facts.propose(FACTS[0][0], again, QA)
    asked = NewFact("The gateway retries a failed request at most five times", "gateway", QA.actor, QA.role)
    outcome, _ = facts.propose("architecture", asked, QA, on_conflict="ask")
    if outcome.conflicts:
        world.conflict = outcome.conflicts[0].conflict_id
    gateway = world.facts[FACTS[0][2]]
    facts.link(gateway, world.facts[FACTS[7][2]], "related_to", 0.6, ADA)
    facts.link(gateway, world.facts[FACTS[2][2]], "related_to", 0.5, ADA)
    facts.link(world.facts[FACTS[2][2]], world.facts[FACTS[3][2]], "related_to", 0.8, ADA)
    facts.link(world.facts[FACTS[7][2]], world.facts[FACTS[6][2]], "related_to", 0.7, ADA)


def _policies(workspace: Workspace, world: World) -> None:
    policies = Policies(workspace)
    gateway = world.facts[FACTS[0][2]]
    world.policy, _ = policies.propose(
        "architecture", "Never open a port beside 8443 without asking security", ADA, derived_from=[gateway]
    )
    policies.propose("deployment", "Ask before deploying on a Friday", ADA, required_role="devops")
    policies.propose("team", "Write every commit message in English", CODER, derived_from=[gateway])
    linter = By("tool:linter", "coder", "measured over a month")
    world.held, _ = policies.propose("team", "No function is longer than forty lines", linter)
    Access(workspace).set_grant("cardiology", "coder", "read", ADA)
    Access(workspace).set_grant("cardiology", "qa", "none", ADA)


def _sessions(workspace: Workspace, world: World) -> None:
    sessions, review = Sessions(workspace), Review(workspace)
    author = By("agent:linker", "coder")
    sessions.open("session-0", "How many ablations were there in 2023?", author)
    _clarify(sessions, "session-0", CLARIFIED[2:3], author)
    sessions.enter("session-0", "F8", author)
    (shown,) = review.preview("session-0").candidates
    verdict = Verdict("session-0", shown.candidate.seq, shown.candidate.revision, "promote")
    (outcome,) = review.batch([verdict], ADA)
    assert outcome.error is None, outcome.error
    world.memory = outcome.memory_id
    sessions.open("session-1", "Which continuation schools have the lowest eligible free rates?", author)
    _clarify(sessions, "session-1", CLARIFIED, author)
    sessions.enter("session-1", "F3", author)
    sessions.record("session-1", NewDecision("table_promoted", "frpm", "used by the reference query", "", "F3"), author)
    sessions.enter("session-1", "F8", author)
    sessions.open("session-2", "What is the highest eligible free rate in Alameda County?", author)
    _clarify(sessions, "session-2", CLARIFIED[:2], author)
    sessions.retract("session-2", 2, By("agent:linker", "coder", "the question does not ask for it"))


def _clarify(sessions: Sessions, session_id: str, said: tuple[tuple[str, str], ...], by: By) -> None:
    for subject, detail in said:
        new = NewDecision("concept_clarified", subject, detail, "the reference query counts so", "F1")
        sessions.record(session_id, new, by)
