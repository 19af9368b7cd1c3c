"""JSON-RPC where something goes wrong in one call: the others keep their answers, and nobody meets another's key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from adapters.access import Access
from adapters.serving.rpc_methods import METHODS
from tests.serving.test_rpc import code

if TYPE_CHECKING:
    from tests.serving.conftest import Caller, Server


def call(name: str = "memory_fact.getByWorkspace", **more: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": name, **more}


@pytest.mark.parametrize(
    "wrong",
    [
        call("no.such"),
        call("memory_fact.getById"),
        call("memory_fact.getById", params=3),
        call("memory_fact.getById", params={"fact_id": 3}),
        call("memory_fact.getById", params={"fact_id": "fact-none"}),
    ],
)
def test_a_notification_is_never_answered_whatever_is_wrong_with_it(coder: Caller, wrong: dict[str, object]) -> None:
    answer = coder.post(wrong)
    assert (answer.status_code, answer.content) == (204, b"")
    assert coder.post([wrong, call(id=1)]).json()[0]["id"] == 1


def test_what_is_no_call_at_all_is_answered_without_an_id(coder: Caller) -> None:
    for body in ({"foo": "bar"}, {"jsonrpc": "2.0", "method": 1}, {"jsonrpc": "2.0", "method": "a", "id": []}, 7):
        found = coder.post(body).json()
        assert (found["error"]["code"], found["id"]) == (-32600, None)


def test_a_fault_in_one_call_leaves_the_others_their_answers(
    coder: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, Any]:
        raise RuntimeError("secret detail")

    history = "memory_fact.history"
    monkeypatch.setitem(METHODS, history, replace(METHODS[history], work=broken))
    params = {"content": "Ci sono 3 sale", "domain": "sale", "topic": "numero"}
    faulty = {"fact_id": "f"}
    batch = [call("memory_fact.upsert", id=1, params=params), call(history, id=2, params=faulty),
             call(history, params=faulty), call(id="x")]  # fmt: skip
    answers = coder.post(batch).json()
    assert [(one["id"], one.get("error", {}).get("code")) for one in answers] == [(1, None), (2, -32603), ("x", None)]
    assert "secret" not in str(answers)
    assert "secret detail" in caplog.text
    alone = coder.post(call(history, id=3, params=faulty))
    assert (alone.status_code, code(alone), alone.json()["id"]) == (200, -32603, 3)


def test_a_batch_that_is_too_much_is_told_call_by_call(coder: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.serving.pool.WAITING", 0)
    answers = coder.post([call(id=1), call(), 5]).json()
    assert [(one["id"], one["error"]["code"]) for one in answers] == [(1, -32000), (None, -32600)]
    assert answers[0]["error"]["data"]["type"] == "Busy"
    assert coder.post(call(id=1)).status_code == 429


def test_of_many_grants_none_is_untold_when_one_meets_a_fault(ada: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    ada("memory_domain.upsert", domain="ops")
    real, tried = Access.set_grant, []

    def set_grant(self: Access, domain: str, role: str, *args: Any, **named: Any) -> Any:
        tried.append(role)
        if role == "qa":
            raise RuntimeError("secret detail")
        return real(self, domain, role, *args, **named)

    monkeypatch.setattr(Access, "set_grant", set_grant)
    rows = [{"domain": "ops", "role": role, "permission": "read"} for role in ("coder", "qa", "devops")]
    found = ada("memory_access_grant.upsertAll", grants=rows)
    assert [one.get("changed", one.get("error", {}).get("message")) for one in found["outcomes"]] == [
        True, "this is a fault of tht", "an earlier row could not be set, so this one was not tried",
    ]  # fmt: skip
    assert (found["failed"], tried) == (2, ["coder", "qa"])
    assert ada("memory_access_grant.explain", domain="ops", role="coder")["permission"] == "read"


def test_a_key_is_its_actors_own(server: Server, coder: Caller) -> None:
    other = server.caller("agent:coder-2", "coder")
    said = {"content": "Ci sono 3 sale", "domain": "sale", "topic": "numero", "idempotency_key": "k1"}
    first = coder("memory_fact.upsert", **said)
    second = other("memory_fact.upsert", **said | {"content": "Il primario è Rossi", "topic": "primario"})
    assert (second["already"], second["fact_id"] != first["fact_id"]) == (False, True)
    reused = coder.ask("memory_fact.upsert", **said | {"content": "Ci sono 4 sale"})["error"]["data"]
    assert (reused["type"], "--" in reused["hint"]) == ("KeyReused", False)
    assert coder.refused("memory_fact.upsert", **said | {"idempotency_key": "a#b"}) == "InvalidInput"
