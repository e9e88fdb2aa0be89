"""Tensor expressions (TE) that several workloads share, with loops named as on paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlc_course.tensor_program.problems.workload import Operand
from mlc_course.tensor_program.tvm_names import te, tirx


def contract(name: str, axes: str, left: te.Tensor, right: te.Tensor) -> te.Tensor:
    """TE for ``left @ right``; ``axes`` names its loops: row, column, reduction."""
    k = te.reduce_axis((0, left.shape[1]), name=axes[2])
    return te.compute(
        (left.shape[0], right.shape[1]),
        lambda *at: te.sum(left[at[0], k] * right[k, at[1]], axis=[k]),
        name=name,
        varargs_names=list(axes[:2]),
    )


def elementwise(name: str, source: te.Tensor, function: Callable[..., Any]) -> te.Tensor:
    """TE for ``function(source[i, j])``, with the loop names of the source."""
    names = [axis.var.name for axis in source.op.axis]
    return te.compute(
        source.shape, lambda *at: function(source[at]), name=name, varargs_names=names
    )


def placeholders(operands: tuple[Operand, ...]) -> list[te.Tensor]:
    """TE's inputs, in order."""
    return [te.placeholder(t.shape, name=t.name) for t in operands]


def linear(
    name: str, axes: str, x: te.Tensor, w: te.Tensor, b: te.Tensor, *, relu: bool
) -> te.Tensor:
    """TE for ``x w + b``, with relu or without: a matmul block and one elementwise block."""
    product = contract(f"{name}_matmul", axes, x, w)
    zero = tirx.const(0.0, "float32")

    def element(*at: Any) -> Any:
        total = product[at] + b[at[1]]
        return te.max(total, zero) if relu else total

    return te.compute(product.shape, element, name=name, varargs_names=list(axes[:2]))
