"""What looks like a secret, and what only speaks of one. Samples are put together, so that none stands here."""

from __future__ import annotations

import pytest

from domain.secrets import secret_in


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("deploy with AKIA" + "ABCDEFGHIJKLMNOP", "a cloud access key"),
        ("token: ghp_" + "a1B2" * 9, "a token"),
        ("the key is sk-" + "proj-" + "x9" * 12, "a token"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----", "a private key"),
        ("Authorization: Bearer " + "abc.def-123" * 3, "a bearer token"),
        ("postgres://app:" + "hunter2!" + "@db:5432/x", "a password in an address"),
        ("password = " + "hunter2!", "a password"),
        ("the API key is " + "q8w7-e6r5", "a password"),
        ("eyJ" + "hbGciOiJIUzI1" + ".eyJ" + "zdWIiOiIxMjM0" + "." + "SflKxwRJSMeKKF2QT4", "a signed token"),
    ],
)
def test_what_looks_like_a_secret(text: str, kind: str) -> None:
    assert secret_in(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "The password is rotated every 90 days",
        "the api key must be kept in the vault",
        "Tokens expire after 30 minutes",
        "https://example.org/a:b/c@d",
        "la password è obbligatoria",
        "ask for the skeleton key",
        "",
    ],
)
def test_what_only_speaks_of_one(text: str) -> None:
    assert secret_in(text) == ""
