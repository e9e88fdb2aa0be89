"""The speed at which a program's accesses go through a cache, and become reuse distances."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from common import Target, command_line, finish
from matplotlib.figure import Figure

from mlc_course.tensor_program.memory import count, reuse
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

READINGS = 5
SIDE = 192


def in_blocks() -> Schedule:
    """The product of two square matrices in blocks of 16 x 64 x 8."""
    sch = Schedule(matmul(SIDE, SIDE, SIDE).program())
    steps.tile(sch, "C", m=16, n=64, k=8)
    steps.reorder(sch, "C", "k_1", "n_1")
    steps.hoist_init(sch, "C", "k_0")
    return sch


def counted() -> int:
    (found,) = count(in_blocks())
    return found.accesses


def distances() -> int:
    return reuse(matmul(SIDE, SIDE, SIDE).program()).uses


def rates(follow: Callable[[], int]) -> list[float]:
    """Millions of accesses a second, compilation included, of several readings."""
    found = []
    for _ in range(READINGS):
        began = time.perf_counter()
        accesses = follow()
        found.append(round(accesses / (time.perf_counter() - began) / 1e6, 2))
    return found


def draw(measured: dict[str, list[float]], path: Path) -> None:
    figure = Figure(figsize=(7, 2.5), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(list(measured.values()), tick_labels=list(measured), orientation="horizontal")
    axes.set_xlabel("million accesses a second")
    axes.set_xlim(left=0)
    figure.savefig(path)


def main() -> int:
    arguments = command_line(__doc__).parse_args()
    measured = {"through a cache": rates(counted), "reuse distances": rates(distances)}
    targets = [
        Target("million accesses a second through a cache", 20, max(measured["through a cache"])),
        Target("million reuse distances a second", 10, max(measured["reuse distances"])),
    ]
    figures = {"million_accesses_per_s": measured}
    return finish(arguments, figures, targets, lambda path: draw(measured, path))


if __name__ == "__main__":
    sys.exit(main())
