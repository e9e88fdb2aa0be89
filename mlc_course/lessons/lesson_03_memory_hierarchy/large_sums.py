"""The sum of a large matrix along its rows, down its columns, and down the columns of longer rows.

All three add up the same elements. X is full of ones, so that every order gives exactly their
number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from mlc_course.errors import WrongResult
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import total
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule, compile_program, main_function, shared_tensor

# Rows of X, and elements of each that are read. With 2048, a column lies in more pages than some
# processors keep translations of (Xeon model 207: padding gains nothing), and misses hide behind.
SIDE = 1024
FLOAT_BYTES = 4


def sums(longer_by: int = 16) -> dict[str, Schedule]:
    """Return the three programs by their names; padded rows are ``longer_by`` elements longer."""
    rows, columns, padded = (
        total(SIDE, length, read=SIDE) for length in (SIDE, SIDE, SIDE + longer_by)
    )
    for sch in (columns, padded):
        steps.reorder(sch, "S", "j", "i")
    return {"rows": rows, "columns": columns, "columns, padded": padded}


def addresses_down(row_length: int) -> Iterator[int]:
    """The byte address of each element of the first column of X."""
    return (FLOAT_BYTES * row_length * row for row in range(SIDE))


def race_sums(
    programs: Mapping[str, Schedule],
    *,
    budget_s: float = 3.0,
    compare: Callable[..., dict[str, Comparison]] = compare,
) -> dict[str, Comparison]:
    """Check each sum, then time all of them and NumPy's ``sum`` in turn on one thread.

    Raises ``WrongResult`` for a program that does not add up every element once.
    """
    calls = {name: _ready(name, sch) for name, sch in programs.items()}
    ones, out = aligned(np.ones((SIDE, SIDE))), aligned(np.zeros(1)).reshape(())
    numpy = ("NumPy", lambda: np.sum(ones, out=out))
    return compare(calls, numpy, budget_s=budget_s)


def _ready(name: str, sch: Schedule) -> Callable[[], object]:
    """A call that runs the program on data of its own."""
    shapes = [tuple(int(n) for n in each.ty.shape) for each in main_function(sch).params]
    data, result = (aligned(np.ones(shape)) for shape in shapes)
    run, tensors = compile_program(sch), [shared_tensor(each) for each in (data, result)]
    run(*tensors)
    if result[0] != SIDE * SIDE:
        raise WrongResult(f"the sum by {name}", expected=SIDE * SIDE, got=result[0])
    return lambda: run(*tensors)
