"""TLS of both edges from one pair of files: certificate and key, and the authority that clients' certificates need."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from headcount_collector.settings import Settings

if TYPE_CHECKING:
    import grpc


def tls_of(settings: Settings) -> dict[str, Any]:
    """Return uvicorn's options; none where TLS is off."""
    if settings.tls_cert is None or settings.tls_key is None:
        return {}
    options: dict[str, Any] = {
        "ssl_certfile": str(settings.tls_cert),
        "ssl_keyfile": str(settings.tls_key),
    }
    if settings.tls_client_ca is not None:
        options |= {"ssl_ca_certs": str(settings.tls_client_ca), "ssl_cert_reqs": ssl.CERT_REQUIRED}
    return options


def grpc_credentials(settings: Settings) -> grpc.ServerCredentials | None:
    """Return the same for gRPC."""
    if settings.tls_cert is None or settings.tls_key is None:
        return None
    import grpc

    ca = None if settings.tls_client_ca is None else settings.tls_client_ca.read_bytes()
    return grpc.ssl_server_credentials(
        [(settings.tls_key.read_bytes(), settings.tls_cert.read_bytes())],
        root_certificates=ca,
        require_client_auth=ca is not None,
    )
