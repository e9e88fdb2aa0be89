"""Reading the mu-graphs that Mirage saves as JSON.

A file holds a list of graphs, a graph a list of operators; tensors are told apart by ``guid``, and
a ``kn_customized_op`` holds a block graph (mirage-project/mirage: ``python/mirage/visualizer.py``
reads them too). A grid axis that cuts nothing is -1 in Mirage's maps and absent from ours, as is an
axis or a loop of extent 1. Mirage's block graphs have one loop, called ``k`` here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.build import BlockBuilder, Builder
from mlc_course.mugraph.constants import constant
from mlc_course.mugraph.ir import Input
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.mirage_operators import Scope, Tensor, add_operator, times
from mlc_course.mugraph.value import Value

LOOP = "k"


def read_mirage(
    saved: Sequence[Mapping[str, Any]], inputs: Sequence[Input], name: str = "saved"
) -> KernelGraph:
    """One of the graphs of a file, with names for its inputs and for their dimensions.

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
    """Has everything that it makes the shape that the file says?"""
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
