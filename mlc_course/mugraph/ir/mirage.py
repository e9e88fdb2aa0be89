"""A reader of the mu-graphs that Mirage saves as JSON.

A file holds a list of graphs, a graph a list of operators; tensors are told apart by ``guid``, and
a ``kn_customized_op`` holds a block graph (mirage-project/mirage: ``python/mirage/visualizer.py``
reads them too). A grid axis that cuts nothing is -1 in Mirage's maps and absent from ours, as is an
axis or a loop of extent 1. Mirage's block graphs have one loop, called ``k`` here.

Mirage's ``include/mirage/type.h`` lists its operators. Its accumulators also reduce; here these are
equations of their own. ``RED_LD_SUM`` sums the last dimension. ``RED_LD_MEAN`` and ``RED_LD_RMS``
then divide by how many elements all iterations have summed, the latter under a root.
``REDTOX_LD_SUM`` cuts the last dimension in pieces of ``reduction_dimx`` and adds these up:
``fold``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.builder import BlockBuilder, Builder, Value
from mlc_course.mugraph.ir.constants import Constant, constant
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.nodes import Input
from mlc_course.mugraph.ir.ops import Op

ELEMENTWISE = ("exp", "square", "sqrt", "silu", "sigmoid", "gelu", "relu", "log")
PLAIN: Mapping[str, Op] = {
    **{name: ops.BY_NAME[name] for name in ELEMENTWISE},
    **{name: ops.BY_NAME[name] for name in ("matmul", "add", "sub", "mul", "div")},
}
LOOP = "k"
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
    """Add the equation, or the few, that an operator of Mirage's means."""
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
    """Sum over one dimension, by default the last."""
    axis = len(x.extents) - 1 if axis is None else axis
    extents = (*x.extents[:axis], ONE, *x.extents[axis + 1 :])
    return Tensor(ops.reduce_sum(x.value, axis=axis), extents)


def _fold(scope: Scope, x: Tensor, axis: int | None = None) -> Tensor:
    """Fold to ``reduction_dimx``, by the name of a size of that extent if there is one."""
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


def read_mirage(
    saved: Sequence[Mapping[str, Any]], inputs: Sequence[Input], name: str = "saved"
) -> KernelGraph:
    """Read one of the graphs of a file, with names for its inputs and for their dimensions.

    Constants name sizes, so that the graph can be ``resized``. Raises ``GraphError`` for an
    operator that is not known, or for data that do not hold what they should.
    """
    try:
        return _read(saved, inputs, name)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise GraphError(
            "not a graph that Mirage saved",
            expected="a list of operators, each with op_type, input_tensors, output_tensors",
            got=f"{type(error).__name__}: {error}",
            hint="a file holds a list of graphs: give one of them",
        ) from error


def _read(saved: Sequence[Mapping[str, Any]], inputs: Sequence[Input], name: str) -> KernelGraph:
    builder = Builder(name)
    scope = Scope(builder.sizes)
    given, outputs = list(inputs), list[Value]()
    for operator in saved:
        kind = operator["op_type"]
        try:
            if kind == "kn_input_op":
                _input(operator, given, builder, scope)
            elif kind == "kn_output_op":
                outputs.append(scope.tensors[operator["input_tensors"][0]["guid"]].value)
            elif kind == "kn_customized_op":
                _block(operator, builder, scope)
            else:
                add_operator(operator, "kn_", scope)
            _check(operator, builder, scope)
        except CourseError as error:
            error.add_note(f"in Mirage's {kind}")
            raise
    if given:
        raise GraphError("inputs", expected="as many as the file has", got=f"{given} too many")
    return builder.returns(*outputs)


def _dims(tensor: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(tensor["dim"][: tensor["num_dims"]])


def _input(operator: Mapping[str, Any], given: list[Input], builder: Builder, scope: Scope) -> None:
    (tensor,) = operator["output_tensors"]
    shape = _dims(tensor)
    if not given or len(given[0].dims) != len(shape):
        raise GraphError("inputs", expected=f"one with {len(shape)} dimensions", got=given[:1])
    first = given.pop(0)
    dims = (f"{dim}={size}" for dim, size in zip(first.dims, shape, strict=True))
    value = builder.input(first.name, *dims)
    scope.tensors[tensor["guid"]] = Tensor(value, tuple(map(constant, first.dims)))


def _check(operator: Mapping[str, Any], builder: Builder, scope: Scope) -> None:
    """Check that all results of an operator have the shapes that the file gives."""
    for saved in operator["output_tensors"]:
        value = scope.tensors[saved["guid"]].value
        if builder.shapes[value.number] != _dims(saved):
            got = builder.shapes[value.number]
            raise GraphError(f"the shape of {value}", expected=_dims(saved), got=got)


def _block(operator: Mapping[str, Any], builder: Builder, outer: Scope) -> None:
    saved = operator["bgraph"]
    sizes = {axis: saved["grid_dim"][axis] for axis in "xyz"}
    grid = {axis: extent for axis, extent in sizes.items() if extent > 1}
    loop = {LOOP: saved["forloop_range"]} if saved["forloop_range"] > 1 else {}
    scope = Scope(outer.sizes, {}, saved["forloop_range"], saved["reduction_dimx"])
    results = list(operator["output_tensors"])
    with builder.block(grid=grid or {"x": 1}, loop=loop) as block:
        for inner in saved["operators"]:
            match inner["op_type"]:
                case "tb_input_op":
                    _load(inner, block, outer, scope)
                case "tb_output_op":
                    guid = results.pop(0)["guid"]
                    outer.tensors[guid] = _store(inner, block, scope)
                case _:
                    add_operator(inner, "tb_", scope)


def _load(inner: Mapping[str, Any], block: BlockBuilder, outer: Scope, scope: Scope) -> None:
    whole = outer.tensors[inner["dtensor"]["guid"]]
    imap = {axis: dim for axis, dim in _cuts(inner["input_map"]) if axis in block.grid}
    cut = inner["forloop_dim"]
    fmap = {LOOP: cut} if cut >= 0 and block.loop else {}
    extents, extent = list(whole.extents), {**block.grid, **block.loop}
    for axis, dim in (*imap.items(), *fmap.items()):
        extents[dim] = times(extents[dim], Fraction(1, extent[axis]))
    value = block.load(whole.value, imap=imap, fmap=fmap)
    (tile,) = inner["output_tensors"]
    scope.tensors[tile["guid"]] = Tensor(value, tuple(extents))


def _store(inner: Mapping[str, Any], block: BlockBuilder, scope: Scope) -> Tensor:
    tile = scope.tensors[inner["input_tensors"][0]["guid"]]
    omap = {axis: dim for axis, dim in _cuts(inner["output_map"]) if axis in block.grid}
    extents = list(tile.extents)
    for axis, dim in omap.items():
        extents[dim] = times(extents[dim], block.grid[axis])
    return Tensor(block.store(tile.value, omap=omap), tuple(extents))


def _cuts(saved: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(axis, saved[axis]) for axis in "xyz" if saved[axis] >= 0]
