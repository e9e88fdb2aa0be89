"""Schedule steps that move memory: private copies, packed layouts, local sums."""

from __future__ import annotations

from typing import Any

from mlc_course.errors import AxisError, BlockError, SizeError
from mlc_course.tensor_program import names
from mlc_course.tensor_program.step import step
from mlc_course.tensor_program.steps import split
from mlc_course.tensor_program.tvm_names import Schedule, tirx


@step
def stage(sch: Schedule, block: str, operand: str) -> str:
    """Read an operand from a private copy, made by a block of its own; returns its name.

    before  C[i, j] += A[i, k] * B[k, j]
    after   B_copy[k, j] = B[k, j];   C[i, j] += A[i, k] * B_copy[k, j]
    needs   the block reads ``operand``; where ``pad`` made such a copy, that one is returned
    why     a copy can have another layout and another place, which the original cannot
    tvm     Schedule.cache_read
    """
    index, buffer = names.read(sch, block, operand)
    if buffer != operand and buffer in names.blocks(sch):
        return buffer
    copy = sch.cache_read(names.block(sch, block), index, "global")
    return str(sch.get(copy).name_hint)


@step
def pack(sch: Schedule, block: str, operand: str, *, along: str, panel: int) -> str:
    """Lay an operand out panel by panel, in the order in which the block reads it.

    before  B_copy[k, l]
    after   B_copy[l // 64, k, l % 64]: 64 columns stand together, row after row
    needs   ``along`` indexes one dimension of the operand; panel divides it
    why     the inner loops then read memory straight through: no jumps from row to row, each of
            which would be another page and another cache set
    tvm     Schedule.cache_read, Schedule.transform_layout, split, reorder, vectorize
    """
    copy = stage(sch, block, operand)
    index, _ = names.read(sch, block, operand)
    axis = names.dimension(sch.get(names.block(sch, block)).reads[index], along)
    inside = names.loops(sch, copy)
    _check_panel(sch, block, copy, along, panel)
    _layout(sch, block, index, axis, panel)
    split(sch, copy, inside[axis], panel)
    outer, inner = (names.loop(sch, copy, f"{inside[axis]}_{half}") for half in "01")
    others = [names.loop(sch, copy, name) for i, name in enumerate(inside) if i != axis]
    sch.reorder(outer, *others, inner)
    sch.vectorize(inner)
    return copy


def _check_panel(sch: Schedule, block: str, copy: str, along: str, panel: int) -> None:
    inside = names.loops(sch, copy)
    if len(inside) != len(names.axes(sch, copy)):
        raise AxisError(
            f"pack({block}, {along}): {copy} is packed already",
            expected="a copy with one loop per axis",
            got=f"the loops {', '.join(inside)}",
            hint="pack an operand once",
        )
    extent = names.axes(sch, block)[along]
    if panel < 1 or extent % panel:
        raise SizeError(
            f"pack({block}, {along}): panels of {panel} do not fit",
            expected=f"a divisor of |{along}| = {extent}",
            got=panel,
            hint=f"pad the block first: pad(sch, {block!r}, {along}={max(panel, 1)})",
        )


def _layout(sch: Schedule, block: str, index: int, axis: int, panel: int) -> None:
    def packed(*at: Any) -> list[Any]:
        rest = [value for i, value in enumerate(at) if i != axis]
        return [at[axis] // panel, *rest, at[axis] % panel]

    rank = len(sch.get(names.block(sch, block)).reads[index].region)
    index_map = tirx.IndexMap.from_func(packed, ndim=rank, index_dtype="int32")
    sch.transform_layout(names.block(sch, block), ("read", index), index_map)


@step
def store_innermost(sch: Schedule, block: str, axis: str) -> None:
    """Lay a private result out so that neighbours along ``axis`` stand side by side.

    before  local[f, h, w] += ...
    after   local[h, w, f] += ...: 16 filters of one pixel are one vector
    needs   the block writes a private buffer (``accumulate_locally``)
    why     a vector of elements that are far apart is stored one by one
    tvm     Schedule.transform_layout
    """
    written = sch.get(names.block(sch, block)).writes[0]
    private = [buffer.name for buffer in sch.get(sch.get_sblock("root")).alloc_buffers]
    if written.source.name not in private:
        raise BlockError(
            f"store_innermost({block}, {axis}): {written.source.name} is an output",
            expected="a buffer that only this program sees",
            got="another layout would be another function",
            hint=f"accumulate_locally(sch, {block!r}, at=...) gives the block a private buffer",
        )
    at = names.dimension(written, axis)
    rank = len(written.region)
    turned = tirx.IndexMap.from_func(
        lambda *i: [*(v for k, v in enumerate(i) if k != at), i[at]],
        ndim=rank,
        index_dtype="int32",
    )
    sch.transform_layout(names.block(sch, block), ("write", 0), turned)


@step
def accumulate_locally(sch: Schedule, block: str, *, at: str) -> str:
    """Sum a tile in a small local buffer and write it out once; returns the writing block.

    before  for tile: for k: C[tile] += ...
    after   for tile: local = 0;  for k: local += ...;  C[tile] = local
    needs   the tile is complete at loop ``at``. Where something elementwise reads the block
            (exp of it, a crop), that is what writes the tile out
    why     what is local and small can live in registers during the whole sum
    tvm     Schedule.cache_write, Schedule.reverse_compute_at, Schedule.set_scope
    """
    target = names.block(sch, block)
    names.check_complete(sch, block, at)
    consumers = sch.get_consumers(target)
    writer = consumers[0] if consumers else sch.cache_write(target, 0, "local")
    sch.reverse_compute_at(writer, names.loop(sch, block, at), preserve_unit_loops=True)
    sch.set_scope(target, 0, "local")
    return str(sch.get(writer).name_hint)
