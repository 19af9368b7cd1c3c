"""Every method of JSON-RPC, by name."""

from __future__ import annotations

from typing import Any

from adapters.serving.rpc_method import Method
from adapters.serving.rpc_methods import access, audit, conflicts, facts, notes, policies, registry, review, sessions

METHODS: dict[str, Method[Any]] = {
    method.name: method
    for module in (facts, policies, access, notes, sessions, review, registry, conflicts, audit)
    for method in module.METHODS
}
