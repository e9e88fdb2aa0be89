"""The solver is asked what is known by other means: by construction, by trying all sizes, by z3."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import pytest
import z3
from cases import Tried
from shape_claims import (
    drawn_constraint,
    drawn_dims,
    drawn_known,
    drawn_products,
    free,
    models_up_to,
)

from mlc_course.dynamic_shape.ir import (
    AffineEq,
    AtMost,
    Constraint,
    Dim,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
    SymbolicDim,
    holds,
)
from mlc_course.dynamic_shape.solve import (
    Facts,
    Proved,
    Refuted,
    Solver,
    Unknown,
    check_certificate,
)
from mlc_course.errors import Contradiction

SIZES = ((6, 2), (12, 4), (40, 12), (120, 40))  # dimensions and constraints


def judged(
    solver: Solver,
    claim: Constraint,
    dims: Mapping[str, SymbolicDim],
    stated: Sequence[Constraint],
) -> str:
    """Ask, check what the answer carries, and return its kind."""
    answer = solver.ask(claim)
    match answer:
        case Proved(certificate):
            check_certificate(certificate, claim, dims, stated)
        case Refuted(model):
            assert all(holds(each, model) for each in stated)
            assert all(dim.may_be(model[name]) for name, dim in dims.items())
            assert not holds(claim, model)
    return type(answer).__name__


@pytest.mark.fuzz
def test_claims_of_known_answer_are_decided_rightly(full: bool, seed: int, tried: Tried) -> None:
    """10,000 of them with ``--full``; products, constants and divisors leave none unknown."""
    rng = random.Random(seed)
    said: Counter[tuple[bool, str]] = Counter()
    for _ in range(250 if full else 40):
        known = drawn_products(rng, *rng.choice(SIZES))
        dims = free(known.names)
        solver = Solver(Facts(dims, known.stated))
        for _ in range(40):
            asked = drawn_known(rng, known)
            said[asked.is_entailed, judged(solver, asked.claim, dims, known.stated)] += 1
    tried("claims", said.total())
    assert set(said) == {(True, "Proved"), (False, "Refuted")}


@pytest.mark.fuzz
def test_equal_products_constants_and_divisors_leave_no_claim_unknown(
    full: bool, seed: int, tried: Tried
) -> None:
    """Small and dense, with repeated sizes, powers, and factors that cancel."""
    rng = random.Random(seed)
    said: Counter[str] = Counter()

    def drawn(names: Sequence[str]) -> Constraint:
        while True:
            found = drawn_constraint(rng, names)
            if isinstance(found, Eq | MulEq | ProductEq | Divisible):
                return found

    for _ in range(5000 if full else 300):
        names = list("abcde"[: rng.randint(1, 5)])
        dims, stated = free(names), [drawn(names) for _ in range(rng.randint(0, 4))]
        try:
            solver = Solver(Facts(dims, stated))
        except Contradiction:
            continue
        for _ in range(5):
            said[judged(solver, drawn(names), dims, stated)] += 1
    tried("claims", said.total())
    assert not said["Unknown"] and said["Refuted"] > said["Proved"] > 0


@pytest.mark.fuzz
def test_no_answer_is_wrong_of_any_size_up_to_twelve(full: bool, seed: int, tried: Tried) -> None:
    """All kinds of constraints, with and without ranges, against trying all sizes."""
    rng = random.Random(seed)
    said: Counter[str] = Counter()
    for _ in range(2000 if full else 300):
        names = list("abcd"[: rng.randint(1, 4)])
        dims = free(names) if rng.random() < 0.4 else drawn_dims(rng, names)
        stated = [drawn_constraint(rng, names) for _ in range(rng.randint(0, 3))]
        models = models_up_to(12, dims, stated)
        try:
            solver = Solver(Facts(dims, stated))
        except Contradiction:
            assert not models, stated
            said["Contradiction"] += 1
            continue
        for _ in range(4):
            claim = drawn_constraint(rng, names, asked=True)
            found = judged(solver, claim, dims, stated)
            said[found] += 1
            if found == "Proved":
                assert all(holds(claim, model) for model in models), (stated, claim)
    tried("claims", said.total())
    assert said["Refuted"] > said["Proved"] > said["Unknown"] / 2 > 0 < said["Contradiction"]


def in_z3(constraint: Constraint, sizes: Mapping[str, Any]) -> Any:
    """A constraint in the words of z3."""

    def of(dim: Dim) -> Any:
        return sizes[dim] if isinstance(dim, str) else z3.IntVal(dim)

    def product(dims: Sequence[Dim]) -> Any:
        return reduce(lambda a, b: a * b, map(of, dims), z3.IntVal(1))

    match constraint:
        case Eq(left, right):
            return of(left) == of(right)
        case Less(small, large):
            return of(small) < of(large)
        case Divisible(dividend, by):
            return product(dividend) % product(by) == 0
        case MulEq(size, factors):
            return of(size) == product(factors)
        case ProductEq(left, right):
            return product(left) == product(right)
        case AffineEq(size, terms, constant):
            return of(size) == sum((by * of(dim) for by, dim in terms), z3.IntVal(constant))
        case AtMost(factors, limit):
            return product(factors) <= limit


@pytest.mark.slow
@pytest.mark.fuzz
def test_z3_finds_no_counter_example_to_what_is_proved(full: bool, seed: int, tried: Tried) -> None:
    """300 claims with ``--full``; what z3 refutes is not proved, and the other way round.

    Every fourth claim is one of what is stated: a seed may draw no other that follows.
    """
    rng = random.Random(seed)
    said: Counter[tuple[str, str]] = Counter()
    for number in range(300 if full else 40):
        names = list("abcdef"[: rng.randint(2, 6)])
        dims = free(names)
        stated = [drawn_constraint(rng, names) for _ in range(rng.randint(1, 4))]
        claim = drawn_constraint(rng, names, asked=True) if number % 4 else rng.choice(stated)
        oracle = z3.Solver()
        oracle.set("rlimit", 1_000_000)  # steps, not seconds: the same on a busy machine
        sizes = {name: z3.Int(name) for name in names}
        oracle.add(*(each >= 1 for each in sizes.values()), *(in_z3(c, sizes) for c in stated))
        try:
            solver = Solver(Facts(dims, stated))
        except Contradiction:
            assert oracle.check() != z3.sat, stated
            continue
        oracle.add(z3.Not(in_z3(claim, sizes)))
        found, answer = str(oracle.check()), judged(solver, claim, dims, stated)
        said[answer, found] += 1
        assert (answer, found) not in {("Proved", "sat"), ("Refuted", "unsat")}, (stated, claim)
    tried("claims beside z3", said.total())
    assert said["Proved", "unsat"] > 0 < said["Refuted", "sat"]


def test_an_answer_may_be_unknown() -> None:
    """A product and a sum together, over whole numbers, are beyond any procedure."""
    dims = free("abc")
    stated = [MulEq("c", ("a", "b")), AffineEq("c", ((1, "a"), (1, "b")))]
    assert isinstance(Solver(Facts(dims, stated)).ask(Eq("a", 2)), Unknown | Proved)
