"""The lines that the reader of lesson 5 writes, and what is asked of them."""

from __future__ import annotations

from mlc_course.grading.checks import computes, inner_stride, returns
from mlc_course.grading.process import called, scheduled
from mlc_course.lessons.kit import Blank, asks, column_sums
from mlc_course.words import marked

STAYS = marked("a step of 8 elements is still in the same line of 16 every other time")
HIGHER = marked("swap the loops: now j decides first which of the two runs earlier")

jumps = Blank(
    asks(
        called,
        returns([1, 256, 0], 16, result=1),
        returns([256, 0, 256], 16, result=2),
        returns([0, 1, 1], 16, result=0),
        returns([8, 8, 8], 16, result=0, hint=STAYS),
        returns(
            [16, 15, 17], 16, result=2, hint=marked("16 elements further is always another line")
        ),
    ),
    (
        marked("How long must a step be so that it always leaves a line of `line` elements?"),
        marked("At least `line` elements. Count the strides for which that is true."),
        marked("Python adds True as 1: sum(... for stride in strides)"),
    ),
    "return sum(stride >= line for stride in strides)",
)

along_rows = Blank(
    asks(
        lambda mine: scheduled(mine, column_sums(24, 40)),
        inner_stride("S"),
        computes(),
    ),
    (
        marked("X[k, j] is stored row by row. Which of its two indices moves the address by one?"),
        marked("The last index, j. Its loop belongs inside."),
        marked(
            "j, k = sch.get_loops(...) as above, then reorder them from outside to inside: k, "
            "then j."
        ),
    ),
    'j, k = sch.get_loops(sch.get_sblock("S"))\nsch.reorder(k, j)',
)

changes_sides = Blank(
    asks(
        called,
        returns((2, 4), (3, 3), result=True, hint=HIGHER),
        returns((2, 3), (3, 4), result=False, hint=HIGHER),
        returns(
            (2, 3),
            (2, 4),
            result=False,
            hint=marked("both are in one row, and the row keeps its order"),
        ),
        returns(
            (2, 3), (3, 3), result=False, hint=marked("both have the same j, so i decides again")
        ),
        returns((1, 6), (6, 1), result=True, hint=HIGHER),
    ),
    (
        marked("With j outside, the iteration with the smaller j runs first."),
        marked(
            "With i outside, `first` runs first. Swapped, `second` runs first if its j is smaller."
        ),
        marked("first[1] is the j of `first`; compare it with second[1]."),
    ),
    "return second[1] < first[1]",
)
