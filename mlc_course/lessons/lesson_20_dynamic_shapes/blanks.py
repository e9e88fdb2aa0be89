"""The lines that the reader of lesson 20 writes, and their judges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import Module, dims_of, parse_constraint
from mlc_course.dynamic_shape.programs import program
from mlc_course.dynamic_shape.solve import Facts, Proved, Refuted, Solver
from mlc_course.errors import Contradiction, CourseError, UnmetCheck
from mlc_course.grading.checks import Examined, returns
from mlc_course.grading.process import called, given
from mlc_course.lessons.kit import Blank, asks


@dataclass(frozen=True)
class Merges:
    """A fact with which two kernels of the cache become one, and which is no more than that."""

    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        fact = answer.value
        if not isinstance(fact, str):
            raise UnmetCheck("not a fact", expected='a text such as "A == B"', got=fact)
        try:
            constraint = parse_constraint(fact)
        except CourseError as error:
            raise UnmetCheck("this cannot be read", expected='"A == B"', got=error) from None
        module = without_facts()
        known = {dim.name for dim in module.dims}
        strange = {dim for dim in dims_of(constraint) if isinstance(dim, str)} - known
        if strange:
            raise UnmetCheck(
                f"no such size: {', '.join(sorted(strange))}",
                expected=", ".join(sorted(known)),
                got=fact,
            )
        try:
            kernels = len(plan(replace(module, constraints=(constraint,))).kernels)
        except Contradiction:
            raise UnmetCheck("no sizes keep this", got=fact) from None
        if kernels > 1:
            raise UnmetCheck(
                "there are still two kernels",
                expected="one",
                got=fact,
                hint="which sizes tell the two results apart?",
            )
        dims = {dim.name: dim for dim in module.dims}
        needed = Solver(Facts(dims, program("append_to_cache").facts()))
        found = needed.ask(constraint)
        if not isinstance(found, Proved):
            sizes = found.model if isinstance(found, Refuted) else {}
            raise UnmetCheck(
                f"{fact} is more than is needed",
                expected="one kernel for as many sizes as can be",
                got=", ".join(f"{name} = {sizes[name]}" for name in dims if name in sizes)
                or "no proof",
                hint="one kernel is right for the sizes above, too",
            )
        return f"with {fact}, there is one kernel"


def without_facts() -> Module:
    """The program that appends to a cache, with nothing stated of its sizes."""
    return replace(program("append_to_cache"), constraints=())


exponents = Blank(
    asks(
        called,
        returns(["B", "S"], ["T"], result={"B": 1, "S": 1, "T": -1}),
        returns(
            ["B", "S", "H"],
            ["T", "H"],
            result={"B": 1, "S": 1, "H": 0, "T": -1},
            hint="a size that cancels has the number 0",
        ),
        returns(["A", "A"], ["B"], result={"A": 2, "B": -1}, hint="a size may occur twice"),
        returns(["A"], ["A"], result={"A": 0}),
    ),
    (
        "Each size has one number: how often it is a factor on the left, less how often on the "
        "right.",
        "`left.count(name)` counts a name in a list.",
        "return {name: left.count(name) - ... for name in {*left, *right}}",
    ),
    "return {name: left.count(name) - right.count(name) for name in {*left, *right}}",
)
missing = Blank(
    asks(given, Merges()),
    (
        "Each kernel stores a result. Which sizes do the two results have?",
        "The results are [B, A, K, D] and [B, A, V, D].",
        'fact = "K == V", or what it follows from: how long were the caches before?',
    ),
    'fact = "P == Q"',
)
