"""The lines that the reader of lesson 1 writes, each judged by running them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Demand, Examined, computes, holds, inner_stride
from mlc_course.grading.process import Program, called, given, scheduled
from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_01_primitive_tensor_functions import deployment, numpy_forms
from mlc_course.tensor_program.networks import CLASSES, HIDDEN, PIXELS, linear_relu
from mlc_course.tensor_program.problems import Array, Operand, Workload
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import PrimFunc, Schedule

# --- add, in loops --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Adds:
    """The function writes P + b into S, row by row; it may return what it likes."""

    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        for rows, columns in ((2, 3), (3, 1)):
            p = 10 * np.arange(1, rows * columns + 1, dtype=np.float32).reshape(rows, columns)
            b = np.arange(1, columns + 1, dtype=np.float32)
            s = np.full((rows, columns), np.nan, np.float32)
            assert answer.call is not None
            self._compare(answer.call(p, b, s), p, b)
        return "right for 2 x 3 and for 3 x 1 numbers"

    def _compare(self, got: Array, p: Array, b: Array) -> None:
        wrong = np.argwhere(got != p + b)
        if not len(wrong):
            return
        m, n = (int(place) for place in wrong[0])
        value = "NaN: nothing is written there" if np.isnan(got[m, n]) else f"{got[m, n]:g}"
        raise UnmetCheck(
            f"S[{m}, {n}] is wrong, with P[{m}, {n}] = {p[m, n]:g} and b = {b.tolist()}",
            expected=f"{p[m, n] + b[n]:g}",
            got=value,
            hint="b has one number for each column",
        )


def _returning(written: Any) -> Any:
    """The function that runs ``written`` and returns its last argument, the result."""
    if not callable(written):
        return written

    def call(P: Array, b: Array, S: Array) -> Array:
        written(P, b, S)
        return S

    return call


add = Blank(
    lambda written: Demand(called(_returning(written)), (_Adds(),)),
    (
        "How many indices does one element of S have? That many loops go around it. There is no "
        "sum here, so no loop k.",
        "S.shape[0] is the number of rows, for m. S.shape[1] is the number of columns, for n. "
        "Which of the two indices does b take?",
        "for m in range(S.shape[0]): and inside it for n in range(S.shape[1]): and inside that, "
        "one assignment to S[m, n].",
    ),
    "    for m in range(S.shape[0]):\n"
    "        for n in range(S.shape[1]):\n"
    "            S[m, n] = P[m, n] + b[n]",
)

# --- two steps of a schedule ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Layer(Workload):
    """The network's first layer for one image, as the lesson writes it: blocks P, S and Y."""

    def program(self) -> PrimFunc:
        return linear_relu(1, PIXELS, HIDDEN)


LAYER = _Layer(
    name="linear_relu",
    sizes={},
    operands=(
        Operand("X", (1, PIXELS)),
        Operand("W", (PIXELS, HIDDEN)),
        Operand("b", (HIDDEN,)),
    ),
    result=Operand("Y", (1, HIDDEN)),
    expression=tuple,
    numpy=numpy_forms.linear_relu,
    exact=lambda x, w, b: np.maximum(x @ w + b, 0),
    flops=2 * PIXELS * HIDDEN + 2 * HIDDEN,
)


def _without_s(program: Program) -> str:
    blocks = lookup.blocks(Schedule(program.module))
    if "S" in blocks:
        raise UnmetCheck(
            "the block S is still there",
            expected="blocks P and Y",
            got=", ".join(blocks),
            hint="steps.inline names the block to drop",
        )
    return "S is gone: blocks P and Y"


build_steps = Blank(
    lambda written: Demand(
        scheduled(written, LAYER), (computes(), holds(_without_s), inner_stride("P"))
    ),
    (
        "Two steps, one line each. The first one is in the cell above, for another schedule.",
        "steps.reorder takes the schedule, the block, and the two loops in their new order, the "
        "outer one first.",
        'The first line is steps.inline(sch, "S"). The second one is about block "P", and in it '
        '"k" comes before "n".',
    ),
    '    steps.inline(sch, "S")\n    steps.reorder(sch, "P", "k", "n")',
)

# --- a call of the plan ---------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., None]] = {
    "linear_relu": numpy_forms.linear_relu,
    "linear": numpy_forms.linear,
}


def _runs_the_plan(call: Any) -> str:
    """Run the plan with this second call on whole numbers, and compare Y with the formula."""
    if type(call) is not list or len(call) != 2 or type(call[1]) is not list:
        raise UnmetCheck("not a call", expected='"function", ("tensor", ...)', got=call)
    name, operands = call
    if name not in FUNCTIONS:
        raise UnmetCheck("no such function", expected=" | ".join(FUNCTIONS), got=name)
    tensors = _tensors()
    told = f"{name}({', '.join(map(str, operands))})"
    if unknown := [each for each in operands if each not in tensors]:
        raise UnmetCheck(f"{told}: no such tensor", expected=", ".join(tensors), got=unknown[0])
    shapes = [tensors[each].shape for each in operands]
    if len(shapes) != 4 or [len(shape) for shape in shapes] != [2, 2, 1, 2]:
        raise UnmetCheck(
            f"{told}: other operands", expected="a matrix, its weights, its bias, the result"
        )
    fit = shapes[0][1:] == shapes[1][:1] and shapes[1][1:] == shapes[2] == shapes[3][1:]
    if not fit:
        raise UnmetCheck(
            f"{told}: the shapes do not fit",
            expected="(1, K), (K, N), (N,), (1, N)",
            got=", ".join(map(str, shapes)),
        )
    expected = _network(tensors)
    for function, each in (deployment.plan().calls[0], (name, operands)):
        FUNCTIONS[function](*(tensors[one] for one in each))
    got = tensors["Y"]
    if np.isnan(got).all():
        raise UnmetCheck("nobody writes Y", expected="Y, the scores", got="NaN in all of it")
    wrong = np.argwhere(got != expected)
    if len(wrong):
        at = tuple(int(n) for n in wrong[0])
        raise UnmetCheck(
            f"Y[{at[0]}, {at[1]}] is wrong after both calls",
            expected=f"{expected[at]:g}",
            got=f"{got[at]:g}",
            hint="the scores may be below zero",
        )
    return "two calls, and Y is what the formula gives"


def _tensors() -> dict[str, Array]:
    """All tensors of the plan: whole numbers as input and weights, NaN for what is written."""
    rng, plan = np.random.default_rng(1), deployment.plan()
    known = {plan.input, *plan.weights}
    return {
        name: rng.integers(-4, 5, shape).astype(np.float32)
        if name in known
        else np.full(shape, np.nan, np.float32)
        for name, shape in plan.tensors.items()
    }


def _network(tensors: dict[str, Array]) -> Array:
    x, w1, b1, w2, b2 = (tensors[name] for name in ("X", "W1", "b1", "W2", "b2"))
    scores = np.full((1, CLASSES), np.nan, np.float32)
    numpy_forms.network(x, w1, b1, w2, b2, scores)
    return scores


second_call = Blank(
    lambda written: Demand(given(written), (holds(_runs_the_plan),)),
    (
        "The second layer has no ReLU. Which of the two functions is that?",
        "Its operands come in the order of the first call: what it reads, its weights, its bias, "
        "and last the tensor that it writes.",
        'It reads "H", which the first call has written: second = "linear", ("H", ...).',
    ),
    'second = "linear", ("H", "W2", "b2", "Y")',
)
