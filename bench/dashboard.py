"""What a dashboard costs a crawl at full speed: CPU seconds of its process as a share of the crawl's.

Once with a viewer who follows the overview, once with nobody. `python bench/dashboard.py [HOSTS] [PAGES]`.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from lycosa.dashboard.serve import ANYWHERE, DashboardAddress, ServedBeside, listen
from lycosa.simweb import SimWebProcess, WebPlan

_TICKS = os.sysconf("SC_CLK_TCK")


def crawl(web: SimWebProcess, folder: Path) -> float:
    """Crawl all of it; CPU seconds of the crawl with its workers."""
    servers = f'dns_servers=["{web.dns_address}"]'
    place = ["--folder", str(folder), "--open-network", "127.0.0.0/8", "--set", servers, "--scope", "any", "--quiet"]
    pace = ["--min-delay", "0", "--delay-factor", "0", "--workers", "1"]
    process = subprocess.Popen([sys.executable, "-m", "lycosa.cli.main", "crawl", *web.seeds, *place, *pace])
    _, _, used = os.wait4(process.pid, 0)
    return used.ru_utime + used.ru_stime


def follow(listening: DashboardAddress) -> None:
    """Read the overview and all that it is sent, as a browser does, until the server ends."""
    connection = http.client.HTTPConnection("127.0.0.1", listening.port)
    headers = {"Authorization": f"Bearer {listening.token}"}
    try:
        for path in ("/", "/live"):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            while answer.read1():
                pass
    except (OSError, http.client.HTTPException):
        return


def cpu_seconds(process: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def main() -> None:
    hosts, pages = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((1, 200), (2, 50)))
    plan = WebPlan.named("clean", hosts=hosts, pages_per_host=pages, crawl_delay_share=0.0)
    for has_viewer in (False, True):
        with tempfile.TemporaryDirectory() as place, SimWebProcess(plan) as web:
            folder, listening = Path(place) / "crawl", listen(ANYWHERE)
            with ServedBeside(folder, None, listening) as dashboard:
                if has_viewer:
                    threading.Thread(target=follow, args=[listening], daemon=True).start()
                crawled = crawl(web, folder)
                shown = cpu_seconds(dashboard.process_id)
            print(
                f"{'one viewer' if has_viewer else 'nobody'}: crawl {crawled:.1f} CPU-s, dashboard {shown:.2f} CPU-s:"
                f" {shown / crawled:.1%}",
                flush=True,
            )


if __name__ == "__main__":
    main()
