"""What a row costs in so many sums: the loop, and the final sum that adds them up.

Rows of two lengths are timed in turns. What the longer one takes more is the loop alone; the rest
of its time is the final sum.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_09_vectorization.row_problems import overlapping_sums
from mlc_course.lessons.lesson_09_vectorization.vector_forms import as_written, in_sums
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.ladders import Rung, contest

ROWS, SHORT, LONG = 64, 2048, 4096


@dataclass(frozen=True)
class RowCost:
    """The nanoseconds of a row of ``LONG`` terms in so many sums: its loop and its final sum."""

    sums: int
    loop_ns: float
    final_ns: float
    against_numpy: Comparison

    @property
    def total_ns(self) -> float:
        return self.loop_ns + self.final_ns

    def instruction_ns(self, lanes: int) -> float:
        """Return the time of one addition instruction, which adds to at most ``lanes`` sums."""
        return self.loop_ns * min(self.sums, lanes) / LONG


@dataclass(frozen=True)
class RowCosts:
    """The costs of a row for several numbers of sums, and NumPy's."""

    costs: tuple[RowCost, ...]
    numpy_ns: float

    def of(self, sums: int) -> RowCost:
        """Return the cost in so many sums; raises ``UsageError`` if they were not measured."""
        for each in self.costs:
            if each.sums == sums:
                return each
        known = ", ".join(str(each.sums) for each in self.costs)
        raise UsageError("not measured: so many sums", expected=known, got=sums)

    @property
    def best(self) -> RowCost:
        """Return the cost of the fastest row."""
        return min(self.costs, key=lambda each: each.total_ns)


def row_costs(counts: Sequence[int], *, budget_s: float = 2.5) -> RowCosts:
    """Time rows of two lengths in each number of sums, and NumPy's sum of the longer ones."""
    works = {length: overlapping_sums(ROWS, length) for length in (SHORT, LONG)}
    calls = {}
    for count in counts:
        apply = in_sums(count) if count > 1 else as_written
        for length, work in works.items():
            calls[f"{count} sums, {length}"] = contest(work, (), Rung(f"{count}", "", apply)).ours
    numpy = contest(works[LONG], (), Rung("1", "", as_written)).numpy
    found = compare(calls, ("NumPy", numpy), budget_s=budget_s)
    costs = []
    for count in counts:
        short, long = (found[f"{count} sums, {length}"] for length in (SHORT, LONG))
        more = statistics.median(
            b - a for a, b in zip(short.timing.seconds, long.timing.seconds, strict=True)
        )
        loop = max(more, 0.0) * LONG / (LONG - SHORT)
        final = max(long.timing.median_s - loop, 0.0)
        costs.append(RowCost(count, 1e9 * loop / ROWS, 1e9 * final / ROWS, long))
    baseline = next(iter(found.values())).baseline.median_s
    return RowCosts(tuple(costs), 1e9 * baseline / ROWS)
