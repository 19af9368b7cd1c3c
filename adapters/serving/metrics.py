"""/metrics for Prometheus: requests, calls, how far projections are, streams that are open."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one server, in a registry of its own. Labels hold names of routes and methods, never of users."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "tht_requests", "HTTP requests by route and status", ("route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "tht_request_seconds", "Seconds until an answer began, by route", ("route",), registry=self.registry
        )
        self.calls = Counter("tht_rpc_calls", "JSON-RPC calls", ("method", "outcome"), registry=self.registry)
        self.head = Gauge("tht_ledger_position", "The ledger's last position", registry=self.registry)
        self.reached = Gauge(
            "tht_follower_position", "The position that a follower has reached", ("follower",), registry=self.registry
        )
        self.failures = Gauge(
            "tht_follower_failures", "Failures of a follower in a row", ("follower",), registry=self.registry
        )
        self.watchers = Gauge("tht_watchers", "Streams of changes that are open", registry=self.registry)
        self.waiting = Gauge("tht_waiting", "Requests that wait for a workspace", registry=self.registry)

    def text(self) -> bytes:
        return generate_latest(self.registry)
