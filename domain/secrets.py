"""Whether a text holds what looks like a secret: a key, token or password. It says of what kind, never which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

READ = 20_000  # characters of a text that are looked at

_NOT_A_VALUE = r"(?!(?:is|are|the|must|should|may|in|of|for|and|or|to|è|sono|deve|είναι|πρέπει)\b)"
KINDS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "a private key": re.compile(r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----"),
        "a cloud access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}\b"),
        "a token": re.compile(
            r"\b(?:gh[pousr]_\w{30,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abpors]-[\w-]{10,}"
            r"|sk-(?:[a-z]{2,8}-)?[A-Za-z0-9_-]{20,}|sk_live_\w{16,}|npm_\w{30,}|pypi-[\w-]{40,})"
        ),
        "a signed token": re.compile(r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
        "a bearer token": re.compile(r"(?i)\bbearer\s+[\w.~+/-]{20,}"),
        "a password in an address": re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{1,100}:[^\s/@]{3,200}@"),
        "a password": re.compile(
            r"(?i)\b(?:password|passwd|pwd|passphrase|parola d'ordine|κωδικός πρόσβασης|api[_ -]?key|secret[_ -]?key"
            rf"|client[_ -]?secret|access[_ -]?token)\b[\"']?(?:\s*[:=]\s*|\s+(?:is|è|είναι)\s+)[\"'`]?{_NOT_A_VALUE}"
            r"(?=[^\s\"'`]{0,200}[\d!@#$%^&*_-])[^\s\"'`]{6,}"
        ),
    }
)


def secret_in(text: str) -> str:
    """The kind of secret that a text seems to hold, as `a private key`; empty when nothing looks like one."""
    read = text[:READ]
    return next((kind for kind, pattern in KINDS.items() if pattern.search(read)), "")
