"""A float64 input on which two graphs give different numbers: what a reader believes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.mugraph.floats import Array
from mlc_course.mugraph.interpret import run
from mlc_course.mugraph.kernel import KernelGraph

TOLERANCE = 1e-6  # relative; a float64 interpretation of these graphs errs by 1e-12 or so
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
                return Counterexample(
                    left, right, inputs, number, place, float(a[place]), float(b[place])
                )
    return None
