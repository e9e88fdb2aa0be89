"""Divisions that a kernel makes to find out where an element is, counted at some sizes."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from mlc_course.dynamic_shape.codegen.places import divisions
from mlc_course.dynamic_shape.codegen.templates import expressions
from mlc_course.mugraph.kernels import (
    Body,
    Compute,
    Expr,
    Guard,
    Kernel,
    Loop,
    Threads,
    evaluate,
    variables,
)

Loops = tuple[tuple[str, int], ...]


def divisions_at(kernel: Kernel) -> float:
    """Return the divisions and remainders of all indices and conditions of a kernel.

    Each is counted as often as the innermost loop that it depends on turns, since a compiler moves
    it there; one that depends on sizes alone is not counted.
    """
    return _in_body(kernel.body, tuple(kernel.grid), 1.0)


def _in_body(body: Body, loops: Loops, share: float) -> float:
    total = 0.0
    for each in body:
        match each:
            case Loop(name, extent, inside) | Threads(name, extent, inside):
                total += _in_body(inside, (*loops, (name, extent)), share)
            case Guard(when, inside, otherwise):
                part = _share(when, loops)
                total += share * _in(when, loops)
                total += _in_body(inside, loops, share * part)
                total += _in_body(otherwise, loops, share * (1 - part))
            case Compute():
                around = (*loops, *((axis.name, axis.extent) for axis in each.axes))
                found = expressions((each.index, each.value))
                total += share * sum(_in(e, around) for e in found)
    return total


def _in(e: Expr, loops: Loops) -> int:
    """Return how often the divisions of an expression are made."""
    if not divisions(e):
        return 0
    inside = sum(_in(each, loops) for each in e.args if isinstance(each, Expr))
    return inside + (_turns(e, loops) if e.op in ("//", "%") else 0)


def _turns(e: Expr, loops: Loops) -> int:
    used = variables(e)
    depths = [at for at, (name, _) in enumerate(loops) if name in used]
    return prod(extent for _, extent in loops[: depths[-1] + 1]) if depths else 0


def _share(when: Expr, loops: Loops) -> float:
    """In how many of its cases a condition holds."""
    names = variables(when)
    known: dict[str, object] = {}
    used: Sequence[tuple[str, int]] = [each for each in loops if each[0] in names]
    for at, (name, extent) in enumerate(used):
        known[name] = np.arange(extent).reshape([-1 if at == n else 1 for n in range(len(used))])
    return float(np.mean(evaluate(when, known)))
