"""Schedule steps on loops: reorder, tile, fuse, vectorize and others, one function each.

A step takes a ``Schedule`` and names: of a block (``"C"``) and of its loops (``"m"``, and after a
split ``"m_0"`` outside and ``"m_1"`` inside). It changes the schedule in place, or raises an
error and leaves the schedule unchanged.
"""

from __future__ import annotations

from mlc_course.errors import AxisError, SizeError, StepError
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.schedule.atomic import step
from mlc_course.tensor_program.tir import Schedule

MOST_COPIES = 4096  # of a body in unrolled loops; LLVM takes seconds for as many

# --- the order and shape of loops -------------------------------------------------------------


@step
def reorder(sch: Schedule, block: str, *loops: str) -> None:
    """Visit the same iterations in another order.

    before  for i, j, k:   C[i, j] += A[i, k] * B[k, j]
    after   for i, k, j:   the same body
    needs   two or more loops of the block; those not named keep their places
    why     the innermost loop should walk along rows, where neighbours share a cache line
    tvm     Schedule.reorder
    """
    if len(loops) < 2:
        raise AxisError(
            f"reorder({block}): too few loops",
            expected="two or more, in their new order",
            got=", ".join(loops) or "none",
            hint=f"the loops of {block} are {', '.join(lookup.loops(sch, block))}",
        )
    sch.reorder(*(lookup.loop(sch, block, name) for name in loops))


@step
def split(sch: Schedule, block: str, loop: str, factor: int, *, partial: bool = False) -> None:
    """Cut one loop into an outer and an inner one.

    before  for k in range(2048):                      body(k)
    after   for k_0 in range(256), k_1 in range(8):    body(k_0 * 8 + k_1)
    needs   factor divides |k|; or ``partial``, which gives the body a condition, k < |k|
    why     the inner loop is small enough for what it touches to stay in cache
    tvm     Schedule.split
    """
    target = lookup.loop(sch, block, loop)
    extent = lookup.length(sch, block, loop)
    if factor < 1 or (extent % factor and not partial):
        raise SizeError(
            f"split({block}, {loop}, {factor}): the factor does not divide the loop",
            expected=f"a divisor of |{loop}| = {extent}",
            got=factor,
            hint=f"pad the block first: pad(sch, {block!r}, {loop}={max(factor, 1)})",
        )
    sch.split(target, [None, factor])


@step
def tile(sch: Schedule, block: str, **factors: int) -> None:
    """Visit the iterations tile by tile.

    before  for i, j, k:                      C[i, j] += A[i, k] * B[k, j]
    after   for i_0, j_0, k_0, i_1, j_1, k_1: the same body, at i = i_0*16 + i_1, ...
    needs   every factor divides its loop
    why     what a tile touches is used many times before it leaves the cache
    tvm     Schedule.split, Schedule.reorder
    """
    if not factors:
        known = ", ".join(lookup.loops(sch, block))
        raise AxisError(
            f"tile({block}): no loop is named",
            expected=f"a factor for one or more of {known}",
            got="none",
            hint=f"tile(sch, {block!r}, {known.split(', ')[-1]}=8)",
        )
    for loop, factor in factors.items():
        split(sch, block, loop, factor)
    outer = [lookup.loop(sch, block, f"{loop}_0") for loop in factors]
    inner = [lookup.loop(sch, block, f"{loop}_1") for loop in factors]
    sch.reorder(*outer, *inner)


@step
def pad(sch: Schedule, block: str, **multiples: int) -> None:
    """Round the loops of a matmul-like block up, so that tiles fit; zeros fill the rest.

    before  for k, l in (1999, 1001):       C[m, l] += A[m, k] * B[k, l]
    after   B_pad = B, and zeros around;    for k, l in (1999, 1024): C_pad[m, l] += ...
            C = C_pad without the rest
    needs   a block that multiplies and sums, its loops not yet split; does nothing where the
            sizes fit already
    why     a micro-kernel without a single ``if`` is worth a few wasted columns
    tvm     Schedule.pad_einsum, Schedule.compute_inline
    """
    lookup.check_multiples(sch, block, multiples)
    axes = lookup.axes(sch, block)
    wanted = [multiples.get(axis, 1) for axis in axes]
    if all(extent % multiple == 0 for extent, multiple in zip(axes.values(), wanted, strict=True)):
        return
    output = lookup.output(sch, block)
    padded = [axis for axis, extent in axes.items() if extent % multiples.get(axis, 1)]
    lookup.check_sums_products(sch, block, padded)
    sch.pad_einsum(lookup.block(sch, block), wanted)
    crop = f"{output}_pad"
    if crop in lookup.blocks(sch) and sch.get_consumers(lookup.block(sch, crop)):
        sch.compute_inline(lookup.block(sch, crop))


# --- where and when a stage is computed -------------------------------------------------------


@step
def hoist_init(sch: Schedule, block: str, loop: str) -> None:
    """Set the sums to zero once, before ``loop``, not in a branch of the innermost body.

    before  for k, i, j:   if k == 0: C[i, j] = 0;   C[i, j] += A[i, k] * B[k, j]
    after   for i, j: C[i, j] = 0;   for k, i, j: C[i, j] += A[i, k] * B[k, j]
    needs   a reduction; no loop outside ``loop`` may be one of its reduction loops
    why     the branch costs instructions and hides the body from the vectorizer
    tvm     Schedule.decompose_reduction
    """
    sch.decompose_reduction(lookup.block(sch, block), lookup.loop(sch, block, loop))


@step
def fuse_consumer(sch: Schedule, consumer: str, *, into: str, at: str) -> None:
    """Compute what follows on each tile as soon as the tile is done.

    before  for tile: C[tile] = ...;         for all i, j: D[i, j] = exp(C[i, j])
    after   for tile: C[tile] = ...;  for i, j in tile: D[i, j] = exp(C[i, j])
    needs   ``consumer`` reads what ``into`` writes, one element at a time; the tile is complete
            at loop ``at``
    why     the tile is still in cache, or in registers, when it is read again
    tvm     Schedule.reverse_compute_at
    """
    lookup.check_complete(sch, into, at)
    lookup.check_consumer(sch, consumer, into)
    block, loop = lookup.block(sch, consumer), lookup.loop(sch, into, at)
    try:
        sch.reverse_compute_at(block, loop, preserve_unit_loops=True)
    except ValueError:  # not a ScheduleError, and in terms that only TVM's developers know
        raise StepError(
            f"fuse_consumer({consumer}): TVM finds no part of it for an iteration of {at}",
            expected=f"{consumer} reads one element of {lookup.output(sch, into)} for each that "
            "it writes",
            got=lookup.statement(sch, consumer),
            hint=f"move the writer: compute_per_iteration(sch, {into!r}, of={consumer!r}, at=...)",
        ) from None


@step
def compute_per_iteration(sch: Schedule, producer: str, *, of: str, at: str) -> None:
    """Compute, inside each iteration of ``at``, just the part of a stage that it needs.

    before  for all k, j: B_packed[...] = B[k, j];   for panel: ... use B_packed[panel] ...
    after   for panel: for k, j in panel: B_packed[...] = B[k, j];  ... use B_packed[panel] ...
    needs   ``of`` reads what ``producer`` writes, which runs in all iterations of its loops
    why     a panel written just before it is read never leaves the cache
    tvm     Schedule.compute_at
    """
    block, loop = lookup.block(sch, producer), lookup.loop(sch, of, at)
    outside = lookup.readers_outside(sch, producer, loop)
    if outside:
        raise StepError(
            f"compute_per_iteration({producer}): {outside[0]} still reads it outside loop {at}",
            expected=f"all readers of {producer} inside loop {at} of {of}",
            got=f"{', '.join(outside)} outside",
            hint=f"move {outside[0]} first",
        )
    sch.compute_at(block, loop, preserve_unit_loops=True)


@step
def inline(sch: Schedule, block: str) -> None:
    """Compute a block's elements where they are read, and drop the block.

    before  D[i, j] = exp(C[i, j]);   F[i, j] += D[i, k] * E[k, j]
    after   F[i, j] += exp(C[i, k]) * E[k, j]
    needs   an elementwise block whose result is not an output
    why     nothing is written and read again; but an element used often is computed as often
    tvm     Schedule.compute_inline
    """
    sch.compute_inline(lookup.block(sch, block))


@step
def merge(sch: Schedule, first: str, second: str, *, at: str) -> None:
    """Run two loop nests as one, their outer loops shared down to ``at``.

    before  for i: C[i, :] = ...;   for i: F[i, :] = ... C[i, :] ...
    after   for i: C[i, :] = ...;  F[i, :] = ... C[i, :] ...
    needs   both have a loop ``at`` of equal length; ``second`` needs only finished rows of
            ``first``, and nothing that is written between the two
    why     a row block of C is used while it is in cache
    tvm     Schedule.merge, which does not look at what is between the two nests
    """
    loops = [lookup.loop(sch, block, at) for block in (first, second)]
    late = lookup.late_producers(sch, first, second)
    if late:
        raise StepError(
            f"merge({first}, {second}): {second} would run before what it reads is written",
            expected=f"every producer of {second} inside or before the loops of {first}",
            got=f"{', '.join(late)} between them",
            hint=f"fuse_consumer(sch, {late[0]!r}, into={first!r}, at=...) before, or inline it",
        )
    if sch.get(loops[0]).same_as(sch.get(loops[1])):  # TVM would end the process
        raise AxisError(
            f"merge({first}, {second}): {at} is one loop around both already",
            expected="two loops",
            got=f"{at} around {first} and {second}",
            hint="name a loop that each of them has of its own",
        )
    sch.merge(*loops)


@step
def several_sums(sch: Schedule, block: str, loop: str, count: int) -> str:
    """Sum in ``count`` accumulators side by side, and add those up at the end.

    before  for k: s += x[k]
    after   for k_0, lane: s_rf[lane] += x[k_0 * 16 + lane];   for lane: s += s_rf[lane]
    needs   a reduction loop, innermost; count divides it; the order of the sum may change
    why     one sum waits for itself at every step; independent ones fill a vector
    tvm     Schedule.split, Schedule.rfactor, reorder; returns the new block's name
    """
    split(sch, block, loop, count)
    lanes = sch.rfactor(lookup.loop(sch, block, f"{loop}_1"), factor_axis=-1)
    around = sch.get_loops(lanes)
    sch.reorder(around[-2], around[-1])
    return str(sch.get(lanes).name_hint)


# --- how a loop is run ------------------------------------------------------------------------


@step
def vectorize(sch: Schedule, block: str, loop: str) -> None:
    """Run the iterations of a loop as lanes of vector instructions.

    before  for j in range(16):   C[j] += a * B[j]
    after   C[0:16] += a * B[0:16]
    needs   a spatial loop (no sum runs along it), constant length
    why     one AVX-512 instruction does 16 float32 at once
    tvm     Schedule.vectorize
    """
    lookup.check_spatial(sch, block, loop, "vectorize")
    sch.vectorize(lookup.loop(sch, block, loop))


@step
def unroll(sch: Schedule, block: str, loop: str) -> None:
    """Write out the iterations of a loop one after another.

    before  for i in range(4): C[i] += A[i] * b
    after   C[0] += A[0] * b;  C[1] += A[1] * b;  C[2] += A[2] * b;  C[3] += A[3] * b
    needs   constant length, best below 16; at most 4,096 copies of the body in all
    why     constant indices let the compiler keep an array in registers
    tvm     Schedule.unroll
    """
    copies = lookup.length(sch, block, loop) * lookup.copies(sch, block)
    if copies > MOST_COPIES:
        raise SizeError(
            f"unroll({block}, {loop}): too many copies of the body for a compiler",
            expected=f"at most {MOST_COPIES:,}",
            got=f"{copies:,}",
            hint="split the loop, and unroll the inner one",
        )
    sch.unroll(lookup.loop(sch, block, loop))


@step
def parallel(sch: Schedule, block: str, loop: str) -> None:
    """Share the iterations of a loop among the cores.

    before  for i in range(64):   body(i)
    after   each of p cores runs 64 / p of the iterations
    needs   a spatial loop, outermost; run it before ``hoist_init``, which hides the sum from TVM
    why     p cores have p times the arithmetic, and p private caches
    tvm     Schedule.parallel
    """
    lookup.check_spatial(sch, block, loop, "parallel")
    sch.parallel(lookup.loop(sch, block, loop))
