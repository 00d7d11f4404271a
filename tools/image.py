"""The steps of the image without docker: `python tools/image.py`. Says what it checks and what it cannot.

It takes from the Dockerfile which files are copied and how they are installed, does both in an empty folder with this
Python, and has the result crawl a simulated web. Not checked: the base image, its packages, and users.
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


def read_image(text: str) -> Image:
    """The steps of the first stage, and what is run in the end."""
    steps = re.sub(r"\\\n\s*", "", text)
    copied = [name for line in re.findall(r"^COPY (?!--)(.+)$", steps, re.MULTILINE) for name in line.split()[:-1]]
    install = next(line for line in re.findall(r"^RUN (.+)$", steps, re.MULTILINE) if "pip install" in line)
    entrypoint = re.findall(r'^ENTRYPOINT \["(\w+)"\]$', steps, re.MULTILINE)[0]
    return Image(copied, install, entrypoint)


def main() -> int:
    """Build and try it; the exit code of what it runs last."""
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
