"""Crawls the documentation packages of Debian, served by nginx, and compares with a walk by another parser.

`python -m tests.site.web.documents`, with nginx-light, python3-doc, postgresql-doc, apache2-doc and debian-handbook.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import InvalidURL
from pathlib import Path
from urllib.parse import urlsplit

from lycosa.store.folder import CrawlFolder
from lycosa.store.read import connect

from ...frontier.redis_servers import free_ports
from .site import Answer
from .walk import leads

DOCUMENTS = Path("/usr/share/doc")
SITES = {
    "python3-doc": "python3-doc/html/index.html",
    "postgresql-doc": "postgresql-doc-15/html/index.html",
    "apache2-doc": "apache2-doc/manual/en/index.html",
    "debian-handbook": "debian-handbook/html/en-US/index.html",
}
_CONFIGURATION = """\
daemon off; pid {home}/pid; error_log {home}/log; worker_processes 1;
events {{ worker_connections 256; }}
http {{
  include /etc/nginx/mime.types; default_type text/html; access_log off; client_body_temp_path {home}/body;
  proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/fastcgi; uwsgi_temp_path {home}/uwsgi;
  scgi_temp_path {home}/scgi;
  server {{ listen 127.0.0.1:{port}; root {root}; }}
}}
"""


@contextmanager
def nginx(home: Path, root: Path) -> Iterator[str]:
    """A real server on loopback."""
    (port,) = free_ports(1)
    (home / "conf").write_text(_CONFIGURATION.format(home=home, port=port, root=root))
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    with subprocess.Popen([nginx, "-p", str(home), "-c", str(home / "conf")]) as server:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def walked(base: str, start: str) -> set[str]:
    """The paths of all pages that links lead to from a page, below its folder's package."""
    package = "/" + start.partition("/")[0] + "/"
    queue, known, pages = deque(["/" + start]), {"/" + start}, set[str]()
    while queue:
        path = queue.popleft()
        try:
            with urllib.request.urlopen(base + path, timeout=10) as response:
                if response.headers.get_content_type() != "text/html":
                    continue
                body, at = response.read(), urlsplit(response.url).path
        except (urllib.error.HTTPError, InvalidURL):
            continue
        pages.add(at)
        text = body.decode("utf-8", "replace").encode()
        for url in leads(Answer(200, (("Content-Type", "text/html"),), text), base + at):
            parts = urlsplit(url)
            is_inside = f"{parts.scheme}://{parts.netloc}" == base and parts.path.startswith(package)
            if is_inside and parts.path not in known:
                known.add(parts.path)
                queue.append(parts.path)
    return pages


def crawled(base: str, start: str, folder: Path) -> tuple[set[str], int]:
    """The paths that the real command keeps, and its exit code."""
    package = start.partition("/")[0]
    options = {"min_delay_seconds": 0, "ip_delay_seconds": 0, "domain_delay_seconds": 0, "delay_factor": 0}
    chosen = [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
    command = ["crawl", f"{base}/{start}", "--folder", str(folder), "--open-network", "127.0.0.0/8", "--quiet"]
    ended = subprocess.run(
        [sys.executable, "-m", "lycosa.cli.main", *command, *chosen, "--include", f"^{base}/{package}/"], check=False
    )
    with connect(CrawlFolder(folder)) as tables:
        rows = tables.execute("SELECT url FROM pages WHERE outcome IN ('stored', 'duplicate')").fetchall()
    return {urlsplit(url).path for (url,) in rows}, ended.returncode


def main() -> int:
    """Every page that the walk finds must be in the crawl."""
    is_whole = True
    with tempfile.TemporaryDirectory() as place, nginx(Path(place), DOCUMENTS) as base:
        time.sleep(0.5)
        for name, start in SITES.items():
            if not (DOCUMENTS / start).exists() or os.environ.get("ONLY", name) != name:
                print(f"{name:20} not installed")
                continue
            began_at = time.monotonic()
            pages = walked(base, start)
            kept, code = crawled(base, start, Path(place) / name)
            missing = sorted(pages - kept)
            is_whole &= not missing and code == 0
            seconds = time.monotonic() - began_at
            print(f"{name:20} {len(pages & kept):5} of {len(pages):5} pages, exit {code}, {seconds:.0f} s", missing[:3])
    return 0 if is_whole else 1


if __name__ == "__main__":
    sys.exit(main())
