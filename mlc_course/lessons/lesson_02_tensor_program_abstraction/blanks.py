"""The lines that the reader of lesson 2 writes, and what is asked of them."""

from __future__ import annotations

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import computes, holds, returns
from mlc_course.grading.process import Program, called, scheduled
from mlc_course.lessons.kit import Blank, asks
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import Schedule

WRITTEN = "look at the axes that index what is written, not at the name of this one"
TILES = [(2, "half of n"), (3, "m"), (2, "the other half of n"), (5, "k")]

kind = Blank(
    asks(
        called,
        returns(
            "v_k",
            ["v_m", "v_n"],
            result="R",
            hint="does another v_k write another element?",
        ),
        returns("v_m", ["v_m", "v_n"], result="S", hint=WRITTEN),
        returns("v_k", ["v_k"], result="S", hint=WRITTEN),
        returns("v_r", ["v_o", "v_i"], result="R", hint=WRITTEN),
    ),
    (
        "If the axis takes another value, does the block write another element? What decides that?",
        "It does if the axis is among those that index the written element.",
        'Something like: "S" if ... else "R". Python asks for membership with `in`.',
    ),
    'return "S" if axis in written else "R"',
)


def is_tiled(program: Program) -> str:
    """Say that the loops are n_0, m, n_1, k, by their extents; raises ``UnmetCheck`` if not."""
    sch = Schedule(program.module)
    loops = [sch.get(each) for each in sch.get_loops(lookup.block(sch, "C"))]
    got = [(int(each.extent), str(each.loop_var.name)) for each in loops]
    expected = [extent for extent, _ in TILES]
    if [extent for extent, _ in got] != expected:
        raise UnmetCheck(
            "the loops have another order, or other lengths",
            expected=", ".join(f"{extent} ({name})" for extent, name in TILES),
            got=", ".join(f"{extent} ({name})" for extent, name in got),
            hint="split gives two loops; reorder takes all four, from outside to inside",
        )
    return "the loops run over half of n, m, the other half, and k"


in_tiles = Blank(
    asks(lambda mine: scheduled(mine, matmul(3, 5, 4)), holds(is_tiled), computes()),
    (
        'The first line is the same as above, with block "C": m, n, k = sch.get_loops(...)',
        "n has 4 values. n_0, n_1 = sch.split(n, [2, 2]) makes two loops of two each.",
        "reorder takes the loops from outside to inside: half of n, m, the other half, k.",
    ),
    'm, n, k = sch.get_loops(sch.get_sblock("C"))\n'
    "n_0, n_1 = sch.split(n, [2, 2])\n"
    "sch.reorder(n_0, m, n_1, k)",
)

kept = Blank(
    asks(
        called,
        returns(12, 5, result=60, hint="12 elements, each with one init and 5 terms"),
        returns(1, 7, result=7, hint="one init comes before each of 7 terms"),
        returns(200, 64, result=12_800),
    ),
    (
        "Take one element. Its init must run before which other statements?",
        "Before each of its terms, so there are as many pairs as terms. Two terms are of one sum.",
        "Each of the `elements` has `terms` such pairs.",
    ),
    "return elements * terms",
)
