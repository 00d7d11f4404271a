"""Measures all stages in turns, as multiples of a fixed piece of work, and holds them against the figures kept."""

from __future__ import annotations

import asyncio
import gc
import platform
import zlib
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import median
from time import process_time

import msgspec
import pyarrow as pa

from lycosa.bench.guard.stages import STAGES, Recordings, Stage, make_recordings
from lycosa.errors import SettingsError

# So far above the figure kept, a stage is said to be slower. Four runs held against a fifth, all at a load of 3 to 5 on
# two cores, had 0.79 to 1.18 of its figures; a stage that is above is measured again before it is told.
TOLERANCE = 0.25
_AGAIN = 2
_CALIBRATION_BYTES = 40_000

Figures = dict[str, float]


class GuardPlan(msgspec.Struct, frozen=True):
    """What to measure, how often, and where the figures are."""

    figures: Path
    others: Path | None = None
    pages: int = 300
    rounds: int = 12
    stages: tuple[Stage, ...] = STAGES


class StageFigures(msgspec.Struct, frozen=True):
    """A stage: its figure kept, its figure now, both in multiples of the fixed work; and now in microseconds."""

    stage: str
    kept: float | None
    now: float | None
    microseconds: float = 0.0

    @property
    def is_slower(self) -> bool:
        return self.kept is not None and self.now is not None and self.now > self.kept * (1 + TOLERANCE)


def guard(plan: GuardPlan, say: Callable[[str], None]) -> int:
    """Measure and print; 1 if a stage became slower, or has no figure to be held against."""
    kept = read_figures(plan.figures)
    compared = _measured(plan, kept)
    for line in table(compared):
        say(line)
    slower = [each.stage for each in compared if each.is_slower]
    missing = [each.stage for each in compared if each.kept is None]
    if slower:
        say(f"more than {TOLERANCE:.0%} above the figures kept: {'; '.join(slower)}")
    if missing:
        say(f"no figures kept on {interpreter()} of: {'; '.join(missing)} (keep them: make bench-guard-keep)")
    if gone := [each.stage for each in compared if each.now is None]:
        say(f"figures kept of what is not measured: {'; '.join(gone)}")
    return 1 if slower or missing else 0


def keep(plan: GuardPlan, say: Callable[[str], None]) -> int:
    """Measure, print, and write the figures."""
    compared = _measured(plan, {})
    for line in table(compared):
        say(line)
    write_figures(plan.figures, {each.stage: each.now for each in compared if each.now is not None})
    return 0


def _measured(plan: GuardPlan, kept: Figures) -> list[StageFigures]:
    pa.set_cpu_count(1)
    material = asyncio.run(make_recordings(plan.pages, plan.others))
    compared = _compared(kept, *measure(plan.stages, material, plan.rounds))
    for _ in range(_AGAIN):
        doubtful = {each.stage for each in compared if each.is_slower}
        if not doubtful:
            break
        # Whoever else used the machine is gone now, or the stage is slower indeed: the lower figure counts.
        again = _compared(kept, *measure(plan.stages, material, plan.rounds))
        compared = [
            min(one, other, key=lambda each: each.now or 0.0) if one.stage in doubtful else one
            for one, other in zip(compared, again, strict=True)
        ]
    return compared


def measure(stages: Sequence[Stage], material: Recordings, rounds: int) -> tuple[Figures, Figures]:
    """Of each stage the CPU of a page: in multiples of the fixed work, and in microseconds."""
    ratios: dict[str, list[float]] = {}
    seconds: dict[str, list[float]] = {}
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            before = calibrate()
            for stage in stages:
                costs = stage(material)
                # In between, so that what slows the machine for a while slows both.
                after = calibrate()
                for name, cost in costs.items():
                    ratios.setdefault(name, []).append(2 * cost / (before + after))
                    seconds.setdefault(name, []).append(cost)
                before = after
                gc.collect()
    finally:
        gc.enable()
    return (
        {name: median(values) for name, values in ratios.items()},
        {name: median(values) * 1e6 for name, values in seconds.items()},
    )


def calibrate() -> float:
    """CPU seconds of a piece of work that never changes: Python's own, and that of its libraries."""
    began = process_time()
    words: dict[int, str] = {}
    for number in range(_CALIBRATION_BYTES):
        words[number % 977] = words.get(number % 331, "")[:8] + str(number)
    data = "".join(words.values()).encode() * 4
    for _ in range(3):
        data = sha256(zlib.compress(data, 6)).digest() + data
    return process_time() - began


def _compared(kept: Figures, now: Figures, microseconds: Figures) -> list[StageFigures]:
    names = [*now, *(name for name in kept if name not in now)]
    return [StageFigures(name, kept.get(name), now.get(name), microseconds.get(name, 0.0)) for name in names]


def table(compared: Sequence[StageFigures]) -> list[str]:
    """The stages for people."""
    lines = [f"{'stage':<28}{'kept':>10}{'now':>10}{'ratio':>8}{'µs a page':>12}"]
    for each in compared:
        kept, now = ("-" if value is None else f"{value * 1000:.3f}" for value in (each.kept, each.now))
        ratio = f"{each.now / each.kept:.2f}" if each.kept and each.now is not None else "-"
        mark = "  slower" if each.is_slower else ""
        lines.append(f"{each.stage:<28}{kept:>10}{now:>10}{ratio:>8}{each.microseconds:>12.0f}{mark}")
    if speeds := [each.microseconds / each.now for each in compared if each.now]:
        lines.append(f"figures in thousandths of a fixed piece of work, which took {median(speeds) / 1000:.1f} ms here")
    return lines


def interpreter() -> str:
    """What figures depend on beside the code: those of another Python or processor say nothing."""
    return f"{platform.python_implementation()} {'.'.join(platform.python_version_tuple()[:2])} {platform.machine()}"


def read_figures(file: Path) -> Figures:
    """The figures kept for this interpreter; none if there are none."""
    return _all_figures(file).get(interpreter(), {})


def write_figures(file: Path, figures: Figures) -> None:
    """Keep the figures of this interpreter, and those of others as they are."""
    every = _all_figures(file) | {interpreter(): {name: float(f"{value:.4g}") for name, value in figures.items()}}
    file.write_bytes(msgspec.json.format(msgspec.json.encode(every)) + b"\n")


def _all_figures(file: Path) -> dict[str, Figures]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Figures])
    except FileNotFoundError:
        return {}
    except msgspec.DecodeError as error:
        raise SettingsError(f"{file}: not figures of the guard: {error}") from error
