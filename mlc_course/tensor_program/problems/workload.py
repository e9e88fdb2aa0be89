"""Workloads: a problem in NumPy, in float64 NumPy and in TensorIR, with its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import SizeError, WrongResult
from mlc_course.tensor_program.tir import ALIGNMENT, PrimFunc, te

Array = NDArray[Any]
FLOAT_BYTES = 4
TOLERANCE = 1e-4  # of a relative error in float32


@dataclass(frozen=True)
class Operand:
    """An input tensor: its values are normal with this standard deviation, seeded.

    The deviation keeps results finite: products of K terms grow with sqrt(K), and exp of them
    overflows float32 unless they stay below 88.
    """

    name: str
    shape: tuple[int, ...]
    deviation: float = 1.0

    def __post_init__(self) -> None:
        if any(size < 1 for size in self.shape):
            raise SizeError(
                f"tensor {self.name}: a size is below one",
                expected="every size >= 1",
                got=f"shape {self.shape}",
            )


@dataclass(frozen=True)
class Workload:
    """A problem of given sizes, with its baseline, its reference and its program.

    ``numpy(*inputs, out)`` is the baseline: what a good NumPy programmer writes, in place.
    ``exact(*inputs)`` is the reference: called with float64 inputs to check results.
    ``expression`` gives TE's placeholders and result; ``flops`` counts a multiply-add as two and
    an elementary function as one; ``bytes`` counts every input and output once. ``tolerance`` is
    the relative error that rounding may make.
    """

    name: str
    sizes: Mapping[str, int]
    operands: tuple[Operand, ...]
    result: Operand
    expression: Callable[[], Sequence[te.Tensor]]
    numpy: Callable[..., object]
    exact: Callable[..., Array]
    flops: int
    tolerance: float = TOLERANCE

    @property
    def title(self) -> str:
        sizes = ", ".join(f"{k}={v}" for k, v in self.sizes.items())
        return f"{self.name} ({sizes})" if sizes else self.name

    @property
    def bytes(self) -> int:
        return sum(FLOAT_BYTES * int(np.prod(t.shape)) for t in (*self.operands, self.result))

    def program(self) -> PrimFunc:
        """The naive TensorIR program, a function of the inputs in order and then of the result."""
        return te.create_prim_func(list(self.expression()))

    def inputs(self, seed: int = 0) -> list[Array]:
        """Seeded float32 inputs, aligned so that TVM and NumPy can share them."""
        rng = np.random.default_rng(seed)
        return [aligned(rng.normal(0.0, t.deviation, t.shape)) for t in self.operands]

    def output(self) -> Array:
        """An array for the result, full of NaN, so that an element never written is seen."""
        return aligned(np.full(self.result.shape, np.nan))

    def reference(self, inputs: Sequence[Array]) -> Array:
        """The result in float64."""
        return self.exact(*(value.astype(np.float64) for value in inputs))

    def check(self, got: Array, reference: Array, *, tolerance: float | None = None) -> float:
        """Relative error of a result, in the Frobenius norm; raises ``WrongResult`` above it."""
        most = self.tolerance if tolerance is None else tolerance
        return relative_error(self.title, got, reference, tolerance=most)


def relative_error(
    title: str,
    got: Array,
    reference: Array,
    *,
    tolerance: float = TOLERANCE,
    source: str = "float64 NumPy",
) -> float:
    """The error of a result in the Frobenius norm; raises ``WrongResult`` above ``tolerance``.

    ``source`` says in the message what the reference comes from.
    """
    if got.shape != reference.shape:
        raise WrongResult(f"{title}: shape", expected=reference.shape, got=got.shape)
    scale = float(np.linalg.norm(reference)) or 1.0  # relu can make everything zero
    error = float(np.linalg.norm(got - reference)) / scale
    if not error <= tolerance:  # NaN too
        raise WrongResult(
            f"{title}: the result differs from {source}",
            expected=f"relative error <= {tolerance:g}",
            got=f"{error:.3g}",
            hint="is each element written, and written last with its whole value?",
        )
    return error


def aligned(values: Array) -> Array:
    """A float32 copy that starts at a multiple of 64 bytes, as TVM's generated code assumes."""
    room = np.empty(values.size + ALIGNMENT // FLOAT_BYTES, np.float32)
    skip = (-room.ctypes.data // FLOAT_BYTES) % (ALIGNMENT // FLOAT_BYTES)
    copy = room[skip : skip + values.size].reshape(values.shape)
    copy[...] = values
    return copy
