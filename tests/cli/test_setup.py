"""tht init, config, completion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.workbench import HEAVY, Bench, imported_by

if TYPE_CHECKING:
    from tests.cli.conftest import Tht


@pytest.fixture
def bench(tmp_path: Path, tht: Tht) -> Bench:
    return Bench(tmp_path / "home", tht)


def test_init_makes_the_workspace_once_and_says_so(bench: Bench) -> None:
    made = bench.json("init")
    again = bench.json("init")
    assert not made["already"]
    assert again == made | {"already": True}
    assert Path(made["home"]) == bench.folder
    assert bench.ledger.exists()


@pytest.mark.posix
def test_the_home_is_its_owners_only(bench: Bench) -> None:
    bench.ok("init")
    for path in (bench.folder, *bench.folder.iterdir()):
        assert path.stat().st_mode & 0o077 == 0, path


def test_s50_the_default_home_is_the_users_data_folder(
    tht: Tht, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """S-50: neither inside the package nor in a temporary folder."""
    from platformdirs import user_data_path

    monkeypatch.delenv("THT_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "ada" / "data"))
    expected = user_data_path("tht")
    assert Path(Bench(expected, tht).json("init")["home"]) == expected / "default"
    if expected.is_relative_to(tmp_path):  # platforms that read the variables above: nothing is left behind
        assert (expected / "default" / "ledger.sqlite3").exists()


def test_the_home_of_somebody_unknown_is_told_wherever_a_path_is_typed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.ok("init")
    for command in (("--home", "~nobody-here/x", "status"), ("demo", "--keep", "~nobody-here/x")):
        said = bench.tht(*command)
        assert (said.code, "nobody is known as ~nobody-here" in said.err) == (2, True), said
    monkeypatch.setenv("THT_EMBEDDER_MODEL", "~nobody-here/x")
    told = bench.tht("--home", str(bench.home), "fact", "search", "anything")
    assert (told.code, "nobody is known as ~nobody-here" in told.out + told.err) == (0, True), told


def test_config_lists_every_setting_with_value_and_origin(bench: Bench) -> None:
    bench.ok("init")
    bench.ok("config", "set", "review.page", "3")
    told = {one["key"]: one for one in bench.json("config")["settings"]}
    assert (told["review.page"]["value"], told["review.page"]["origin"]) == (3, "config.toml")
    assert (told["embedder.model"]["value"], told["embedder.model"]["origin"]) == ("hash", "environment")
    assert told["review.allow_self"]["origin"] == "default"
    assert all(one["about"] for one in told.values())


def test_the_list_of_settings_breaks_no_value_in_two(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger_id = bench.json("init")["ledger_id"]
    monkeypatch.setenv("COLUMNS", "80")
    lines = bench.ok("config").splitlines()
    assert f"ledger.id = {ledger_id}  (config.toml)" in [line.rstrip() for line in lines]
    assert 'index.url = ""  (default)' in [line.rstrip() for line in lines]
    assert max(map(len, lines)) <= 80
    assert any("THT_QDRANT_API_KEY" in line for line in lines)


def test_what_an_index_is_made_with_says_that_it_has_to_be_made_anew(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then the old index answers with the old model: whoever set the new one would not notice."""
    monkeypatch.delenv("THT_EMBEDDER_MODEL")

    def said(*arguments: str) -> str:
        return bench.tht("--home", str(bench.home), "config", *arguments).err

    bench.one_memory()
    assert said("set", "embedder.model", "hash:32") == "", "there is no index yet"
    bench.ok("index", "rebuild")
    assert "tht index rebuild" in said("set", "embedder.model", "hash:64")
    assert said("set", "embedder.model", "hash:32", "--quiet") == ""
    assert "tht index rebuild" in said("unset", "embedder.model")
    assert said("set", "embedder.model", "none") == said("set", "review.page", "3") == ""


def test_config_set_get_and_unset(bench: Bench) -> None:
    bench.ok("init")
    assert bench.ok("config", "set", "review.allow_self", "yes").strip() == "review.allow_self = true"
    assert bench.ok("config", "get", "review.allow_self").strip() == "true"
    bench.ok("config", "unset", "review.allow_self")
    assert bench.json("config", "get", "review.allow_self")["value"] is False
    assert bench.error("config", "unset", "review.allow_self")["type"] == "NothingChanged"
    assert bench.error("config", "set", "review.page", "none", code=2)["type"] == "InvalidInput"
    assert bench.error("config", "set", "ledger.id", "x", code=2)["type"] == "InvalidInput"
    assert bench.error("config", "unset", "ledger.id", code=2)["type"] == "InvalidInput"


def test_an_unknown_setting_is_an_error_that_names_the_nearest(bench: Bench) -> None:
    bench.ok("init")
    said = bench.error("config", "set", "review.pages", "3")
    assert said["type"] == "UnknownSetting"
    assert "review.page" in said["hint"]
    path = bench.folder / "config.toml"
    path.write_text(path.read_text() + '\n[embeder]\nmodel = "hash"\n')
    said = bench.error("status")
    assert said["type"] == "UnknownSetting"
    assert str(path) in said["message"]
    assert "embedder.model" in said["hint"]


def test_secrets_are_never_printed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.ok("init")
    monkeypatch.setenv("THT_QDRANT_API_KEY", "geheim-1")
    bench.ok("config", "set", "index.url", "https://ada:geheim-2@qdrant.example:6333/?key=geheim-3")
    listed = bench.ok("config") + bench.ok("config", "--json") + bench.ok("config", "get", "index.url")
    assert "geheim" not in listed
    assert "qdrant.example:6333" in listed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(bench: Bench, shell: str) -> None:
    assert "_THT_COMPLETE" in bench.ok("completion", shell)


def test_help_loads_nothing_heavy() -> None:
    loaded = imported_by("--help")
    assert not loaded & (HEAVY | {"eventsourcing", "rich", "prompt_toolkit"})
