"""Ranges of variables are split until each case is decided.

With narrower ranges, clamps and wraps vanish: min(max(x, -128), 127) is 127 for all of the larger
half of its inputs. What is left next to the knots is small enough to compute.
"""

from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass

from mlc_course.deadline import check_time
from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import Formula, const, substituted, var, variables
from mlc_course.instruction_selection.prove.differences import difference
from mlc_course.instruction_selection.prove.inputs import (
    Row,
    count_inputs,
    first_difference,
    sampled_difference,
)
from mlc_course.instruction_selection.prove.normal_form import NormalForm

MOST_CASES = 200
COMPUTED = 1 << 16  # inputs of a case that are all computed
SAMPLES = 256


@dataclass(frozen=True)
class AllCases:
    """Every case is equal; those that were split are not counted."""

    cases: int
    inputs: int


def by_cases(x: Formula, y: Formula) -> AllCases | Row | None:
    """Return a proof or a refutation by cases, or ``None`` where there are too many.

    The cases cover all inputs, as each split puts a range into two that it consists of.

    Raises:
        OutOfTime: the deadline has passed.
    """
    numbers = itertools.count()
    whole = {each: (each.lo, each.hi) for each in variables(x, y)}
    largest_first = [(-count_inputs(list(whole)), next(numbers), whole)]
    tried = split_up = computed = 0
    while largest_first:
        check_time()
        _, _, ranges = heapq.heappop(largest_first)
        tried += 1
        narrowed = {each: _narrowed(each, *ends) for each, ends in ranges.items()}
        a, b = substituted([x, y], narrowed)
        if _same(a, b):
            continue
        inputs = variables(a, b)
        small = count_inputs(inputs) <= COMPUTED
        try:
            row = (
                first_difference(a, b, inputs)
                if small
                else sampled_difference(a, b, inputs, SAMPLES, seed=tried)
            )
        except SizeError:
            return None
        if row is not None:
            start = {each: lo for each, (lo, _) in ranges.items()}
            return start | {each: row[v] for each, v in narrowed.items() if v in row}
        if small:
            computed += count_inputs(inputs)
            continue
        if tried + len(largest_first) >= MOST_CASES:
            return None
        split_up += 1
        widest = max(inputs, key=lambda each: each.hi - each.lo)
        split = next(each for each, v in narrowed.items() if v is widest)
        for ends in _halves(*ranges[split]):
            half = ranges | {split: ends}
            size = count_inputs([_narrowed(each, *of) for each, of in half.items()])
            heapq.heappush(largest_first, (-size, next(numbers), half))
    return AllCases(tried - split_up, computed)


def _same(a: Formula, b: Formula) -> bool:
    form = NormalForm()
    return a is b or difference(form, *form.values([a, b])).nothing


def _narrowed(each: Formula, lo: int, hi: int) -> Formula:
    return const(lo) if lo == hi else var(str(each), lo, hi)


def _halves(lo: int, hi: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Split a range before the number in it that 2 divides most often: types begin at such."""
    if lo < 0 <= hi:
        return (lo, -1), (0, hi)
    zeros = (lo ^ hi).bit_length() - 1  # the highest bit in which the ends differ
    at = hi >> zeros << zeros
    return (lo, at - 1), (at, hi)
