"""The micro-kernel: a register tile of C, summed over packed panels (GEBP).

Source: K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 2008;
F. Van Zee, R. van de Geijn, BLIS, ACM TOMS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.errors import SizeError
from mlc_course.machine import Machine
from mlc_course.tensor_program.schedule import data_steps, lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import plural

# Multiply-adds that a core has under way: two begin in each cycle, and each is done after four.
# Fewer sums than this leave its units idle; with more of them, a late operand is waited for less
# often. Latencies: A. Fog, Instruction tables. Measured on Zen 4 (2026-11-24): 8 sums reach 94 % of
# the peak, 10 reach 96 %, 12 all of it.
UNDER_WAY = 8
ENOUGH_SUMS = 12
MISSING = 0.015  # the time that each sum below ENOUGH_SUMS costs
# Registers for elements of the left operand. x86 broadcasts one from memory as it is needed; on Arm
# a multiply-add takes it from a register, and LLVM loads a few ahead: with 14 x 8 sums it runs out.
ELEMENTS = {"NEON": 4}
# The time of a load, as a part of that of a multiply-add: most are hidden behind it.
LOAD = 0.05
# The left operand is read where it is. Where its rows are a multiple of 4 KiB long, those of a tile
# compete for one set of the first cache, which has eight ways or more; two are for what passes by.
MOST_ROWS = 6
# Rows of a result up to which a copy of the right operand costs more than it saves.
FEW_ROWS = 8
# Rows of the right operand that are read side by side. Prefetchers follow about as many, and each
# sum is loaded and stored once for all of them: 16 are faster than 8 by a tenth (Zen 4, 2026-11).
STREAMS = 16
RUN = 128  # columns that are packed together: a row is read for 512 bytes before the next one,
SHORT_RUN = 64  # or for 256 bytes
MOST_VECTORS = 4  # in a row of a tile; wider ones waste more at the edges than they save
FLOAT_BYTES = 4
LEAST_VECTOR = 4  # elements
SMALLEST_L1, SMALLEST_L2 = 32 << 10, 256 << 10  # where the system does not tell


@dataclass(frozen=True)
class RegisterTile:
    """``rows`` x ``columns`` float32 of the result, held in vector registers during the sum."""

    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns}"


def register_tile(machine: Machine, rows: int = 0, columns: int = 0) -> RegisterTile:
    """The tile that wastes least, for a result of ``rows`` x ``columns`` (0: a large one).

    A tile of r rows and v vectors holds r * v sums, v vectors of the right operand and one element
    of the left one (on Arm a few). Of those that fit the registers it is the one with the least
    time per element: elements beyond the edges count, few sums leave the units idle, and each step
    of a sum loads r elements and v vectors for r * v multiply-adds.
    """
    fitting = [
        (r, v)
        for v in range(2, MOST_VECTORS + 1)
        for r in range(1, min(MOST_ROWS, most_rows(machine, v)) + 1)
    ]

    def time(tile: tuple[int, int]) -> float:
        r, v = tile
        waste = _padded(rows, r) * _padded(columns, v * machine.lanes)
        idle = max(1.0, UNDER_WAY / (r * v)) * (1 + MISSING * max(0, ENOUGH_SUMS - r * v))
        return waste * idle * (1 + LOAD * (r + v) / (r * v))

    r, v = min(fitting, key=time)
    return RegisterTile(r, v * machine.lanes)


def most_rows(machine: Machine, vectors: int) -> int:
    """The rows of the highest tile, so many vectors wide, that the registers hold."""
    return (machine.vector_registers - vectors - ELEMENTS.get(machine.isa, 1)) // vectors


def _registers(machine: Machine, rows: int, vectors: int) -> int:
    return rows * vectors + vectors + ELEMENTS.get(machine.isa, 1)


def _padded(length: int, part: int) -> float:
    """Length rounded up to whole parts / length; 1 for length 0."""
    return -(-length // part) * part / length if length else 1.0


def why_tile(machine: Machine, tile: RegisterTile) -> str:
    """The reason for a tile: what it fills the registers with."""
    vectors = tile.columns // machine.lanes
    elements = ELEMENTS.get(machine.isa, 1)
    return (
        f"{tile}: {tile.rows * vectors} vectors of sums, {vectors} of B and "
        f"{plural(elements, 'element')} of A fill {_registers(machine, tile.rows, vectors)} of "
        f"{machine.vector_registers} registers"
    )


@dataclass(frozen=True)
class Product:
    """A block that computes ``left @ right``, with its loops: row, column, reduction."""

    block: str
    left: str
    right: str
    row: str
    column: str
    inner: str


def tile_for(machine: Machine, sch: Schedule, p: Product) -> RegisterTile:
    """The register tile for a product of a schedule, as long as its loops are whole."""
    axes = lookup.axes(sch, p.block)
    return register_tile(machine, axes[p.row], axes[p.column])


def register_tiles(
    sch: Schedule, p: Product, tile: RegisterTile, *, rows_outermost: bool = False
) -> None:
    """Cut the product into register tiles: for each panel, for each tile in it, the sum.

    A panel is as wide as a tile, and as long as the result: of columns, or of rows.
    """
    steps.pad(sch, p.block, **{p.row: tile.rows, p.column: tile.columns})
    panels = {p.row: tile.rows, p.column: tile.columns}
    if not rows_outermost:
        panels = dict(reversed(panels.items()))
    steps.tile(sch, p.block, **panels)
    steps.reorder(sch, p.block, p.inner, f"{p.row}_1", f"{p.column}_1")


def micro_kernel(
    sch: Schedule,
    p: Product,
    tile: RegisterTile,
    *,
    pack_left: bool = False,
    unrolled: bool = True,
    per_panel: bool = False,
    rows_outermost: bool = False,
    together: int = 1,
    fast_exp: bool = False,
) -> None:
    """Compute a product in register tiles, with its panels shared among the cores.

    ``pack_left``  lay A out in panels as well as B; else it is read where it is
    ``unrolled``   write the tile's rows out, so that its sums live in registers
    ``rows_outermost``  go through all columns for a panel of rows: the left operand's panel stays
        in the caches, and the right operand streams by, vector by vector; else the other way
    ``together``   as many panels stay at once, so that what streams by is read less often
    ``per_panel``  pack the panels that stay just before they are used
    ``fast_exp``   compute an exp that follows the product as a polynomial
    """
    if together < 1:
        raise SizeError(
            "micro_kernel: too few panels stay",
            expected="together >= 1",
            got=together,
            hint="panels(machine, tile, ...).number suits the second cache",
        )
    register_tiles(sch, p, tile, rows_outermost=rows_outermost)
    right = data_steps.pack(sch, p.block, p.right, along=p.column, panel=tile.columns)
    left = data_steps.pack(sch, p.block, p.left, along=p.row, panel=tile.rows) if pack_left else ""
    stays, streams = (left, right) if rows_outermost else (right, left)
    outermost, innermost = (f"{loop}_0" for loop in _panels(p, rows_outermost=rows_outermost))
    if together > 1:
        steps.split(sch, p.block, outermost, together, partial=True)
        steps.reorder(sch, p.block, innermost, f"{outermost}_1")
        outermost, innermost = f"{outermost}_0", f"{outermost}_1"
    writer = data_steps.accumulate_locally(sch, p.block, at=innermost)
    if fast_exp:
        polynomial_exp(sch, writer)
    steps.parallel(sch, p.block, outermost)
    if rows_outermost and streams:
        steps.parallel(sch, streams, lookup.loops(sch, streams)[0])
    if per_panel and stays:
        steps.compute_per_iteration(sch, stays, of=p.block, at=outermost)
        if not rows_outermost:
            _vectors_of_panels(sch, stays, tile.columns)
    if unrolled:
        steps.unroll(sch, p.block, f"{p.row}_1")
    in_vectors(sch, p.block, f"{p.column}_1", unrolled=unrolled)
    steps.hoist_init(sch, p.block, p.inner)
    for block in (f"{p.block}_init", writer):
        if lookup.is_exp(sch, block):
            continue  # calls of the C library: written out, they leave LLVM no registers for sums
        *_, rows, columns = lookup.loops(sch, block)
        if unrolled:
            steps.unroll(sch, block, rows)
        in_vectors(sch, block, columns, unrolled=unrolled)
    read_in_place(sch, p)


def read_in_place(sch: Schedule, p: Product) -> None:
    """Read the left operand where it is, unless it is packed; ``pad`` has made a copy of it."""
    if lookup.is_padded(sch, f"{p.block}_update", p.left):
        data_steps.clamp(sch, f"{p.block}_update", p.left)


def _panels(p: Product, *, rows_outermost: bool) -> tuple[str, str]:
    """The loop along which panels stay, and the one along which the other operand streams by."""
    return (p.row, p.column) if rows_outermost else (p.column, p.row)


def _vectors_of_panels(sch: Schedule, copy: str, panel: int) -> None:
    """Copy the rows of panels vector by vector, which moving the copy has undone."""
    columns = lookup.loops(sch, copy)[-1]
    length = lookup.length(sch, copy, columns)
    if length % panel == 0:
        steps.split(sch, copy, columns, panel)
        in_vectors(sch, copy, f"{columns}_1", unrolled=False)


def stream_rows(sch: Schedule, p: Product, machine: Machine) -> None:
    """Compute a product with few rows as its right operand passes by, once and where it stands.

    A few rows of the right operand are read at a time, from end to end, and added to every row of
    the result, which stays in the first cache. Nothing is packed: each element of the right operand
    is used as often as there are rows, too seldom to pay for a copy.
    """
    axes = lookup.axes(sch, p.block)
    rows, columns = axes[p.row], axes[p.column]
    nearest = (machine.l1d_bytes or SMALLEST_L1) // (2 * FLOAT_BYTES * rows)
    part = min(max(1, nearest), max(1, -(-columns // machine.cores)))
    steps.split(sch, p.block, p.inner, min(STREAMS, axes[p.inner]), partial=True)
    steps.split(sch, p.block, p.column, min(part, columns), partial=True)
    inner, column = (f"{loop}_{{}}".format for loop in (p.inner, p.column))
    steps.reorder(sch, p.block, column(0), inner(0), p.row, column(1), inner(1))
    steps.parallel(sch, p.block, column(0))
    steps.unroll(sch, p.block, inner(1))
    steps.hoist_init(sch, p.block, inner(0))


@dataclass(frozen=True)
class Panels:
    """Which panels of a product stay in the second cache while the other operand streams by.

    ``number`` of them, of ``rows`` of the left operand or of columns of the right one, each
    ``inner`` long.
    """

    rows: bool
    number: int
    width: int
    inner: int

    @property
    def bytes(self) -> int:
        return FLOAT_BYTES * self.number * self.width * self.inner


def panels(
    machine: Machine, tile: RegisterTile, rows: int, columns: int, inner: int, *, left: bool
) -> Panels:
    """The panels that stay, of the left or of the right operand, for a product of these sizes.

    With several panels the other operand is read less often. They fill an eighth of the second
    cache, which the rest of the work goes through, too: a quarter was 1 to 3 % slower with 256-bit
    vectors. If all that streams by fits into half of the cache, it may be read as often as there
    are panels: one stays. Panels of columns are as many as are packed together, so that the rows
    that they come from are read in long runs if a third of the cache has room for them, else in
    short ones.
    """
    cache, width = machine.l2_bytes or SMALLEST_L2, tile.rows if left else tile.columns
    panel, streams = FLOAT_BYTES * inner * width, FLOAT_BYTES * inner * (columns if left else rows)
    several = cache // 8 // panel if streams > cache // 2 else 1
    fitting = max(cache // 3 // panel, min(SHORT_RUN // width, cache // panel))
    runs = 1 if left else min(RUN // width, fitting)
    there_are = -(-(rows if left else columns) // width)
    return Panels(left, max(1, min(there_are, max(several, runs))), width, inner)


def why_panels(machine: Machine, chosen: Panels) -> str:
    """The reason for the panels that stay: what of the second cache they fill."""
    what = "rows of A" if chosen.rows else "columns of B"
    known = f"of {machine.l2_bytes >> 10:,} KiB" if machine.l2_bytes else "of unknown size"
    filled = chosen.bytes / 1024
    return (
        f"{plural(chosen.number, 'panel')} of {chosen.width} {what}, "
        f"{format(filled, ',.0f' if filled >= 100 else '.3g')} KiB, with a second cache {known}; "
        f"each sum runs over all of k = {chosen.inner:,}"
    )


def left_is_larger(sch: Schedule, p: Product) -> bool:
    """Tell whether the left operand of a product is at least as large as the right one."""
    axes = lookup.axes(sch, p.block)
    return axes[p.row] >= axes[p.column]


def few_panels(
    sch: Schedule, p: Product, machine: Machine, *, left: bool = False, fast_exp: bool = False
) -> None:
    """Compute a product while a few panels of one operand stay, and all of the other streams by."""
    tile, axes = tile_for(machine, sch, p), lookup.axes(sch, p.block)
    sizes = axes[p.row], axes[p.column], axes[p.inner]
    micro_kernel(
        sch,
        p,
        tile,
        per_panel=True,
        rows_outermost=left,
        together=panels(machine, tile, *sizes, left=left).number,
        fast_exp=fast_exp,
    )


def by_shape(sch: Schedule, p: Product, machine: Machine, *, fast_exp: bool = False) -> None:
    """Compute a product in the way that suits its sizes.

    With few rows nothing is packed. Else the larger operand stays, a few panels at a time, and the
    smaller one streams by, so that less comes from far away.
    """
    if lookup.axes(sch, p.block)[p.row] > FEW_ROWS:
        larger = left_is_larger(sch, p)
        few_panels(sch, p, machine, left=larger, fast_exp=fast_exp)
        return
    if fast_exp:
        after = lookup.between(sch, p.block, "")
        polynomial_exp(sch, after[0] if after else p.block)  # which says what it needs
    stream_rows(sch, p, machine)


def in_vectors(sch: Schedule, block: str, columns: str, *, unrolled: bool = True) -> None:
    """Make vectors of a loop; LLVM needs powers of two, and takes apart what no register holds.

    ``unrolled``  write the vectors out, if they are several
    """
    length = lookup.length(sch, block, columns)
    vector = lookup.power_of_two(length, at_most=length)
    if vector < LEAST_VECTOR:
        return  # LLVM makes vectors and a remainder of such a loop
    if vector < length:
        steps.split(sch, block, columns, vector)
        if unrolled:
            steps.unroll(sch, block, f"{columns}_0")
        columns = f"{columns}_1"
    steps.vectorize(sch, block, columns)
