"""Demands of the exercises of lesson 2, in the part that the student sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import (
    Program,
    axis_kinds,
    check,
    computes,
    given,
    holds,
    problem,
    sealed,
    written,
)
from mlc_course.grading.checks import Examined
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import accesses

BROADCAST = problem(
    "broadcast_add",
    inputs={"A": (24, 1), "B": (16,)},
    result=("C", (24, 16)),
    exact=lambda A, B: A + B,
)
PRODUCT = problem(
    "product",
    inputs={"A": (16, 16), "B": (16, 16)},
    result=("C", (16, 16)),
    exact=lambda A, B: A @ B,
)
CONVOLUTION = problem(
    "convolution",
    inputs={"X": (3, 20), "W": (4, 3, 5)},
    result=("Y", (4, 16)),
    exact=lambda X, W: sum(W[:, :, r] @ X[:, r : r + 16] for r in range(5)),
)
STRIPES = problem(
    "strip",
    inputs={"X": (3,), "W": (4,)},
    result=("Y", (32,)),
    exact=lambda X, W: X[(np.arange(32) % 8 + 2) // 4] * W[np.arange(32) // 8],
)


@dataclass(frozen=True)
class Elements:
    """Each element of the result is right where the inputs are different whole numbers."""

    hint: str
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        """Say that all elements are right; raises ``UnmetCheck`` with the first that is not."""
        asked = answer.problem
        assert isinstance(asked, Workload)
        rng, inputs = answer.rng(), asked.inputs()
        for each in inputs:
            each[...] = rng.permutation(each.size).reshape(each.shape) + 1
        got, wanted = answer.bench.run(inputs), asked.reference(inputs)
        wrong = np.argwhere(~(np.abs(got - wanted) < 0.5))
        if len(wrong):
            at = tuple(int(each) for each in wrong[0])
            value = "nothing: it is never written" if np.isnan(got[at]) else f"{got[at]:g}"
            raise UnmetCheck(
                f"{asked.result.name}{list(at)} is wrong, and so are {len(wrong) - 1} others "
                f"of {got.size}, where inputs are whole numbers",
                expected=f"{wanted[at]:g}",
                got=value,
                hint=self.hint,
            )
        return f"all {got.size} elements are right where inputs are whole numbers"


def broadcast(answer: Any) -> None:
    """Check exercise 1: two spatial axes, and the sum of a column and a row."""
    elements = Elements("an element of C is one element of A plus one of B: which two?")
    check(written(answer, BROADCAST), axis_kinds("C", "SS"), elements, computes())


def kinds(answer: Any) -> None:
    """Check exercise 2: says how many of the four texts are right."""
    seals = {
        "column_max": "bf5d3cd3898a",
        "outer": "69a5b94479df",
        "matmul": "c331f18d1ca3",
        "depthwise": "a36f14c9fb79",
    }
    letters = [a + b + c for a in "SR" for b in "SR" for c in ("", "S", "R")]
    hint = "an axis is spatial if it indexes what the block writes"
    check(given(answer), sealed(letters, seals, hint=hint))


def product(answer: Any) -> None:
    """Check exercise 3: the right letters, a first value, and the product."""
    elements = Elements("an element of C is row i of A times column j of B: work this one out")
    checks = (axis_kinds("C", "SSR"), holds(sums_begin), elements, computes())
    check(written(answer, PRODUCT), *checks)


def convolution(answer: Any) -> None:
    """Check exercise 4: two spatial axes, two reductions, and the right sums."""
    elements = Elements("write out the sum of this element: which X meets which W?")
    check(written(answer, CONVOLUTION), axis_kinds("Y", "SSRR"), elements, computes())


def strip(answer: Any) -> None:
    """Check exercise 5: the result, from a program that TVM compiles as it is written."""
    elements = Elements("which stretch is this column in, and which colour belongs there?")
    check(written(answer, STRIPES), elements, computes())


def sums_begin(program: Program) -> str:
    """Say that what block C adds to has a first value; raises ``UnmetCheck`` if not."""
    first = next((each for each in accesses(program.module) if each.buffer == "C"), None)
    if first is not None and not first.writes:
        raise UnmetCheck(
            "the sums have no first value",
            expected="something that writes C before block C adds to it",
            got="a block without T.init()",
            hint="what is in C when the program starts? Nothing says that it holds zeros",
        )
    return "the sums have a first value"
