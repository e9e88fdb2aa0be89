"""Verdicts on mutants, compared with whether their numbers show a difference."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.errors import Undecided
from mlc_course.mugraph.ir import Array, KernelGraph, run
from mlc_course.mugraph.mutants.mutations import Mutant, mutants
from mlc_course.mugraph.verify import core, differ_in_digits, family, verify

REFUSED, ACCEPTED, UNDECIDED = "refused", "accepted", "undecided"
TOLERANCE = 1e-7  # relative to the largest entry; float64 errs by 1e-13 or so on these sizes
DRAWS = ((1, False), (1, True), (0.2, False), (1, False), (4, False))  # scale; all positive?
EXACT = 2  # of these, in 60 digits


@dataclass(frozen=True)
class Base:
    """A right graph and the program that it computes, on sizes of which no two are the same."""

    graph: KernelGraph
    program: KernelGraph


@dataclass(frozen=True)
class Judged:
    """A mutant, what the verifier said of it, and whether some input shows a difference."""

    mutant: Mutant
    base: Base
    said: str
    differs: bool

    @property
    def wrong(self) -> bool:
        """True where the verifier accepted a graph that differs."""
        return self.said == ACCEPTED and self.differs

    def __str__(self) -> str:
        differs = "differs" if self.differs else "does not differ"
        return f"{self.said}, {differs} in numbers: {self.mutant}\n{self.mutant.graph}"


def base(graph: KernelGraph, program: KernelGraph) -> Base:
    """Return the two on sizes that NumPy runs in a moment: three steps of everything, or two."""
    try:
        members = family(graph, program, 3)
        small = members.smallest()
    except Undecided:
        members = family(graph, program, 2)
        small = members.smallest()
    distinct = members.larger(small, members.free)
    return Base(distinct.left, distinct.right)


def given(graph: KernelGraph, program: KernelGraph) -> Base:
    """Return the two on the sizes that they have, but for one index of each batch size."""
    found = core(graph, program, family(graph, program).classes)
    return Base(found.left, found.right)


def drawn(bases: Sequence[Base], count: int, rng: random.Random) -> Iterator[tuple[Base, Mutant]]:
    """Yield up to ``count`` different mutants, one of each base in turn."""
    known: set[tuple[KernelGraph, KernelGraph]] = set()
    rest = [(each, mutants(each.graph, rng)) for each in bases]
    while rest and len(known) < count:
        for each, source in list(rest):
            found = next(source, None)
            if found is None:
                rest.remove((each, source))
            elif (each.program, found.graph) not in known and len(known) < count:
                known.add((each.program, found.graph))
                yield each, found


def judged(mutant: Mutant, base: Base, seed: int = 0, error: float = 1e-9) -> Judged:
    """Judge a mutant by ``verify`` and by its numbers, with outputs matched as ``verify`` does.

    The numbers are in float64; in 60 digits, where these show no difference or where they
    contradict the verdict. Of a graph that is refused, they are also those of the counter-example.
    """
    pair = mutant.graph, base.program
    try:
        verdict = verify(*pair, error=error, seed=seed)
    except Undecided:
        said, order, shown = UNDECIDED, None, None
    else:
        said = ACCEPTED if verdict.equal else REFUSED
        order = verdict.outputs if verdict.equal else None
        shown = verdict.counterexample
    differs = differ(*pair, order)
    if not differs or said == ACCEPTED:
        differs = differ(*pair, order, exactly=True)
    if not differs and shown:
        orders = _orders(*pair, order)
        differs = differ_in_digits(*pair, shown.spread(mutant.graph), orders)
    return Judged(mutant, base, said, differs)


def differ(
    left: KernelGraph,
    right: KernelGraph,
    order: Sequence[int] | None = None,
    seed: int = 0,
    *,
    exactly: bool = False,
) -> bool:
    """Tell whether some entry differs on some random input, where both are finite.

    ``order`` says which output of ``right`` each of ``left`` is compared with; without it, the
    outputs are alike if they are in some order. ``exactly``: on fewer inputs, in 60 digits.
    """
    if sorted(left.output_shapes) != sorted(right.output_shapes):
        return True
    rng = np.random.default_rng(seed)
    orders = _orders(left, right, order)
    for scale, positive in DRAWS[:EXACT] if exactly else DRAWS:
        inputs = {
            name: scale * (np.abs(x) + 0.2 if positive else x)
            for name, x in zip(
                left.input_shapes, map(rng.standard_normal, left.shapes), strict=False
            )
        }
        if exactly:
            if differ_in_digits(left, right, inputs, orders):
                return True
            continue
        ours, theirs = run(left, inputs), run(right, inputs)
        orders = [
            each for each in orders if all(_alike(ours[i], theirs[j]) for i, j in enumerate(each))
        ]
        if not orders:
            return True
    return False


def _orders(
    left: KernelGraph, right: KernelGraph, order: Sequence[int] | None
) -> Sequence[Sequence[int]]:
    """Return this order of outputs, or all in which their shapes fit."""
    if order is not None:
        return [tuple(order)]
    shapes = left.output_shapes, right.output_shapes
    return [
        each
        for each in itertools.permutations(range(len(left.outputs)))
        if all(shapes[0][i] == shapes[1][j] for i, j in enumerate(each))
    ]


def _alike(a: Array, b: Array) -> bool:
    if a.shape != b.shape:
        return False
    finite = np.isfinite(a) & np.isfinite(b)
    a, b = a[finite], b[finite]
    largest = max(np.abs(a).max(initial=0), np.abs(b).max(initial=0))
    return bool(np.all(np.abs(a - b) <= TOLERANCE * largest))


def tally(found: Iterable[Judged]) -> Mapping[str, Counter[str]]:
    """Count the verdicts by kind of mutant: ``refused``, ``accepted``, ``undecided``.

    Those that the verifier did not accept and that do not differ either count as ``alike`` besides.
    """
    counted: dict[str, Counter[str]] = {}
    for each in found:
        row = counted.setdefault(each.mutant.kind, Counter())
        row[each.said] += 1
        row["alike"] += each.said != ACCEPTED and not each.differs
    return dict(sorted(counted.items()))


def table(counted: Mapping[str, Counter[str]]) -> str:
    """Return the tally as text, with its sums."""
    columns = (REFUSED, ACCEPTED, UNDECIDED, "alike")
    rows = [*counted.items(), ("all", sum(counted.values(), Counter()))]
    lines = [f"{'':26}" + "".join(f"{name:>11}" for name in columns)]
    lines += [f"{kind:26}" + "".join(f"{row[name]:11}" for name in columns) for kind, row in rows]
    return "\n".join(lines)
