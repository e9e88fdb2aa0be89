"""The visible checks of lesson 17's exercises, each called by one line of the notebook."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mlc_course.exercise import (
    UnmetCheck,
    breaks,
    called,
    check,
    given,
    holds,
    returns,
    sealed,
    shown,
)
from mlc_course.grading.checks import read
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import accepted
from mlc_course.lessons.lesson_17_finite_field_verification.formula_text import REFUSED
from mlc_course.mugraph.ir import KernelGraph, parse, run
from mlc_course.mugraph.verify import screen, verify

# --- 1. The meaning of an operator ----------------------------------------------------------------

IN_A_FIELD = {"exp", "add", "sub", "mul", "div", "neg", "square", "shift", "scale"}
POINTS = (-5.0, -2.5, -1.0, -0.125, 0.25, 1.0, 2.5, 6.0)


def mish(my_mish: Any) -> None:
    """Check exercise 1: a formula of exp and + - * / that is Mish."""
    check(given(my_mish), holds(_is_mish))


def _is_mish(text: Any) -> str:
    """Uses what a field has, and is right in float64."""
    if isinstance(text, str) and text.startswith(REFUSED):
        what, *rest = text.removeprefix(REFUSED).splitlines()
        raise UnmetCheck(what, expected="m.exp and + - * /", got=_got(rest), hint=_hint(rest))
    graph = read(text)
    other = [each.op.name for each in graph.equations if each.op.name not in IN_A_FIELD]
    if other:
        raise UnmetCheck(
            f"{other[0]} is more than a field has", expected="exp and + - * /", got=other[0]
        )
    _check_inputs("", graph, "X[n=8]", (8,))
    if len(graph.equations) > 20:
        raise UnmetCheck("a long formula", expected="at most 20 operators", got="more")
    (values,) = run(graph, {"X": np.array(POINTS)})
    for x, got in zip(POINTS, values, strict=True):
        wanted = x * math.tanh(math.log1p(math.exp(x)))
        if not abs(got - wanted) <= 1e-9:
            raise UnmetCheck(
                f"another value at x = {x:g}", expected=f"{wanted:.6f}", got=f"{got:.6f}"
            )
    return f"mish, in {len(graph.equations)} operators"


def _got(lines: Sequence[str]) -> str | None:
    found = [each.split(maxsplit=1)[1] for each in lines if each.split()[:1] == ["got"]]
    return found[0] if found else None


def _hint(lines: Sequence[str]) -> str | None:
    found = [each.split(maxsplit=1)[1] for each in lines if each.split()[:1] == ["hint"]]
    return found[0] if found else None


def _check_inputs(side: str, graph: KernelGraph, expected: str, shape: tuple[int, ...]) -> None:
    if [each.name for each in graph.inputs] != ["X"] or graph.shapes[0] != shape:
        got = ", ".join(f"{each.name}[{', '.join(each.dims)}]" for each in graph.inputs)
        raise UnmetCheck(f"{side}other inputs", expected=expected, got=got)


# --- 2. A pair that always passes -----------------------------------------------------------------

ALLOWED = ("add", "sub", "mul")
LONGEST = 16


def pair(my_pair: Any) -> None:
    """Check exercise 2: two graphs that differ and pass every test modulo 7."""
    check(given(my_pair), holds(_deceives, kind="counter-example"))


def _deceives(value: Any) -> str:
    """Passes every test modulo 7, and is different."""
    if type(value) is not dict or sorted(value) != ["left", "right"]:
        raise UnmetCheck("not a pair", expected='{"left": ..., "right": ...}', got=shown(value))
    left, right = (read(value[side]) for side in ("left", "right"))
    for side, graph in (("left", left), ("right", right)):
        other = [each.op.name for each in graph.equations if each.op.name not in ALLOWED]
        if other:
            raise UnmetCheck(
                f"{side}: an operator too many", expected="add, sub and mul", got=other[0]
            )
        _check_inputs(f"{side}: ", graph, "X[n=4]", (4,))
        if len(graph.equations) > LONGEST:
            raise UnmetCheck(
                f"{side}: too long",
                expected=f"at most {LONGEST} operators",
                got=len(graph.equations),
            )
        if graph.output_shapes != ((4,),):
            raise UnmetCheck(f"{side}: outputs", expected="one of shape (4,)", got="others")
    found = accepted(left, right, 7, 500, seed=1)
    if found.accepted < found.tests:
        raise UnmetCheck(
            "the tester notices the difference",
            expected="500 of 500 tests accept",
            got=f"{found.accepted} of {found.tests}",
        )
    if verify(left, right, seed=1).equal:
        raise UnmetCheck("they are the same function", expected="a difference", got="none")
    return "passes 500 of 500 tests modulo 7, and the verifier says that they differ"


# --- 3. How many tests? ---------------------------------------------------------------------------


def needed(tests_needed: Any) -> None:
    """Check exercise 3: the number of tests, in six cases."""
    check(
        called(tests_needed),
        returns(2, 1, 0, 2, 31, 111, 311, 1.0, 1e-40, result=28),
        returns(1, 0, 3, 1, 83, 60, 1009, 1.0, 0.01, result=1, hint="one exponential meets none"),
        returns(4, 1, 0, 4, 83, 60, 1009, 1.0, 1e-9, result=9, hint="how many pairs are there?"),
        returns(
            2, 1, 1, 2, 131071, 1000, 262143, 0.125, 1e-9, result=156,
            hint="with probability 1 - c, a test learns nothing",
        ),
        returns(
            2, 1, 0, 50, 131071, 20, 1009, 1.0, 1e-40, result=26,
            hint="the second way of section 6: ln W / (N ln r)",
        ),
        returns(9, 1, 0, 9, 31, 111, 311, 1.0, 1e-9, result=None, hint="36 pairs, and only 31"),
    )  # fmt: skip


# --- 4. Why did it pass? --------------------------------------------------------------------------

REASONS = (
    "accepted, rightly",
    "refused, rightly",
    "same inputs",
    "same root",
    "small prime",
    "second exp",
    "one over zero",
)
SEALS = {
    "A": "f4eccc331f2e",
    "B": "300b0c6de6db",
    "C": "852bfffa2286",
    "D": "f6d0b7b334e2",
    "E": "702b1d7a4d35",
    "F": "bb734b8020c6",
    "G": "cae5dc1bd9df",
    "H": "60709b320ac5",
}


def reasons(my_reasons: Any) -> None:
    """Check exercise 4: say how many of the eight reasons are right."""
    hint = "ask accepts and verify first; then, with apart=True, which inputs matter"
    check(given(my_reasons), sealed(REASONS, SEALS, hint=hint))


# --- 5. Bug hunt ----------------------------------------------------------------------------------

PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31)


def hunt(my_case: Any, repaired: Any) -> None:
    """Check exercise 5: a case against the colleague's tester, and the repair."""
    check(given(my_case), breaks("what passes is equal", _still_right))
    check(
        called(repaired),
        returns([3, 5, 6], [[1], [1, 1]], [[1, 1], [1, 2, 1]], 7, result=2, hint="1 + 6 = 0"),
        returns([3, 5, 6], [[1], [1, 1]], [[2], [1, 1]], 7, result="different"),
        returns([0, 3, 0], [[1], [0, 1]], [[3], [0, 3]], 7, result=1, hint="at 0, x and 3x are 0"),
        returns([6, 6], [[1], [1, 1]], [[5], [1]], 7, result=0, hint="at 6, the left has no value"),
        returns([6, 6], [[5], [1]], [[1], [1, 1]], 7, result=0, hint="at 6, the right has none"),
    )


def _still_right(case: Any) -> str | None:
    """Return why this case proves nothing against the colleague's tester; None if it does."""
    if type(case) is not dict or sorted(case) != ["left", "p", "right", "xs"]:
        return "not a dict with the keys xs, left, right and p"
    xs, left, right, p = case["xs"], case["left"], case["right"], case["p"]
    if type(p) is not int or p not in PRIMES:
        return "p is not one of the primes from 5 to 31"
    if type(xs) is not list or not 3 <= len(xs) <= 100 or any(type(x) is not int for x in xs):
        return "xs is not a list of 3 to 100 whole numbers"
    for side in (left, right):
        if type(side) is not list or [type(each) for each in side] != [list, list]:
            return "a function is not a pair of two lists, [top, below]"
        if any(not 1 <= len(each) <= 40 or any(type(n) is not int for n in each) for each in side):
            return "a polynomial is not a list of 1 to 40 whole numbers"
    for x in xs:
        (a, b), (c, d) = _at(x, left, right, p)
        if a * pow(b, p - 2, p) % p != c * pow(d, p - 2, p) % p:
            return f'at x = {x} the colleague\'s tester says "different", and is right'
    for x in range(p):
        (a, b), (c, d) = _at(x, left, right, p)
        if b and d and a * d % p != c * b % p:
            return None
    return "the two functions agree wherever both have a value modulo p"


def _at(x: int, left: Any, right: Any, p: int) -> Any:
    """The top and the bottom of both functions."""
    return [
        [sum(n * pow(x, i, p) for i, n in enumerate(each)) % p for each in side]
        for side in (left, right)
    ]


# --- 6. What two steps hide -----------------------------------------------------------------------

SHIFTED_MEAN = """program(X[b=16, d=64]):
  m = mean(X, axis=1)
  F = shift(m, by=1)
  return F"""
CATCHES = (
    "more random inputs",
    "larger primes",
    "as many steps as the loop has",
    "a random order for max",
)


def hide(my_graph: Any, my_catch: Any) -> None:
    """Check exercise 6: a graph that loops of two steps take for the program."""
    check(given(my_graph), holds(_hides, kind="counter-example"))
    check(given(my_catch), sealed(CATCHES, "1bf241ef4f73", hint="which sizes does screen test?"))


def _hides(text: Any) -> str:
    """Is accepted on loops of two steps, and different."""
    graph, program = read(text), parse(SHIFTED_MEAN)
    _check_inputs("", graph, "X[b=16, d=64]", (16, 64))
    steps = [extent for _, block in graph.blocks for _, extent in block.loops]
    if max(steps, default=0) < 4:
        raise UnmetCheck(
            "its loops are too short", expected="a loop of 4 steps or more", got=f"loops {steps}"
        )
    operators = sum(len(block.equations) for _, block in graph.blocks) + len(graph.equations)
    if operators > 12:
        raise UnmetCheck("a long graph", expected="at most 12 operators", got=operators)
    if graph.output_shapes != program.output_shapes:
        raise UnmetCheck("its output", expected="shape (16, 1)", got=graph.output_shapes)
    if not screen(graph, program, seed=1):
        raise UnmetCheck(
            "small sizes show the difference",
            expected="screen accepts the graph",
            got="it refuses it",
        )
    if verify(graph, program, seed=1).equal:
        raise UnmetCheck("it computes what the program does", expected="a difference", got="none")
    return f"accepted on two steps, different on {max(steps)}"
