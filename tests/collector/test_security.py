"""Who is let in and what is let out: tokens, certificates, limits, headers, foreign pages; on both edges."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount_collector.access import TokenError, Tokens, tokens_in
from headcount_collector.api import protocol
from headcount_collector.api.server import grpc_edge
from headcount_collector.receive.errors import RateLimited
from headcount_collector.receive.rate import RateLimit
from headcount_collector.settings import SettingsError, load_settings
from tests.collector.certificates import Certificates, make_certificates
from tests.collector.otlp_messages import request, span
from tests.collector.running import Running, running_collector

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
FIRST, SECOND, THIRD = (
    "first-token-of-some-length",
    "second-token-of-some-length",
    "third-token-of-some-length",
)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tokens") / "tokens"
    file.write_text(f"# of the build machine\n{FIRST}\n\n{SECOND}\n")
    return file


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, token_file: Path) -> Iterator[Running]:
    with running_collector(tmp_path_factory.mktemp("data"), token_file=token_file, token=THIRD) as found:
        yield found


def status(running: Running, token: str) -> int:
    return running.get("/api/v1/runs", Authorization=f"Bearer {token}").status


def test_each_of_several_tokens_is_let_in(running: Running) -> None:
    assert [status(running, token) for token in (FIRST, SECOND, THIRD)] == [200, 200, 200]
    assert [status(running, token) for token in ("", FIRST[:-1], FIRST + "x", "é")] == [401] * 4
    assert running.get("/api/v1/runs").status == 401
    assert running.get("/api/v1/runs", Authorization=FIRST).status == 401


def test_grpc_wants_the_same_token(running: Running) -> None:
    body = request([span()]).SerializeToString()
    with grpc_edge(running.collector) as address:
        assert address is not None
        with grpc.insecure_channel(address) as channel:
            export: Any = channel.unary_unary(TRACES)
            assert export(body, metadata=(("authorization", f"Bearer {FIRST}"),)) == b""
            with pytest.raises(grpc.RpcError) as refused:
                export(body)
    error: Any = refused.value
    assert error.code() == grpc.StatusCode.UNAUTHENTICATED


def test_tokens_rotate_without_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(FIRST)
    clock = iter(range(0, 10_000, 10))
    tokens = Tokens(file=file, now_s=lambda: next(clock))
    assert tokens.name_of(f"Bearer {FIRST}")
    file.write_text(f"{FIRST}\n{SECOND}\n")
    assert tokens.name_of(f"Bearer {SECOND}")
    replacement = tmp_path / "new"
    replacement.write_text(f"{SECOND}\n")
    replacement.rename(file)
    assert tokens.name_of(f"Bearer {FIRST}") is None
    file.write_text("")  # half written: what was known stays
    assert tokens.name_of(f"Bearer {SECOND}")
    file.unlink()
    assert tokens.name_of(f"Bearer {SECOND}")


def test_a_token_is_never_shown(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    with pytest.raises(TokenError, match="7 characters") as short:
        tokens_in("hush-hu", "here")
    assert "hush" not in str(short.value)
    name = Tokens([FIRST]).name_of(f"bearer {FIRST}")
    assert name is not None
    assert name not in FIRST
    settings = load_settings(token=FIRST, data=tmp_path)
    assert FIRST not in repr(settings) + str(settings) + caplog.text


@given(st.text())
def test_no_text_is_taken_for_a_token(text: str) -> None:
    tokens = Tokens([FIRST])
    assert tokens.name_of(text) is None
    assert tokens.name_of(f"Bearer {text}") is None


def test_a_token_that_sends_too_much_is_told_to_wait_and_others_are_not() -> None:
    now = 0.0
    limit = RateLimit(2.0, burst=3, now_s=lambda: now)
    for _ in range(3):
        limit.take("a")
    with pytest.raises(RateLimited, match="more than 2 requests"):
        limit.take("a")
    limit.take("b")
    now = 0.6
    limit.take("a")
    for _ in range(1000):
        RateLimit().take("a")


def test_answers_carry_strict_headers(running: Running) -> None:
    for path in ("/", "/healthz", "/api/v1/runs", "/nowhere"):
        headers = {
            key.lower(): value
            for key, value in running.get(path, Authorization=f"Bearer {FIRST}").headers.items()
        }
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "server" not in headers


def test_another_site_changes_nothing_even_with_the_token(running: Running) -> None:
    host = running.url.removeprefix("http://")
    for origin, refused in (
        ("http://evil.example", True),
        ("http://127.0.0.1:1", True),
        (f"http://{host}", False),
    ):
        answer = running.post(
            "/api/v1/backups", b'{"name": ".."}', Authorization=f"Bearer {FIRST}", Origin=origin
        )
        assert (answer.status == 403) is refused, answer.body


def test_headers_without_end_are_cut_off(running: Running) -> None:
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        sent = 0
        with contextlib.suppress(ConnectionError):
            for number in range(10_000):
                connection.sendall(f"X-{number}: {'x' * 10_000}\r\n".encode())
                sent += 10_000
        assert sent < 100_000_000


def test_a_head_that_takes_too_long_is_cut_off(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_S", 0.2)
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"GET /healthz HT")
        assert connection.recv(100) == b""


def test_half_of_tls_is_refused_at_the_start(certificates: Certificates) -> None:
    with pytest.raises(SettingsError, match="go together"):
        load_settings(tls_cert=certificates.server)
    with pytest.raises(SettingsError, match="needs tls_cert"):
        load_settings(tls_client_ca=certificates.ca)
    with pytest.raises(SettingsError, match="is open to other machines"):
        load_settings(http="0.0.0.0:1", tls_cert=certificates.server, tls_key=certificates.server_key)
    assert (
        load_settings(
            http="0.0.0.0:1",
            tls_cert=certificates.server,
            tls_key=certificates.server_key,
            tls_client_ca=certificates.ca,
        ).address.port
        == 1
    )
