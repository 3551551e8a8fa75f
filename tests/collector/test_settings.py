"""Settings: where they come from, in which order, and what a wrong one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount_collector.judge.policy import SECOND
from headcount_collector.settings import CAPTURE_VARIABLE, SECRETS, Settings, SettingsError, load_settings

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def _bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"HEADCOUNT_{name.upper()}", raising=False)
    for name in SECRETS:
        monkeypatch.delenv(f"HEADCOUNT_{name.upper()}_FILE", raising=False)
    monkeypatch.delenv(CAPTURE_VARIABLE, raising=False)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "headcount.toml"
    path.write_text(
        'retention_days = 5\ntick_s = 2\n[policy]\nexpected = "10m"\n[policy.agent.reviewer]\nexpected = "1h"\n'
    )
    return path


def test_the_defaults_listen_on_loopback_and_keep_no_content() -> None:
    settings = load_settings()
    assert settings.address.loopback
    assert not settings.capture_content
    assert settings.store_location == str(settings.data)


def test_options_win_over_variables_and_these_over_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings(config).retention_days == 5
    monkeypatch.setenv("HEADCOUNT_RETENTION_DAYS", "6")
    assert load_settings(config).retention_days == 6
    assert load_settings(config, retention_days=7).retention_days == 7
    assert load_settings(config, retention_days=None).tick_s == 2


def test_the_policy_of_file_and_variables_is_one(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_POLICY__IDLE", "20m")
    policy = load_settings(config).judged_by
    assert policy.times("s", "other", "here").expected == 600 * SECOND
    assert policy.times("s", "reviewer", "here").expected == 3600 * SECOND
    assert policy.times("s", "other", "here").idle == 1200 * SECOND


def test_secrets_are_read_from_files_and_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = tmp_path / "secret"
    secret.write_text(f"{PASSWORD}\n")
    monkeypatch.setenv("HEADCOUNT_TOKEN_FILE", str(secret))
    monkeypatch.setenv("HEADCOUNT_STORE", f"http://me:{PASSWORD}@db:8123/headcount")
    settings = load_settings()
    assert settings.own_token == PASSWORD
    assert PASSWORD not in repr(settings)
    assert settings.store_shown == "http://db:8123/headcount"


def test_a_store_is_shown_as_it_is_where_it_holds_no_secret(tmp_path: Path) -> None:
    assert load_settings(data=tmp_path).store_shown == str(tmp_path)
    assert load_settings(store=":memory:").store_shown == ":memory:"


@pytest.mark.parametrize(("word", "captured"), [("true", True), ("SPAN_ONLY", True), ("no_content", False)])
def test_the_instrumentations_capture_switch_holds(
    word: str, captured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CAPTURE_VARIABLE, word)
    assert load_settings().capture_content is captured


def test_links_lead_to_where_people_open_grafana(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings().dashboards_url == ""
    monkeypatch.setenv("HEADCOUNT_GRAFANA_URL", "http://grafana:3000/")
    assert load_settings().dashboards_url == "http://grafana:3000"
    monkeypatch.setenv("HEADCOUNT_GRAFANA_PUBLIC_URL", "https://grafana.example/g")
    assert load_settings().dashboards_url == "https://grafana.example/g"
    with pytest.raises(SettingsError, match="--grafana-url: 'grafana' is no URL"):
        load_settings(grafana_url="grafana")


def test_our_own_capture_switch_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CAPTURE_VARIABLE, "true")
    monkeypatch.setenv("HEADCOUNT_CAPTURE_CONTENT", "false")
    assert not load_settings().capture_content


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("HEADCOUNT_RETENTION_DAYS", "soon", "HEADCOUNT_RETENTION_DAYS: "),
        ("HEADCOUNT_RETENTION_DAYS", "0", "HEADCOUNT_RETENTION_DAYS: "),
        ("HEADCOUNT_TICK_S", "nan", "HEADCOUNT_TICK_S: "),
        ("HEADCOUNT_HTTP", "nowhere", "HEADCOUNT_HTTP: 'nowhere' is no HOST:PORT"),
        ("HEADCOUNT_HTTP", "::1:80", "HEADCOUNT_HTTP: '::1:80': write an IPv6 address in brackets"),
        ("HEADCOUNT_HTTP", "h:70000", "HEADCOUNT_HTTP: 'h:70000' is no HOST:PORT"),
        ("HEADCOUNT_HTTP", "0.0.0.0:4318", "needs a token: set HEADCOUNT_TOKEN"),
        ("HEADCOUNT_TOKEN", "short", "HEADCOUNT_TOKEN: 5 characters; take at least 16"),
        (
            "HEADCOUNT_TOKEN_FILE",
            "/does/not/exist",
            "HEADCOUNT_TOKEN_FILE: cannot read the tokens in /does/not/exist",
        ),
        ("HEADCOUNT_STORE", "./folder", "HEADCOUNT_STORE: write http(s)://"),
        ("HEADCOUNT_GRPC", "nowhere", "HEADCOUNT_GRPC: 'nowhere' is no HOST:PORT"),
        ("HEADCOUNT_TLS_CERT", "/does/not/exist", "HEADCOUNT_TLS_CERT: cannot read /does/not/exist"),
        ("HEADCOUNT_TLS_CERT", __file__, "is no PEM file"),
        ("HEADCOUNT_LOG_FORMAT", "xml", "HEADCOUNT_LOG_FORMAT: "),
        ("HEADCOUNT_URL", "localhost", "HEADCOUNT_URL: 'localhost' is no URL"),
        ("HEADCOUNT_LOG_LEVEL", "loud", "HEADCOUNT_LOG_LEVEL: "),
        ("HEADCOUNT_POLICY", "{", "HEADCOUNT_POLICY: what it holds is not the JSON"),
        (
            "HEADCOUNT_CONTENT_ATTRIBUTES",
            "prompt",
            "HEADCOUNT_CONTENT_ATTRIBUTES: Input should be a valid tuple",
        ),
        ("HEADCOUNT_CONTENT_ATTRIBUTES", '["a(b"]', "HEADCOUNT_CONTENT_ATTRIBUTES: attribute name 'a(b'"),
        ("HEADCOUNT_POLICY__EXPECTED", "soon", "HEADCOUNT_POLICY: expected = 'soon' is no duration"),
        (CAPTURE_VARIABLE, "perhaps", f"{CAPTURE_VARIABLE}: "),
    ],
)
def test_a_bad_variable_is_named(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert says in str(caught.value)


def test_dropped_attributes_are_a_json_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_CONTENT_ATTRIBUTES", '["prompt*", "gen_ai.input.messages"]')
    assert load_settings().content_attributes == ("prompt*", "gen_ai.input.messages")


def test_a_bad_secret_file_is_named_and_its_content_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hush")
    monkeypatch.setenv("HEADCOUNT_TOKEN_FILE", str(secret))
    with pytest.raises(SettingsError, match=r"HEADCOUNT_TOKEN_FILE: .*secret: 4 characters") as caught:
        load_settings()
    assert "hush" not in str(caught.value)


def test_a_bad_option_is_named() -> None:
    with pytest.raises(SettingsError, match="--http: 'nowhere'"):
        load_settings(http="nowhere")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour = 1", "headcount.toml: colour: no such setting; there are http, "),
        ("retention_days = 'x'", "headcount.toml: retention_days: "),
        ("retention_days =", "is not TOML"),
    ],
)
def test_a_bad_file_is_named(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "headcount.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    assert says in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"--config .*nowhere\.toml: No such file"):
        load_settings(tmp_path / "nowhere.toml")


def test_loopback_is_told_by_address_and_name() -> None:
    for host in ("127.0.0.1", "127.8.8.8", "[::1]", "localhost", "head.localhost"):
        assert load_settings(http=f"{host}:1").address.loopback
    with pytest.raises(SettingsError, match="open to other machines"):
        load_settings(http="example.org:80")
    assert str(load_settings(http="[::1]:80").address) == "[::1]:80"
    assert load_settings(http="80").address.host == "127.0.0.1"


def test_grpc_goes_where_http_goes_unless_told_otherwise() -> None:
    assert str(load_settings(http="127.0.0.1:4318").grpc_address) == "127.0.0.1:4317"
    assert str(load_settings(http="[::1]:0").grpc_address) == "[::1]:0"
    assert str(load_settings(grpc="127.0.0.1:5000").grpc_address) == "127.0.0.1:5000"
    assert load_settings(grpc="off").grpc_address is None


def test_grpc_open_to_others_needs_a_token_too() -> None:
    with pytest.raises(SettingsError, match=r"grpc = 0\.0\.0\.0:1 is open to other machines"):
        load_settings(grpc="0.0.0.0:1")
    assert load_settings(grpc="0.0.0.0:1", token="a token of some length").grpc_address is not None
