"""Matrices in the registers of a warp: ``ldmatrix`` and ``mma``, laid out as the PTX ISA says.

An element of a fragment is given by its lane and its number in the lane's registers, the low half
of a register first. The formulas are those of the PTX ISA, "Matrix Fragments for mma.m16n8k16 with
floating point type" and "for mma.m16n8k8", with ``group`` for its groupID and ``member`` for its
threadID_in_group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx.arithmetic import Bind
from mlc_course.mugraph.ptx.float_formats import widened
from mlc_course.mugraph.ptx.memory import SHARED_WINDOW
from mlc_course.mugraph.ptx.ptx_text import Operand, Vector, refused
from mlc_course.mugraph.ptx.reports import Site
from mlc_course.mugraph.ptx.threads import Mask, Run, Threads
from mlc_course.mugraph.ptx.transactions import WARP

ROW_BYTES = 16  # of a matrix of 8 x 8 elements of 2 bytes
Place = Callable[[int, int], tuple[int, int]]  # lane and element: row and column


@dataclass(frozen=True)
class Fragments:
    """Where the elements of three matrices are: rows and columns by lane and element."""

    m: int
    n: int
    k: int
    a: tuple[Array, Array]
    b: tuple[Array, Array]
    c: tuple[Array, Array]


def _table(elements: int, place: Place) -> tuple[Array, Array]:
    """Rows and columns, each with a line for a lane."""
    both = [[place(lane, i) for i in range(elements)] for lane in range(WARP)]
    whole = np.array(both)
    return whole[:, :, 0], whole[:, :, 1]


def _a_16(lane: int, i: int) -> tuple[int, int]:
    group, member = lane >> 2, lane % 4
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    column = member * 2 + (i & 1) + (8 if i >= 4 else 0)
    return row, column


def _b_16(lane: int, i: int) -> tuple[int, int]:
    group, member = lane >> 2, lane % 4
    return member * 2 + (i & 1) + (8 if i >= 2 else 0), group


def _a_8(lane: int, i: int) -> tuple[int, int]:
    group, member = lane >> 2, lane % 4
    return (group if i < 2 else group + 8), member * 2 + (i & 1)


def _b_8(lane: int, i: int) -> tuple[int, int]:
    group, member = lane >> 2, lane % 4
    return member * 2 + i, group


def _c(lane: int, i: int) -> tuple[int, int]:
    group, member = lane >> 2, lane % 4
    return (group if i < 2 else group + 8), member * 2 + (i & 1)


SHAPES: Mapping[str, Fragments] = {
    "m16n8k16": Fragments(16, 8, 16, _table(8, _a_16), _table(4, _b_16), _table(4, _c)),
    "m16n8k8": Fragments(16, 8, 8, _table(4, _a_8), _table(2, _b_8), _table(4, _c)),
}


def _registers(threads: Threads, operand: Operand, kind: str, site: Site) -> list[Array]:
    if not isinstance(operand, Vector):
        raise refused("a fragment is in braces", site.instruction.line, site.instruction.text)
    return [threads.source(each, kind, site) for each in operand.parts]


def _in_warps(registers: list[Array], warps: Array, threads: Threads) -> Array:
    """Registers of some warps: by warp, lane and register."""
    whole = threads.count // WARP * WARP
    held = np.empty((len(registers), whole), registers[0].dtype)
    for number, register in enumerate(registers):
        held[number] = register[:whole]
    lines = held.reshape(len(registers), -1, WARP)
    return np.ascontiguousarray(lines[:, warps].transpose(1, 2, 0))


def _multiply(threads: Threads, site: Site) -> Run:
    """``mma``: products are exact, and their sum with the accumulator is rounded once.

    The hardware rounds after some products, in a way that is not documented.
    """
    ins = site.instruction
    if ins.modifiers[:2] != ("sync", "aligned") or len(ins.modifiers) != 9:
        raise refused("this mma is not known", ins.line, ins.text)
    shape, left, right, *kinds = ins.modifiers[2:]
    kind = kinds[1]
    known = kinds in (["f32", "f16", "f16", "f32"], ["f32", "bf16", "bf16", "f32"])
    if shape not in SHAPES or (left, right) != ("row", "col") or not known:
        raise refused("this mma is not known", ins.line, ins.text)
    f = SHAPES[shape]
    d, a, b, c = (
        _registers(threads, operand, "f32" if place in (0, 3) else "b32", site)
        for place, operand in enumerate(ins.operands)
    )
    sizes = (len(d), 2 * len(a), 2 * len(b), len(c))
    if sizes != tuple(part[0].shape[1] for part in (f.c, f.a, f.b, f.c)):
        raise refused("fragments of another size", ins.line, ins.text)

    def matrix(registers: list[Array], warps: Array, where: tuple[Array, Array], rows: int,
               columns: int) -> Array:  # fmt: skip
        halves = _in_warps(registers, warps, threads).view(np.uint16)
        whole = np.empty((len(warps), rows, columns))
        whole[:, where[0], where[1]] = widened(halves, kind)
        return whole

    def run(mask: Mask) -> None:
        warps = threads.whole_warps(mask, site)
        if not len(warps):
            return
        x = matrix(a, warps, f.a, f.m, f.k)
        y = matrix(b, warps, f.b, f.k, f.n)
        before = np.empty((len(warps), f.m, f.n))
        before[:, f.c[0], f.c[1]] = _in_warps(c, warps, threads)
        after = (before + x @ y).astype(np.float32)[:, f.c[0], f.c[1]]
        lanes = warps[:, None] * WARP + np.arange(WARP)
        for number, register in enumerate(d):
            register[lanes] = after[:, :, number]

    return run


def _load_matrices(threads: Threads, site: Site) -> Run:
    """``ldmatrix``: 1, 2 or 4 matrices of 8 x 8, whose rows are at the addresses of 8 lanes each.

    A lane gets two neighbours of a row, four lanes a row; transposed, of a column.
    """
    ins = site.instruction
    counts = {"x1": 1, "x2": 2, "x4": 4}
    count = next((n for name, n in counts.items() if ins.has(name)), 0)
    needed = {"sync", "aligned", "m8n8", "b16"}
    if not count or not needed <= set(ins.modifiers) or ins.operands == ():
        raise refused("this ldmatrix is not known", ins.line, ins.text)
    targets = _registers(threads, ins.operands[0], "b32", site)
    if len(targets) != count:
        raise refused(f"expected {count} registers", ins.line, ins.text)
    address = threads.address(ins, ins.operands[1], site)
    transposed = ins.has("trans")
    window = np.uint64(SHARED_WINDOW)

    def run(mask: Mask) -> None:
        warps = threads.whole_warps(mask, site)
        if not len(warps):
            return
        givers = (warps[:, None] * WARP + np.arange(8 * count)).reshape(-1)
        at = address()[givers]
        places = np.where(at >= window, at - window, at).astype(np.int64)
        lanes, sound = threads.shared.checked(site, givers, places, ROW_BYTES)
        rows = np.zeros((len(givers), 8), np.uint16)
        if len(lanes):
            threads.shared.note_read(site, lanes, sound, ROW_BYTES)
            loaded = np.stack(threads.shared.loaded(sound, 2, 8), axis=1)
            rows[slice(None) if len(lanes) == len(givers) else np.isin(givers, lanes)] = loaded
        matrices = rows.reshape(len(warps), count, 8, 8)
        if transposed:
            matrices = np.ascontiguousarray(matrices.transpose(0, 1, 3, 2))
        pairs = matrices.view(np.uint32).reshape(len(warps), count, WARP)
        readers = warps[:, None] * WARP + np.arange(WARP)
        for number, target in enumerate(targets):
            target[readers] = pairs[:, number]

    return run


OPERATIONS: Mapping[str, tuple[Bind, frozenset[str]]] = {
    "mma": (
        _multiply,
        frozenset({"sync", "aligned", "row", "col", "f32", "f16", "bf16", *SHAPES}),
    ),
    "ldmatrix": (
        _load_matrices,
        frozenset({
            "sync", "aligned", "m8n8", "x1", "x2", "x4", "trans", "shared", "shared::cta", "b16",
        }),
    ),
}  # fmt: skip
