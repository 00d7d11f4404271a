"""Which version of lycosa this is: `pyproject.toml` reads it here. To ask the installation for it takes 20 ms."""

from __future__ import annotations

VERSION = "0.1.0"
