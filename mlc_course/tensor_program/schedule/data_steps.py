"""Schedule steps that change data: private copies, packed layouts, local sums, and a vector exp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlc_course.errors import AxisError, BlockError, SizeError
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.schedule.atomic import step
from mlc_course.tensor_program.schedule.steps import fuse_consumer, split
from mlc_course.tensor_program.tir import (
    Range,
    SBlock,
    SBlockRV,
    Schedule,
    TensorLoad,
    rewrite,
    tirx,
    undefined_vars,
)

ROW = 8  # elements of a row that are read at once where a panel is packed across rows
PARTS = (
    *("iter_vars", "reads", "writes", "name_hint", "body"),
    *("init", "alloc_buffers", "match_buffers", "annotations"),
)  # of a block
ROWS = 8  # rows that are packed into all panels before the next ones, where panels run along rows


@step
def stage(sch: Schedule, block: str, operand: str) -> str:
    """Read an operand from a private copy, made by a block of its own; returns its name.

    before  C[i, j] += A[i, k] * B[k, j]
    after   B_copy[k, j] = B[k, j];   C[i, j] += A[i, k] * B_copy[k, j]
    needs   the block reads ``operand``; where ``pad`` made such a copy, that one is returned
    why     a copy can have another layout and another place, which the original cannot
    tvm     Schedule.cache_read
    """
    index, buffer = lookup.read(sch, block, operand)
    if lookup.is_copied(sch, block, operand):
        return buffer
    copy = sch.cache_read(lookup.block(sch, block), index, "global")
    return str(sch.get(copy).name_hint)


@step
def pack(sch: Schedule, block: str, operand: str, *, along: str, panel: int) -> str:
    """Lay an operand out panel by panel, in the order in which the block reads it.

    before  B_copy[k, l]
    after   B_copy[l // 64, k, l % 64]: 64 columns are stored together, row after row
    needs   ``along`` indexes one dimension of the operand; panel divides it
    why     the inner loops then read memory straight through: no jumps from row to row, each of
            which would be another page and another cache set. The copy itself reads a few rows
            from end to end
    tvm     Schedule.cache_read, Schedule.transform_layout, split, reorder, unroll or vectorize
    """
    copy = stage(sch, block, operand)
    index, _ = lookup.read(sch, block, operand)
    axis = lookup.dimension(sch.get(lookup.block(sch, block)).reads[index], along)
    inside = lookup.loops(sch, copy)
    _check_panel(sch, block, copy, along, panel)
    _layout(sch, block, index, axis, panel)
    split(sch, copy, inside[axis], panel)
    outer, inner = (lookup.loop(sch, copy, f"{inside[axis]}_{half}") for half in "01")
    others = [lookup.loop(sch, copy, name) for i, name in enumerate(inside) if i != axis]
    sch.reorder(outer, *others, inner)
    if axis == len(inside) - 1:
        vector = lookup.power_of_two(panel, at_most=panel)
        sch.vectorize(inner if vector == panel else sch.split(inner, [None, vector])[1])
        if others:
            sch.reorder(sch.split(others[-1], [None, ROWS])[0], outer)
        return copy
    # Neighbours in the panel are far apart in the operand: a few elements of each row are read.
    sch.unroll(inner)
    vector = lookup.power_of_two(lookup.length(sch, copy, inside[-1]), at_most=ROW)
    if vector > 1:
        _, few = sch.split(others[-1], [None, vector])
        sch.reorder(inner, few)
        sch.vectorize(few)
    return copy


def _check_panel(sch: Schedule, block: str, copy: str, along: str, panel: int) -> None:
    inside = lookup.loops(sch, copy)
    if len(inside) != len(lookup.axes(sch, copy)):
        raise AxisError(
            f"pack({block}, {along}): {copy} is packed already",
            expected="a copy with one loop per axis",
            got=f"the loops {', '.join(inside)}",
            hint="pack an operand once",
        )
    extent = lookup.axes(sch, block)[along]
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

    rank = len(sch.get(lookup.block(sch, block)).reads[index].region)
    index_map = tirx.IndexMap.from_func(packed, ndim=rank, index_dtype="int32")
    sch.transform_layout(lookup.block(sch, block), ("read", index), index_map)


@step
def clamp(sch: Schedule, block: str, operand: str) -> None:
    """Read a padded operand where it is: in place of zeros beyond its edge, its last row again.

    before  A_pad = A, and zeros around;   C_pad[m, n] += A_pad[m, k] * B[k, n]
    after   C_pad[m, n] += A[min(m, 99), k] * B[k, n]
    needs   an operand that ``pad`` has copied, and no sum along an axis that it was padded along:
            what the block computes beyond the edge is cropped, and may be anything
    why     a large operand is not copied for the sake of its last few rows
    tvm     ScheduleState.replace: a new body, which the trace does not record
    """
    index, buffer = lookup.read(sch, block, operand)
    if not lookup.is_padded(sch, block, operand):
        raise BlockError(
            f"clamp({block}, {operand}): no copy with zeros around, which it alone reads",
            expected="an operand that pad has copied, and that is not packed",
            got=f"{block} reads {buffer}",
            hint="where the sizes fit, pad copies nothing, and there is nothing to clamp",
        )
    copy = sch.get(lookup.block(sch, buffer)).body
    source = copy.value.args[1].source
    extents = [int(extent) for extent in source.shape]
    wide = zip(copy.buffer.shape, extents, strict=True)
    padded = [axis for axis, (more, extent) in enumerate(wide) if int(more) != extent]
    _check_cropped(sch, block, operand, index, padded)

    def last(axis: int, index: Any) -> Any:
        return tirx.min(index, extents[axis] - 1) if axis in padded else index

    def clamped(load: Any, mutator: Any) -> Any:
        if not load.source.same_as(copy.buffer):
            return mutator.default_mutate(load)
        return source[tuple(last(axis, each) for axis, each in enumerate(load.indices))]

    target = lookup.block(sch, block)
    old = sch.get(target)
    reads = list(old.reads)
    region = [
        Range.from_min_extent(last(axis, part.min), part.extent)
        for axis, part in enumerate(reads[index].region)
    ]
    reads[index] = tirx.BufferRegion(source, region)
    _replace(sch, target, reads=reads, body=rewrite(old.body, TensorLoad, clamped))
    _drop(sch, buffer)


def _drop(sch: Schedule, copy: str) -> None:
    """Remove a block of the outermost level that nobody reads, with its loops and its buffer."""
    gone, unused = sch.get(sch.get_loops(lookup.block(sch, copy))[0]), lookup.output(sch, copy)
    root = sch.get_sblock("root")
    old = sch.get(root)
    left = [each for each in old.body.seq if not each.same_as(gone)]
    kept = [each for each in old.alloc_buffers if str(each.name) != unused]
    body = left[0] if len(left) == 1 else tirx.SeqStmt(left)
    _replace(sch, root, body=body, alloc_buffers=kept)


def _check_cropped(
    sch: Schedule, block: str, operand: str, index: int, padded: Sequence[int]
) -> None:
    """Raise ``AxisError`` where a sum runs along a padded dimension of an operand."""
    found = sch.get(lookup.block(sch, block))
    summed = [each.var for each in found.iter_vars if each.iter_type == each.CommReduce]
    for dimension in padded:
        used = undefined_vars(found.reads[index].region[dimension].min)
        if any(axis.same_as(var) for axis in summed for var in used):
            raise AxisError(
                f"clamp({block}, {operand}): a sum runs along a padded axis",
                expected="axes along which the result is cropped",
                got=", ".join(lookup.plain(axis) for axis in summed),
                hint="keep the zeros, which add nothing",
            )


@step
def store_innermost(sch: Schedule, block: str, axis: str) -> None:
    """Lay a private result out so that neighbours along ``axis`` are stored side by side.

    before  local[f, h, w] += ...
    after   local[h, w, f] += ...: 16 filters of one pixel are one vector
    needs   the block writes a private buffer (``accumulate_locally``)
    why     a vector of elements that are far apart is stored one by one
    tvm     Schedule.transform_layout
    """
    written = sch.get(lookup.block(sch, block)).writes[0]
    private = [buffer.name for buffer in sch.get(sch.get_sblock("root")).alloc_buffers]
    if written.source.name not in private:
        raise BlockError(
            f"store_innermost({block}, {axis}): {written.source.name} is an output",
            expected="a buffer that only this program sees",
            got="another layout would be another function",
            hint=f"accumulate_locally(sch, {block!r}, at=...) gives the block a private buffer",
        )
    at = lookup.dimension(written, axis)
    rank = len(written.region)
    turned = tirx.IndexMap.from_func(
        lambda *i: [*(v for k, v in enumerate(i) if k != at), i[at]],
        ndim=rank,
        index_dtype="int32",
    )
    sch.transform_layout(lookup.block(sch, block), ("write", 0), turned)


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
    lookup.check_complete(sch, block, at)
    target = lookup.block(sch, block)
    consumers = sch.get_consumers(target)
    writer = consumers[0] if consumers else sch.cache_write(target, 0, "local")
    name = str(sch.get(writer).name_hint)
    fuse_consumer(sch, name, into=block, at=at)
    sch.set_scope(target, 0, "local")
    return name


# --- elementary functions -------------------------------------------------------------------------

# exp(x) = 2^n * exp(f), where n is the whole number next to x / ln 2 and |f| <= ln(2) / 2. The
# polynomial is Cephes' expf (S. Moshier); ln 2 is split in two so that n * ln 2 loses no bits.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXP_TERMS = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
_EXP_LIMIT = 87.3  # exp of more than 88.7 is infinite in float32, of less than -87.3 subnormal


@step
def polynomial_exp(sch: Schedule, block: str) -> None:
    """Compute exp by multiplications, not by a call into the C library.

    before  D[i, j] = exp(C[i, j])                           a call per element
    after   D[i, j] = 2^n * polynomial(C[i, j] - n * ln 2)   vector instructions only
    needs   a block whose whole body is one exp of a float32; arguments within +-87.3
    why     a vector of 16 elements costs about 12 instructions in place of 16 calls
    tvm     ScheduleState.replace: a new body, which the trace does not record
    """
    target = lookup.block(sch, block)
    old = sch.get(target)
    if not lookup.is_exp(sch, block) or old.writes[0].source.dtype != "float32":
        raise BlockError(
            f"polynomial_exp({block}): the block is not one exp",
            expected="a body D[...] = exp(...), of float32",
            got=str(old.body).splitlines()[-1],
            hint="name the block whose body is the exp",
        )
    body = tirx.BufferStore(old.body.buffer, _exp(old.body.value.args[0]), old.body.indices)
    _replace(sch, target, body=body)


def _replace(sch: Schedule, target: SBlockRV, **changed: Any) -> None:
    """Put a changed block in the place of a block; the trace does not record it."""
    old = sch.get(target)
    new = SBlock(*(changed.get(name, getattr(old, name)) for name in PARTS))
    sch.state.replace(sch.get_sref(target), new, {old: new})


def _exp(value: Any) -> Any:
    def number(constant: float) -> Any:
        return tirx.const(constant, "float32")

    x, n, f = (tirx.Var(name, "float32") for name in "xnf")
    total = number(_EXP_TERMS[0])
    for term in _EXP_TERMS[1:]:
        total = total * f + number(term)
    # A float32's exponent field holds n + 127, above 23 bits of mantissa.
    bits = tirx.shift_left(tirx.Cast("int32", n) + 127, tirx.const(23, "int32"))
    result = (total * f * f + f + number(1.0)) * tirx.reinterpret("float32", bits)
    reduced = tirx.Let(f, x - n * number(_LN2_HIGH) - n * number(_LN2_LOW), result)
    rounded = tirx.Let(n, tirx.floor(x * number(1.4426950408889634) + number(0.5)), reduced)
    # In this order NaN stays NaN: TVM's min(a, b) is a if a < b, else b.
    limited = tirx.max(number(-_EXP_LIMIT), tirx.min(number(_EXP_LIMIT), value))
    return tirx.Let(x, limited, rounded)
