"""Certificates that no authority has signed, made as they are needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def make_certificate(folder: Path, name: str = "IP:127.0.0.1") -> Path:
    """A certificate for 127.0.0.1 or another name, with its key in the same file."""
    key = ec.generate_private_key(ec.SECP256R1())
    own, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "own")]), datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(own)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([_named(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file = folder / "own.pem"
    file.write_bytes(private + certificate.public_bytes(pem))
    return file


def _named(name: str) -> x509.GeneralName:
    """As openssl writes it."""
    kind, _, value = name.partition(":")
    return x509.IPAddress(ip_address(value)) if kind == "IP" else x509.DNSName(value)
