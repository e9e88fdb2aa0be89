"""The judges of the lines that readers of lesson 6 write."""

from __future__ import annotations

from mlc_course.exercise import called, computes, inner_stride, misses, returns
from mlc_course.grading.process import scheduled
from mlc_course.lessons.kit import Blank, asks
from mlc_course.tensor_program.memory import Cache
from mlc_course.tensor_program.problems import matmul

working_set = Blank(
    asks(
        called,
        returns(4, 4, result=24, hint="the tile has 16 elements; a row of A and of C come on top"),
        returns(2, 8, result=26, hint="16 in the tile; k elements of A and n of C"),
        returns(64, 32, result=2144),
    ),
    (
        "In one step of m, which elements of B does the program use? All of the tile.",
        "Of A it uses k elements, one for each row of the tile. Of C, one for each of its columns.",
        "The tile has k * n elements. Add one row of A, and one of C.",
    ),
    "return k * n + k + n",
)

tiled = Blank(
    asks(
        lambda written: scheduled(written, matmul(96, 160, 160)),
        computes(),
        inner_stride("C"),
        misses(12_000, Cache(8 * 1024)),
    ),
    (
        "The innermost loop should walk along a row of B and C. Which of the five does?",
        "k_1 and n_1 walk over the tile, n_0 and k_0 choose it. m repeats whatever is inside it.",
        "n_0 and k_0 are outermost, k_1 and n_1 innermost. One place is left for m.",
    ),
    "sch.reorder(n_0, k_0, m, k_1, n_1)",
)
