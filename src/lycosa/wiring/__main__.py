"""The process that workers are forked from, as a program: `python -m lycosa.wiring FD`."""

from __future__ import annotations

import socket
import sys

from lycosa.wiring.crawl import serve_workers

if __name__ == "__main__":
    serve_workers(socket.socket(fileno=int(sys.argv[1])))
