"""The build backend of lycosa: setuptools', with a C compiler from the package index where the machine has none.

`pip install` calls these functions (PEP 517, PEP 660). `pip wheel -C platform=manylinux_2_17_aarch64 .` builds for
another machine, which `wheels` does.
"""

from __future__ import annotations

import sys
from typing import Any

import toolchain
from setuptools import build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, Any] | None
PLATFORM = "platform"


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return build_meta.get_requires_for_build_wheel(config_settings) + _packages(_platform(config_settings))


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return build_meta.get_requires_for_build_editable(config_settings) + _packages()


def build_wheel(directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    platform = _platform(config_settings)
    if platform:
        config_settings = {**(config_settings or {}), "--build-option": [f"--plat-name={platform}"]}
    with toolchain.ready(_command(platform), platform):
        return build_meta.build_wheel(directory, config_settings, metadata_directory)


def build_editable(directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    with toolchain.ready(_command()):
        return build_meta.build_editable(directory, config_settings, metadata_directory)


def _platform(config_settings: Settings) -> str:
    return str((config_settings or {}).get(PLATFORM, ""))


def _packages(platform: str = "") -> list[str]:
    return [toolchain.ZIG_PACKAGE] if _command(platform) == toolchain.ZIG else []


def _command(platform: str = "") -> str:
    command = toolchain.ZIG if platform else toolchain.choose(toolchain.this_machine(), toolchain.works)
    if command == toolchain.NOTHING:
        # pip shows this with -v only, so lycosa says it again whenever it reads pages.
        print("lycosa: its compiled readers are NOT built, so no main content will be found:", file=sys.stderr)
        print(f"lycosa: there is no compiler that works, or no {toolchain.headers()}/Python.h", file=sys.stderr)
    return command
