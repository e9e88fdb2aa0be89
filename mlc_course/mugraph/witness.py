"""A float64 input on which two graphs give different numbers: what a reader believes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from mlc_course.mugraph.floats import Array, Floats
from mlc_course.mugraph.interpret import run
from mlc_course.mugraph.kernel import KernelGraph

TOLERANCE = 1e-6  # relative; a float64 interpretation of these graphs errs by 1e-12 or so
NOISE = 2.0**-26
ROUNDING = 1000 * 2.0**-53 / NOISE  # what float64 errs by, of what noise does; more to be sure
DRAWS: Sequence[Callable[[np.random.Generator, tuple[int, ...]], Array]] = (
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.uniform(0.5, 2, size=shape),
    lambda rng, shape: rng.integers(-2, 3, size=shape).astype(float),
    lambda rng, shape: 8 * rng.normal(size=shape),
)


@dataclass(frozen=True)
class Counterexample:
    """Inputs by name, and the place of an output where the graphs differ on them."""

    left: KernelGraph
    right: KernelGraph
    inputs: dict[str, Array]
    output: int
    place: tuple[int, ...]
    left_value: float
    right_value: float

    def __str__(self) -> str:
        at = ", ".join(map(str, self.place))
        return (
            f"output {self.output} at [{at}]: "
            f"{self.left.name} gives {self.left_value:.6g}, "
            f"{self.right.name} gives {self.right_value:.6g}"
        )


def counterexample(
    left: KernelGraph, right: KernelGraph, order: Sequence[int], *, seed: int = 0, draws: int = 16
) -> Counterexample | None:
    """Random inputs on which output i of ``left`` and output ``order[i]`` of ``right`` differ.

    Only places where both are finite count; None where no draw shows a difference.
    """
    rng = np.random.default_rng(seed)
    for draw in itertools.islice(itertools.cycle(DRAWS), draws):
        inputs = {
            each.name: draw(rng, shape)
            for each, shape in zip(left.inputs, left.shapes, strict=False)
        }
        ours, theirs = run(left, inputs), run(right, inputs)
        for number, other in enumerate(order):
            a, b = ours[number], theirs[other]
            if a.shape != b.shape:
                continue
            with np.errstate(all="ignore"):
                apart = np.abs(a - b) / (np.abs(a) + np.abs(b) + 1e-9)
            apart = np.where(np.isfinite(apart), apart, 0)
            if apart.max(initial=0) > TOLERANCE:
                place = tuple(int(i) for i in np.unravel_index(apart.argmax(), apart.shape))
                found = Counterexample(
                    left, right, inputs, number, place, float(a[place]), float(b[place])
                )
                if not _rounded(found, other, rng):
                    return found
    return None


def _rounded(found: Counterexample, other: int, rng: np.random.Generator) -> bool:
    """May rounding explain it? What much larger errors, made on purpose, amount to there tells."""
    noisy = _Noisy(rng=rng)
    ours, theirs = (run(graph, found.inputs, noisy) for graph in (found.left, found.right))
    with np.errstate(all="ignore"):
        errors = abs(float(ours[found.output][found.place]) - found.left_value)
        errors += abs(float(theirs[other][found.place]) - found.right_value)
    return not abs(found.left_value - found.right_value) > ROUNDING * errors


@dataclass(frozen=True)
class _Noisy(Floats):
    """Float64 in which every value errs by a random part, some ``NOISE`` of it."""

    rng: np.random.Generator = field(default_factory=np.random.default_rng)

    def stored(self, x: Array) -> Array:
        return np.asarray(x * (1 + NOISE * self.rng.standard_normal(np.shape(x))))
