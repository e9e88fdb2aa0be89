"""The programs of this lesson, in sizes that follow from the machine's registers and caches."""

from __future__ import annotations

from collections.abc import Callable

from mlc_course.machine import Machine
from mlc_course.tensor_program.ladders import MATMUL, RegisterTile, micro_kernel, register_tile
from mlc_course.tensor_program.memory import Cache, count, levels
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.processor import Assembly, assembly
from mlc_course.tensor_program.schedule import lookup, steps
from mlc_course.tensor_program.tir import Schedule

SIDE = 1024  # rows of A and columns of B
DEEPEST = 2048  # the longest sum
FLOAT_BYTES = 4
# A second cache larger than this may hold all of B, and then nothing is learned from it.
LARGEST_CACHE = 2 << 20
USUAL_CACHE = Cache(1 << 20, 16)
COUNTED_ROWS = 4  # tiles, one below the other: enough to see how often a panel is fetched
# Rows of the result x vectors. Those with few sums wait; the last one fits into no registers.
TILES = ((1, 1), (4, 1), (2, 2), (4, 2), (6, 2), (4, 4), (16, 4))
# Each side of a tile divides these: no tile computes beyond the edge.
TILED_SIZES = (480, 1024, 768)


def lesson_tile(machine: Machine) -> RegisterTile:
    """Return the machine's best tile with sides cut to divisors of ``SIDE``."""
    best = register_tile(machine)
    rows = lookup.divisor(SIDE, at_most=best.rows)
    return RegisterTile(rows, lookup.power_of_two(SIDE, at_most=best.columns))


def second_cache(machine: Machine) -> Cache:
    """Return the machine's second cache, or a usual one where it has none or a very large one."""
    known = levels(machine)
    large = len(known) < 2 or known[1].bytes > LARGEST_CACHE
    return USUAL_CACHE if large else known[1]


def panel_bytes(tile: RegisterTile, depth: int, line: int = 64) -> int:
    """Return the bytes of the lines that hold a panel whose rows are far apart."""
    return depth * max(FLOAT_BYTES * tile.columns, line)


def sum_length(machine: Machine, tile: RegisterTile) -> int:
    """Return the longest sum, a power of two, whose panel fills at most half the second cache."""
    fitting = second_cache(machine).bytes // 2 // panel_bytes(tile, 1)
    return lookup.power_of_two(DEEPEST, at_most=min(fitting, DEEPEST))


def wider(tile: RegisterTile, line: int = 64) -> int:
    """Return ``SIDE`` columns and one panel more, of a whole line at least."""
    return SIDE + max(tile.columns, line // FLOAT_BYTES)


def finish(sch: Schedule, writer: str) -> None:
    """Write each tile's rows out, make vectors of its columns, and set its sums to zero first."""
    steps.unroll(sch, "C", "m_1")
    steps.vectorize(sch, "C", "n_1")
    steps.hoist_init(sch, "C", "k")
    for block in ("C_init", writer):
        *_, rows, columns = lookup.loops(sch, block)
        steps.unroll(sch, block, rows)
        steps.vectorize(sch, block, columns)


def scheduled(apply: Callable[[Schedule], None], sizes: tuple[int, int, int]) -> Schedule:
    """Return the schedule of a product of these sizes (M, K, N) after ``apply``."""
    sch = Schedule(matmul(*sizes).program())
    apply(sch)
    return sch


def fetched(
    apply: Callable[[Schedule], None], sizes: tuple[int, int, int], machine: Machine
) -> int:
    """Return the bytes that the second cache fetches, counted address by address."""
    first = levels(machine)[0]
    return count(scheduled(apply, sizes).mod, first, second_cache(machine))[1].bytes_moved


def kernel(rows: int, vectors: int, machine: Machine) -> Callable[[Schedule], None]:
    """Return the packed product in tiles of ``rows`` x ``vectors`` registers."""
    tile = RegisterTile(rows, vectors * machine.lanes)
    return lambda sch: micro_kernel(sch, MATMUL, tile, per_panel=True)


def multiply_adds(found: Assembly) -> int:
    """Return the multiply-adds of the hot loop; where there is no such instruction, the pairs."""
    return found.multiply_adds or found.histogram()["arithmetic"] // 2


def loads_each(found: Assembly) -> float:
    """Return the loads of the hot loop for each of its multiply-adds."""
    return found.loads / max(multiply_adds(found), 1)


def counted(tiles: tuple[tuple[int, int], ...], machine: Machine) -> dict[str, Assembly]:
    """Return the instructions of the packed product in each of these tiles, by the tile's name."""
    return {name(tile): assembly(scheduled(kernel(*tile, machine), TILED_SIZES)) for tile in tiles}


def name(tile: tuple[int, int]) -> str:
    """Return ``4 x 2`` for four rows of two vectors."""
    return f"{tile[0]} x {tile[1]}"


def fits(tile: tuple[int, int], registers: int) -> bool:
    """Return True where the sums, a row of B and an element of A have a register each."""
    rows, vectors = tile
    return rows * vectors + vectors + 1 <= registers


def slots(tile: tuple[int, int]) -> float:
    """Return the least time of a step per multiply-add, as a part of what the units could do.

    A core that begins two loads and two multiply-adds in a cycle, and ends each four cycles later,
    needs this many times as long as for multiply-adds alone.
    """
    rows, vectors = tile
    return max(1.0, (rows + vectors) / (rows * vectors), 8 / (rows * vectors))
