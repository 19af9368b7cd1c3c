"""Samples of domains and grants, policies, notes and what is in mind: see `tests.golden.samples`."""

from __future__ import annotations

from datetime import UTC, datetime

from domain.access import DomainCreated, GrantChanged, domain_stream
from domain.event import Event
from domain.hot import ItemExpired, ItemRaised, ItemRemembered, ItemReturned, hot_stream
from domain.notes import NotesUpdated, ObservationRecorded, notes_stream
from domain.policy import policy_id, policy_stream
from domain.policy_events import (
    PolicyActivated,
    PolicyActivationRefused,
    PolicyDeactivated,
    PolicyProposed,
    PolicySuperseded,
)

DOMAIN = "repo:shop/αρχιτεκτονική"
RULE = "Nessun rilascio il venerdì: «mai»\nneanche di sera"
POLICY = policy_id(DOMAIN, RULE)
AGENT = "agent:coder-1"
ITEM = "item-k3m9x2p7qa4t"

ACCESS: tuple[Event, ...] = (
    DomainCreated(
        domain=DOMAIN, label="Αρχιτεκτονική", repo="shop", repo_name="acme/shop", writers=("coder", "reviewer")
    ),
    GrantChanged(domain=DOMAIN, role="qa", permission="none", was="write"),
)

POLICIES: tuple[Event, ...] = (
    PolicyProposed(
        policy_id=POLICY,
        domain=DOMAIN,
        rule=RULE,
        required_role="devops",
        derived_from=("fact-a", "fact-β"),
        active=True,
        held="derived from what is not first hand: fact-a is tool",
        supersedes="policy-aaaaaaaaaaaa",
    ),
    PolicySuperseded(policy_id=POLICY, by="policy-bbbbbbbbbbbb"),
    PolicyActivated(policy_id=POLICY, self_reviewed=True),
    PolicyDeactivated(policy_id=POLICY),
    PolicyActivationRefused(policy_id=POLICY, cause="who proposes does not approve"),
)

NOTES: tuple[Event, ...] = (
    NotesUpdated(text="στη μέση της δουλειάς\n- manca il test"),
    ObservationRecorded(observation_id="obs-k3m9x2p7qa4t", text="il test è instabile"),
)

HOT: tuple[Event, ...] = (
    ItemRemembered(
        item_id=ITEM,
        agent=AGENT,
        session_id="s-1",
        content="η σύνδεση λήγει αύριο",
        memory_type="commitment",
        importance=0.75,
        expires_at=datetime(2026, 3, 4, 10, 0, 0, tzinfo=UTC),
    ),
    ItemExpired(item_id=ITEM),
    ItemRaised(item_id=ITEM, fact_id="fact-k3m9x2p7qa4t"),
    ItemReturned(item_id=ITEM),
)

GUIDANCE: tuple[tuple[str, Event], ...] = (
    *((domain_stream(DOMAIN), event) for event in ACCESS),
    *((policy_stream(POLICY), event) for event in POLICIES),
    *((notes_stream(AGENT), event) for event in NOTES),
    *((hot_stream(AGENT), event) for event in HOT),
)
