"""The description of /rpc (OpenRPC 1.3), made from the declarations that calls are checked with."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response

from adapters.mcp.failing import DOMAIN
from adapters.serving.refusals import Json
from adapters.serving.rpc_method import Call, Method, Params
from adapters.serving.rpc_methods import METHODS

OPENRPC = "1.3.2"
_AT = "#/components/schemas/{model}"


class Nothing(Params):
    """No params."""


async def endpoint(request: Request) -> Response:
    return Json(document())


@cache
def document() -> dict[str, Any]:
    """The OpenRPC document."""
    models = list(dict.fromkeys(method.params for method in METHODS.values()))
    schemas, definitions = models_json_schema([(model, "validation") for model in models], ref_template=_AT)
    components = dict(definitions.get("$defs", {}))
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "tht",
            "version": version("thoth-memory"),
            "description": "The memory of a workspace. Nothing is deleted or edited: upsert and delete append events.",
        },
        "methods": [
            _method(method, _resolved(schemas[method.params, "validation"], components)) for method in METHODS.values()
        ],
        "components": {"schemas": components, "errors": {"domain": _DOMAIN_ERROR}},
    }


_DOMAIN_ERROR = {
    "code": DOMAIN,
    "message": "refused, in the domain's words",
    "data": {
        "type": "object",
        "required": ["type", "message", "hint"],
        "properties": {name: {"type": "string"} for name in ("type", "message", "hint")},
    },
}


def _resolved(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = components[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    return found


def _method(method: Method[Any], schema: dict[str, Any]) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    return {
        "name": method.name,
        "summary": method.about,
        "paramStructure": "either",
        "params": [
            {"name": name, "required": name in required, "schema": one}
            for name, one in schema.get("properties", {}).items()
        ],
        "result": {"name": "result", "schema": {"type": "object"}},
        "errors": [{"$ref": "#/components/errors/domain"}],
        "x-changes": method.changes,
    }


def discover(call: Call, params: Nothing) -> dict[str, Any]:
    return document()


METHODS["rpc.discover"] = Method("rpc.discover", "This description.", Nothing, discover)
