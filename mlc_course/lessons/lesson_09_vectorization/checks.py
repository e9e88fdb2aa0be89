"""The visible checks of exercises 9, and the predicates that the hidden ones share with them."""

from __future__ import annotations

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
from mlc_course.lessons.kit import begun, run_once
from mlc_course.lessons.lesson_09_vectorization.row_problems import row_dots, weighted_columns
from mlc_course.machine import describe
from mlc_course.tensor_program.processor import assembly, longest_chain
from mlc_course.tensor_program.tir import accesses

MEANS = problem(
    "column_means",
    inputs={"X": (100, 64)},
    result=("Y", (64,)),
    exact=lambda X: X.mean(axis=0),
)


# --- predicates -----------------------------------------------------------------------------------


def sums_stay(program: Program) -> str:
    """Check that there are hardly any stores in the hot loop."""
    found = assembly(program.module).histogram()
    if 4 * found["store"] > found["arithmetic"] or found["spill"]:
        raise UnmetCheck(
            "the sums leave their registers in the hot loop",
            expected="no stores, or a few after many additions",
            got=f"{found['store']} stores and {found['spill']} spills, "
            f"for {found['arithmetic']} instructions of arithmetic",
            hint="how many sums does one turn of k touch, and how many registers is that?",
        )
    return f"{found['store']} stores for {found['arithmetic']} instructions of arithmetic"


def several_chains(program: Program) -> str:
    """Check that there are two chains or more."""
    found = assembly(program.module)
    total, chain = found.histogram()["arithmetic"], longest_chain(found)
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
    """Check that every read of X is in a vectorized loop along the row."""
    reads = [each for each in accesses(program.module) if each.buffer == "X"]
    inner = [(each.loops[-1], each.strides[-1]) for each in reads if each.loops]
    scalar = [
        loop
        for loop, stride in inner
        if loop.kind != "vectorized" or stride != 1 or loop.extent < 4
    ]
    if scalar or len(inner) < len(reads):
        raise UnmetCheck(
            "X is not read in vectors",
            expected="T.vectorized innermost around every read of X, along the row",
            got=", ".join(f"{loop.name}, {loop.kind}" for loop in scalar) or "no loop around X",
            hint="which loop may be lanes, and may another loop be inside it?",
        )
    return "X is read in vectors"


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
