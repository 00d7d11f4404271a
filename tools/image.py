"""The steps of the image without docker: `python tools/image.py`. Says what it checks and what it cannot.

It takes from the Dockerfile which files are copied and how they are installed, does both in an empty folder with this
Python, and has the result crawl a simulated web. Not checked: the base image, its packages, and users.

`python tools/image.py --root trixie` checks these too, as root and with debootstrap: every step of both stages runs in
a root of its own, made of this suite of Debian (trixie has the Python of the base image), and the crawl runs there as
the image's user. Then only the base image itself is another.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).parents[1]
_VENV = "/opt/lycosa"


class Image(NamedTuple):
    """What a Dockerfile says that can be done here."""

    copied: list[str]  # from the sources
    install: str
    entrypoint: str


class Step(NamedTuple):
    """A line of a Dockerfile: RUN and what is run, COPY and what is copied."""

    word: str
    rest: str


def read_image(text: str) -> Image:
    """The steps of the first stage, and what is run in the end."""
    steps = re.sub(r"\\\n\s*", "", text)
    copied = [name for line in re.findall(r"^COPY (?!--)(.+)$", steps, re.MULTILINE) for name in line.split()[:-1]]
    install = next(line for line in re.findall(r"^RUN (.+)$", steps, re.MULTILINE) if "pip install" in line)
    entrypoint = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', steps, re.MULTILINE)[0]
    return Image(copied, install, entrypoint)


def read_stages(text: str) -> list[list[Step]]:
    """All steps of each stage, in order."""
    stages: list[list[Step]] = []
    steps = re.sub(r"\\\n\s*", "", text)
    for word, rest in re.findall(r"^([A-Z]+) (.+)$", steps, re.MULTILINE):
        if word == "FROM":
            stages.append([])
        else:
            stages[-1].append(Step(word, rest))
    return stages


class Root:
    """A folder that is the whole file system of what runs in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._place, self._user, self._environment = "/", "0", {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}

    def fill(self, suite: str) -> None:
        """Debian with Python, which stands for the base image; what pip and apt need to reach the network."""
        packages = "ca-certificates,python3,python3-venv,python3-dev"
        subprocess.run(
            ["debootstrap", "--variant=minbase", f"--include={packages}", suite, str(self.path)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (self.path / "usr/local/bin/python").symlink_to("/usr/bin/python3")
        for name in ("etc/resolv.conf", "etc/ssl/certs/ca-certificates.crt"):
            shutil.copy(f"/{name}", self.path / name)

    def do(self, step: Step, built: Path | None) -> None:
        """One step; `built` is the root of the stage before."""
        match step.word:
            case "RUN":
                self.run(["sh", "-ec", step.rest], is_quiet=True)
            case "COPY":
                self._copy(step.rest.split(), built)
            case "WORKDIR":
                self._place = step.rest
                (self.path / step.rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            case "ENV":
                name, _, value = step.rest.partition("=")
                self._environment[name] = value.strip('"').replace("$PATH", self._environment["PATH"])
            case "USER":
                self._user = step.rest
            case _:
                return  # what only docker reads: VOLUME, STOPSIGNAL, ENTRYPOINT, CMD

    def run(self, command: list[str], *, is_quiet: bool = False) -> None:
        """Run something as the image would: its user, its folder, its variables, its /proc and /dev."""
        # The mounts are those of a namespace, and go with it.
        within = f'mount --bind /dev {self.path}/dev && mount -t proc proc {self.path}/proc && exec "$@"'
        enter = ["chroot", f"--userspec={self._user}:{self._user}", str(self.path), "/usr/bin/env", "-i"]
        variables = [f"{name}={value}" for name, value in self._environment.items()]
        there = ["sh", "-c", f'cd {self._place} && exec "$@"', "sh", *command]
        subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "sh", "-ec", within, "sh", *enter, *variables, *there],
            check=True,
            stdout=subprocess.DEVNULL if is_quiet else None,
        )

    def _copy(self, names: list[str], built: Path | None) -> None:
        source, *_ = [built] if names[0].startswith("--from=") else [HOME]
        assert source, "the first stage copies from the sources"
        *files, target = [name for name in names if not name.startswith("--")]
        goal = self.path / (target if target.startswith("/") else f"{self._place}/{target}").lstrip("/")
        for name in files:
            path = source / name.lstrip("/")
            if path.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "*.so") if source == HOME else None
                shutil.copytree(path, goal, symlinks=True, ignore=ignored, dirs_exist_ok=True)
            else:
                shutil.copy(path, goal)


def try_in_roots(suite: str) -> None:
    """All steps of both stages, and a crawl in the result."""
    text = (HOME / "Dockerfile").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as place:
        clean, built = Root(Path(place) / "clean"), Root(Path(place) / "build")
        print(f"Debian {suite} for the base image", flush=True)
        clean.fill(suite)
        shutil.copytree(clean.path, built.path, symlinks=True, ignore=shutil.ignore_patterns("dev", "proc"))
        for name in ("dev", "proc"):
            (built.path / name).mkdir()
        first, last = read_stages(text)
        for root, steps in ((built, first), (clean, last)):
            for step in steps:
                print(f"  {step.word} {step.rest[:90]}", flush=True)
                root.do(step, built.path)
        clean.run([read_image(text).entrypoint, "demo", "--hosts", "3", "--pages", "5", "--json"])
    print("not checked: the base image itself, volumes")


def main() -> int:
    """Build and try it; the exit code of what it runs last."""
    if sys.argv[1:2] == ["--root"]:
        try_in_roots(sys.argv[2])
        return 0
    image = read_image((HOME / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as place:
        source, venv = Path(place) / "source", Path(place) / "lycosa"
        source.mkdir()
        for name in image.copied:
            if (HOME / name).is_dir():
                # As .dockerignore has it: nothing that was built here.
                ignored = shutil.ignore_patterns("__pycache__", "*.so")
                shutil.copytree(HOME / name, source / name, ignore=ignored)
            else:
                shutil.copy(HOME / name, source / name)
        print(
            f"installing as the image does, from {len(image.copied)} names, with {sys.version.split()[0]}", flush=True
        )
        install = image.install.replace(_VENV, str(venv)).replace("python -m venv", f"{sys.executable} -m venv")
        subprocess.run(["sh", "-c", install], cwd=source, check=True, stdout=subprocess.DEVNULL)
        demo = [str(venv / "bin" / image.entrypoint), "demo", "--hosts", "3", "--pages", "5", "--json"]
        code = subprocess.run(demo, cwd=place, check=False).returncode
    print("not checked: the base image and its packages, users, volumes")
    return code


if __name__ == "__main__":
    sys.exit(main())
