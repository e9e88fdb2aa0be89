"""Readings of equal length, taken in turns: one of each contestant in every round."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course import measure
from mlc_course.instruction_selection.compare.contestants import Array
from mlc_course.measure import Timing
from mlc_course.tensor_program.tir import shared_tensor, tvm

# Each reading takes that long, whatever is read: a longer one is interrupted more often on a shared
# machine, and would look slower than it is.
WINDOW_S = 1.25 * measure.READ_S
TRIED = 3  # calls from which the length of one is estimated


@dataclass(frozen=True)
class Window:
    """A call that runs a contestant so many times, about ``WINDOW_S`` seconds together."""

    run: Callable[[], object]
    times: int


def tvm_window(kernel: Any, arrays: Sequence[Array]) -> Window:
    """Return a window of a compiled ``main``, which is called without Python between.

    A call from Python takes as long as 8192 outputs of a good program.
    """
    buffers = list(map(shared_tensor, arrays))
    once = tvm.evaluator(kernel, 1)
    first = once(*buffers).results[0]
    few = tvm.evaluator(kernel, 20 if first < WINDOW_S / 20 else 1)
    seconds = min(few(*buffers).results[0] for _ in range(TRIED))
    times = max(1, round(WINDOW_S / seconds))
    many = tvm.evaluator(kernel, times)
    return Window(lambda: many(*buffers), times)


def python_window(run: Callable[[], object]) -> Window:
    """Return a window of a function in Python."""
    taken = []
    for _ in range(TRIED):
        begun = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begun)
    times = max(1, round(WINDOW_S / min(taken)))

    def many() -> None:
        for _ in range(times):
            run()

    return Window(many, times)


def in_turns(windows: Mapping[str, Window], rounds: int) -> dict[str, Timing]:
    """Time one window of each in every round, on one thread; return the seconds of one run."""
    first, *others = windows
    found = measure.compare(
        {name: windows[name].run for name in others},
        (first, windows[first].run),
        rounds=(rounds, rounds),
        budget_s=math.inf,
        tight=0,
    )
    timings = {first: found[others[0]].baseline} | {k: each.timing for k, each in found.items()}
    return {name: each.times(1 / windows[name].times) for name, each in timings.items()}
