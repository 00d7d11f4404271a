"""A program for a Python that has pywb: what its replay answers for each URL of standard input, as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from wsgiref.util import setup_testing_defaults


def answer(app: object, url: str) -> dict[str, object]:
    """Status and content type of a URL as it was, and the length of what comes."""
    path, _, query = url.partition("?")
    environ: dict[str, object] = {"HTTP_HOST": "localhost", "PATH_INFO": f"/crawl/mp_/{path}", "QUERY_STRING": query}
    setup_testing_defaults(environ)
    environ["REQUEST_URI"] = f"{environ['PATH_INFO']}?{query}" if query else environ["PATH_INFO"]
    began: list[tuple[str, dict[str, str]]] = []
    start = lambda status, headers, trouble=None: began.append((status, dict(headers)))  # noqa: E731
    body = b"".join(app(environ, start))  # type: ignore[operator]
    status, headers = began[0]
    return {"url": url, "status": int(status.split()[0]), "type": headers.get("Content-Type", ""), "bytes": len(body)}


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    from gevent.monkey import patch_all

    patch_all()
    from pywb.apps.frontendapp import FrontEndApp

    replay = FrontEndApp(config_file="./config.yaml")
    for line in sys.stdin.read().split():
        print(json.dumps(answer(replay, line)))
