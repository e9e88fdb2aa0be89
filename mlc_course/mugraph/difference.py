"""Where the outputs of two graphs differ, in words: what someone who wrote one of them can use."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mlc_course.mugraph.floats import Array
from mlc_course.mugraph.interpret import run
from mlc_course.mugraph.kernel import KernelGraph

SEED = 13


def difference(graph: KernelGraph, program: KernelGraph) -> str:
    """How the outputs of ``graph`` differ from those of ``program``, in float64; empty if not.

    Both are run on normal numbers, always the same; they have the same inputs and outputs.
    """
    rng = np.random.default_rng(SEED)
    shapes = zip(program.inputs, program.shapes, strict=False)
    inputs = {each.name: rng.normal(size=shape) for each, shape in shapes}
    outputs = zip(run(graph, inputs), run(program, inputs), strict=True)
    said = [_compared(got, wanted) for got, wanted in outputs]
    if len(said) == 1:
        return said[0]
    return "; ".join(f"output {number}: {text}" for number, text in enumerate(said) if text)


def _compared(got: Array, wanted: Array) -> str:
    scale = float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0))
    wrong = ~np.isclose(got, wanted, rtol=1e-6, atol=1e-9 * scale, equal_nan=True)
    if not wrong.any():
        return ""
    with np.errstate(all="ignore"):
        factors = got / wanted
    if np.allclose(factors, factors.flat[0], rtol=1e-6):
        return f"{factors.flat[0]:.4g} times that, in every element"
    first = tuple(map(int, np.argwhere(wrong)[0]))
    counted = f"{int(wrong.sum())} of {wrong.size} elements differ"
    values = f"{got[first]:.4g} in place of {wanted[first]:.4g}"
    return f"{counted}, {_where(wrong)}first at {first}: {values}"


def _where(wrong: Array) -> str:
    """Rows and columns that are right altogether, of a matrix."""
    if wrong.ndim != 2:
        return ""
    for name, axis in (("rows", 1), ("columns", 0)):
        right = np.flatnonzero(~wrong.any(axis=axis))
        if right.size:
            return f"not those in {name} {', '.join(_runs(right))}, "
    return ""


def _runs(numbers: Array) -> Iterator[str]:
    """``0 to 3``, ``8`` for 0, 1, 2, 3, 8; at most three of them."""
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    for count, part in enumerate(np.split(numbers, cuts)):
        if count == 3:
            yield "..."
            return
        yield f"{part[0]} to {part[-1]}" if part.size > 1 else f"{part[0]}"
