"""Claims are proved, refuted or left unknown: for each rule, the example that it is for."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

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
    said,
)
from mlc_course.dynamic_shape.solve import (
    Certificate,
    Facts,
    Proved,
    Refuted,
    Solver,
    Unknown,
    check_certificate,
)
from mlc_course.dynamic_shape.solve.answers import ByFactors, ByProducts, Step
from mlc_course.errors import Contradiction, UsageError, WrongResult

ABCDEF = free("abcdef")
ONE = Fraction(1)
SUM = AffineEq("a", ((1, "b"), (1, "c")))
# What BladeDISC's one-step rewriting misses, then what each other procedure is for.
PROVED: list[tuple[list[Constraint], Constraint]] = [
    (
        [MulEq("c", ("a", "b")), MulEq("f", ("d", "e"))],
        ProductEq(("a", "b", "d", "e"), ("c", "f")),
    ),
    (
        [ProductEq(("a", "b"), ("c", "d")), ProductEq(("c", "e"), ("f", "b"))],
        ProductEq(("a", "e"), ("f", "d")),
    ),
    ([ProductEq(("a", "b", "c"), ("d", "c"))], ProductEq(("a", "b", "e"), ("d", "e"))),
    ([ProductEq(("a", "a"), ("b", "b"))], Eq("a", "b")),
    ([ProductEq(("a", "b"), (1,))], Eq("a", 1)),
    ([ProductEq(("a", "b", "c"), ("c",))], Eq("b", 1)),
    ([ProductEq(("a", "a"), (36,))], Eq("a", 6)),
    ([Eq("a", 8), ProductEq(("a",), (1, "b"))], Eq("b", 8)),
    ([Divisible(("d",), (4,)), MulEq("b", (12, "d"))], Divisible(("b",), (48,))),
    ([Divisible(("a",), ("b",)), Divisible(("b",), ("c",))], Divisible(("a", "e"), ("c",))),
    ([ProductEq(("a", "b"), (7,))], Divisible((7,), ("a",))),
    ([SUM, AffineEq("d", ((1, "b"), (1, "c")))], ProductEq(("a", "e"), ("d", "e"))),
    ([SUM, Divisible(("b",), (4,)), Divisible(("c",), (8,))], Divisible(("a",), (4,))),
    ([AffineEq("a", ((2, "b"),)), AffineEq("c", ((6, "d"),))], Divisible(("a", "c"), (12,))),
    ([Less("a", "b"), Less("b", "c")], Less("a", "c")),
    ([Less("a", "b"), Less("b", 3)], Eq("a", 1)),
    ([SUM], Less("b", "a")),
    ([MulEq("a", (2, "b"))], Less("b", "a")),
    ([AffineEq("b", ((1, "a"),), -1), AffineEq("c", ((1, "a"),), -1)], Eq("b", "c")),
]


@pytest.mark.parametrize(
    ("stated", "claim"), PROVED, ids=lambda it: said(it) if not isinstance(it, list) else ""
)
def test_a_claim_that_follows_is_proved_and_its_certificate_checked(
    stated: list[Constraint], claim: Constraint
) -> None:
    answer = Solver(Facts(ABCDEF, stated)).ask(claim)
    assert isinstance(answer, Proved)
    check_certificate(answer.certificate, claim, ABCDEF, stated)
    for at in range(len(stated)):  # each constraint is needed
        fewer = [*stated[:at], *stated[at + 1 :]]
        assert not isinstance(Solver(Facts(ABCDEF, fewer)).ask(claim), Proved)
        with pytest.raises((WrongResult, KeyError)):
            check_certificate(answer.certificate, claim, ABCDEF, fewer)


@pytest.mark.parametrize(
    ("stated", "claim"), PROVED, ids=lambda it: said(it) if not isinstance(it, list) else ""
)
def test_the_certificate_of_one_claim_does_not_prove_another(
    stated: list[Constraint], claim: Constraint
) -> None:
    answer = Solver(Facts(ABCDEF, stated)).ask(claim)
    assert isinstance(answer, Proved)
    *first, last = answer.certificate.steps
    for other in (Eq("e", "f"), Less("e", "f"), Divisible(("e",), (5,)), AtMost(("e",), 9)):
        with pytest.raises(WrongResult, match="another claim"):
            check_certificate(answer.certificate, other, ABCDEF, stated)
        renamed = Certificate((*first, replace(last, claim=other)))
        with pytest.raises(WrongResult, match="does not follow"):
            check_certificate(renamed, other, ABCDEF, stated)


def test_changed_multipliers_and_bounds_are_refused() -> None:
    stated = [MulEq("c", ("a", "b")), MulEq("f", ("d", "e"))]
    claim = ProductEq(("a", "b", "d", "e"), ("c", "f"))
    answer = Solver(Facts(ABCDEF, stated)).ask(claim)
    assert isinstance(answer, Proved)
    (step,) = answer.certificate.steps
    assert isinstance(step.proof, ByProducts)
    for at in step.proof.facts:
        other = step.proof.facts | {at: step.proof.facts[at] + Fraction(1, 2)}
        changed = Certificate((replace(step, proof=ByProducts(other)),))
        with pytest.raises(WrongResult, match="does not follow"):
            check_certificate(changed, claim, ABCDEF, stated)
    with pytest.raises(WrongResult):
        check_certificate(Certificate(()), claim, ABCDEF, stated)


REFUTED: list[tuple[list[Constraint], Constraint]] = [
    ([], Eq("a", "b")),
    ([ProductEq(("a", "b"), (2,))], Eq("a", 1)),
    ([MulEq("a", ("b", "c"))], Less("b", "a")),
    ([Divisible(("d",), (4,)), MulEq("b", (12, "d"))], Divisible(("b",), (32,))),
    ([Less("a", "b"), Less("b", "c")], Less("c", "a")),
    ([SUM], Eq("a", "b")),
    ([Divisible(("a",), (6,))], Divisible(("a",), (4,))),
    ([Less("a", 100)], AtMost(("a",), 98)),
    ([Eq("a", 2**39), MulEq("b", ("a", "a"))], Eq("b", "a")),
]


@pytest.mark.parametrize(
    ("stated", "claim"), REFUTED, ids=lambda it: said(it) if not isinstance(it, list) else ""
)
def test_a_claim_that_does_not_follow_is_refuted_by_sizes(
    stated: list[Constraint], claim: Constraint
) -> None:
    answer = Solver(Facts(ABCDEF, stated)).ask(claim)
    assert isinstance(answer, Refuted)
    assert all(holds(each, answer.model) for each in stated)
    assert not holds(claim, answer.model)


def test_likely_sizes_prove_nothing_and_ranges_do() -> None:
    likely = {"a": SymbolicDim("a", likely=(64,))}
    assert isinstance(Solver(Facts(likely)).ask(Divisible(("a",), (64,))), Refuted)
    fixed = {"a": SymbolicDim("a", ((64, 64),))}
    assert isinstance(Solver(Facts(fixed)).ask(Divisible(("a",), (64,))), Proved)
    short = {name: SymbolicDim(name, ((1, 64), (100, 128))) for name in "ab"}
    solver = Solver(Facts(short))
    assert isinstance(solver.ask(AtMost(("a", "b"), 128 * 128)), Proved)
    answer = solver.ask(AtMost(("a", "b"), 128 * 128 - 1))
    assert isinstance(answer, Refuted) and answer.model == {"a": 128, "b": 128}


@pytest.mark.parametrize(
    ("stated", "smallest"),
    [
        ([Less("a", "b"), Eq("c", "d"), Less("b", "a")], "a < b; b < a"),
        ([Eq("a", 3), MulEq("e", ("a", "b")), Eq("a", 4)], "a == 3; a == 4"),
        ([MulEq("a", (4, "b")), Eq("c", "a"), Eq("c", 6)], "a == 4*b; c == a; c == 6"),
        ([ProductEq(("a", "a"), (2, "b", "b")), Eq("c", 2)], "a*a == 2*b*b"),
        ([Eq(2, 3)], "2 == 3"),
        ([Less("a", 1), Less("b", 7)], "a < 1"),
        ([SUM, Less("a", "b")], "a == b + c; a < b"),
        ([Divisible(("a",), (4,)), Less("a", 4), Less("b", 4)], "a % 4 == 0; a < 4"),
    ],
)
def test_constraints_that_no_sizes_keep_are_refused_with_the_fewest_of_them(
    stated: list[Constraint], smallest: str
) -> None:
    with pytest.raises(Contradiction) as refused:
        Facts(ABCDEF, stated)
    assert refused.value.got == smallest


def test_an_unknown_dimension_is_named() -> None:
    with pytest.raises(UsageError, match="no dimension 'z'"):
        Facts(ABCDEF, [Eq("a", "z")])
    with pytest.raises(UsageError, match="no dimension 'z'"):
        Solver(Facts(ABCDEF)).ask(Eq("a", "z"))


@pytest.mark.parametrize(
    ("ranges", "likely"),
    [((), ()), (((0, 4),), ()), (((5, 4),), ()), (((1, 2**41),), ()), (((1, 4),), (5,))],
)
def test_a_dimension_without_sizes_is_refused(
    ranges: tuple[tuple[int, int | None], ...], likely: tuple[int, ...]
) -> None:
    with pytest.raises(UsageError):
        SymbolicDim("a", ranges, likely)


def test_products_with_sums_may_stay_unknown_and_are_never_wrong() -> None:
    stated = [MulEq("c", ("a", "b")), AffineEq("c", ((1, "a"), (1, "b")))]  # only 2 * 2 == 2 + 2
    solver = Solver(Facts(ABCDEF, stated))
    assert isinstance(solver.ask(Eq("a", "b")), Proved | Unknown)
    assert isinstance(solver.ask(Eq("a", 3)), Refuted | Unknown)


def test_a_multiple_is_derived_whichever_of_the_two_is_solved_for() -> None:
    """Either unknown of 3a = b may be the one that is solved for."""
    for names in (("a", "b"), ("b", "a")):
        small, large = names
        stated: list[Constraint] = [MulEq(large, (3, small)), AffineEq("c", ((1, large),), 1)]
        claim = AffineEq("c", ((3, small),), 1)
        answer = Solver(Facts(ABCDEF, stated)).ask(claim)
        assert isinstance(answer, Proved)
        check_certificate(answer.certificate, claim, ABCDEF, stated)


@pytest.mark.parametrize("size", [0, -3, 2**40 + 1])
def test_a_number_that_is_no_size_is_refused_not_taken_for_another(size: int) -> None:
    for claim in (Eq("a", size), Less("a", size), ProductEq(("a", size), ("b",))):
        with pytest.raises(UsageError, match="a size"):
            Solver(Facts(ABCDEF, [Eq("a", 1)])).ask(claim)
        with pytest.raises(UsageError, match="a size"):
            Facts(ABCDEF, [claim])


def test_products_of_large_primes_are_not_factored() -> None:
    prime = 549_755_813_881  # the largest below 2^39
    stated = [Eq("a", prime), Eq("b", prime), MulEq("c", ("a", "b")), MulEq("d", ("c", "c"))]
    solver = Solver(Facts(ABCDEF, stated))
    assert isinstance(solver.ask(ProductEq(("d",), (prime, prime, prime, "a"))), Proved)
    assert isinstance(solver.ask(Eq("c", "d")), Refuted)


def test_a_long_chain_of_equal_sizes_is_read_link_by_link() -> None:
    """A certificate names each link once; without that, 2,000 links took minutes."""
    names = [f"S{at}" for at in range(2000)]
    facts = [Eq(*pair) for pair in zip(names, names[1:], strict=False)]
    solver = Solver(Facts(free(names), facts))
    claim = Eq(names[3], names[-1])
    answer = solver.ask(claim)
    assert isinstance(answer, Proved)
    check_certificate(answer.certificate, claim, free(names), facts)
    used = [len(step.proof.facts) for step in answer.certificate.steps]  # type: ignore[union-attr]
    assert max(used) <= 2 and len(used) <= len(names)
    with pytest.raises(Contradiction) as refused:
        Facts(free(names), [*facts, Less(names[-1], names[-3])])
    assert refused.value.got == "S1997 == S1998; S1998 == S1999; S1999 < S1997"


TWO_RANGES = free("TUH") | {"B": SymbolicDim("B", ((2, 8),)), "S": SymbolicDim("S", ((1, 512),))}


@pytest.mark.parametrize(
    ("formulas", "sizes", "limit"),
    [
        ("", "BS", 4096),
        ("T == B*S", "T", 4096),
        ("T == B*S;T == U*B", "U", 512),
        ("T*H == B*S*H;U == T", "UB", 2**15),
        ("U*U == B*S", "U", 64),
        ("U*B == S", "U", 256),
        ("S % U == 0", "U", 512),
        ("U == 3*T;T == B*S", "U", 3 * 4096),
    ],
)
def test_a_product_is_bounded_by_the_ranges_of_what_it_is_equal_to(
    formulas: str, sizes: str, limit: int
) -> None:
    stated = [parse_constraint(each) for each in formulas.split(";") if each]
    solver = Solver(Facts(TWO_RANGES, stated))
    claim = AtMost(tuple(sizes), limit)
    answer = solver.ask(claim)
    assert isinstance(answer, Proved)
    check_certificate(answer.certificate, claim, TWO_RANGES, stated)
    larger = solver.ask(AtMost(tuple(sizes), limit - 1))
    assert isinstance(larger, Refuted) and all(holds(each, larger.model) for each in stated)


@pytest.mark.parametrize(
    ("claim", "facts"),
    [
        (AtMost(("T",), 4095), {5: 1}),
        (AtMost(("T",), 4096), {}),
        (AtMost(("T",), 4096), {5: -1}),
        (AtMost(("T",), 4096), {5: Fraction(1, 2)}),
        (AtMost(("T",), 4096), {5: 10**9}),
        (AtMost(("T",), 4096), {5: Fraction(1, 10**9)}),
        (AtMost(("T",), 4096), {5: 1.0}),
        (AtMost(("T",), 4096), {10: 1}),
        (AtMost(("B",), 4096), {6: 1}),
        (AtMost(("U",), 63), {7: Fraction(1, 2)}),
        (AtMost(("U",), -64), {7: Fraction(1, 2)}),
        (AtMost(("T",), 0), {5: 1}),
        (AtMost(("H",), 2), {8: 1}),  # 2 times a quotient that may be large
        (Divisible(("T",), (1,)), {5: 1}),
    ],
)
def test_a_bound_that_facts_on_products_do_not_give_is_refused(
    claim: Constraint, facts: dict[int, Fraction]
) -> None:
    stated = [parse_constraint(each) for each in ("T == B*S", "B < S", "U*U == B*S", "H % 2 == 0")]
    rights = [(AtMost(("T",), 4096), {5: ONE}), (AtMost(("U",), 64), {7: ONE / 2})]
    for right, of in rights:
        check_certificate(Certificate((Step(9, right, ByFactors(of)),)), right, TWO_RANGES, stated)
    with pytest.raises(WrongResult, match="does not follow"):
        check_certificate(
            Certificate((Step(9, claim, ByFactors(facts)),)), claim, TWO_RANGES, stated
        )


def test_what_grows_without_end_is_beyond_any_limit() -> None:
    for formulas, sizes in (("", "a"), ("c == a + b", "c"), ("c == a*b;a % 64 == 0", "cd")):
        stated = [parse_constraint(each) for each in formulas.split(";") if each]
        claim = AtMost(tuple(sizes), 10**9)
        answer = Solver(Facts(ABCDEF, stated)).ask(claim)
        assert isinstance(answer, Refuted) and not holds(claim, answer.model)
        assert all(holds(each, answer.model) for each in stated)
