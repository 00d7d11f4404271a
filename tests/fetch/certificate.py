"""Certificates that no authority has signed, made as they are needed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


def make_certificate(folder: Path, name: str = "IP:127.0.0.1") -> Path:
    """A certificate for 127.0.0.1 or another name, with its key in the same file."""
    file = folder / "own.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-keyout", str(file), "-out", f"{file}.crt", "-days", "2", "-subj", "/CN=own",
         "-addext", f"subjectAltName={name}"],
        check=True, capture_output=True,
    )  # fmt: skip
    file.write_bytes(file.read_bytes() + Path(f"{file}.crt").read_bytes())
    return file
