"""Demands of the exercises of lesson 20, one function for each graded cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

import numpy as np

from mlc_course.dynamic_shape.fusion import Knowledge, plan
from mlc_course.dynamic_shape.ir import (
    AffineEq,
    Constraint,
    Eq,
    Module,
    MulEq,
    ProductEq,
    SymbolicDim,
    dims_of,
    parse_constraint,
    said,
)
from mlc_course.dynamic_shape.ir import holds as is_true
from mlc_course.dynamic_shape.solve import (
    Facts,
    Proved,
    Refuted,
    Solver,
    check_certificate,
)
from mlc_course.errors import Contradiction, TextError, UnmetCheck
from mlc_course.exercise import called, check, given, holds, shown
from mlc_course.grading.checks import Examined
from mlc_course.lessons.lesson_20_dynamic_shapes.exercise_programs import (
    TO_FUSE,
    TO_INFER,
    with_sizes,
)
from mlc_course.lessons.lesson_20_dynamic_shapes.one_step import proves
from mlc_course.lessons.lesson_20_dynamic_shapes.row_sums import (
    VARIANTS,
    WIDTH,
    Rows,
    run_variant,
)

LONGEST = 60  # characters of a formula
MOST_FACTS = 6  # of a program
MOST_CONSTRAINTS = 4  # of a pair
LARGEST_SIZE = 1_000_000
MAGNITUDES = 28  # of sizes for which no variant can be tried, in bits
WORDS = ("one", "never")
EQUALITIES = (Eq, MulEq, ProductEq, AffineEq)
PRODUCTS = (Eq, MulEq, ProductEq)


# 1. Which sizes are equal?


def infer(answer: Any) -> None:
    """Check that the facts of each program follow from it, and that nothing else does."""
    check(given(answer), holds(_inferred, kind="facts"))


def _inferred(value: Any) -> str:
    _check_keys(value, list(TO_INFER))
    for name, function in TO_INFER.items():
        module = with_sizes(function)
        facts = value[name]
        if type(facts) is not list or len(facts) > MOST_FACTS:
            expected = f"a list of at most {MOST_FACTS} formulas"
            raise UnmetCheck(f"{name}: not a list of facts", expected=expected, got=facts)
        claims = [_formula(each, EQUALITIES, name, _dims(module)) for each in facts]
        _check_each_follows(name, module, claims)
        _check_nothing_is_missing(name, module, claims)
    return f"all that follows from {len(TO_INFER)} programs, and nothing else"


def _check_each_follows(name: str, module: Module, claims: Sequence[Constraint]) -> None:
    solver = Solver(Facts(_dims(module), module.facts()))
    for claim in claims:
        answer = solver.ask(claim)
        if not isinstance(answer, Proved):
            raise UnmetCheck(
                f"{name}: {said(claim)} does not follow",
                expected="what holds for all sizes that the program takes",
                got=_sizes_text(answer, module),
                hint="the program takes the sizes above: which of its operators would refuse them?",
            )


def _check_nothing_is_missing(name: str, module: Module, claims: Sequence[Constraint]) -> None:
    solver = Solver(Facts(_dims(module), claims))
    for fact in module.facts():
        answer = solver.ask(fact)
        if not isinstance(answer, Proved):
            raise UnmetCheck(
                f"{name}: a fact is missing",
                expected="sizes that keep your facts are sizes that the program takes",
                got=_sizes_text(answer, module),
                hint="the program refuses the sizes above: at which operator?",
            )


# 2. One kernel?


def fuse(answer: Any) -> None:
    """Check of six programs whether they are one kernel, and the facts that would make them one."""
    check(given(answer), holds(_fused, kind="fusions"))


def _fused(value: Any) -> str:
    _check_keys(value, list(TO_FUSE))
    right = 0
    for letter, function in TO_FUSE.items():
        module, answer = with_sizes(function), value[letter]
        truth = _truth(module)
        if answer in WORDS:
            right += answer == truth
            continue
        fact = _formula(answer, EQUALITIES, letter, _dims(module), words=WORDS)
        _check_fact(letter, module, fact)
        right += isinstance(truth, tuple) and _is_no_more(module, truth, fact, letter)
    if right < len(TO_FUSE):
        raise UnmetCheck(
            f"{right} of {len(TO_FUSE)} are right",
            hint="what is stored, which rows does a reduction have, and what do operators assert?",
        )
    return f"all {len(TO_FUSE)} are right"


def _truth(module: Module) -> str | tuple[Constraint, ...]:
    """Return one of the words, or what has to be known for one kernel."""
    planned = plan(module)
    if len(planned.kernels) == 1:
        return "one"
    (refusal,) = planned.refusals
    is_possible = Knowledge(module).is_possible(refusal.missing)
    return refusal.missing if refusal.missing and is_possible else "never"


def _check_fact(letter: str, module: Module, fact: Constraint) -> None:
    """Raise unless a fact is news, can be, and leads to one kernel."""
    if isinstance(Solver(Facts(_dims(module), module.facts())).ask(fact), Proved):
        expected = "a fact that the operators do not assert"
        raise UnmetCheck(f"{letter}: this is known already", expected=expected, got=said(fact))
    try:
        planned = plan(replace(module, constraints=(*module.constraints, fact)))
    except Contradiction as error:
        what = f"{letter}: no sizes keep this and what operators assert"
        raise UnmetCheck(what, expected="a fact that can be", got=error.got) from None
    if len(planned.kernels) > 1:
        got = f"{len(planned.kernels)} kernels, if {said(fact)}"
        raise UnmetCheck(f"{letter}: it is not enough", expected="one kernel", got=got)


def _is_no_more(
    module: Module, needed: tuple[Constraint, ...], fact: Constraint, letter: str
) -> bool:
    """Raise if a fact says more than is needed."""
    solver = Solver(Facts(_dims(module), [*module.facts(), *needed]))
    answer = solver.ask(fact)
    if not isinstance(answer, Proved):
        raise UnmetCheck(
            f"{letter}: {said(fact)} is more than is needed",
            expected="one kernel for as many sizes as can be",
            got=f"{_sizes_text(answer, module)}: one kernel is right for these, too",
        )
    return True


# 3. Break a prover


def prover(by_steps: Any, with_zero: Any) -> None:
    """Check both ways of breaking the prover."""
    steps(by_steps)
    zero(with_zero)


def steps(answer: Any) -> None:
    """Check constraints and a claim that follows from all of them, and in one step from none."""
    check(given(answer), holds(_takes_steps, kind="proof"))


def zero(answer: Any) -> None:
    """Check a claim that follows for sizes from 1 on, and sizes with a 0 for which it is false."""
    check(given(answer), holds(_needs_no_zero, kind="counter-example"))


def _takes_steps(value: Any) -> str:
    constraints, claim = _pair(value, ["given", "claim"])
    if len(constraints) < 2:
        raise UnmetCheck("one constraint", expected="two or more, of which each is needed")
    _check_follows(constraints, claim)
    for non_zero in (False, True):
        if proves(constraints, claim, non_zero=non_zero):
            where = "where no size is 0" if non_zero else "where a size may be 0"
            raise UnmetCheck(
                f"one step proves it, {where}",
                expected=f"no known equality, times something, is {said(claim)}",
                got="; ".join(map(said, constraints)),
                hint="two constraints have to be used on the same product, one after the other",
            )
    for at, each in enumerate(constraints):
        fewer = [*constraints[:at], *constraints[at + 1 :]]
        if isinstance(_solver([*fewer, claim], fewer).ask(claim), Proved):
            got = f"it follows without {said(each)}"
            raise UnmetCheck("fewer would do", expected="each constraint is needed", got=got)
    return f"{said(claim)} follows from {len(constraints)} constraints, and not in one step"


def _needs_no_zero(value: Any) -> str:
    constraints, claim = _pair(value, ["given", "claim", "sizes"])
    names = list(_dims_of([*constraints, claim]))
    sizes = value["sizes"]
    if type(sizes) is not dict or sorted(map(str, sizes)) != sorted(names):
        raise UnmetCheck("not a size for every name", expected=", ".join(names), got=sizes)
    for name, size in sizes.items():
        if type(size) is not int or not 0 <= size <= LARGEST_SIZE:
            expected = f"a whole number, 0 to {LARGEST_SIZE:,}"
            raise UnmetCheck(f"{name} is not a size", expected=expected, got=size)
    _check_follows(constraints, claim)
    for each in constraints:
        if not is_true(each, sizes):
            raise UnmetCheck("the sizes break a constraint", expected=said(each), got=sizes)
    if is_true(claim, sizes):
        what = "the claim is true for these sizes"
        raise UnmetCheck(what, expected=f"not {said(claim)}", got=sizes)
    return f"{said(claim)} follows for sizes from 1 on, and is false with a size of 0"


def _pair(value: Any, keys: Sequence[str]) -> tuple[list[Constraint], Constraint]:
    _check_keys(value, keys)
    formulas = value["given"]
    if type(formulas) is not list or not 1 <= len(formulas) <= MOST_CONSTRAINTS:
        expected = f"a list of 1 to {MOST_CONSTRAINTS} formulas"
        raise UnmetCheck("given: not a list of constraints", expected=expected, got=formulas)
    constraints = [_formula(each, PRODUCTS, "given") for each in formulas]
    return constraints, _formula(value["claim"], PRODUCTS, "claim")


def _check_follows(constraints: Sequence[Constraint], claim: Constraint) -> None:
    """Raise unless a claim is proved, with a certificate that holds."""
    solver = _solver([*constraints, claim], constraints)
    answer = solver.ask(claim)
    if not isinstance(answer, Proved):
        got = _sizes_of(answer)
        raise UnmetCheck("the claim does not follow", expected=f"always {said(claim)}", got=got)
    check_certificate(answer.certificate, claim, solver.facts.dims, solver.facts.stated)


def _solver(named: Sequence[Constraint], constraints: Sequence[Constraint]) -> Solver:
    return Solver(Facts(_dims_of(named), constraints))


# 4. Guards


def choose(answer: Any, *, large: int = 200) -> None:
    """Check that the chosen variant is right, and the best, at small sizes and at some larger."""
    check(called(answer), _Chooses(large))


@dataclass(frozen=True)
class _Chooses:
    """The function chooses the best variant that is right, at all small sizes and some larger ones.

    Which variants are right depends on residues, and on whether there is more than one row, and
    rows hold four floats. So what is right at large sizes is tried at small ones.
    """

    large: int
    kind: ClassVar[str] = "guards"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        count = 0
        for small, asked in self._cases(answer.rng()):
            self._judge(small, asked, answer.call(*vars(asked).values()))
            count += 1
        return f"the best variant that is right, at {count} sizes"

    def _judge(self, small: Rows, asked: Rows, choice: Any) -> None:
        if type(choice) is not str or choice not in VARIANTS:
            expected = " | ".join(VARIANTS)
            raise UnmetCheck(f"not a variant, for {asked}", expected=expected, got=shown(choice))
        at = f"for {asked}" if small == asked else f"for {asked}, as it would be for {small}"
        outcome = run_variant(choice, small)
        if outcome.fault:
            what = f"{choice!r} is wrong {at}"
            raise UnmetCheck(what, expected="the sum of each row", got=outcome.fault)
        others = (run_variant(name, small) for name in VARIANTS)
        fewest = min(each.instructions for each in others if not each.fault)
        if outcome.instructions > fewest:
            raise UnmetCheck(
                f"{choice!r} is right {at}, and not the best",
                expected=f"a right variant that takes {fewest} instructions",
                got=f"{outcome.instructions} instructions",
            )

    def _cases(self, rng: np.random.Generator) -> Iterator[tuple[Rows, Rows]]:
        """Yield small sizes, and those that the function is asked about."""
        shapes = product((1, 2, 3), range(1, 10), range(4), range(4))
        every = [Rows(rows, n, n + more, first) for rows, n, more, first in shapes]
        yield from ((each, each) for each in every)
        for at in rng.integers(0, len(every), self.large):
            magnitudes = rng.uniform(0, MAGNITUDES, 4)  # as many small ones as large ones
            yield every[at], _larger(every[at], [int(2**each) for each in magnitudes])


def _larger(small: Rows, more: Sequence[int]) -> Rows:
    """Return large sizes at which the same variants are right."""
    rows, columns, pitch, first = (WIDTH * n for n in more)
    columns = columns if small.columns >= WIDTH else 0
    return Rows(
        small.rows + (rows if small.rows > 1 else 0),
        small.columns + columns,
        small.pitch + columns + pitch,
        small.first + first,
    )


# What answers are made of.


def _check_keys(value: Any, keys: Sequence[str]) -> None:
    if type(value) is not dict or sorted(value) != sorted(keys):
        raise UnmetCheck("not an answer to every part", expected=", ".join(keys), got=value)


def _formula(
    text: Any,
    forms: tuple[type[Constraint], ...],
    place: str,
    dims: Mapping[str, SymbolicDim] | None = None,
    words: Sequence[str] = (),
) -> Constraint:
    """Read a formula; raise unless it is of one of these forms, and of names that there are."""
    expected = " | ".join((*words, "a formula such as B*S == T"))
    if type(text) is not str or len(text) > LONGEST:
        raise UnmetCheck(f"{place}: not a formula", expected=expected, got=repr(text)[:LONGEST])
    try:
        found = parse_constraint(text)
    except TextError:
        raise UnmetCheck(f"{place}: not a formula", expected=expected, got=text) from None
    if not isinstance(found, forms):
        raise UnmetCheck(f"{place}: a formula of another form", expected=expected, got=text)
    for dim in dims_of(found):
        if isinstance(dim, str) and dims is not None and dim not in dims:
            raise UnmetCheck(f"{place}: no size {dim}", expected=", ".join(dims), got=text)
    return found


def _dims(module: Module) -> dict[str, SymbolicDim]:
    return {dim.name: dim for dim in module.dims}


def _dims_of(constraints: Sequence[Constraint]) -> dict[str, SymbolicDim]:
    names = (dim for each in constraints for dim in dims_of(each) if isinstance(dim, str))
    return {name: SymbolicDim(name) for name in names}


def _sizes_text(answer: object, module: Module) -> str:
    """Return the sizes of a counter-example, in the order in which the program names them."""
    if not isinstance(answer, Refuted):
        return "no proof"
    return ", ".join(f"{dim.name} = {answer.model[dim.name]}" for dim in module.dims)


def _sizes_of(answer: object) -> str:
    if not isinstance(answer, Refuted):
        return "no proof"
    return ", ".join(f"{name} = {size}" for name, size in answer.model.items())
