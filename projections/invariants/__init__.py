"""The domain's invariants (spec, README) over the ledger itself: plain functions of all its events, in order.

What enforces a rule is never asked here, so that a fault there does not hide itself: no decider, no `evolve` and no
view; standing and sameness of content are worked out anew, as the spec words them. Shared are the events' classes and
the names of things: what a memory's id looks like, who is a person, when two actors are one.

What an import brought in was decided elsewhere, before these gates. It is recognised by how an import writes
(`projections.invariants.told`) and held to the rules about types, numbers and actors, not to those about reviewers.
"""

from __future__ import annotations

from collections.abc import Iterator

from projections.invariants import gate, guidance, knowledge, people, registry, sessions
from projections.invariants.told import Events, Rule
from projections.verify import Finding

RULES: tuple[Rule, ...] = (
    *people.RULES,
    *sessions.RULES,
    *gate.RULES,
    *registry.RULES,
    *guidance.RULES,
    *knowledge.RULES,
)


def broken_invariants(events: Events) -> Iterator[Finding]:
    """Everything in the ledger that breaks a rule of the domain. `events` are all of them, in order of position."""
    for rule in RULES:
        yield from rule(events)
