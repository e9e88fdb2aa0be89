"""An attack on the solver has found models, proofs and contradictions that were none."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from shape_claims import free

from mlc_course.dynamic_shape.ir import (
    AffineEq,
    AtMost,
    Constraint,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
    SymbolicDim,
    holds,
    parse_constraint,
)
from mlc_course.dynamic_shape.solve import (
    Certificate,
    Facts,
    Refuted,
    Solver,
    Unknown,
    check_certificate,
)
from mlc_course.dynamic_shape.solve.answers import (
    ByBounds,
    ByDivisors,
    ByFactors,
    ByProducts,
    BySums,
    Step,
)
from mlc_course.dynamic_shape.solve.integers import Cut
from mlc_course.errors import Contradiction, UsageError, WrongResult

ONE = Fraction(1)


@pytest.mark.parametrize("claim", [Divisible(("X21",), (2,)), Eq("X0", 4), Eq("X20", 3)])
def test_no_model_breaks_a_fact_where_the_solver_gives_up(claim: Constraint) -> None:
    """The exponents need 2a + 3b = 65537, beside 400 others: too many for an exact search."""
    names = [f"X{at}" for at in range(420)]
    facts: list[Constraint] = [Eq("X0", 2)]
    facts += [MulEq(names[at + 1], (names[at],) * 2) for at in range(16)]
    facts.append(ProductEq(("X20", "X20", "X21", "X21", "X21"), ("X16", "X0")))
    facts += [Divisible((names[at],), (names[at + 1],)) for at in range(21, 419)]
    answer = Solver(Facts(free(names), facts)).ask(claim)
    if isinstance(answer, Refuted):
        assert all(holds(fact, answer.model) for fact in facts)
    else:
        assert isinstance(answer, Unknown)


HALF = AffineEq("A", ((Fraction(1, 2), "B"),), 5)  # type: ignore[arg-type]
FORGED: dict[str, tuple[list[Step], list[Constraint]]] = {
    "zero stands for one in a product": (
        [
            Step(2, ProductEq(("A", 0), ("A",)), ByProducts({})),
            Step(3, ProductEq(("B", 0), ("B",)), ByProducts({})),
            Step(4, Eq("A", "B"), BySums({2: -ONE, 3: ONE})),
        ],
        [],
    ),
    "multipliers that round": (
        [Step(9, Eq("A", 4), BySums({2: 1e17, 3: 5e16}))],  # type: ignore[dict-item]
        [Eq("A", 3), MulEq(6, (2, "A"))],
    ),
    "a coefficient that is cut off": (
        [
            Step(
                3,
                HALF,
                ByBounds(
                    (),
                    (
                        (Cut({"A": 1, "B": 0}, 5, {2: ONE}),),
                        (Cut({"A": -1, "B": 0}, -5, {2: -ONE}),),
                    ),
                ),
            ),
            Step(4, AffineEq("A", ((1, "B"),), 5), BySums({3: 2 * ONE, 2: -ONE})),
        ],
        [Eq("A", 5)],
    ),
    "a fact that is not there": ([Step(9, Eq("A", 3), BySums({77: ONE}))], []),
    "a cut that is not there": (
        [
            Step(
                9,
                AtMost(("A",), 5),
                ByBounds((0,), ((Cut({"A": 1}, 5, {}, {Fraction(1, 2): ONE}),),)),  # type: ignore[dict-item]
            )
        ],
        [],
    ),
    "no proof": ([Step(9, Eq("A", "B"), None)], []),  # type: ignore[arg-type]
    "no steps": ([], []),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_certificate_is_refused(name: str) -> None:
    steps, stated = FORGED[name]
    claim = steps[-1].claim if steps else Eq("A", "B")
    with pytest.raises(WrongResult):
        check_certificate(Certificate(tuple(steps)), claim, free("AB"), stated)


@pytest.mark.parametrize(
    ("claim", "proof"),
    [
        (Eq(0, 1), ByProducts({})),
        (Eq(-1, -1), ByProducts({})),
        (Eq("A", 0.5), ByProducts({})),
        (Divisible(("A",), (0,)), ByProducts({})),
        (Divisible(("A",), (0,)), ByDivisors({})),
        (AtMost((-1, "A"), -10), ByFactors()),
        (AtMost(("Z",), 5), ByFactors()),
        (AtMost((3,), Fraction(5, 2)), ByFactors()),
        (HALF, BySums({})),
        (AffineEq("A", (), Fraction(11, 2)), BySums({})),  # type: ignore[arg-type]
        (AffineEq("A", ((2**61 - 1, "B"),)), BySums({})),
        ("A == B", BySums({})),
    ],
)
def test_a_number_that_is_no_size_is_neither_asked_nor_proved(claim: Any, proof: Any) -> None:
    dims = {name: SymbolicDim(name, ((1, 10),)) for name in "AB"}
    with pytest.raises(UsageError):
        check_certificate(Certificate((Step(2, claim, proof),)), claim, dims, ())
    with pytest.raises(UsageError):
        Solver(Facts(dims)).ask(claim)
    with pytest.raises(UsageError):
        Facts(dims, [claim])


def test_a_dimension_goes_by_its_own_name() -> None:
    dims = {"B": SymbolicDim("A", ((1, 3),)), "A": SymbolicDim("A")}
    claim = AtMost(("A",), 3)
    proof = ByBounds((0,), ((Cut({"A": 1}, 3, {}, {1: ONE}),),))
    with pytest.raises(UsageError, match="a dimension's name"):
        check_certificate(Certificate((Step(5, claim, proof),)), claim, dims, ())
    with pytest.raises(UsageError, match="a dimension's name"):
        Facts(dims)


TWICE = Less("A", "B")
FIXED = Eq("A", 3)


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ([TWICE, TWICE, Less("B", "A")], "A < B; B < A"),
        ([TWICE, TWICE, Less("B", "A"), Less("B", "A")], "A < B; B < A"),
        ([FIXED, FIXED, Less(3, "A")], "A == 3; 3 < A"),
        ([Eq("B", 2), Less("A", "A")], "A < A"),
        ([AffineEq("A", ((2, "B"), (-1, "A")), 1), FIXED], "A == 2*B - A + 1"),
    ],
)
def test_a_contradiction_names_no_fact_twice_and_none_too_many(
    facts: list[Constraint], named: str
) -> None:
    with pytest.raises(Contradiction) as refused:
        Facts(free("AB"), facts)
    assert refused.value.got == named


LINES = (
    "X6 == 18*X1 - 45*X3 - 38*X8 - 58*X0 + 2*X9 - 2*X4 - 57*X2 + 8147",
    "X3 == 36*X6 - 23*X0 - 44*X4 - 49*X1 + 19*X9 + 2976",
    "X6 == 8*X1 - 41*X8 + 1577",
)


@pytest.mark.timeout(120)
def test_hard_facts_end_in_unknown_rather_than_never() -> None:
    """Each of these took longer than anyone waits."""
    names = [f"X{at}" for at in range(30)]
    for count, power in ((16, 4), (25, 5), (30, 2)):
        chain = [MulEq(names[at + 1], (names[at],) * power) for at in range(count - 1)]
        answer = Solver(Facts(free(names[:count]), chain)).ask(Eq("X0", 1))
        assert isinstance(answer, Unknown | Refuted)
    dims = {name: SymbolicDim(name, ((1, 1000),)) for name in names[:10]}
    Solver(Facts(dims, list(map(parse_constraint, LINES)))).ask(Eq("X0", "X1"))
    large = ProductEq(("A",) * 19 + ("B",) * 23 + ("C",) * 33 + ("D",) * 37, (2**39,) * 13)
    Solver(Facts(free("ABCD"), [large])).ask(Eq("A", "B"))
    order = [Less(one, other) for at, one in enumerate(names) for other in names[at + 1 :]]
    Solver(Facts(free(names), order)).ask(Less("X0", "X29"))
