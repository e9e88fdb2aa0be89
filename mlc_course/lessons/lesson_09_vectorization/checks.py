"""The visible checks of exercises 9, and the predicates that the hidden ones share with them."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import (
    Program,
    called,
    check,
    computes,
    faster,
    holds,
    lanes,
    problem,
    returns,
    scheduled,
    written,
)
from mlc_course.lessons.kit import begun, check_work, run_once
from mlc_course.lessons.lesson_09_vectorization.row_problems import row_dots, weighted_columns
from mlc_course.machine import describe
from mlc_course.tensor_program.processor import longest_chain
from mlc_course.tensor_program.tir import Access, accesses

MEANS = problem(
    "column_means",
    inputs={"X": (100, 64)},
    result=("Y", (64,)),
    exact=lambda X: X.mean(axis=0),
)


# Numbers that the means read one by one: 64 where only the divisions do, 6,400 where the sums do,
# be it from X or from a copy.
MOST_SCALARS = 640


# --- predicates -----------------------------------------------------------------------------------


def sums_stay(program: Program) -> str:
    """Check that there are hardly any stores in the busy loops."""
    check_work(program)
    for loop in program.busy_loops:
        found = loop.histogram()
        if 4 * found["store"] > found["arithmetic"] or found["spill"]:
            raise UnmetCheck(
                "the sums leave their registers in the hot loop",
                expected="no stores, or a few after many additions",
                got=f"{found['store']} stores and {found['spill']} spills, "
                f"for {found['arithmetic']} instructions of arithmetic",
                hint="how many sums does one iteration of k touch, and how many registers is that?",
            )
    found = program.busy_loops[0].histogram()
    return f"{found['store']} stores for {found['arithmetic']} instructions of arithmetic"


def several_chains(program: Program) -> str:
    """Check that there are two chains or more in each busy loop."""
    check_work(program)
    found = [(loop.histogram()["arithmetic"], longest_chain(loop)) for loop in program.busy_loops]
    total, chain = min(found, key=lambda each: each[0] / each[1])
    if total < 2 * chain:
        raise UnmetCheck(
            "one chain: each multiply-add waits for the one before",
            expected="two chains or more, side by side",
            got=f"a chain of {chain} in {total} arithmetic instructions",
            hint="one register of sums is one chain, however long you write it out",
        )
    return f"{total // chain} chains of {chain} instructions"


def own_means(program: Program) -> str:
    """Fill column j with j, and check that its mean is j."""
    found = run_once(program.module, np.tile(np.arange(64.0), (100, 1)))
    wrong = [j for j, mean in enumerate(found) if not abs(mean - j) < 1e-3]
    if wrong:
        raise UnmetCheck(
            f"{len(wrong)} columns of 64 do not have a mean of their own",
            expected=f"{wrong[0]} in column {wrong[0]}, when column j of X is full of j",
            got=f"{found[wrong[0]]:g}",
            hint="how many elements has `total`, once TVM has shrunk it?",
        )
    return "each column has a mean of its own"


def in_vectors(program: Program) -> str:
    """Check that X is read in vectors along the row, and hardly any number by itself."""
    total = 0
    reads = [each for each in accesses(program.module) if not each.writes]
    for each in sorted(reads, key=lambda each: each.buffer != "X"):
        if _is_vector(each):
            continue
        total += prod(loop.extent for loop in each.loops)
        if each.buffer == "X" or total > MOST_SCALARS:
            around = [f"{loop.name}, {loop.kind}" for loop, _ in each.turning[-1:]]
            raise UnmetCheck(
                f"{each.buffer} is not read in vectors",
                expected=f"T.vectorized innermost around every read of {each.buffer}, along the "
                "row",
                got=around[0] if around else f"no loop around {each.buffer}",
                hint="which loop may be lanes, and may another loop be inside it?",
            )
    return "X is read in vectors"


def _is_vector(each: Access) -> bool:
    """Tell whether the innermost loop of more than one turn is lanes, side by side."""
    loop, stride = each.turning[-1] if each.turning else (None, None)
    return loop is not None and loop.kind == "vectorized" and stride == 1 and loop.extent >= 4


# --- what a student sees --------------------------------------------------------------------------


def in_lanes(answer: Any) -> None:
    """Judge exercise 1."""
    check(
        scheduled(answer, weighted_columns(256, 80)),
        computes(),
        lanes(describe().lanes),
        holds(sums_stay, kind="counted"),
    )


def in_sums(answer: Any) -> None:
    """Judge exercise 2."""
    check(
        scheduled(answer, row_dots(4, 16384)),
        computes(),
        lanes(describe().lanes),
        holds(several_chains, kind="counted"),
        faster(3),
    )


def how_many(chains: Any, sums: Any) -> None:
    """Judge exercise 3."""
    check(
        called(chains),
        returns(4, 1, 32, result=4),
        returns(4, 2, 16, result=8, hint="eight are under way when the pipelines are full"),
        returns(3, 0.5, 32, result=2, hint="1.5 chains are not enough with one"),
        returns(6, 4, 16, result=15, hint="where are the sums of the 16th chain?"),
        returns(1, 0.5, 16, result=1, hint="there is always one chain"),
    )
    check(
        called(sums),
        returns(4096, result=64),
        returns(256, result=16),
        returns(1000, result=8, hint="only powers of two that divide the number of terms"),
        returns(7, result=1),
        returns(2048, result=32, hint="of two that are as good, the smaller"),
    )


def repaired(answer: Any) -> None:
    """Judge exercise 4."""
    check(
        written(answer, MEANS),
        holds(begun),
        holds(own_means, kind="correctness"),
        holds(in_vectors),
        lanes(4),
        computes(),
    )
