"""Calls made from the description, right and wrong in every way: always an answer, never a fault of ours."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.mcp.failing import DOMAIN
from adapters.serving.openrpc import document
from adapters.serving.rpc import INVALID_PARAMS, INVALID_REQUEST, NO_METHOD, PARSE_ERROR

if TYPE_CHECKING:
    from tests.serving.conftest import Caller, Server

CODES = {PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS, DOMAIN}
EXAMPLES = 150

DOCUMENT = document()
ODD = (
    "", " ", "\t\n", "\x00", "é́", "<script>alert(1)</script>", "'; DROP TABLE facts; --", '"', "%s{0}$", "../../etc",
    "a/b", "repo:x/y", ":", "human:ada", "agent:coder-1", "agent:", "mem-0001", "fact-x", "s1", "F8", "2026-01-01",
    "2026-01-01T00:00:00Z", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+14:00", "1", "-1", "9" * 25, "²", "6h",
    "NEAR(", "a* OR b", "\u202e", "😀" * 50, "x" * 301,
)  # fmt: skip
texts = st.one_of(st.sampled_from(ODD), st.text(max_size=40))
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema of the description lets through, or nearly."""
    if "$ref" in schema:
        return fitting(DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return st.one_of(*(fitting(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "const" in schema:
        return st.just(schema["const"])
    match schema.get("type"):
        case "string":
            return texts
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(schema.get("minimum", -3), min(schema.get("maximum", 50), 50)) | st.integers()
        case "number":
            return st.floats(schema.get("minimum", 0), schema.get("maximum", 1))
        case "array":
            least = schema.get("minItems", 0)
            return st.lists(fitting(schema["items"]), min_size=least, max_size=least + 2)
        case "object":
            return of_object(schema.get("properties", {}), set(schema.get("required", ())))
        case "null":
            return st.none()
        case _:
            return anything


def of_object(properties: dict[str, Any], required: set[str]) -> st.SearchStrategy[Any]:
    must = {name: fitting(one) for name, one in properties.items() if name in required}
    may = {name: fitting(one) for name, one in properties.items() if name not in required}
    return st.fixed_dictionaries(must, optional=may)


@st.composite
def calls(draw: st.DrawFn) -> Any:
    method = draw(st.sampled_from(DOCUMENT["methods"]))
    schemas = {one["name"]: one["schema"] for one in method["params"]}
    required = {one["name"] for one in method["params"] if one["required"]}
    params: Any = draw(of_object(schemas, required))
    if draw(st.integers(0, 5)) == 0:  # and now wrong
        params = draw(st.one_of(anything, st.just({**params, draw(texts): draw(anything)})))
        if isinstance(params, dict) and params and draw(st.booleans()):
            params[draw(st.sampled_from(sorted(params)))] = draw(anything)
    call = {"jsonrpc": "2.0", "method": method["name"], "params": params}
    return call if draw(st.integers(0, 9)) == 0 else call | {"id": draw(st.integers() | texts)}


def check(answer: Any, call: Any) -> None:
    if "id" not in call:
        assert (answer.status_code, answer.content) in ((204, b""), (200, answer.content))
        if answer.status_code == 204:
            return
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["jsonrpc"] == "2.0"
    if "error" in told:
        assert told["error"]["code"] in CODES, told
        assert "InternalError" not in answer.text
        assert told["error"]["message"]


@pytest.fixture
def unlimited(server: Server) -> Server:
    """Rates are tested elsewhere."""
    server.services.rate.rate = 1e9
    return server


@pytest.mark.parametrize("who", [("human:ada", ""), ("agent:coder-1", "coder")])
def test_no_call_of_the_description_ends_in_a_fault(unlimited: Server, who: tuple[str, str]) -> None:
    caller: Caller = unlimited.caller(*who)
    caller("sessions.open", session_id="s1", question="How many?")
    caller("sessions.record", session_id="s1", type="concept_clarified", subject="room", detail="a place")
    caller("memory_fact.upsert", content="The port is 8080", domain="ops", topic="port")

    @settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    @given(calls())
    def ask(call: Any) -> None:
        check(caller.post(call), call)

    ask()
    assert unlimited.client.get("/healthz").json()["status"] == "ok"


def test_every_method_answers_its_least_call(unlimited: Server) -> None:
    """Each one is reached at least once, whatever chance picks above."""
    caller = unlimited.caller("human:ada")
    for method in DOCUMENT["methods"]:
        ask_for(caller, method)


def ask_for(caller: Caller, method: dict[str, Any]) -> None:
    schemas = {one["name"]: one["schema"] for one in method["params"]}
    required = {one["name"] for one in method["params"] if one["required"]}

    @settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow])
    @given(of_object(schemas, required))
    def ask(params: Any) -> None:
        call = {"jsonrpc": "2.0", "id": 1, "method": method["name"], "params": params}
        check(caller.post(call), call)

    ask()


def test_no_bytes_end_in_a_fault(unlimited: Server) -> None:
    caller = unlimited.caller("agent:coder-1")

    @settings(max_examples=100)
    @given(st.binary(max_size=60) | anything.map(lambda one: json.dumps(one).encode()))
    def ask(body: bytes) -> None:
        answer = caller.post(body)
        assert answer.status_code in (200, 204), answer.text
        if answer.status_code == 200:
            told = answer.json()
            for one in told if isinstance(told, list) else [told]:
                assert one["error"]["code"] in CODES

    ask()


def test_no_address_ends_in_a_fault(unlimited: Server) -> None:
    caller = unlimited.caller("agent:coder-1")

    @settings(max_examples=100)
    @given(st.sampled_from(["/watch", "/login", "/", "/openrpc.json", "/metrics"]), texts, texts)
    def ask(path: str, name: str, value: str) -> None:
        params = {name: value} if path != "/watch" else {"from": f"x{value}"}
        answer = caller.client.get(path, params=params, headers=caller.headers)
        assert answer.status_code < 500, answer.text

    ask()
