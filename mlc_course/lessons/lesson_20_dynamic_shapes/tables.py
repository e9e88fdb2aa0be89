"""Tables of lesson 20: kernels by facts, answers of the solver, and times at several sizes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from textwrap import fill

import numpy as np
from IPython.display import HTML

from mlc_course.dynamic_shape.codegen import Compiled, compile_for_all_sizes, divisions_at
from mlc_course.dynamic_shape.codegen import planned_kernels as kernels_of
from mlc_course.dynamic_shape.fusion import LEVELS, plan
from mlc_course.dynamic_shape.ir import (
    Dim,
    Eq,
    Module,
    MulEq,
    ProductEq,
    bind,
    parse_constraint,
    specialized,
)
from mlc_course.dynamic_shape.programs import example_inputs, in_numpy
from mlc_course.dynamic_shape.solve import Facts, Proved, Refuted, Solver, explained
from mlc_course.errors import UsageError
from mlc_course.lessons.kit import table

ROUNDS = 9  # of calls in turn
WIDTH = 84


@dataclass(frozen=True)
class Length:
    """Times of a call at one size, in microseconds: ours, compiled for it alone, and NumPy."""

    size: int
    ours_us: float
    static_us: float
    numpy_us: float
    compile_s: float  # for this size alone

    @property
    def calls_lost(self) -> float:
        """How many calls of ours take as long as compiling for this size."""
        return 1e6 * self.compile_s / self.ours_us


def timed(calls: dict[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Return the median time of each call in microseconds, taken in turns."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            taken[name].append(1e6 * (time.perf_counter() - start))
    return {name: statistics.median(times) for name, times in taken.items()}


def at_lengths(made: Compiled, shapes: Iterable[dict[str, int]], name: str) -> list[Length]:
    """Time a program at some sizes; ``name`` is the size that tells them apart."""
    found = []
    for sizes in shapes:
        inputs = example_inputs(made.module, sizes)
        known = bind(made.module, {key: array.shape for key, array in inputs.items()})
        start = time.perf_counter()
        static = compile_for_all_sizes(specialized(made.module, known), threads=1)
        spent = time.perf_counter() - start
        calls: dict[str, Callable[[], object]] = {
            "ours": made.bind(**inputs),
            "static": static.bind(**inputs),
            "NumPy": in_numpy(made.module, inputs),
        }
        us = timed(calls)
        found.append(Length(sizes[name], us["ours"], us["static"], us["NumPy"], spent))
    return found


def listing(module: Module) -> None:
    """Print a program with the sizes of each value, and without element types and attributes."""
    function = module.function

    def sizes(value: int) -> str:
        return f"[{', '.join(map(str, function.types[value].dims))}]"

    whole = "\N{NO-BREAK SPACE}"  # an input is not broken between two lines
    given = [
        f"{function.name_of(at)} {sizes(at)}".replace(" ", whole)
        for at in range(len(function.inputs))
    ]
    head = fill(f"inputs {', '.join(given)}", WIDTH, subsequent_indent=" " * 7)
    print(head.replace(whole, " "))
    lines = [
        (function.name_of(at), each.op.name, ", ".join(map(function.name_of, each.operands)))
        for at, each in enumerate(function.equations, len(given))
    ]
    formulas = [f"{name} = {operator}({operands})" for name, operator, operands in lines]
    for at, formula in enumerate(formulas, len(given)):
        print(f"{formula:<{max(map(len, formulas))}}  {sizes(at)}")
    print("return", ", ".join(map(function.name_of, function.results)))


def lengths_table(rows: Sequence[Length]) -> HTML:
    """Show the times, and how many calls fit into a compilation, a line for each size."""
    head = ("row", "for all sizes", "for this size", "NumPy", "to compile it", "calls in that time")
    lines = [
        (
            f"{row.size:,}",
            f"{row.ours_us:,.0f} µs",
            f"{row.static_us:,.0f} µs",
            f"{row.numpy_us:,.0f} µs",
            f"{row.compile_s:.1f} s",
            f"{row.calls_lost:,.0f}",
        )
        for row in rows
    ]
    return HTML(f'<div class="mlc">{table(head, lines, kind="mlc-runs mlc-loads")}</div>')  # type: ignore[no-untyped-call]


def kernels_by_facts(module: Module) -> HTML:
    """Show how many kernels a program needs at each level of facts."""
    head = ("facts", "kernels without stitching", "with stitching")
    lines = [
        (level, *(str(len(plan(module, level, stitch=stitch).kernels)) for stitch in (False, True)))
        for level in LEVELS
    ]
    return HTML(f'<div class="mlc">{table(head, lines, kind="mlc-runs mlc-loads")}</div>')  # type: ignore[no-untyped-call]


def asked(module: Module, *claims: str) -> None:
    """Ask the solver what follows from a program's facts, and print its answers."""
    dims, facts = {dim.name: dim for dim in module.dims}, module.facts()
    solver = Solver(Facts(dims, facts))
    for claim in claims:
        answer = solver.ask(parse_constraint(claim))
        match answer:
            case Proved(certificate):
                print(f"{claim}: proved")
                for step in explained(certificate, dims, facts):
                    print(f"    {step}")
            case Refuted(model):
                sizes = ", ".join(f"{name} = {size}" for name, size in sorted(model.items()))
                print(fill(f"{claim}: refuted by {sizes}", WIDTH, subsequent_indent="    "))
            case _:
                print(f"{claim}: unknown")


def divisions(module: Module, sizes: dict[str, int], *, folds: bool) -> float:
    """Return how often the kernels of a program divide to find elements, at some sizes."""
    inputs = example_inputs(module, sizes)
    known = bind(module, {key: array.shape for key, array in inputs.items()})
    kernels = [each.lowered.kernel for each in kernels_of(plan(module), width=16, folds=folds)]
    return sum(
        divisions_at(each.at({name: known[name] for name in each.sizes})) for each in kernels
    )


def combination(facts: Sequence[str], claim: str) -> None:
    """Print facts on products as vectors, and with which factors they add up to a claim.

    Raises ``UsageError`` for a text that is no equality of products, or a claim that is no sum.
    """
    sides = [_sides(text) for text in (*facts, claim)]
    names = sorted({name for left, right in sides for name in (*left, *right)})
    vectors = np.array([[left.count(n) - right.count(n) for n in names] for left, right in sides])
    widest = max(map(len, (*facts, claim)))
    print(" " * widest, *(f"{name:>4}" for name in names))
    for text, vector in zip((*facts, claim), vectors, strict=True):
        print(f"{text:<{widest}}", *(f"{number:>4}" if number else "   ." for number in vector))
    found, *_ = np.linalg.lstsq(vectors[:-1].T.astype(float), vectors[-1].astype(float))
    factors = [Fraction(float(each)).limit_denominator(64) for each in found]
    if not np.allclose(vectors[:-1].T @ np.array(factors, float), vectors[-1]):
        raise UsageError("the claim does not follow", expected=" or ".join(facts), got=claim)
    parts = [f"{by} x ({text})" for by, text in zip(factors, facts, strict=True) if by]
    print("claim =", " + ".join(parts))


def _sides(text: str) -> tuple[list[str], list[str]]:
    sides: tuple[Sequence[Dim], Sequence[Dim]]
    match parse_constraint(text):
        case Eq(left, right):
            sides = (left,), (right,)
        case ProductEq(many, others):
            sides = many, others
        case MulEq(size, factors):
            sides = (size,), factors
        case _:
            raise UsageError("no equality of products", expected="a*b == c", got=text)
    first, second = ([str(dim) for dim in side] for side in sides)
    return first, second
