"""Mirage's operators, those that it saves, in ours (its ``include/mirage/type.h`` lists them).

Mirage's accumulators also reduce; here these are equations of their own. ``RED_LD_SUM`` sums the
last dimension. ``RED_LD_MEAN`` and ``RED_LD_RMS`` then divide by how many elements all iterations
have summed, the latter under a root. ``REDTOX_LD_SUM`` cuts the last dimension in pieces of
``reduction_dimx`` and lays them on each other: ``fold``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mlc_course.errors import GraphError
from mlc_course.mugraph import ops
from mlc_course.mugraph.constants import Constant, constant
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.value import Value

ELEMENTWISE = ("exp", "square", "sqrt", "silu", "sigmoid", "gelu", "relu", "log")
PLAIN: Mapping[str, Op] = {
    **{name: ops.BY_NAME[name] for name in ELEMENTWISE},
    **{name: ops.BY_NAME[name] for name in ("matmul", "add", "sub", "mul", "div")},
}
ONE = constant(1)


@dataclass(frozen=True)
class Tensor:
    """A value of ours for one of Mirage's tensors; its extents in named sizes, such as ``d/32``."""

    value: Value
    extents: tuple[Constant, ...]


@dataclass
class Scope:
    """The tensors of a kernel graph or of a block graph, by guid."""

    sizes: Mapping[str, int]
    tensors: dict[int, Tensor] = field(default_factory=dict)
    iterations: int = 1
    dimx: int = 1


def times(extent: Constant, factor: Fraction | int) -> Constant:
    """A part, or a multiple, of an extent."""
    return replace(extent, coefficient=extent.coefficient * factor)


def add_operator(saved: Mapping[str, Any], level: str, scope: Scope) -> None:
    """One equation, or the few that an operator of Mirage's stands for."""
    kind = saved["op_type"].removeprefix(level).removesuffix("_op")
    operands = [scope.tensors[each["guid"]] for each in saved["input_tensors"]]
    (made,) = saved["output_tensors"]
    if kind in PLAIN:
        value = PLAIN[kind](*(each.value for each in operands))
        extents = _product(operands) if kind == "matmul" else _elementwise(operands)
        scope.tensors[made["guid"]] = Tensor(value, extents)
    elif kind in MEANINGS:
        scope.tensors[made["guid"]] = MEANINGS[kind](scope, *operands)
    else:
        raise GraphError(
            f"Mirage's {saved['op_type']} is not known here",
            expected=" | ".join([*PLAIN, *MEANINGS]),
            got=saved["op_type"],
        )


def _elementwise(operands: Sequence[Tensor]) -> tuple[Constant, ...]:
    return tuple(
        next((each for each in extents if each != ONE), ONE)
        for extents in zip(*(each.extents for each in operands), strict=True)
    )


def _product(operands: Sequence[Tensor]) -> tuple[Constant, ...]:
    return (*operands[0].extents[:-1], operands[1].extents[-1])


def _sum(scope: Scope, x: Tensor, axis: int | None = None) -> Tensor:
    """Over one dimension, by default the last."""
    axis = len(x.extents) - 1 if axis is None else axis
    extents = (*x.extents[:axis], ONE, *x.extents[axis + 1 :])
    return Tensor(ops.reduce_sum(x.value, axis=axis), extents)


def _fold(scope: Scope, x: Tensor, axis: int | None = None) -> Tensor:
    """To ``reduction_dimx``, by the name of a size of that extent if there is one."""
    axis = len(x.extents) - 1 if axis is None else axis
    names = [*(name for name, _ in x.extents[axis].powers), *reversed(list(scope.sizes))]
    to = constant(next((n for n in names if scope.sizes[n] == scope.dimx), scope.dimx))
    extents = (*x.extents[:axis], to, *x.extents[axis + 1 :])
    return Tensor(ops.fold(x.value, axis=axis, to=to), extents)


def _accumulated(scope: Scope, x: Tensor) -> Tensor:
    return Tensor(ops.accumulate(x.value), x.extents)


def _mean(scope: Scope, x: Tensor) -> Tensor:
    total = _accumulated(scope, _sum(scope, x))
    summed = times(x.extents[-1], scope.iterations)
    by = Constant(1 / summed.coefficient, tuple((name, -power) for name, power in summed.powers))
    return Tensor(ops.scale(total.value, by=by), total.extents)


def _rms(scope: Scope, x: Tensor) -> Tensor:
    mean = _mean(scope, Tensor(ops.square(x.value), x.extents))
    return Tensor(ops.sqrt(mean.value), mean.extents)


def _rms_norm(scope: Scope, x: Tensor) -> Tensor:
    return Tensor(ops.rms_norm(x.value, axis=len(x.extents) - 1), x.extents)


def _largest(scope: Scope, x: Tensor) -> Tensor:
    return Tensor(ops.accumulate_max(x.value), x.extents)


def _joined(axis: int) -> Callable[..., Tensor]:
    def join(scope: Scope, *xs: Tensor) -> Tensor:
        extents = list(xs[0].extents)
        extents[axis] = constant(sum(x.extents[axis].size(scope.sizes) for x in xs))
        return Tensor(ops.concat(*(x.value for x in xs), axis=axis), tuple(extents))

    return join


def _along(meaning: Callable[..., Tensor], axis: int) -> Callable[..., Tensor]:
    return lambda scope, x: meaning(scope, x, axis)


MEANINGS: Mapping[str, Callable[..., Tensor]] = {
    "rms_norm": _rms_norm,
    "accum_nored": _accumulated,
    "accum_red_ld_sum": lambda scope, x: _accumulated(scope, _sum(scope, x)),
    "accum_red_ld_mean": _mean,
    "accum_red_ld_rms": _rms,
    "accum_redtox_ld_sum": lambda scope, x: _accumulated(scope, _fold(scope, x)),
    "accum_max": _largest,
    **{f"reduction_{axis}": _along(_sum, axis) for axis in range(3)},
    **{f"reduction_{axis}_to_dimx": _along(_fold, axis) for axis in range(3)},
    **{f"concat_{axis}": _joined(axis) for axis in range(3)},
}
