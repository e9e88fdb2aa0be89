"""Demands of the check cells of this lesson's exercises."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from mlc_course.exercise import (
    Program,
    UnmetCheck,
    breaks,
    called,
    check,
    computes,
    given,
    holds,
    misses,
    returns,
    scheduled,
    shown,
    spills,
)
from mlc_course.lessons.kit import check_work, multiply_adds
from mlc_course.machine import describe
from mlc_course.tensor_program.memory import address_trace
from mlc_course.tensor_program.problems import Array, matmul
from mlc_course.tensor_program.processor import Assembly
from mlc_course.tensor_program.tir import (
    Call,
    TensorLoad,
    Touch,
    accesses,
    every_step,
    main_function,
    name_of,
    operands,
    tirx,
    walk,
)

PANEL = 64  # columns
PANEL_ROWS = 16  # of a panel of A
ALLOWED = ("tirx.fma",)
ROWS, VECTORS = 4, 3  # of the tile in the bug hunt
MOST_LOADS = 0.6
NO_ROOM = "the sums have registers enough: how wide is each vector that the program asks for?"


# --- 1. Other machines, other tiles ---------------------------------------------------------------


def tiles(mine: Any) -> None:
    """Check the tile of each machine: it fits, and none that fits loads less."""
    check(given(mine), fewest_loads("AVX2", 16, 8), fewest_loads("NEON", 32, 4))


def fewest_loads(machine: str, registers: int, lanes: int) -> Any:
    """Return the check that a tile fits into these registers and loads as seldom as possible."""

    def look(answer: Any) -> str:
        rows, vectors = _tile(answer, machine, lanes)
        needed = rows * vectors + vectors + 1
        if needed > registers:
            raise UnmetCheck(
                f"{machine}: the tile does not fit in the registers",
                expected=f"at most {registers}",
                got=f"{rows} x {vectors} sums, {vectors} of B and 1 of A: {needed}",
            )
        loads = _loads(rows, vectors)
        least = min(
            _loads(r, v)
            for r in range(1, registers)
            for v in range(1, registers)
            if r * v + v + 1 <= registers
        )
        if loads > least + 1e-9:
            raise UnmetCheck(
                f"{machine}: the tile fits, and another one that fits loads less",
                expected="the fewest loads for each multiply-add",
                got=f"{rows} x {vectors} vectors: {loads:.3f} loads",
                hint="for each number of vectors, which is the highest tile that fits?",
            )
        return f"{machine}: {needed} of {registers} registers, and no tile that fits loads less"

    return holds(look)


def _loads(rows: int, vectors: int) -> float:
    return (rows + vectors) / (rows * vectors)


def _tile(answer: Any, machine: str, lanes: int) -> tuple[int, int]:
    form = '{"AVX2": (rows, columns), "NEON": (rows, columns)}'
    if type(answer) is not dict or sorted(answer) != ["AVX2", "NEON"]:
        raise UnmetCheck("not a tile for each machine", expected=form, got=shown(answer))
    tile = answer[machine]
    whole = type(tile) is list and len(tile) == 2 and all(type(n) is int and n > 0 for n in tile)
    if not whole:
        raise UnmetCheck(
            f"{machine}: not a tile", expected="(rows, columns), whole", got=shown(tile)
        )
    if tile[1] % lanes:
        raise UnmetCheck(
            f"{machine}: the columns do not fill whole vectors",
            expected=f"a multiple of {lanes}",
            got=shown(tile[1]),
            hint="count columns, not vectors",
        )
    return tile[0], tile[1] // lanes


# --- 2. Pack the other operand --------------------------------------------------------------------


def packed_left(mine: Any) -> None:
    """Check that C reads panels of A, and that the program misses seldom enough.

    With one copy of A the program that is given misses 25,632 times or less, with a copy for each
    tile 77,888 times. The misses cannot tell whether A is packed: k-m-n without a copy has 18,978.
    """
    check(scheduled(mine, matmul(16, 1024, 32)), computes(), holds(reads_panels), misses(30_000))


def reads_panels(program: Program) -> str:
    """Return which copy of A is multiplied; raise ``UnmetCheck`` for another layout.

    The loads and stores of the program count, whatever its blocks declare: each factor that comes
    from A is read from a copy in panels, and the copy is made in this layout.
    """
    function = main_function(program.module)
    a, result = function.params[0], function.params[-1]
    rows, depth = program.problem.operands[0].shape
    wanted = [rows // PANEL_ROWS, depth, PANEL_ROWS]
    stores = [t for t in every_step(walk(function)) if isinstance(t, Touch) and t.writes]
    copies = {t.buffer for t in stores if _is_load(t.value, a) and not t.buffer.same_as(result)}
    panels = {each for each in copies if _shape(each) == wanted}
    factors = [pair for t in stores for pair in _products(t.value)]
    for pair in factors:
        if sum(_is_load(each, *panels) for each in pair) != 1:
            read = {each.source for side in pair for each in _loaded(side)}
            other = next((each for each in read if each in copies), None)
            if other is not None:
                raise UnmetCheck(
                    f"C reads {other.name}, which has another layout",
                    expected=f"{wanted}: panels, rows, places",
                    got=_shape(other),
                    hint="transform_layout on what C reads; m // 16 first, m % 16 last",
                )
            raise UnmetCheck(
                "C reads A in place",
                expected=f"a private copy of A, {wanted}",
                got=", ".join(f"{each.name} {_shape(each)}" for each in sorted(read, key=str))
                or "no product of an element of A and one of B",
                hint="cache_read makes a copy; which place among what C reads does A have?",
            )
    if not factors or (others := _other_arithmetic(stores)):
        raise UnmetCheck(
            "C is computed in another way",
            expected="sums of products, each of an element of the panels and one of B",
            got=", ".join(others) if factors else "no product",
        )
    _check_copy(program, str(a.name), depth)
    name = ", ".join(sorted(str(each.name) for each in panels))
    return f"C reads {name} {wanted}"


def _shape(buffer: Any) -> list[int]:
    return [int(n) for n in buffer.shape]


def _is_load(value: Any, *buffers: Any) -> bool:
    """Tell whether a value is one element of one of these buffers, and nothing else."""
    return isinstance(value, TensorLoad) and any(value.source.same_as(each) for each in buffers)


def _parts(value: Any) -> Iterator[Any]:
    """Yield an expression and all that is in it, but for the indices of what it loads."""
    yield value
    for each in () if isinstance(value, TensorLoad) else operands(value):
        yield from _parts(each)


def _loaded(value: Any) -> list[Any]:
    return [each for each in _parts(value) if isinstance(each, TensorLoad)]


def _products(value: Any) -> list[tuple[Any, Any]]:
    """Return the two factors of each product of floats in an expression."""
    found = [each for each in _parts(value) if "float" in str(each.ty.dtype)]
    fused = [each for each in found if isinstance(each, Call) and name_of(each) == "tirx.fma"]
    return [(each.a, each.b) for each in found if isinstance(each, tirx.Mul)] + [
        (each.args[0], each.args[1]) for each in fused
    ]


def _other_arithmetic(stores: list[Touch]) -> list[str]:
    """Return what is computed besides sums and products: more ways to hide a factor."""
    known = (tirx.Add, tirx.Mul, TensorLoad, tirx.FloatImm)
    parts = [each for t in stores for each in _parts(t.value) if "float" in str(each.ty.dtype)]
    odd = [
        name_of(each) if isinstance(each, Call) else type(each).__name__
        for each in parts
        if not isinstance(each, known) and not (isinstance(each, Call) and name_of(each) in ALLOWED)
    ]
    return list(dict.fromkeys(odd))


def _check_copy(program: Program, name: str, depth: int) -> None:
    """Raise ``UnmetCheck`` unless each read of A is put into its place in a panel."""
    trace = address_trace(program.module, ())
    size = np.array([each.element_bytes for each in trace.buffers])
    start = np.array([each.start for each in trace.buffers])
    owners = trace.owners
    elements = (trace.addresses - start[owners]) // size[owners]
    names = [each.name for each in trace.buffers]
    reads = np.flatnonzero(owners == names.index(name))
    places = elements[np.minimum(reads + 1, len(elements) - 1)]  # of what is stored next
    row, column = np.divmod(elements[reads], depth)
    wanted = column * PANEL_ROWS + row % PANEL_ROWS
    if not np.array_equal(places % (depth * PANEL_ROWS), wanted):
        wrong = int(np.flatnonzero(places % (depth * PANEL_ROWS) != wanted)[0])
        raise UnmetCheck(
            "the copy of A has another order",
            expected=f"A[{row[wrong]}, {column[wrong]}] at place {row[wrong] % PANEL_ROWS} of row "
            f"{column[wrong]} of its panel",
            got=f"row {places[wrong] // PANEL_ROWS % depth}, place {places[wrong] % PANEL_ROWS}",
            hint="m // 16 first, then k, and m % 16 last",
        )


# --- 3. Bug hunt: sums that fit, and spill --------------------------------------------------------


def without_spills(mine: Any) -> None:
    """Check the tile of 4 x 3 vectors: nothing on the stack, full vectors, few loads."""
    check(
        scheduled(mine, matmul(64, 256, 192)),
        computes(),
        holds(same_tile),
        holds(full_vectors, kind="counted"),
        spills(spill_room(), hint=NO_ROOM),
        holds(few_loads, kind="counted"),
    )


def spill_room() -> int:
    """Return the spills that are allowed: without a multiply-add, each product needs a place."""
    return 16 if describe().isa == "SSE" else 0


def same_tile(program: Program) -> str:
    """Return the size of the tile inside the loop k; raise ``UnmetCheck`` for another one.

    The loop k is the innermost loop of more than one turn along which the sums stay where they are.
    """
    sums = [each for each in accesses(program.module) if each.block in ("C", "C_update")]
    stores = [each for each in sums if each.writes and any(s == 0 for _, s in each.turning)]
    turning = max((each.turning for each in stores), key=len, default=())
    last = max((i for i, (_, stride) in enumerate(turning) if stride == 0), default=-1)
    inner = [loop for loop, _ in turning[last + 1 :]] if stores else []
    size, wanted = prod(loop.extent for loop in inner), ROWS * VECTORS * describe().lanes
    if size != wanted:
        raise UnmetCheck(
            "another tile is summed inside the loop k",
            expected=f"{ROWS} rows of {VECTORS} vectors: {wanted} elements",
            got=f"{size} elements, in the loops {', '.join(x.name for x in inner) or '(none)'}",
            hint="keep the tile; change how its rows are cut into vectors",
        )
    return f"inside k, {ROWS} rows of {VECTORS} vectors"


def full_vectors(program: Program) -> str:
    """Return how wide the vectors are; raise ``UnmetCheck`` where registers are not full."""
    found, lanes = min(program.busy_loops, key=lambda loop: loop.lanes), describe().lanes
    if found.lanes < lanes:
        raise UnmetCheck(
            "the vectors are shorter than a register",
            expected=f"{lanes} float32 in each instruction",
            got=found.lanes,
            hint="vectorize a loop of as many columns as a register has lanes",
        )
    return f"the hot loop computes on {found.lanes} float32 at once"


def few_loads(program: Program) -> str:
    """Return what the hot loop does; raise ``UnmetCheck`` where it loads too often."""
    check_work(program)
    busy = program.busy_loops
    found = max(busy, key=_loads_each)
    if any(each.multiply_adds for each in busy) and _loads_each(found) > MOST_LOADS:
        raise UnmetCheck(
            "the hot loop loads too often",
            expected=f"at most {MOST_LOADS} loads for each multiply-add, as a tile of 4 x 3 needs",
            got=f"{_loads_each(found):.2f}: {found.loads} loads, "
            f"{multiply_adds(found)} multiply-adds",
            hint="are the sums loaded too, or is the tile smaller?",
        )
    return f"{found.multiply_adds} multiply-adds, {found.loads} loads"


def _loads_each(loop: Assembly) -> float:
    return loop.loads / multiply_adds(loop)


# --- 4. Bug hunt: one line of NumPy ---------------------------------------------------------------


def shapes(mine: Any) -> None:
    """Check the two shapes: one on which the line is wrong, one on which it is right by luck."""
    check(
        given(mine),
        breaks("the line packs every B right", _still_right),
        breaks("the line is wrong on every B of two panels or more", _still_wrong),
    )


def panels(b: Array) -> Array:
    """Return the panels of 64 columns of b (K, N), one after another: (N / 64, K, 64)."""
    return np.stack([b[:, left : left + PANEL] for left in range(0, b.shape[1], PANEL)])


def packed(mine: Any) -> None:
    """Check the repaired line on a small matrix of two panels."""
    small, four = np.arange(256.0).reshape(2, 128), np.arange(8.0).reshape(2, 4)
    by_twos = np.array([[[0.0, 1], [4, 5]], [[2, 3], [6, 7]]])
    moved = "which row of B does the second row of the first panel come from?"
    check(
        called(mine),
        returns(small, 64, result=panels(small), hint=moved),
        returns(four, 2, result=by_twos, hint="panels of two columns"),
    )


def _line_is_right(answer: Any, name: str) -> bool:
    if type(answer) is not dict or sorted(answer) != ["fails", "passes"]:
        form = '{"fails": (K, N), "passes": (K, N)}'
        raise UnmetCheck("not two shapes", expected=form, got=shown(answer))
    shape = answer[name]
    whole = type(shape) is list and len(shape) == 2 and all(type(n) is int for n in shape)
    if not whole or min(shape) < 1 or shape[1] % PANEL or shape[0] * shape[1] >= 1_000_000:
        raise UnmetCheck(
            f"{name}: not a shape of this exercise",
            expected="(K, N), whole and above 0, 64 divides N, K * N below a million",
            got=shown(shape),
        )
    b = np.arange(shape[0] * shape[1]).reshape(shape)
    return np.array_equal(b.reshape(-1, shape[0], PANEL), panels(b))


def _still_right(answer: Any) -> str | None:
    return f"right on {answer['fails']}" if _line_is_right(answer, "fails") else None


def _still_wrong(answer: Any) -> str | None:
    right = _line_is_right(answer, "passes")
    if answer["passes"][1] == PANEL:
        return f"{answer['passes']} is one panel"
    return None if right else f"wrong on {answer['passes']}"


# --- 5. Counter-examples: what is a bad row? ------------------------------------------------------


def columns(mine: Any) -> None:
    """Check the two row lengths: each breaks one half of the rule."""
    check(
        given(mine),
        breaks("only powers of two land in four sets", _others_are_good),
        breaks("no power of two lands in all sets", _powers_are_bad),
    )


def _columns_of(answer: Any, name: str) -> tuple[int, int]:
    if type(answer) is not dict or sorted(answer) != ["bad", "good"]:
        raise UnmetCheck(
            "not two row lengths", expected='{"bad": columns, "good": columns}', got=answer
        )
    length = answer[name]
    if type(length) is not int or not 64 <= length <= 8192 or length % 64:
        raise UnmetCheck(
            f"{name}: not a row length of this exercise",
            expected="a multiple of 64, from 64 to 8192",
            got=shown(length),
        )
    starts = (4 * length * row + byte for row in range(64) for byte in range(0, 256, 64))
    return length, len({start // 64 % 64 for start in starts})


def _others_are_good(answer: Any) -> str | None:
    length, touched = _columns_of(answer, "bad")
    if length & (length - 1) == 0:
        return f"{length} is a power of two"
    return f"{length} columns land in {touched} sets, not in 4" if touched != 4 else None


def _powers_are_bad(answer: Any) -> str | None:
    length, touched = _columns_of(answer, "good")
    if length & (length - 1):
        return f"{length} is not a power of two"
    return f"{length} columns land in {touched} sets, not in 64" if touched != 64 else None
