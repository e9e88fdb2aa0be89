"""The visible checks of exercises 8, and the predicates that the hidden ones share with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import (
    Program,
    breaks,
    check,
    check_parts,
    computes,
    given,
    holds,
    inner_stride,
    misses,
    scheduled,
    sealed,
    shown,
    written,
)
from mlc_course.lessons.kit import MOST_WORK, begun, check_work, run_once
from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.problems import (
    linear_relu,
    matmul_exp_matmul,
    rms_norm,
    softmax,
)
from mlc_course.tensor_program.processor import exps, stages
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

FOUR_KIB = Cache(bytes=4096)
REASONS = {
    "A": "exp of a part of a sum equals that part of exp of the sum",
    "B": "the later exps write to the same elements, and the last one sees the whole sum",
    "C": "C holds zeros until its last iteration, and exp(0) does no harm",
    "D": "TVM notices the mistake and drops the exps that come too early",
}
WHY = "3a066cc204ec"
# In units of the problem's operations: 1.75 where the factor of a row of rms_norm is inlined.
ROW_FACTOR = 1.8


# --- predicates -----------------------------------------------------------------------------------


def each_once(program: Program) -> str:
    """Check that no stage computes an element again."""
    for stage in stages(program.module):
        if stage.times > 1:
            raise UnmetCheck(
                f"{stage.block} computes each element {stage.times:,.3g} times",
                expected=f"{stage.elements:,} runs",
                got=f"{stage.runs:,}",
                hint=f"{stage.block} is in a loop whose iterations need one element: move it out",
            )
    check_work(program, ROW_FACTOR if program.problem.name == "rms_norm" else MOST_WORK)
    return "no stage computes anything twice"


def exp_once(program: Program) -> str:
    """Check that there is one exp for each element of C, and hardly any other work."""
    sizes = program.problem.sizes
    wanted, found = sizes["M"] * sizes["L"], exps(program.module)
    if found > wanted:
        raise UnmetCheck(
            f"each exp is computed {found / wanted:,.3g} times",
            expected=f"{wanted:,} exps, one for each element of C",
            got=f"{found:,}",
            hint="which loop is the exp in, and how often does it run?",
        )
    if found < wanted:
        raise UnmetCheck(
            "the program has fewer exps than C has elements",
            expected=f"{wanted:,} exps, one for each element of C",
            got=f"{found:,}",
            hint="keep the block D as it is, and move it",
        )
    check_work(program)
    return f"{found:,} exps, one for each element of C"


def misses_before_and_after(sizes: dict[str, int]) -> tuple[int, int]:
    """Return the misses in 8 KiB of exercise 4's two programs, before and after ``merge``."""
    apart = Schedule(matmul_exp_matmul(**sizes).program())
    steps.reorder(apart, "C", "m", "k", "l")
    steps.reorder(apart, "F", "m", "l", "n")
    steps.fuse_consumer(apart, "D", into="C", at="m")
    merged = apart.copy()
    steps.merge(merged, "C", "F", at="m")
    before, after = (
        count(sch.mod, Cache(bytes=8192), registers=())[0].misses for sch in (apart, merged)
    )
    return before, after


def never_doubles(value: Any) -> str | None:
    """Return why the claim still holds for these sizes, or None."""
    check_parts(value, ("M", "K", "L", "N"))
    for name, size in value.items():
        if type(size) is not int or not 1 <= size <= 64:
            raise UnmetCheck(
                f"{name}: not a size", expected="a whole number, 1 to 64", got=shown(size)
            )
    before, after = misses_before_and_after(value)
    if after > 2 * before:
        return None
    but = ": more, but not twice as many" if after > before else ""
    return f"{after:,} misses merged, {before:,} before{but}"


def any_row(program: Program) -> str:
    """Try rows whose maximum comes early, late and in between, and numbers too large for exp."""
    ramp = np.linspace(-100, 100, 2048)
    rows = {
        "a constant row": np.full(2048, 300.0),
        "a falling row": ramp[::-1],
        "a rising row": ramp,
        "a row of zeros with 300 at the end": np.append(np.zeros(2047), 300),
        "a row of large numbers": 200 + np.sin(np.arange(2048)),
        "a row of small numbers": np.cos(np.arange(2048)) - 200,
    }
    totals = run_once(program.module, np.array(list(rows.values()))).sum(axis=1)
    for name, total in zip(rows, totals, strict=True):
        if not abs(total - 1) < 1e-3:
            raise UnmetCheck(
                f"the elements of the softmax of {name} do not add up to 1",
                expected="1",
                got=f"{total:.3g}",
                hint="from which maximum is each term of the sum measured?",
            )
    return "each row of P adds up to 1, wherever the maximum is"


def one_large_number(program: Program) -> str:
    """Try rows of zeros with one number that is too large for exp, in the middle."""
    rows = np.zeros((6, 2048))
    rows[np.arange(6), [1, 77, 500, 1023, 1499, 2046]] = 300
    totals = run_once(program.module, rows).sum(axis=1)
    if not np.all(np.abs(totals - 1) < 1e-3):
        raise UnmetCheck(
            "the softmax of a row with one large number does not add up to 1",
            expected="1",
            got=", ".join(f"{each:.3g}" for each in totals),
            hint="the maximum is the largest of all elements",
        )
    return "one large number in a row is found"


# --- what a student sees --------------------------------------------------------------------------


def behind(answer: Any) -> None:
    """Judge exercise 1.

    R behind one row of the product misses 340 times, behind eight rows 354 times; as a stage of its
    own, 850 times.
    """
    check(
        scheduled(answer, linear_relu(128, 8, 32)),
        computes(),
        inner_stride("R_matmul"),
        holds(each_once, kind="counted"),
        misses(400, FOUR_KIB),
    )


def one_pass(answer: Any) -> None:
    """Judge exercise 2.

    One pass misses 751 times, two passes 1,099 times.
    """
    check(
        scheduled(answer, rms_norm(24, 240)),
        computes(),
        holds(each_once, kind="counted"),
        misses(800, FOUR_KIB),
    )


def repaired(answer: Any, why: Any) -> None:
    """Judge exercise 3: the program, and the reason why the colleague's was right.

    Merged row by row, the program misses 161 times, by blocks of 16 rows 197 times; with two loops
    over the rows, 289 times.
    """
    check(
        scheduled(answer, matmul_exp_matmul(64, 16, 16, 16)),
        computes(),
        inner_stride("C"),
        inner_stride("F"),
        holds(exp_once, kind="counted"),
        misses(240, FOUR_KIB),
    )
    check(
        given(why),
        sealed(
            tuple(REASONS),
            WHY,
            hint="what is in D after the first iteration of k, and after the last?",
        ),
    )


def merge_loses(answer: Any) -> None:
    """Judge exercise 4."""
    check(given(answer), breaks("merging never doubles the misses", never_doubles))


def online(answer: Any) -> None:
    """Judge exercise 5.

    Two passes over X miss 2,312 times. Three miss 3,080 times, or 2,522 times where each begins at
    the end at which the one before has just arrived.
    """
    check(
        written(answer, softmax(6, 2048)),
        holds(begun),
        holds(any_row, kind="correctness"),
        computes(),
        misses(2_400, FOUR_KIB),
    )
