"""How many rounds the storms take: 20, in the long form (`make test-long`) 300, or as many as FAULT_ROUNDS says."""

from __future__ import annotations

import os

LONG = bool(os.environ.get("CRASH_EVERY_STEP"))
ROUNDS = int(os.environ.get("FAULT_ROUNDS") or (300 if LONG else 20))
OF_PROCESSES = ROUNDS * 2 // 5  # on each engine: writers, projectors, rebuilders, readers
OF_SERVERS = ROUNDS // 10  # on each engine: `tht serve` with its clients
