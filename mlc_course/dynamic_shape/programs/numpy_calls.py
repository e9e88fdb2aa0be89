"""A program as calls of NumPy, as an engineer writes them who counts allocations.

Each operator is a call with ``out=`` into memory that is made once; what NumPy can do without
moving anything (reshape, broadcast, transpose, slices) is a view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mlc_course.dynamic_shape.ir import DTYPES, Array, Equation, Module, bind
from mlc_course.mugraph.cpu_kernels import ERF_ABOVE, ERF_BELOW

VIEWS = ("reshape", "broadcast", "transpose", "slice", "split")
UFUNCS: Mapping[str, Any] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "neg": np.negative,
    "abs": np.abs,
    "square": np.square,
    "round": np.rint,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
}
REDUCTIONS: Mapping[str, Any] = {
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_mean": np.mean,
}


def in_numpy(module: Module, inputs: Mapping[str, Array]) -> Callable[[], list[Array]]:
    """Return a call that computes a program's results, in the same memory every time.

    Raises ``ShapeError`` for inputs whose sizes break a fact.
    """
    sizes = bind(module, {name: array.shape for name, array in inputs.items()})
    function = module.function
    values: list[Array] = [inputs[each.name] for each in function.inputs]
    calls: list[Callable[[], object]] = []
    for equation in function.equations:
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in equation.type.dims)
        operands = [values[at] for at in equation.operands]
        values.append(_value(equation, operands, shape, calls))
    results = [values[at] for at in function.results]
    for at, each in enumerate(results):
        if not each.flags.c_contiguous:
            results[at] = np.empty(each.shape, each.dtype)
            calls.append(partial(np.copyto, results[at], each))

    def call() -> list[Array]:
        for each in calls:
            each()
        return results

    return call


def _value(
    equation: Equation,
    operands: Sequence[Array],
    shape: tuple[int, ...],
    calls: list[Callable[[], object]],
) -> Array:
    """Return the memory of a value, and add the calls that fill it."""
    name, given = equation.op.name, dict(equation.attributes)
    dtype = DTYPES[equation.type.dtype]
    if name in VIEWS:
        view = np.asarray(equation.op.run(*operands, shape=shape, **given))
        if np.shares_memory(view, operands[0]):
            return view
    out: Array = np.empty(shape, dtype)
    if name == "constant":
        return np.full((), given["value"], dtype)
    if name in UFUNCS:
        calls.append(partial(UFUNCS[name], *operands, out=out))
    elif name in REDUCTIONS:
        calls.append(partial(REDUCTIONS[name], operands[0], axis=given["axes"], out=out))
    elif name == "rsqrt":
        calls.append(partial(np.sqrt, operands[0], out=out))
        calls.append(partial(np.divide, 1, out, out=out))
    elif name == "sigmoid":
        calls.append(partial(np.negative, operands[0], out=out))
        calls.append(partial(np.exp, out, out=out))
        calls.append(partial(np.add, out, 1, out=out))
        calls.append(partial(np.divide, 1, out, out=out))
    elif name == "erf":
        calls.append(_erf(operands[0], out))
    elif name == "concat":
        calls.append(partial(np.concatenate, operands, given["axis"], out))
    elif name == "gather":
        calls.append(partial(np.take, *operands, axis=0, out=out, mode="clip"))
    elif name == "matmul":
        calls.append(partial(np.matmul, *operands, out=out))
    else:
        run = partial(equation.op.run, *operands, shape=shape, **given)
        calls.append(lambda: np.copyto(out, run(), casting="unsafe"))
    return out


def _erf(x: Array, out: Array) -> Callable[[], None]:
    """The error function, which NumPy lacks, by the quotient that kernels compute."""
    above, below, square = (np.empty_like(out) for _ in range(3))

    def polynomial(terms: Sequence[float], into: Array) -> None:
        into[...] = terms[0]
        for each in terms[1:]:
            np.multiply(into, square, out=into)
            np.add(into, each, out=into)

    def call() -> None:
        np.clip(x, -4, 4, out=out)
        np.square(out, out=square)
        polynomial(ERF_ABOVE, above)
        polynomial(ERF_BELOW, below)
        np.multiply(out, above, out=out)
        np.divide(out, below, out=out)

    return call
