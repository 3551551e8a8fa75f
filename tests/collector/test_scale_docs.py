"""The configuration files in docs/scale.md are read by what they are for, as far as that runs here."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from headcount_collector.settings import load_settings
from headcount_collector.store import Store, migrate
from headcount_collector.store.content import CONTENT_ATTRIBUTES, content_pattern
from tests.collector.otelcol import program

DOCS = Path(__file__).parents[2] / "docs"
SCALE = (DOCS / "scale.md").read_text()
THREATS = (DOCS / "threat-model.md").read_text()
TESTS = Path(__file__).parent


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", SCALE, re.DOTALL)


@pytest.mark.parametrize("text", blocks("toml"))
def test_every_settings_file_is_accepted(text: str, tmp_path: Path) -> None:
    secret = tmp_path / "tokens"
    secret.write_text("a-token-of-some-length\n")
    path = tmp_path / "headcount.toml"
    path.write_text(text.replace("/run/secrets/headcount-tokens", str(secret)))
    load_settings(path)


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_pipeline_names_parts_that_are_there_and_no_part_is_idle(text: str) -> None:
    config: dict[str, Any] = yaml.safe_load(text)
    used: dict[str, set[str]] = {"receivers": set(), "processors": set(), "exporters": set()}
    for pipeline in config["service"]["pipelines"].values():
        for kind, names in pipeline.items():
            used[kind] |= set(names)
    for kind, names in used.items():
        assert names == set(config[kind])
    assert set(config["service"].get("extensions", ())) == set(config.get("extensions", ()))


def test_the_gateway_drops_what_our_own_intake_drops() -> None:
    pattern = content_pattern(CONTENT_ATTRIBUTES)
    (gateway,) = (text for text in blocks("yaml") if "transform/no_content" in text)
    assert yaml.safe_load(gateway)["processors"]["transform/no_content"]["trace_statements"] == [
        f'delete_matching_keys({place}.attributes, "{pattern}")'
        for place in ("resource", "span", "spanevent")
    ]


@pytest.mark.parametrize("text", blocks("yaml"))
def test_a_collector_accepts_every_pipeline(text: str, tmp_path: Path) -> None:
    otelcol = program("otelcol")
    config: dict[str, Any] = yaml.safe_load(text)
    if (storage := config.get("extensions", {}).get("file_storage")) is not None:
        storage["directory"] = str(tmp_path)
    file = tmp_path / "config.yaml"
    file.write_text(yaml.safe_dump(config))
    said = subprocess.run(
        [otelcol, "validate", "--config", file],
        env={"CLICKHOUSE_PASSWORD": "secret"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr


def test_the_servers_configuration_has_two_replicas_of_each_shard_of_the_cluster() -> None:
    (text,) = blocks("xml")
    tree = ElementTree.fromstring(text)
    for shard in tree.findall("remote_servers/main/shard"):
        assert len(shard.findall("replica")) == 2
        assert shard.findtext("internal_replication") == "true"
    assert {macro.tag for macro in tree.findall("macros/*")} == {"shard", "replica"}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    store = Store.open(":memory:")
    migrate(store)
    yield store
    store.close()


def test_the_engine_parses_every_grant_and_knows_every_setting(store: Store) -> None:
    for statement in "".join(blocks("sql")).split(";"):
        if statement.strip():
            store.query(f"EXPLAIN AST {statement.strip()}")
    (text,) = blocks("xml")
    names = [setting.tag for setting in ElementTree.fromstring(text).findall("profiles/default/*")]
    for name in names:
        assert store.query("SELECT count() FROM system.settings WHERE name = {n:String}", {"n": name}) == [
            (1,)
        ]


@pytest.mark.parametrize(
    ("user", "folders"), [("headcount", ("collector", "alerts")), ("grafana", ("dashboards",))]
)
def test_every_system_table_that_is_read_is_granted(user: str, folders: tuple[str, ...]) -> None:
    read = {
        found
        for folder in folders
        for kind in ("py", "sql")
        for file in (DOCS.parent / folder).rglob(f"*.{kind}")
        for found in re.findall(r"(?:FROM|JOIN) system\.(\w+)", file.read_text())
    }
    granted = set(re.findall(rf"GRANT SELECT ON system\.(\w+) TO {user};", SCALE))
    assert read
    assert read <= granted


def test_the_commands_are_ours() -> None:
    for line in "\n".join(blocks("sh")).splitlines():
        assert re.match(r"headcount (schema attach|serve) ", line)


def test_the_threat_model_names_tests_that_exist() -> None:
    named = set(re.findall(r"`(test_\w+\.py)`", THREATS))
    assert len(named) > 10
    assert {name for name in named if not (TESTS / name).exists()} == set()
