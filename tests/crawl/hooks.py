"""Faults put into the processes of a crawl from outside: a `sitecustomize` that Python loads before anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# Only in the processes of a crawl: pytest's own children are left alone.
_GUARD = """
import sys

if {"lycosa.wiring", "lycosa.cli.main"} & set(sys.orig_argv):
    import importlib, inspect, os, signal, time
"""


def install(code: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> None:
    """Run this code at the start of every process of the crawls that follow; it finds the variables in `os.environ`."""
    hook = folder / "hook"
    hook.mkdir()
    body = "".join(f"    {line}\n" for line in code.strip().splitlines())
    (hook / "sitecustomize.py").write_text(_GUARD + body)
    paths = (str(hook), os.environ.get("PYTHONPATH"))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
