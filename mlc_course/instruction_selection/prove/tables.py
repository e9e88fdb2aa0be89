"""Small sub-formulas with the same values are the same.

Products such as abs(a) * sign(b, a) have few inputs, 65,536 for two bytes, but hide inside sums
with many. Each sub-formula of few inputs is computed on all of them, and of those with the same
table one takes the place of all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlc_course.deadline import check_time
from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import (
    Formula,
    const,
    node,
    rebuilt,
    variables,
    walk,
)
from mlc_course.instruction_selection.prove.inputs import count_inputs, grid, run_of

MOST_INPUTS = 1 << 16


def tabulated(roots: Sequence[Formula]) -> tuple[list[Formula], int]:
    """Return formulas with the same values, and how many inputs were computed.

    A sub-formula gets the exact interval of its table. Sums are left to the normal form.

    Raises:
        OutOfTime: the deadline has passed.
    """
    new: dict[Formula, Formula] = {}
    first: dict[tuple[tuple[Formula, ...], int, bytes], Formula] = {}
    inputs: dict[Formula, frozenset[Formula]] = {}
    computed = 0
    for each in walk(*roots):
        check_time()
        made = rebuilt(each, [new[x] for x in each.operands])
        if made not in inputs:
            inputs[made] = frozenset(variables(made))
        if made.op not in ("var", "const", "add", "sub"):
            of = tuple(sorted(inputs[made], key=lambda x: x.serial))
            if of and count_inputs(of) <= MOST_INPUTS:
                made = _shared(made, of, first)
                computed += count_inputs(of)
                inputs.setdefault(made, frozenset(of))
        new[each] = made
    return [new[root] for root in roots], computed


def _shared(
    made: Formula,
    of: tuple[Formula, ...],
    first: dict[tuple[tuple[Formula, ...], int, bytes], Formula],
) -> Formula:
    try:
        (values,) = run_of((made,), of)(*grid(of))
    except SizeError:
        return made
    table = np.broadcast_to(values, [x.hi - x.lo + 1 for x in of])
    lo, hi = int(table.min()), int(table.max())
    if lo == hi:
        return const(lo)
    key = of, lo, table.astype(np.uint64).tobytes()
    if key not in first:
        first[key] = node(made.op, made.operands, made.params, lo, hi)
    return first[key]
