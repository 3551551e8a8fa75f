"""Collectors that are set up more strictly: TLS with client certificates on both edges, a limit on requests."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import grpc
import pytest

from headcount_collector.api.server import grpc_edge
from tests.collector.certificates import Certificates, make_certificates
from tests.collector.otlp_messages import request, span
from tests.collector.running import Running, running_collector

TRACES = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
TOKEN = "a-token-of-some-length"


def test_the_rate_limit_holds_over_http(tmp_path: Path) -> None:
    with running_collector(tmp_path, token=TOKEN, requests_per_s=0.001) as running:
        answers = [running.get("/api/v1/runs", Authorization=f"Bearer {TOKEN}") for _ in range(2)]
        assert [answer.status for answer in answers] == [200, 429]
        assert answers[1].headers["retry-after"] == "1"
        assert running.get("/healthz").status == 200


def test_tls_and_client_certificates_on_both_edges(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    options = {
        "tls_cert": certificates.server,
        "tls_key": certificates.server_key,
        "tls_client_ca": certificates.ca,
    }
    with running_collector(tmp_path / "data", **options) as running:
        url = running.url.replace("http://", "https://")
        context = ssl.create_default_context(cafile=str(certificates.ca))
        context.load_cert_chain(certificates.client, certificates.client_key)
        with urlopen(Request(f"{url}/api/v1/runs"), timeout=30, context=context) as answer:
            assert answer.status == 200
        stranger = ssl.create_default_context(cafile=str(certificates.ca))
        with pytest.raises((URLError, ssl.SSLError, OSError)):
            urlopen(Request(f"{url}/api/v1/runs"), timeout=30, context=stranger).read()
        _check_grpc(running, certificates)


def _check_grpc(running: Running, certificates: Certificates) -> None:
    body = request([span()]).SerializeToString()
    ca = certificates.ca.read_bytes()
    ours = grpc.ssl_channel_credentials(
        ca, certificates.client_key.read_bytes(), certificates.client.read_bytes()
    )
    with grpc_edge(running.collector) as address:
        assert address is not None
        for credentials, let_in in ((ours, True), (grpc.ssl_channel_credentials(ca), False)):
            with grpc.secure_channel(address, credentials) as channel:
                export: Any = channel.unary_unary(TRACES)
                try:
                    assert export(body, timeout=10) == b""
                except grpc.RpcError:
                    assert not let_in
                else:
                    assert let_in
