"""Demands of the exercises of lesson 18, one function for each graded cell."""

from __future__ import annotations

import json
from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import (
    breaks,
    called,
    check,
    check_parts,
    given,
    holds,
    prunes,
    same_program,
    seal,
    shown,
)
from mlc_course.grading.checks import read
from mlc_course.lessons.lesson_18_superoptimization.examples import found_graphs
from mlc_course.mugraph.cost import cost, target
from mlc_course.mugraph.enumeration import audit
from mlc_course.mugraph.ir import KernelGraph, parse

LORA = """
lora(X[b=16, d=256], W[d, n=4096], A[d, r=16], B[r, n]):
  base = matmul(X, W)
  down = matmul(X, A)
  up = matmul(down, B)
  Y = add(base, up)
  return Y
"""
WITHOUT = 35_870  # nodes of its tree of up to five operators, without a test of expressions
BIASED = """
biased(S[b=16, n=64], M[1, n]):
  moved = add(S, M)
  E = exp(moved)
  total = sum(E, axis=1)
  P = div(E, total)
  return P
"""
OPERATORS = ("square", "sum", "scale", "sqrt", "mul", "div", "matmul")
INPUTS = ("X", "G", "W")
READING = {  # the seal of each right answer, as JSON
    "late": "9d8dbef92d97",
    "twice": "8b73a81d37c6",
    "quarter": "65f5097de5be",
    "times": "1e5a6c8cfbc1",
    "enough": "aa2db442d4fa",
}
SHARE = 0.2  # by which a figure may change


def pruner(answer: Any) -> None:
    """Check that a pruner loses no graph of LoRA, and keeps at most a node in twenty."""
    check(called(answer), prunes(LORA, operators=5, without=WITHOUT))


def lost(answer: Any) -> None:
    """Check a graph that is equal to the biased softmax, and that the colleague never sees."""
    claim = "what does not occur in the goal is no part of it"
    check(given(answer), same_program(BIASED), breaks(claim, _stands))


def reading(answer: Any) -> None:
    """Check how many of the five things that were read off two graphs are right."""
    check(given(answer), holds(_read_off, kind="answers"))


def machine(answer: Any) -> None:
    """Check a figure of the H100 that changes the order of two graphs."""
    check(given(answer), holds(_prefers_two, kind="counter-example"))


def _stands(text: Any) -> str | None:
    """Return why the colleague's claim still stands, or None."""
    program = parse(BIASED)
    goal = audit(program, program)[-1].expression
    values = audit(read(text), program)
    if values[-1].reason:
        return f"the axioms do not find this graph either: {values[-1].name}: {values[-1].reason}"
    cut = [each for each in values if each.expression.lstrip("0123456789 ") not in goal]
    return None if cut else "all of its values occur in the goal, so the colleague keeps it"


def _read_off(value: Any) -> str:
    check_parts(value, READING)
    _check_form(value)
    count = sum(seal(json.dumps(value[key]), key) == right for key, right in READING.items())
    if count < len(READING):
        raise UnmetCheck(
            f"{count} of {len(READING)} are right",
            hint="which grid axes cut the tensor, and which blocks see the same part of it?",
        )
    return f"all {len(READING)} are right"


def _check_form(value: dict[str, Any]) -> None:
    if value["late"] not in OPERATORS:
        raise UnmetCheck(
            "late: not an operator", expected=" | ".join(OPERATORS), got=shown(value["late"])
        )
    named = value["quarter"] if type(value["quarter"]) is list else [value["quarter"]]
    for key, names in (("twice", [value["twice"]]), ("quarter", named)):
        if not names or not all(each in INPUTS for each in names):
            raise UnmetCheck(
                f"{key}: not an input", expected=" | ".join(INPUTS), got=shown(value[key])
            )
    if type(value["quarter"]) is not list or sorted(set(named)) != named:
        raise UnmetCheck(
            "quarter: not a list in alphabetical order",
            expected="a list of inputs, each once",
            got=shown(value["quarter"]),
        )
    numbers = value["times"] if type(value["times"]) is list else []
    if len(numbers) != 2 or not all(type(n) is int and n > 0 for n in numbers):
        raise UnmetCheck(
            "times: not two numbers",
            expected="[number, number], whole and above 0",
            got=shown(value["times"]),
        )
    if type(value["enough"]) is not int or not 1 <= value["enough"] <= 96:
        raise UnmetCheck(
            "enough: not a number of columns",
            expected="a whole number, 1 to 96",
            got=shown(value["enough"]),
        )


def _prefers_two(value: Any) -> str:
    one, two = found_graphs()
    h100 = target("h100")
    if type(value) is not dict or len(value) != 1:
        raise UnmetCheck(
            "not one figure", expected='{"barrier_s": 3e-8}, for one', got=shown(value)
        )
    ((name, new),) = value.items()
    old = getattr(h100, name, None) if isinstance(name, str) and name != "launch_s" else None
    if type(old) not in (int, float):
        figures = [n for n, v in vars(h100).items() if type(v) in (int, float)]
        expected = ", ".join(n for n in figures if n != "launch_s")
        raise UnmetCheck(f"{name} is no figure to change", expected=expected, got=name)
    assert old is not None
    low, high = (1 - SHARE) * old, (1 + SHARE) * old
    if type(new) not in (int, float) or not low <= new <= high:
        expected = f"{low:g} to {high:g}"
        raise UnmetCheck(f"{name}: more than a fifth", expected=expected, got=shown(new))
    more = _more(target("h100", **value), one, two)
    if more >= 0:
        raise UnmetCheck(
            "one kernel is still cheaper",
            expected="two kernels cheaper than one",
            got=f"dearer by {more:.2f} µs; as the H100 is, by {_more(h100, one, two):.2f} µs",
            hint="make what two kernels save cost more: which terms are these?",
        )
    return f"two kernels are cheaper by {-more:.2f} µs"


def _more(machine: Any, one: KernelGraph, two: KernelGraph) -> float:
    """Return by how many microseconds two kernels are dearer."""
    return 1e6 * float(cost(two, machine).total - cost(one, machine).total)
