"""Which C compiler builds the extensions: the machine's own, or `zig cc` from the package index where none works.

Knows nothing of setuptools; `build_backend` and `wheels` do as it says. Why: docs/decisions/0053.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

# A wheel of 100 MB with a whole C compiler, which needs nothing of the machine.
ZIG_PACKAGE = "ziglang~=0.17.0"
ZIG = "zig"
NOTHING = "none"
# `zig` or `none` of this environment variable is done without looking.
WISH = "LYCOSA_COMPILER"
# The oldest glibc for which zig builds on both architectures; Debian has had a newer one since 2015.
OLDEST_PLATFORM = "manylinux_2_17"
ARCHITECTURES = ("x86_64", "aarch64")

_PROBE = "#include <stdlib.h>\nint probe(void) { return abs(-1); }\n"
_VARIABLES = ("CC", "LDSHARED", "SETUPTOOLS_EXT_SUFFIX", "ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")


class Machine(NamedTuple):
    """What decides: the operator's wish, compilers to try in order, whether there are headers, zig's name for us."""

    wish: str
    commands: tuple[str, ...]
    has_headers: bool
    platform: str


def this_machine() -> Machine:
    """The machine on which this runs, with the Python that runs this."""
    own = (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang")
    architecture = platform.machine()
    # zig would put a C library of its own into what it builds for musl.
    is_known = sys.platform == "linux" and architecture in ARCHITECTURES and platform.libc_ver()[0] == "glibc"
    return Machine(
        wish=os.environ.get(WISH, ""),
        commands=tuple(dict.fromkeys(command for command in own if command)),
        has_headers=(headers() / "Python.h").exists(),
        platform=f"{OLDEST_PLATFORM}_{architecture}" if is_known else "",
    )


def choose(machine: Machine, works: Callable[[str], bool]) -> str:
    """The command of a compiler that works, `ZIG` where there is none, `NOTHING` where that would not help either."""
    if machine.wish == NOTHING or not machine.has_headers:
        return NOTHING
    if machine.wish == ZIG and machine.platform:
        return ZIG
    own = next(filter(works, machine.commands), "")
    return own or (ZIG if machine.platform else NOTHING)


def works(command: str) -> bool:
    """Whether a compiler is there and has a C library: on Debian gcc alone comes without."""
    with TemporaryDirectory(prefix="lycosa-probe-") as scratch:
        source = Path(scratch, "probe.c")
        source.write_text(_PROBE)
        try:
            parts = [*shlex.split(command), "-shared", "-fPIC", str(source), "-o", f"{scratch}/probe.so"]
            return subprocess.run(parts, check=False, capture_output=True, timeout=60).returncode == 0
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return False


def headers() -> Path:
    """Where Python.h is, or would be."""
    return Path(sysconfig.get_path("include"))


@contextmanager
def ready(command: str, wheel_platform: str = "") -> Iterator[None]:
    """For a while, setuptools builds by this command; by zig for any platform."""
    before = {name: os.environ.get(name) for name in _VARIABLES}
    with TemporaryDirectory(prefix="lycosa-build-") as scratch:
        if command == ZIG:
            os.environ |= _zig_variables(wheel_platform or this_machine().platform, Path(scratch))
        elif command == os.environ.get(WISH) == NOTHING:
            os.environ |= {"CC": "false", "LDSHARED": "false"}
        elif command != NOTHING and command != (before["CC"] or sysconfig.get_config_var("CC")):
            os.environ |= {"CC": command, "LDSHARED": f"{command} -shared"}
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def _zig_variables(wheel_platform: str, scratch: Path) -> dict[str, str]:
    from ziglang import __file__ as package  # type: ignore[import-not-found]

    _, major, minor, architecture = wheel_platform.split("_", 3)
    # With a target named, zig builds for any processor of its kind, not for the one it runs on.
    target = ("-target", f"{architecture}-linux-gnu.{major}.{minor}")
    _copy_debian_configuration(architecture, scratch)
    command = shlex.join((str(Path(package).with_name("zig")), "cc", *target, f"-I{scratch}"))
    # Otherwise what zig keeps would stay in the home directory.
    cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(scratch / "cache")
    tag = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    return {
        "CC": command,
        "LDSHARED": f"{command} -shared -s",
        "SETUPTOOLS_EXT_SUFFIX": f".{tag}-{architecture}-linux-gnu.so",
        "ZIG_GLOBAL_CACHE_DIR": cache,
        "ZIG_LOCAL_CACHE_DIR": cache,
    }


def _copy_debian_configuration(architecture: str, scratch: Path) -> None:
    """Debian's pyconfig.h includes one beside the C library, where zig does not look; it is alike on both machines."""
    place = headers()
    real = place.parent / str(sysconfig.get_config_var("MULTIARCH")) / place.name / "pyconfig.h"
    if real.exists():
        copy = scratch / f"{architecture}-linux-gnu" / place.name / real.name
        copy.parent.mkdir(parents=True)
        shutil.copy(real, copy)
