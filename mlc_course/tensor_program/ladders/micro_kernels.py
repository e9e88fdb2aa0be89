"""The micro-kernel: a register tile of C, summed over packed panels (GEBP).

Source: K. Goto, R. van de Geijn, Anatomy of High-Performance Matrix Multiplication, ACM TOMS 2008;
F. Van Zee, R. van de Geijn, BLIS, ACM TOMS 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.machine import Machine
from mlc_course.tensor_program.schedule import data_steps, lookup, polynomial_exp, steps
from mlc_course.tensor_program.tir import Schedule
from mlc_course.units import plural

# Multiply-adds that a core has under way: two begin in each cycle, and each is done after four, on
# Intel before Skylake after five. Fewer sums than this leave its units idle. Latencies: A. Fog,
# Instruction tables. Measured on Zen 4 (2026-11-24): 8 sums reach 94 % of the peak, 10 reach 96 %,
# 12 all of it.
SUMS = 10
# Registers for elements of the left operand. x86 broadcasts one from memory as it is needed; on Arm
# a multiply-add takes it from a register, and LLVM loads a few ahead: with 14 x 8 sums it runs out.
ELEMENTS = {"NEON": 4}
# A row block reads the whole right operand once, vector by vector. Of the time of one multiply-add
# this is what each such vector costs if it comes from a cache far away.
STREAMED = 0.25
# Rows of a tile are written out. More than these gain nothing (Zen 4, AVX-512: 8 x 32 and 13 x 32
# are equal), and make programs larger than a grader admits.
MOST_ROWS = 8
# Rows of a result up to which a copy of the right operand costs more than it saves.
FEW_ROWS = 8
# Rows of the right operand that are read side by side; prefetchers follow about as many.
STREAMS = 8
LEAST_PART = 256  # columns that are worth a thread
FLOAT_BYTES = 4
SMALLEST_L2 = 256 << 10  # where the system does not tell


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
    time per element: elements beyond the edges count, sums fewer than ``SUMS`` leave the units
    idle, and few rows mean that the right operand is read often.
    """
    fitting = [
        (r, v)
        for v in range(2, machine.vector_registers)
        for r in range(1, MOST_ROWS + 1)
        if _registers(machine, r, v) <= machine.vector_registers
    ]

    def time(tile: tuple[int, int]) -> float:
        r, v = tile
        waste = _padded(rows, r) * _padded(columns, v * machine.lanes)
        return waste * max(1.0, SUMS / (r * v)) * (1 + STREAMED / r)

    r, v = min(fitting, key=time)
    return RegisterTile(r, v * machine.lanes)


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
    pack_right: bool = True,
    pack_left: bool = False,
    unrolled: bool = True,
    per_panel: bool = False,
    rows_outermost: bool = False,
    fast_exp: bool = False,
) -> None:
    """Compute a product in register tiles, with its panels shared among the cores.

    ``pack_right``, ``pack_left``  lay the operands out in panels (else B is copied unchanged)
    ``unrolled``   write the tile's rows out, so that its sums live in registers
    ``rows_outermost``  go through all columns for a panel of rows: the left operand's panel stays
        in the caches, and the right operand streams by, vector by vector; else the other way
    ``per_panel``  pack each panel of the operand that stays just before it is used
    ``fast_exp``   compute an exp that follows the product as a polynomial
    """
    register_tiles(sch, p, tile, rows_outermost=rows_outermost)
    panel, other = (p.row, p.column) if rows_outermost else (p.column, p.row)
    if pack_right:
        right = data_steps.pack(sch, p.block, p.right, along=p.column, panel=tile.columns)
    else:
        right = data_steps.stage(sch, p.block, p.right)
    left = data_steps.pack(sch, p.block, p.left, along=p.row, panel=tile.rows) if pack_left else ""
    writer = data_steps.accumulate_locally(sch, p.block, at=f"{other}_0")
    if fast_exp:
        polynomial_exp(sch, writer)
    stays, streams = (left, right) if rows_outermost else (right, left)
    steps.parallel(sch, p.block, f"{panel}_0")
    if rows_outermost and streams:
        steps.parallel(sch, streams, lookup.loops(sch, streams)[0])
    if per_panel and stays:
        steps.compute_per_iteration(sch, stays, of=p.block, at=f"{panel}_0")
    if unrolled:
        steps.unroll(sch, p.block, f"{p.row}_1")
    _vectorize(sch, p.block, f"{p.column}_1", unrolled=unrolled)
    steps.hoist_init(sch, p.block, p.inner)
    for block in (f"{p.block}_init", writer):
        *_, rows, columns = lookup.loops(sch, block)
        if unrolled:
            steps.unroll(sch, block, rows)
        _vectorize(sch, block, columns, unrolled=unrolled)


def stream_rows(sch: Schedule, p: Product) -> None:
    """Compute a product with few rows as its right operand passes by, once and where it stands.

    A few rows of the right operand are read at a time, from end to end, and added to every row of
    the result, which is small enough to stay in a cache. Nothing is packed: each element of the
    right operand is used as often as there are rows, too seldom to pay for a copy.
    """
    axes = lookup.axes(sch, p.block)
    together = lookup.divisor(axes[p.inner], at_most=STREAMS)
    steps.split(sch, p.block, p.inner, together)
    parts = lookup.divisor(axes[p.column], at_most=max(1, axes[p.column] // LEAST_PART))
    steps.split(sch, p.block, p.column, axes[p.column] // parts)
    inner, column = (f"{loop}_{{}}".format for loop in (p.inner, p.column))
    steps.reorder(sch, p.block, column(0), inner(0), p.row, column(1), inner(1))
    steps.parallel(sch, p.block, column(0))
    steps.unroll(sch, p.block, inner(1))
    steps.hoist_init(sch, p.block, inner(0))


def left_is_larger(sch: Schedule, p: Product) -> bool:
    """Tell whether the left operand of a product is at least as large as the right one."""
    axes = lookup.axes(sch, p.block)
    return axes[p.row] >= axes[p.column]


def by_shape(sch: Schedule, p: Product, machine: Machine, *, fast_exp: bool = False) -> None:
    """Compute a product in the way that suits its sizes.

    With few rows the right operand is not packed at all. A left operand of no more rows than there
    are columns passes by where it stands, if it fits half of the second cache; so does one whose
    rows are so long that a panel would fill a quarter of it. Else the larger operand stays, panel
    by panel, and the smaller one passes by, so that less comes from far away.
    """
    axes = lookup.axes(sch, p.block)
    rows, columns, inner = axes[p.row], axes[p.column], axes[p.inner]
    if rows <= FEW_ROWS:
        if fast_exp:
            polynomial_exp(sch, lookup.between(sch, p.block, "")[0])
        stream_rows(sch, p)
        return
    tile, second_cache = tile_for(machine, sch, p), machine.l2_bytes or SMALLEST_L2
    small = rows <= columns and FLOAT_BYTES * rows * inner <= second_cache // 2
    long = FLOAT_BYTES * tile.rows * inner > second_cache // 4
    in_place = small or long
    micro_kernel(
        sch,
        p,
        tile,
        pack_left=not in_place,
        per_panel=True,
        rows_outermost=not in_place and left_is_larger(sch, p),
        fast_exp=fast_exp,
    )


def _vectorize(sch: Schedule, block: str, columns: str, *, unrolled: bool) -> None:
    """Make vectors of a loop; LLVM needs powers of two, and takes apart what no register holds."""
    length = lookup.length(sch, block, columns)
    vector = lookup.power_of_two(length, at_most=length)
    if vector < length:
        steps.split(sch, block, columns, vector)
        if unrolled:
            steps.unroll(sch, block, f"{columns}_0")
        columns = f"{columns}_1"
    steps.vectorize(sch, block, columns)
