"""No answer to a lesson's blank is called right when one operator or number in it is another."""

from __future__ import annotations

import math
import statistics
import textwrap
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from changed_answers import Asked, all_asked, changed, face

from mlc_course.machine import describe
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.search import mutated
from mlc_course.tensor_program.tir import Schedule, op

pytestmark = pytest.mark.slow

# Changed answers that are right as well, and why.
RIGHT_TOO = {
    # billions of operations: nobody sees a fraction of one
    "00-gflops": {"return flops // seconds / 1000000000.0"},
    # any column from which all chunks of a row, and of eight rows, land in different banks
    "19-place_of_chunk": {"return (c - r) % 16", "return (r + c) % 16"},
    # a power of a number that p does not divide is never 0
    "17-order": {"return next((n for n in range(1, p) if pow(w, n, p) <= 1))"},
    "18-may_become": {"return goal_number % number <= 0 and factors <= goal_factors"},
    # no dimension's name comes before "1"
    "21-may_wait": {"return divisor[axis] <= '1'"},
    # names that all paths have come in one order on each of them
    "13-meeting_point": {
        f"return next((name for name in paths[{n}] if all((name in path for path in paths))), None)"
        for n in (1, -1)
    },
}


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def names(lesson: str) -> dict[str, Any]:
    """The names that the cells of a lesson use, as far as answers need them."""
    module, here = face(lesson), describe()
    return {
        **{name: getattr(module, name) for name in module.__all__},
        **{"lesson": module, "np": np, "math": math, "statistics": statistics},
        **{"seconds": seconds, "mutated": mutated, "steps": steps, "Schedule": Schedule, "op": op},
        **{"machine": here, "here": here, "W": here.lanes},
    }


ASKED = list(all_asked())


def test_most_blanks_are_looked_at() -> None:
    assert len(ASKED) >= 36
    assert len({each.lesson for each in ASKED}) >= 16


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_only_the_answer_is_right(asked: Asked) -> None:
    blank, known = getattr(face(asked.lesson).blanks, asked.blank), names(asked.lesson)
    assert asked.judged(textwrap.dedent(blank.answer), known).right
    for answer in changed(blank.answer):
        if answer not in RIGHT_TOO.get(str(asked), ()):
            found = asked.judged(answer, known)
            assert not found.right, answer
            assert not found.empty, answer
