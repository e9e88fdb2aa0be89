"""The prover of one step: what it proves is true, and what it is known to miss it misses."""

from __future__ import annotations

import random
from itertools import permutations, product

import pytest

from mlc_course.dynamic_shape.ir import SymbolicDim, dims_of, holds, parse_constraint
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver
from mlc_course.errors import Contradiction, TextError, UsageError
from mlc_course.lessons.lesson_20_dynamic_shapes import proves

# Constraints, a claim, and whether it is proved: as it is, and with sizes that are not 0.
CASES = [
    (["a*b == c*d"], "a*b == d*c", True, True),
    (["a*b == c*d"], "a*b*e*e == e*c*d*e", True, True),
    (["a*b == c*d"], "3*a*b == 3*d*c", True, True),
    (["a*b == c*d"], "3*a*b == 2*d*c", False, False),
    (["a*b == c", "c == d*e"], "a*b*x == d*e*x", True, True),
    ([], "a*b == b*a", True, True),
    ([], "2*a == 4*b", False, False),
    (["2*a == 4*b"], "a == 2*b", True, True),
    # equal sizes share a name, or are a number
    (["a == b"], "a*c == c*b", True, True),
    (["a == b", "b == c", "c*d == e"], "a*d == e", True, True),
    (["a == 4", "a*b == c"], "c == 4*b", True, True),
    (["a == b", "b == 4", "c == 4"], "a == c", True, True),
    # sizes that may be 0 are not cancelled
    (["B*S*H == T*H"], "B*S*D == T*D", False, True),
    (["B*S*H == T*H"], "B*S == T", False, True),
    (["a*c == b*c"], "a == b", False, True),
    (["a*c == b*c", "a*d == e"], "b*d == e", False, True),
    # cancelling takes away the product that two constraints have in common
    (["B*S*H == T*H", "T*H == N"], "B*S*H == N", True, False),
    # two steps
    (["a*b == c", "d*e == f"], "a*b*d*e == c*f", False, False),
    (["a*b == c*d", "c*e == f*b"], "a*e == f*d", False, False),
    (["a*a == b*b"], "a == b", False, False),
    # sums are not read
    (["a == b + 1", "c == b + 1"], "a == c", False, False),
]


@pytest.mark.parametrize(("given", "claim", "plain", "non_zero"), CASES)
def test_one_step_is_enough_or_not(
    given: list[str], claim: str, plain: bool, non_zero: bool
) -> None:
    assert proves(given, claim) is plain
    assert proves(given, claim, non_zero=True) is non_zero


@pytest.mark.parametrize("given", list(permutations(["h*a == g*b", "h == g", "x*a == y*b"])))
def test_the_order_of_constraints_does_not_matter(given: tuple[str, ...]) -> None:
    """A size may be cancelled only after a later constraint says that two are equal."""
    assert proves(given, "a*a == b*b", non_zero=True)
    assert proves(given, "x == y", non_zero=True)
    assert not proves(given, "a*a == b*b")


def drawn(rng: random.Random) -> str:
    """An equality of products of a few sizes, times one number; it is true where all are 1."""
    number = "2*" * (rng.random() < 0.2)
    sides = ("*".join(rng.choice("abcd") for _ in range(rng.randint(1, 3))) for _ in range(2))
    return " == ".join(number + side for side in sides)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_proved_is_true_of_all_small_sizes_and_the_solver_proves_it(seed: int) -> None:
    rng = random.Random(seed)
    given, claims = [drawn(rng) for _ in range(3)], [drawn(rng) for _ in range(6)]
    # some claims that follow: a constraint with more on both sides
    claims += [" == ".join(f"{side}*a" for side in each.split(" == ")) for each in given]
    read = [parse_constraint(each) for each in given]
    for non_zero in (False, True):
        proved = [each for each in claims if proves(given, each, non_zero=non_zero)]
        assert set(proved) >= set(claims[6:])
        for values in product(range(1 if non_zero else 0, 5), repeat=4):
            sizes = dict(zip("abcd", values, strict=True))
            if all(holds(each, sizes) for each in read):
                wrong = [each for each in proved if not holds(parse_constraint(each), sizes)]
                assert not wrong, (given, wrong, sizes)
        names = {name: SymbolicDim(name) for name in "abcd"}
        solver = Solver(Facts(names, read))
        for each in proved:
            assert isinstance(solver.ask(parse_constraint(each)), Proved), (given, each)


def test_a_constraint_and_its_formula_are_the_same() -> None:
    claim = parse_constraint("a*b == c")
    assert set(dims_of(claim)) == set("abc")
    assert proves([claim], claim) and proves(["a*b == c"], claim)


def test_other_claims_are_refused() -> None:
    with pytest.raises(UsageError, match="a claim of another form"):
        proves([], "a < b")
    with pytest.raises(TextError):
        proves([], "a*b = c")
    with pytest.raises(Contradiction):
        proves(["a == 4", "a == 5"], "a == b")
