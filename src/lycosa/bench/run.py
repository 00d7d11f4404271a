"""The benchmark as a story: serve the pages, let one crawler after the other fetch them, count.

Knows how a run is measured and how runs become a result. Who runs is `contestants`, how a result is shown `report`.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from lycosa.bench.contestants import Contestant, Hosts, Job
from lycosa.bench.supervise import Generation, ResourceUsage, WorkOrder
from lycosa.bench.web import PAGE_BYTES, WEB_KINDS, BenchWeb, WebKind, many_hosts, one_host
from lycosa.errors import SettingsError
from lycosa.simweb import WebPlan
from lycosa.version import VERSION

# On top of a run's limit: stopping it, counting, starting Python.
_SUPERVISOR_SECONDS = 60.0
_KEPT_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """What to run: which webs and their size, the limits, and how often."""

    hosts: int = 200
    pages: int = 50
    max_seconds: float = 120.0
    repeat: int = 1
    folder: Path | None = None  # where the crawls are kept; none: nowhere
    page_bytes: int = PAGE_BYTES
    webs: tuple[WebKind, ...] = WEB_KINDS


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One crawl of one web by one crawler. Pages are those that the server saw and the crawler claims."""

    pages: int
    claimed: int | None
    requests: int
    repeated: int
    robots: int
    page_bytes: int
    kept_bytes: int
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    processes: int
    exit_code: int
    is_cut: bool
    trouble: str = ""
    generations: list[Generation] = []

    @property
    def pages_per_second(self) -> float:
        return self.pages / self.wall_seconds

    @property
    def pages_per_cpu_second(self) -> float:
        return self.pages / self.cpu_seconds if self.cpu_seconds else 0.0


class BenchRow(msgspec.Struct, frozen=True, kw_only=True):
    """A crawler on a web: its runs, or why there are none."""

    crawler: str
    web: WebKind
    hosts: Hosts
    does: str
    runs: list[Run]
    missing: str = ""
    workers: int = 0

    @property
    def median(self) -> Run | None:
        """The run in the middle by pages per CPU-second; of two, the one with fewer."""
        ordered = sorted(self.runs, key=lambda run: run.pages_per_cpu_second)
        return ordered[(len(ordered) - 1) // 2] if ordered else None


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """All rows, with what they were measured on."""

    machine: str
    python: str
    cores: int
    lycosa: str
    hosts: int
    pages_per_host: int
    repeat: int
    max_seconds: float
    rows: list[BenchRow]
    page_bytes: int = PAGE_BYTES


def bench(plan: BenchPlan, contestants: Iterable[Contestant], say: Callable[[str], None]) -> Result:
    """Run every contestant on its webs, as often as planned, in turns."""
    everyone = list(contestants)
    rows: list[BenchRow] = []
    for kind in plan.webs:
        webs: dict[Hosts, WebPlan] = {
            "many": many_hosts(plan.hosts, plan.pages, plan.page_bytes, kind),
            "one": one_host(plan.hosts * plan.pages, plan.page_bytes, kind),
        }
        for hosts, web_plan in webs.items():
            group = [each for each in everyone if each.hosts == hosts]
            if all(each.missing for each in group):
                rows += [_row(each, kind, []) for each in group]
                continue
            say(f"{kind}: {web_plan.hosts:,} hosts x {web_plan.pages_per_host:,} pages")
            with (
                tempfile.TemporaryDirectory(prefix="lycosa-bench-") as place,
                BenchWeb(web_plan, Path(place) / "requests.log") as web,
            ):
                rows += _run_group(plan, kind, group, web, say)
    return Result(
        machine=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        cores=len(os.sched_getaffinity(0)),
        lycosa=VERSION,
        hosts=plan.hosts,
        pages_per_host=plan.pages,
        repeat=plan.repeat,
        max_seconds=plan.max_seconds,
        rows=rows,
        page_bytes=plan.page_bytes,
    )


def _run_group(
    plan: BenchPlan, kind: WebKind, group: list[Contestant], web: BenchWeb, say: Callable[[str], None]
) -> list[BenchRow]:
    rows = [_row(each, kind, []) for each in group]
    # In turns: what disturbs the machine for a while then disturbs all of them alike.
    for turn in range(plan.repeat):
        for each, row in zip(group, rows, strict=True):
            if each.missing:
                continue
            name = f"{each.name}-{each.workers}" if each.workers else each.name
            with _folder(plan, f"{kind}-{each.hosts}-{name}-{turn + 1}") as folder:
                run = measure(each, web, folder, plan.max_seconds)
            row.runs.append(run)
            say(f"  {name}: {_sentence(run, web.size)}")
    return rows


def _row(contestant: Contestant, kind: WebKind, runs: list[Run]) -> BenchRow:
    return BenchRow(
        crawler=contestant.name,
        web=kind,
        hosts=contestant.hosts,
        does=contestant.does,
        runs=runs,
        missing=contestant.missing,
        workers=contestant.workers,
    )


def measure(contestant: Contestant, web: BenchWeb, folder: Path, max_seconds: float) -> Run:
    """One crawl into an empty folder, and what the server and the kernel say of it."""
    output, errors = folder / "output.txt", folder / "errors.txt"
    launch = contestant.launch(Job(web.seed, web.size, folder, web.is_part, web.mean_page_bytes))
    web.begin()
    usage = supervised(
        WorkOrder(
            command=launch.command,
            folder=str(folder),
            environment={**_plain_environment(), **launch.environment},
            output=str(output),
            errors=str(errors),
            max_seconds=max_seconds,
        )
    )
    served, claimed = web.served(), _claimed(output)
    return Run(
        pages=served.pages if claimed is None else min(served.pages, claimed),
        claimed=claimed,
        requests=served.requests,
        repeated=served.repeated,
        robots=served.robots,
        page_bytes=round(served.pages * web.mean_page_bytes),
        kept_bytes=_bytes_in(folder),
        wall_seconds=usage.wall_seconds,
        cpu_seconds=usage.cpu_seconds,
        peak_bytes=usage.peak_bytes,
        processes=usage.processes,
        exit_code=usage.exit_code,
        is_cut=usage.is_cut,
        trouble="" if usage.exit_code == 0 or usage.is_cut else _end_of(errors),
        generations=usage.generations,
    )


def supervised(order: WorkOrder) -> ResourceUsage:
    """Run the order in a supervisor of its own, and see to it that it ends."""
    home = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    supervisor = subprocess.Popen(
        [sys.executable, "-m", "lycosa.bench.supervise"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    try:
        # Not as an argument: an environment is nothing for everybody's eyes.
        said, _ = supervisor.communicate(msgspec.json.encode(order), timeout=order.max_seconds + _SUPERVISOR_SECONDS)
    finally:
        if supervisor.poll() is None:
            # Politely: it ends what it started before it goes.
            supervisor.send_signal(signal.SIGTERM)
            try:
                supervisor.wait(_SUPERVISOR_SECONDS)
            except subprocess.TimeoutExpired:
                supervisor.kill()
                supervisor.wait()
    return msgspec.json.decode(said, type=ResourceUsage)


def _plain_environment() -> dict[str, str]:
    """Ours, without what would change how Python runs (compiling anew at every start, say) or lead out of this web."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("PYTHON")
        and name not in ("VIRTUAL_ENV", "LD_LIBRARY_PATH")
        and not name.lower().endswith("_proxy")
    }


def _claimed(output: Path) -> int | None:
    """The number of pages a crawler says it fetched, in the JSON object it prints last; none if it says nothing."""
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        said = json.loads(lines[-1])
        return int(said["pages"])
    except (IndexError, ValueError, KeyError, TypeError):
        return None


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _end_of(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace").strip()[-_KEPT_ERROR_CHARS:]


def _sentence(run: Run, size: int) -> str:
    cut = ", cut at the time limit" if run.is_cut else ""
    trouble = f", exit code {run.exit_code}: {run.trouble}" if run.trouble else ""
    return (
        f"{run.pages:,} of {size:,} pages in {run.wall_seconds:.1f} s, {run.cpu_seconds:.1f} CPU-s, "
        f"{run.pages_per_cpu_second:,.0f} pages per CPU-second{cut}{trouble}"
    )


@contextmanager
def _folder(plan: BenchPlan, name: str) -> Iterator[Path]:
    """An empty folder for a crawl, kept if the plan says where."""
    if plan.folder is None:
        with tempfile.TemporaryDirectory(prefix="lycosa-bench-") as place:
            yield Path(place)
        return
    folder = plan.folder / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise SettingsError(f"{folder}: holds an earlier run; name another --folder") from None
    yield folder
