"""Counter-examples: float64 inputs on which two graphs differ, and the difference in words."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.mugraph.ir import Array, Floats, KernelGraph, run
from mlc_course.mugraph.verify.digits import holds, precisely

SEED = 13  # of the inputs on which ``difference`` compares
TOLERANCE = 1e-6  # relative; a float64 interpretation of these graphs errs by 1e-12 or so
FEW, ROUNDS = 64, 8  # inputs of so few entries are drawn so often
DRAWS: Sequence[Callable[[np.random.Generator, tuple[int, ...]], Array]] = (
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.uniform(0.5, 2, size=shape),
    lambda rng, shape: rng.integers(-2, 3, size=shape).astype(float),
    lambda rng, shape: 1e-3 * rng.normal(size=shape),
    lambda rng, shape: 8 * rng.normal(size=shape),
    lambda rng, shape: 10 ** rng.uniform(-6, 0) * rng.normal(size=shape),
    lambda rng, shape: 1e-6 * rng.normal(size=shape),
)


@dataclass(frozen=True)
class Counterexample:
    """Inputs by name, and the place of an output where the graphs differ on them.

    The two graphs may be those asked about with batch sizes of 1; ``spread`` makes inputs for any.
    """

    left: KernelGraph
    right: KernelGraph
    inputs: dict[str, Array]
    output: int
    place: tuple[int, ...]
    left_value: float
    right_value: float

    def spread(self, graph: KernelGraph) -> dict[str, Array]:
        """Return inputs for the same graph with larger batch sizes: every index of them alike."""
        shapes = graph.input_shapes
        return {name: np.broadcast_to(x, shapes[name]) for name, x in self.inputs.items()}

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
    """Search for inputs on which output i of ``left`` and output ``order[i]`` of ``right`` differ.

    Only places count that are made of finite numbers: 1 / (1 + exp(x / 0)) is none. Return None
    where no draw shows a difference.
    """
    rng = np.random.default_rng(seed)
    if sum(math.prod(shape) for shape in left.input_shapes.values()) <= FEW:
        draws *= ROUNDS
    for draw in itertools.islice(itertools.cycle(DRAWS), draws):
        inputs = {name: draw(rng, shape) for name, shape in left.input_shapes.items()}
        found = _difference(left, right, order, inputs)
        if found:
            return found
    return None


@dataclass(frozen=True)
class _Finite(Floats):
    """Floats in which what is made of an infinite number is none."""

    def stored(self, x: Array) -> Array:
        return np.where(np.isfinite(x), x, np.nan)


def _difference(
    left: KernelGraph, right: KernelGraph, order: Sequence[int], inputs: dict[str, Array]
) -> Counterexample | None:
    """The largest difference that more digits confirm: rounding may make others."""
    ours, theirs = (run(graph, inputs, _Finite()) for graph in (left, right))
    for number, other in enumerate(order):
        a, b = ours[number], theirs[other]
        if a.shape != b.shape:
            continue
        with np.errstate(all="ignore"):
            scale = np.abs(np.where(np.isfinite(a), a, 0)).max(initial=0)
            apart = np.abs(a - b) / (np.abs(a) + np.abs(b) + 1e-9 * scale)
        apart = np.where(np.isfinite(apart), apart, 0)
        if apart.max(initial=0) > TOLERANCE:
            precise = precisely(inputs, left, right)
            apart = np.where(holds(a - b, precise[0][number], precise[1][other]), apart, 0)
        if apart.max(initial=0) > TOLERANCE:
            place = tuple(int(i) for i in np.unravel_index(apart.argmax(), apart.shape))
            return Counterexample(
                left, right, inputs, number, place, float(a[place]), float(b[place])
            )
    return None


def difference(graph: KernelGraph, program: KernelGraph) -> str:
    """Say how the outputs of ``graph`` differ from those of ``program`` in float64; "" if not.

    Both are run on normal numbers, always the same; they have the same inputs and outputs.
    """
    rng = np.random.default_rng(SEED)
    inputs = {name: rng.normal(size=shape) for name, shape in program.input_shapes.items()}
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
    """Name the rows or columns of a matrix that are all right."""
    if wrong.ndim != 2:
        return ""
    for name, axis in (("rows", 1), ("columns", 0)):
        right = np.flatnonzero(~wrong.any(axis=axis))
        if right.size:
            return f"not those in {name} {', '.join(_runs(right))}, "
    return ""


def _runs(numbers: Array) -> Iterator[str]:
    """Yield runs of numbers: ``0 to 3``, ``8`` for 0, 1, 2, 3, 8; at most three of them."""
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    for count, part in enumerate(np.split(numbers, cuts)):
        if count == 3:
            yield "..."
            return
        yield f"{part[0]} to {part[-1]}" if part.size > 1 else f"{part[0]}"
