"""What the timeline must say, read off the events one by one: no code shared with the view."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter

from projections.tables.timeline import EVENTS, NAMED
from tests.oracle.knowledge_oracle import Data, moment


def check_timeline(db: sqlite3.Connection, events: list[Data]) -> None:
    """One row an event with who, when, why and where, as the ledger has them; and no record named that it has not."""
    lengths: Counter[str] = Counter()
    rows = {row["position"]: row for row in db.execute(f"SELECT * FROM {EVENTS}")}
    assert list(rows) == [event["position"] for event in events]
    for event in events:
        row, stream, data = rows[event["position"]], event["stream"], event["data"]
        lengths[stream] += 1
        assert row["at"] == moment(event["at"])
        assert (row["actor"], row["role"], row["kind"]) == (event["actor"], event["role"], event["kind"])
        assert (row["correlation_id"], row["stream"], row["version"]) == (event["command"], stream, lengths[stream])
        assert row["reason"] == (event["reason"] or data.get("reason") or "")
        assert row["session_id"] == (stream[len("session/") :] if stream[: len("session/")] == "session/" else "")
        assert row["seq"] == data.get("seq")
        if "memory_id" in data:
            assert row["memory_id"] == data["memory_id"]
    event_at = {event["position"]: event for event in events}
    for record, position in db.execute(f"SELECT record, position FROM {NAMED}"):
        event = event_at[position]
        if event["stream"][: len("session/")] == "session/" or event["data"].get("sources"):
            assert record in decisions_named(event), f"{record} at {position}"
        else:
            assert json.dumps(record) in json.dumps(event["data"]), f"{record} at {position}"
    named = {tuple(row) for row in db.execute(f"SELECT record, position FROM {NAMED}")}
    for event in events:
        assert {(record, event["position"]) for record in decisions_named(event)} <= named, event
    for event in events:  # the successor of a fact finds the event in which it took its place
        if event["kind"] == "fact_superseded":
            found = db.execute(f"SELECT 1 FROM {NAMED} WHERE record = ? AND position = ?",
                               (event["data"]["by"], event["position"]))  # fmt: skip
            assert found.fetchone(), event


def decisions_named(event: Data) -> set[str]:
    """`SESSION:SEQ` of each decision that an event is about without being it."""
    data = event["data"]
    if event["stream"][: len("session/")] != "session/":
        return {f"{source['session_id']}:{source['seq']}" for source in data.get("sources") or ()}
    said = "question_context" in data or "subject" in data  # a decision, which names the one that it is an edit of
    seqs = {data.get("supersedes")} if said else {data.get("seq"), *(data.get("covers") or ())}
    return {f"{event['stream'][len('session/') :]}:{seq}" for seq in seqs - {None}}
