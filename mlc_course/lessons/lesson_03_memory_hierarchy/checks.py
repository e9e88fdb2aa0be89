"""The visible checks of lesson 3's exercises; the answers are counted, never written down."""

from __future__ import annotations

import functools
from typing import Any

from mlc_course.exercise import (
    UnmetCheck,
    breaks,
    called,
    check,
    check_parts,
    given,
    holds,
    returns,
    shown,
)
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import total
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import te

# rows and columns of X, how often it is read, and whether the walk goes down the columns
LOOPS = {
    "rows": (256, 256, 1, False),
    "columns": (256, 256, 1, True),
    "padded columns": (256, 272, 1, True),
    "ten times": (1, 10_240, 10, False),
}
WITHIN = 0.1
SHARE = 0.95  # of the reads must miss
REPEATS = 10


@functools.cache
def counted(name: str) -> int:
    """The misses of one of ``LOOPS`` in a cache of 32 KiB."""
    rows, columns, times, down = LOOPS[name]
    sch = total(rows, columns, times=times)
    if down:
        steps.reorder(sch, "S", "j", "i")
    return count(sch, Cache())[0].misses


def _four_counts(value: Any) -> None:
    """Refuse what is no answer, or cannot be one."""
    check_parts(value, LOOPS)
    for name, (rows, columns, times, _) in LOOPS.items():
        reads = rows * columns * times
        if type(value[name]) is not int:
            raise UnmetCheck(
                f"{name}: not a whole number",
                expected="a whole number (int)",
                got=shown(value[name]),
            )
        if not 0 < value[name] <= reads + 1:  # the sum's own line may be counted
            raise UnmetCheck(
                f"{name}: more or fewer misses than there can be",
                expected=f"at least 1 and at most {reads:,}, the number of reads",
                got=f"{value[name]:,}",
            )


def how_many_are_near(value: Any) -> str:
    """Tell how many of the four numbers are within 10 % of the count, and not which."""
    _four_counts(value)
    near = sum(abs(value[name] / counted(name) - 1) < WITHIN for name in LOOPS)
    if near < len(LOOPS):
        raise UnmetCheck(
            f"{near} of {len(LOOPS)} are right",
            expected="each within 10 % of what the simulator counts",
            hint="for each loop: which sets do the lines between two uses of a line go to?",
        )
    return f"all {len(LOOPS)} are within 10 % of the counts"


def which_are_far(value: Any) -> str:
    """Tell which numbers are off, for the feedback after grading."""
    _four_counts(value)
    apart = {name: value[name] / counted(name) for name in LOOPS}
    far = {name: ratio for name, ratio in apart.items() if abs(ratio - 1) >= WITHIN}
    if far:
        raise UnmetCheck(
            f"{len(far)} of {len(LOOPS)} predictions are off",
            expected="each within 10 % of the count",
            got="; ".join(f"{name}: {ratio:.3g} times the count" for name, ratio in far.items()),
            hint="count the lines that share a set between two uses of the same line",
        )
    return "four predictions within 10 % of the counts"


def predicted_misses(my_misses: Any) -> None:
    """Exercise 1."""
    check(given(my_misses), holds(how_many_are_near, kind="prediction"))


def simulator(misses: Any) -> None:
    """Exercise 2."""
    check(
        called(misses),
        returns([0, 4, 8, 64, 60], 64, 4, 2, result=2, hint="bytes 0 to 63 are one line"),
        returns(
            [64 * n for n in (0, 1, 2, 0, 1, 2)],
            *(64, 4, 2),
            result=3,
            hint="lines 0, 1 and 2 are in three sets: all of them stay",
        ),
        returns(
            [256 * n for n in (0, 1, 2, 0, 1, 2)],
            *(64, 4, 2),
            result=6,
            hint="lines 0, 4 and 8 share set 0, which holds two",
        ),
        returns(
            [0, 256, 0, 512, 0],
            *(64, 4, 2),
            result=3,
            hint="when line 8 comes, line 0 has just been used: line 4 has to go",
        ),
        returns(
            [32 * n for n in (0, 1, 2, 0, 3, 0)],
            *(32, 1, 3),
            result=4,
            hint="one set of three ways holds lines 0, 1 and 2 together",
        ),
    )


def ring(mended: Any) -> None:
    """Exercise 3."""
    check(
        called(mended),
        returns(
            [0, 2, 1],
            result=[2, 0, 1],
            hint="the walk is 0, 2, 1 and back to 0: what comes after place 2?",
        ),
        returns([0, 1, 2, 3], result=[1, 2, 3, 0], hint="what comes after the last place?"),
        returns(
            [2, 0, 3, 1],
            result=[3, 2, 0, 1],
            hint="the last place of this walk is 1, and the first is 2",
        ),
        returns([1, 0], result=[1, 0], hint="two places lead to each other"),
    )


def fetched_once(value: Any) -> str | None:
    """Return why the claim holds for this matrix, or None where it is broken."""
    ends = {"rows": (2, 512), "row_length": (16, 4096)}
    check_parts(value, ends)
    for name, (low, high) in ends.items():
        size = value[name]
        if type(size) is not int or not low <= size <= high:
            raise UnmetCheck(
                f"{name}: out of range", expected=f"{low} to {high:,}", got=shown(size)
            )
        if size & (size - 1) == 0:
            raise UnmetCheck(f"{name}: a power of two", expected="another number", got=shown(size))
    x = te.placeholder((value["rows"], value["row_length"]), "float32", "X")
    loops = [te.reduce_axis((0, REPEATS), "t"), te.reduce_axis((0, value["rows"]), "i")]
    first = te.compute((1,), lambda _: te.sum(x[loops[1], 0], axis=loops), name="S")
    found = count(te.create_prim_func([x, first]), Cache())[0].misses - 1  # of the sum's line
    reads = REPEATS * value["rows"]
    return None if found >= SHARE * reads else f"{found:,} misses in {reads:,} reads of X"


def fits_and_misses(my_matrix: Any) -> None:
    """Exercise 4."""
    check(given(my_matrix), breaks("what fits into the cache is fetched once", fetched_once))
