"""Pairs of formulas over variables of a few bits, equal or nearly so, and the truth about them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from mlc_course.instruction_selection.integers import (
    S8,
    S16,
    S32,
    U8,
    U16,
    Formula,
    equals,
    evaluate,
    greater,
    lift,
    maximum,
    minimum,
    saturate,
    shift_right,
    substituted,
    var,
    variables,
    walk,
    where,
    wrap,
)
from tests.helpers.integer_formulas import formulas

# The first six change no value, and the others most.
CHANGES = (
    lambda x: maximum(x, 0) - maximum(0 - x, 0),
    lambda x: shift_right(x, 1) * 2 + (x & 1),
    lambda x: where(greater(x, 0), x, minimum(x, 0)),
    lambda x: (x ^ -1) * -1 - 1,
    lambda x: where(equals(x, 3), 3, x),
    lambda x: shift_right(x * 8 + 5, 3),
    lambda x: wrap(U8, x),
    lambda x: wrap(S8, x),
    lambda x: wrap(S16, x),
    lambda x: wrap(U16, x) & 255,
    lambda x: wrap(S32, x * 65536) >> 16,
    lambda x: saturate(S8, x),
    lambda x: minimum(x, 100),
    lambda x: maximum(x, -3),
    lambda x: x + 1,
    lambda x: x + equals(x, 77),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Formula, Formula]:
    """A formula over at most three variables of 5 bits, and one that was changed inside."""
    made = draw(formulas(most=6))
    small = {
        each: var(str(each), *draw(st.sampled_from([(0, 31), (-16, 15), (100, 131), (-3, 3)])))
        for each in variables(made)
    }
    (first,) = substituted([made], small)
    nodes = list(walk(first))
    at = nodes[draw(st.integers(0, len(nodes) - 1))]
    changed = lift(draw(st.sampled_from(CHANGES))(at))
    (second,) = substituted([first], {at: changed})
    return first, second


def really_equal(x: Formula, y: Formula) -> bool:
    """Return whether two formulas are equal on every input."""
    inputs = variables(x, y)
    grid = np.meshgrid(*(np.arange(each.lo, each.hi + 1) for each in inputs), indexing="ij")
    values = dict(zip(inputs, grid, strict=True))
    return bool(np.all(evaluate(x, values) == evaluate(y, values)))
