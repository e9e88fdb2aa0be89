"""Count how often the truth is outside a comparison's interval, without any warning."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from common import Target, command_line, finish
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.drawing import NUMPY, OURS, STYLE
from mlc_course.measure import Call, Comparison, compare, limited_threads
from mlc_course.tensor_program.ladders import record

HELD = 0.90  # of the runs: the truth is inside, or there is a warning
BUDGET_S = 0.2
# On its core (the first argument) it works and sleeps, each for up to twice the second argument.
NEIGHBOUR = """
import os, random, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
about_s = float(sys.argv[2])
print(flush=True)
while True:
    end = time.perf_counter() + random.uniform(0, 2 * about_s)
    while not about_s or time.perf_counter() < end:
        pass
    time.sleep(random.uniform(0, 2 * about_s))
"""


@dataclass(frozen=True)
class Case:
    """A comparison whose ratio is known by construction."""

    title: str
    truth: float
    run: Callable[[], Comparison]


def repeated(call: Call, times: int) -> Call:
    """The call so many times, as one call."""

    def run() -> None:
        for _ in range(times):
            call()

    return run


def product(size: int) -> Call:
    """A product of square matrices."""
    a = np.random.default_rng(0).standard_normal((size, size), dtype=np.float32)
    out = np.empty_like(a)
    return lambda: np.matmul(a, a, out=out)


def doubled(elements: int) -> Call:
    """An array added to itself."""
    x = np.ones(elements, np.float32)
    out = np.empty_like(x)
    return lambda: np.add(x, x, out=out)


def five_to_four(call: Call) -> Comparison:
    four, five = repeated(call, 4), repeated(call, 5)
    return compare({"four": four}, ("five", five), budget_s=BUDGET_S)["four"]


def twice(call: Call, *, after: Call) -> Comparison:
    """The same call beside itself, in rounds in which ``after`` runs too."""
    calls = {"first": call, "second": call}
    found = compare(calls, ("other", after), budget_s=BUDGET_S)
    return Comparison(found["second"].timing, found["first"].timing)


def cases() -> list[Case]:
    small, large = product(128), product(640)
    tiny, medium, sweep = doubled(4), doubled(32 << 10), doubled(8 << 20)
    return [
        Case("five products to four, 0.2 ms", 1.25, lambda: five_to_four(small)),
        Case("five products to four, 20 ms", 1.25, lambda: five_to_four(large)),
        Case("a call of 0.8 µs to itself", 1.0, lambda: twice(tiny, after=tiny)),
        Case("a sweep of 256 KiB to itself, after 64 MiB", 1.0, lambda: twice(medium, after=sweep)),
    ]


@contextlib.contextmanager
def neighbour(about_s: float) -> Iterator[None]:
    """A neighbour on this process's core: for ever, or for times of about so many seconds."""
    before = os.sched_getaffinity(0)
    core = max(before)
    command = [sys.executable, "-S", "-c", NEIGHBOUR, str(core), str(about_s)]
    os.sched_setaffinity(0, {core})
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        yield
    finally:
        process.kill()
        process.communicate()
        os.sched_setaffinity(0, before)


NEIGHBOURS: dict[str, Callable[[], contextlib.AbstractContextManager[None]]] = {
    "no neighbour of ours": contextlib.nullcontext,
    "a neighbour on the core": lambda: neighbour(0.0),
    "one that comes and goes": lambda: neighbour(0.05),
}


def measured(case: Case, runs: int) -> dict[str, Any]:
    """Shares of the runs: truth outside the interval, a warning, the first without the second."""
    found = [case.run() for _ in tqdm(range(runs), desc=case.title, leave=False, disable=None)]
    outside = [not each.interval[0] <= case.truth <= each.interval[1] for each in found]
    told = [each.warning is not None for each in found]
    widths = [(high - low) / each.ratio / 2 for each in found for low, high in [each.interval]]
    return {
        "case": case.title,
        "truth": case.truth,
        "outside": sum(outside) / runs,
        "warned": sum(told) / runs,
        "untold": sum(out and not said for out, said in zip(outside, told, strict=True)) / runs,
        "half_width": statistics.median(widths),
        "rounds": statistics.median(len(each.ratios) for each in found),
    }


def draw(rows: list[dict[str, Any]], foot: str, path: Path) -> None:
    """A pair of bars for each case: outside at all, and outside without a warning."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10, 1.6 + 0.42 * len(rows)), layout="constrained")
        axes = figure.subplots()
        for place, row in enumerate(rows):
            axes.barh(place - 0.18, row["outside"], height=0.34, color=OURS)
            axes.barh(place + 0.18, row["untold"], height=0.34, color=NUMPY)
        axes.axvline(1 - HELD, color="black", linewidth=1.5, linestyle="--")
        axes.set_yticks(range(len(rows)), [f"{r['case']}\n{r['neighbour']}" for r in rows])
        axes.tick_params(axis="y", labelsize=9)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(f"share of runs (dashed: the most that may be)\n{foot}")
        axes.set_title("Truth outside the interval (blue), and no warning (orange)", loc="left")
        figure.savefig(path)


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--runs", type=int, default=200, help="of each case")
    arguments = parser.parse_args()
    rows = []
    with limited_threads(1):
        for neighbours, begin in NEIGHBOURS.items():
            for case in cases():
                with begin():
                    row = {"neighbour": neighbours, **measured(case, arguments.runs)}
                rows.append(row)
                print(
                    f"{neighbours:<24} {case.title:<42} outside {row['outside']:6.1%}, untold "
                    f"{row['untold']:6.1%}, warned {row['warned']:6.1%}, half width "
                    f"{row['half_width']:.2%}, {row['rounds']:.0f} rounds",
                    flush=True,
                )
    targets = [
        Target(f"{row['case']}, {row['neighbour']}: inside or told", HELD, 1 - row["untold"])
        for row in rows
    ]
    foot = record.made_on(record.provenance())
    figures = {"runs_each": arguments.runs, "cases": rows}
    return finish(arguments, figures, targets, lambda path: draw(rows, foot, path))


if __name__ == "__main__":
    sys.exit(main())
