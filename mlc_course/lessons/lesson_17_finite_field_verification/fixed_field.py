"""A test that draws nothing: the primes 167 and 83, the root 3, and the inputs 0, 1, 2, ...

Mirage's code tests like this (``include/mirage/config.h``, ``utils/fingerprint_functions.h`` and
``src/kernel/input.cc``, read in April 2026; its paper has 227 and 113, and random inputs). Input k
begins at 0 without a GPU, at 100003 k with one. ``1/0`` is 1, sqrt(x) is x**((p + 1)/4), and an exp
leaves 0 in the field of exponents, so that a second exp gives 1. Two of its habits are not modelled
here: it computes silu(x) as x exp(x), and max without an order. It shows what to avoid; the course
itself tests with ``mugraph.verify``.
"""

from __future__ import annotations

import random

import numpy as np

from mlc_course.errors import Undecided, UsageError
from mlc_course.mugraph.ir import Array, KernelGraph, Shape, evaluate
from mlc_course.mugraph.verify import Field, Residues, Tower, verify

P, Q, ROOT = 167, 83, 3
STEP = 100_003  # from one input's first number to the next one's, where they are apart
NOTHING_DRAWN = Tower((Q, P), (1, ROOT))


class FixedField(Field):
    """The residues that Mirage computes with, in a single trial.

    With a ``seed``, inputs are random after all; the primes and the root never are.
    """

    def __init__(self, *, apart: bool = False, seed: int | None = None) -> None:
        super().__init__([NOTHING_DRAWN], random.Random(seed), 1)
        self.apart, self.drawn, self.inputs = apart, seed is not None, 0

    def random(self, shape: Shape) -> Residues:
        """0, 1, 2, ... row by row."""
        if self.drawn:
            return super().random(shape)
        first = STEP * self.inputs * self.apart
        self.inputs += 1
        numbers = (first + np.arange(int(np.prod(shape)))).reshape(1, *shape)
        return Residues(self, [numbers % prime for prime in (Q, P)])

    def inverse(self, x: Residues) -> Residues:
        """The inverses, with 1 for that of 0."""
        return super().inverse(
            Residues(self, [np.where(level == 0, 1, _known(level)) for level in x.levels])
        )

    def exp(self, x: Residues) -> Residues:
        made = super().exp(x).top
        return Residues(self, [np.zeros_like(made), made])

    def function(self, name: str, x: Residues) -> Residues:
        if name != "sqrt":
            return super().function(name, x)
        roots = [
            np.array([pow(int(n), (prime + 1) // 4, prime) for n in _known(level).flat])
            for prime, level in zip((Q, P), x.levels, strict=True)
        ]
        return Residues(self, [root.reshape(x.top.shape) for root in roots])


def _known(level: Array | None) -> Array:
    assert level is not None  # no value of a ``FixedField`` has a hole
    return level


def accepts(
    left: KernelGraph, right: KernelGraph, *, apart: bool = False, seed: int | None = None
) -> bool:
    """Tell whether this tester takes two graphs for equal.

    ``apart`` begins each input at another number; a ``seed`` draws the inputs. Raises
    ``UsageError`` for graphs with other inputs, or more outputs, than each other.
    """
    border = [({each.name for each in g.inputs}, g.output_shapes) for g in (left, right)]
    if border[0] != border[1]:
        raise UsageError("graphs to be tested", expected=border[0], got=border[1])
    field = FixedField(apart=apart, seed=seed)
    known = {name: field.random(shape) for name, shape in left.input_shapes.items()}
    ours, theirs = (
        evaluate(graph, [known[each.name] for each in graph.inputs], field)
        for graph in (left, right)
    )
    pairs = zip(ours, theirs, strict=True)
    return all(all(map(np.array_equal, a.levels, b.levels)) for a, b in pairs)


def always_passes(left: KernelGraph, right: KernelGraph, *, tests: int = 20) -> bool:
    """Tell whether this tester accepts two graphs in so many tests with random inputs."""
    return all(accepts(left, right, seed=seed) for seed in range(tests))


HEAD = ("pair", "0, 1, 2, ...", "inputs apart", "inputs random", "in truth")


def verdicts(left: KernelGraph, right: KernelGraph) -> tuple[str, ...]:
    """Return what ``accepts`` says in each of its three ways, and the verifier's word.

    The columns of ``HEAD``, after the first.
    """
    found = [
        accepts(left, right),
        accepts(left, right, apart=True),
        accepts(left, right, seed=1),
    ]
    try:
        truth = "equal" if verify(left, right).equal else "different"
    except Undecided:
        truth = "undecided"
    return (*("accepts" if each else "refuses" for each in found), truth)
