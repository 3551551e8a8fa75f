"""Certificates for tests: an authority, a server on loopback, a client."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_VALID = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Certificates:
    """Files below one folder."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def make_certificates(folder: Path, *names: str) -> Certificates:
    """Write the five files; `names` are hosts beside loopback that the certificates are for."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name("test authority")
    ca = _sign(ca_name, ca_name, ca_key.public_key(), ca_key, authority=True)
    files = {"ca": _pem(folder / "ca.pem", ca)}
    for who in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        files[who] = _pem(folder / f"{who}.pem", _sign(_name(who), ca_name, key.public_key(), ca_key, names))
        path = folder / f"{who}.key"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        files[f"{who}_key"] = path
    return Certificates(**files)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _sign(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    key: ec.EllipticCurvePrivateKey,
    names: Sequence[str] = (),
    *,
    authority: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    hosts = [x509.DNSName(name) for name in ("localhost", *names)]
    addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _VALID)
        .not_valid_after(now + _VALID)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([*hosts, *addresses]), critical=False)
        .sign(key, hashes.SHA256())
    )


def _pem(path: Path, certificate: x509.Certificate) -> Path:
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path
