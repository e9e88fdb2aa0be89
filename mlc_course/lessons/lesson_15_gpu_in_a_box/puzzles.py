"""The eight puzzles of the lesson: what each kernel has to do, and within which limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course import progress
from mlc_course.errors import check_known
from mlc_course.grading.checks import Demand, findings_here, runs
from mlc_course.grading.process import Verdict, boxed
from mlc_course.mugraph.ir import Array


@dataclass(frozen=True)
class Puzzle:
    """A kernel to finish; ``asks`` says what a right one does, ``check`` judges an attempt."""

    asks: str
    check: runs


def _neighbours(a: Array) -> Array:
    padded = np.pad(a, 1)
    return np.asarray(padded[:-2] + padded[1:-1] + padded[2:])


def _reversed(a: Array) -> Array:
    return a.reshape(-1, 64)[:, ::-1].reshape(-1)


def _pairs_of_pairs(a: Array) -> Array:
    """Return the sums of each element and its neighbour in the block, made twice."""
    for _ in range(2):
        a = a + np.roll(a, -1)
    return a


PUZZLES: Mapping[int, Puzzle] = {
    1: Puzzle(
        "every thread doubles an element of its own",
        runs(outputs={"out": (128,)}, inputs={"a": (128,)}, exact=lambda a: 2 * a, blocks=4),
    ),
    2: Puzzle(
        "threads without an element do nothing",
        runs(outputs={"out": (70,)}, inputs={"a": (70,)}, exact=lambda a: 2 * a, blocks=3),
    ),
    3: Puzzle(
        "no thread reads beyond the array",
        runs(outputs={"out": (64,)}, inputs={"a": (64,)}, exact=_neighbours, blocks=2),
    ),
    4: Puzzle(
        "a warp reads and writes along a row",
        runs(
            outputs={"out": (64, 64)},
            inputs={"a": (64, 64)},
            exact=lambda a: 2 * a,
            blocks=(2, 8),
            threads=(32, 8),
            most={"sectors": 1024},
        ),
    ),
    5: Puzzle(
        "nobody reads the tile before it is written",
        runs(outputs={"out": (128,)}, inputs={"a": (128,)}, exact=_reversed, blocks=2, threads=64),
    ),
    6: Puzzle(
        "all threads reach every barrier",
        runs(
            outputs={"out": (1,)},
            inputs={"a": (64,)},
            exact=lambda a: a.sum(keepdims=True),
            threads=64,
            most={"requests": 3},
        ),
    ),
    7: Puzzle(
        "the columns of the tile are spread over the banks",
        runs(
            outputs={"out": (32, 32)},
            inputs={"a": (32, 32)},
            exact=lambda a: a.T,
            threads=(32, 8),
            most={"sectors": 256, "wavefronts": 64},
        ),
    ),
    8: Puzzle(
        "there is a barrier only where a value crosses threads",
        runs(
            outputs={"out": (64,)},
            inputs={"a": (64,)},
            exact=_pairs_of_pairs,
            threads=64,
            most={"barriers": 2, "accesses": 3 * 64},
        ),
    ),
}


def verdict(number: int, kernel: Callable[..., Any]) -> tuple[bool, str]:
    """Return whether a kernel solves a puzzle, and the text that says so."""
    check_known("no puzzle", number, PUZZLES)
    puzzle = PUZZLES[number]
    (found,) = findings_here(Demand(boxed(kernel), (puzzle.check,)))
    if found.verdict is Verdict.MET:
        return True, f"Solved: {puzzle.asks} ({found.what})."
    lines = [f"Not yet: {found.what}"]
    got = "at" if found.got.startswith("line ") else "got"
    labels = (("expected", found.expected), (got, found.got), ("hint", found.hint))
    lines += [f"  {label:<9} {words}" for label, words in labels if words]
    return False, "\n".join(lines)


def attempt(number: int, kernel: Callable[..., Any]) -> None:
    """Run a kernel in several orders, and print whether it solves the puzzle, or what is wrong."""
    is_solved, said = verdict(number, kernel)
    print(said)
    if is_solved:
        progress.met(f"15_gpu_in_a_box/puzzles.{number}")
