"""Lesson 20's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from answers import Complain, both_tests

from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.ir import Module, holds, parse_constraint
from mlc_course.lessons.lesson_20_dynamic_shapes import (
    TO_FUSE,
    TO_INFER,
    VARIANTS,
    Rows,
    run_variant,
    with_sizes,
)

ASSIGNMENT = "20_dynamic_shapes"
FACTS: dict[str, object] = {
    "bias": ["R == T", "C == F", "G == F"],
    "rows": ["B*S == T", "R == T"],
    "product": ["B == E", "H == K", "S == M", "F == N"],
    "cache": ["D == E", "K == P + S", "L == K - 1"],
    "gate": ["W == 2*U", "U == V"],
    "heads": ["T*W == B*S*A*D", "M == A", "N == S"],
}
FUSIONS: dict[str, object] = {
    "A": "one",
    "B": "never",
    "C": "P == Q",
    "D": "never",
    "E": "B*S == T",
    "F": "one",
}
STEPS: dict[str, object] = {"given": ["a*b == c", "d*e == f"], "claim": "a*b*d*e == c*f"}
ZERO: dict[str, object] = {
    "given": ["B*S*H == T*H"],
    "claim": "B*S == T",
    "sizes": {"B": 2, "S": 3, "H": 0, "T": 5},
}


def facts(**changed: object) -> str:
    return f"my_facts = {FACTS | changed!r}"


def fusions(**changed: object) -> str:
    return f"my_fusions = {FUSIONS | changed!r}"


def steps(claim: object, *given: object) -> str:
    return f"my_steps = {dict(given=list(given), claim=claim)!r}\nmy_zero = {ZERO!r}"


def zero(**changed: object) -> str:
    return f"my_steps = {STEPS!r}\nmy_zero = {ZERO | changed!r}"


def choose(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def choose(rows, columns, pitch, first):\n{body}"


def guarded(fours: str, rest: str = "columns >= 4") -> str:
    """Two guards: that of both variants which load four, and of the one that takes no care."""
    return choose(
        f"if not ({rest}): return 'ones'",
        f"return 'fours' if {fours} else 'fours and rest'",
    )


BEGINS = "first % 4 == 0 and (rows == 1 or pitch % 4 == 0)"

WRONG = [
    # 1. Which sizes are equal?
    ("infer-test", "my_facts = ['R == T']", "not an answer to every part"),
    ("infer-test", facts(rows="B*S == T"), "rows: not a list of facts"),
    ("infer-test", facts(rows=["B*S = T"]), "a formula such as B*S == T"),
    ("infer-test", facts(rows=["B*S == X"]), "rows: no size X"),
    ("infer-test", facts(rows=["B*S < T"]), "rows: not a formula"),
    ("infer-test", facts(rows=["B < T"]), "rows: a formula of another form"),
    ("infer-test", facts(rows=[["B", "T"]]), "rows: not a formula"),
    ("infer-test", facts(rows=["B == B"] * 7), "at most 6 formulas"),
    ("infer-test", facts(gate=[]), "gate: a fact is missing"),
    # one axis of the result and none of the operand
    ("infer-test", facts(bias=["R == T", "C == F"]), "bias: a fact is missing"),
    # the bias goes with the rows
    ("infer-test", facts(bias=["R == T", "C == F", "G == T"]), "bias: G == T does not follow"),
    # a reshape collapses any two axes
    ("infer-test", facts(rows=["B == T", "R == T"]), "rows: B == T does not follow"),
    ("infer-test", facts(rows=["B*S == T"]), "rows: a fact is missing"),
    # the batch of a matrix product is forgotten
    ("infer-test", facts(product=["H == K", "S == M", "F == N"]), "product: a fact is missing"),
    ("infer-test", facts(product=["B == E", "H == E"]), "product: H == E does not follow"),
    # a concatenation as a product, or as equal sizes
    ("infer-test", facts(cache=["D == E", "K == P*S"]), "cache: K == P*S does not follow"),
    ("infer-test", facts(cache=["D == E", "P == S", "L == K - 1"]), "cache: P == S does not"),
    ("infer-test", facts(cache=["D == E", "K == P + S", "L == K"]), "cache: L == K does not"),
    # parts are equal, and nothing says how large
    ("infer-test", facts(gate=["U == V"]), "gate: a fact is missing"),
    # rows stay rows, columns stay columns
    ("infer-test", facts(heads=["T == B*S", "W == A*D", "M == A", "N == S"]), "heads: T == B*S"),
    ("infer-test", facts(heads=["T*W == B*S*A*D", "M == S", "N == A"]), "heads: M == S does not"),
    # 2. One kernel?
    ("fuse-test", "my_fusions = 'one'", "not an answer to every part"),
    ("fuse-test", fusions(A="yes"), "A: not a formula"),
    ("fuse-test", fusions(A=True), "A: not a formula"),
    ("fuse-test", fusions(E="B*S == R"), "E: no size R"),
    ("fuse-test", fusions(A="B*S == T"), "A: this is known already"),
    ("fuse-test", fusions(F="T*H == B*S*H"), "F: this is known already"),
    ("fuse-test", fusions(D="K == P"), "D: no sizes keep this"),
    ("fuse-test", fusions(B="T == H"), "B: it is not enough"),
    ("fuse-test", fusions(C="P == S"), "C: it is not enough"),
    ("fuse-test", fusions(E="B == T"), "E: it is not enough"),
    ("fuse-test", fusions(E="S == T"), "E: it is not enough"),
    # all sizes but H are 1
    ("fuse-test", fusions(E="B*S*T == 1"), "E: B*S*T == 1 is more than is needed"),
    ("fuse-test", fusions(A="never"), "5 of 6 are right"),
    ("fuse-test", fusions(A="never", F="never"), "4 of 6 are right"),
    ("fuse-test", fusions(B="one"), "5 of 6 are right"),
    ("fuse-test", fusions(E="never", C="never"), "4 of 6 are right"),
    ("fuse-test", fusions(E="one"), "5 of 6 are right"),
    ("fuse-test", fusions(A="S == H"), "5 of 6 are right"),
    # 3a. A prover of one step
    ("break-test", steps("a*b == c", "a*b == c"), "one constraint"),
    ("break-test", steps("a == b", "a*a == b*b"), "one constraint"),
    ("break-test", steps("a == c", "a*b == c", "d == e"), "the claim does not follow"),
    ("break-test", steps("a*b == d*e", "a*b == c", "c == d*e"), "one step proves it"),
    ("break-test", steps("a*b*x == d*e*x", "a*b == c", "c == d*e"), "one step proves it"),
    ("break-test", steps("a*c == b*d", "a == b", "c == d"), "one step proves it"),
    # the same in either order
    ("break-test", steps("a*a == b*b", "h == g", "h*a == g*b"), "one step proves it"),
    ("break-test", steps("a*a == b*b", "h*a == g*b", "h == g"), "one step proves it"),
    # no sizes keep the constraints
    ("break-test", steps("e == f", "2*a*a == b*b", "c == d"), "no sizes keep all"),
    # it only takes the flag, or only its absence
    ("break-test", steps("a*b == d", "a*b*c == c*d", "a == e"), "where no size is 0"),
    ("break-test", steps("a*b*h == n", "a*b*h == t*h", "t*h == n"), "where a size may be 0"),
    ("break-test", steps("a*b*d*e == c*f", "a*b == c", "d*e == f", "a == g"), "fewer would do"),
    ("break-test", steps("a == b", "a*a == b*b", "c == d"), "fewer would do"),
    ("break-test", steps("a == b", *["a == c"] * 5), "a list of 1 to 4 formulas"),
    ("break-test", steps("a == b", "a == c + 1", "b == c + 1"), "a formula of another form"),
    ("break-test", steps("a == b", "2*a == 1", "b == b"), "no sizes keep all"),
    ("break-test", "my_steps = ['a*b == c']\nmy_zero = {}", "not an answer to every part"),
    # 3b. A size of zero
    ("break-test", zero(sizes={"B": 2, "S": 3, "H": 1, "T": 6}), "the claim is true for these"),
    ("break-test", zero(sizes={"B": 2, "S": 3, "H": 1, "T": 5}), "the sizes break a constraint"),
    ("break-test", zero(sizes={"B": 0, "S": 3, "H": 0, "T": 0}), "the claim is true for these"),
    ("break-test", zero(sizes={"B": 2, "S": 3, "H": 0}), "not a size for every name"),
    ("break-test", zero(sizes={"B": 2, "S": 3, "H": 0, "T": -5}), "T is not a size"),
    ("break-test", zero(claim="B == T"), "the claim does not follow"),
    # 4. Guards
    ("guard-test", "choose = 'ones'", "an answer of another kind"),
    ("guard-test", choose("return columns % 4 == 0"), "not a variant"),
    ("guard-test", choose("return 'ones'"), "'ones' is right for rows=1, columns=4"),
    ("guard-test", choose("return 'fours'"), "'fours' is wrong for rows=1, columns=1"),
    ("guard-test", choose("return 'fours and rest'"), "and not the best"),
    ("guard-test", choose("return 'fours' if columns >= 4 else 'ones'"), "it loads 4 floats from"),
    (
        "guard-test",
        choose("return 'fours' if rows * columns % 4 == 0 else 'ones'"),
        "is wrong for rows=1, columns=4, pitch=4, first=1",
    ),
    ("guard-test", guarded("columns % 4 == 0"), "it loads 4 floats from place 1"),
    (
        "guard-test",
        guarded("rows * columns % 4 == 0", f"columns >= 4 and {BEGINS}"),
        "'fours' is wrong for rows=2, columns=6",
    ),
    (
        "guard-test",
        guarded("columns % 4 == 0", "columns >= 4 and first % 4 == 0"),
        "'fours' is wrong for rows=2, columns=4, pitch=5, first=0",
    ),
    # too strict: one row may have any pitch
    (
        "guard-test",
        guarded("columns % 4 == 0", "columns >= 4 and first % 4 == 0 and pitch % 4 == 0"),
        "'ones' is right for rows=1, columns=4, pitch=5, first=0, and not the best",
    ),
    # the second row alone
    (
        "guard-test",
        guarded("columns % 4 == 0", "columns >= 4 and (first + pitch) % 4 == 0"),
        "'ones' is right for rows=1, columns=4, pitch=5, first=0",
    ),
    ("guard-test", guarded("columns % 4 == 0", BEGINS), "and not the best"),
    # a table of what was seen
    (
        "guard-test",
        choose(
            "these = Rows(rows, columns, pitch, first)",
            "found = {name: run_variant(name, these) for name in VARIANTS}",
            "right = (name for name in VARIANTS if not found[name].fault)",
            "return min(right, key=lambda name: found[name].instructions)",
        ),
        "up to 10,000 floats",
    ),
    (
        "guard-test",
        guarded("columns % 4 == 0", f"4 <= columns < 10000 and {BEGINS}"),
        "as it would be for",
    ),
    # right where it can be tried, and where sizes are very large
    (
        "guard-test",
        guarded("columns % 4 == 0", f"(4 <= columns < 10 or columns > 10**5) and {BEGINS}"),
        "as it would be for",
    ),
    (
        "guard-test",
        guarded("columns % 4 == 0", f"4 <= columns and (first < 4 or first > 10**5) and {BEGINS}"),
        "as it would be for",
    ),
    (
        "guard-test",
        guarded("columns % 4 == 0 and not 13 < pitch < 10**5", f"4 <= columns and {BEGINS}"),
        "as it would be for",
    ),
]

RIGHT = [
    ("infer-test", facts(rows=["T*H == B*S*H", "T == R"])),
    ("infer-test", facts(rows=["R == B*S", "T == R"])),
    ("infer-test", facts(gate=["W == U + V", "U == V"])),
    ("infer-test", facts(cache=["E == D", "L == P + S - 1", "K == L + 1"])),
    ("infer-test", facts(bias=["T == R", "G == F", "G == C", "C == F"])),
    ("infer-test", facts(heads=["M == A", "N == S", "B*N*M*D == W*T"])),
    ("fuse-test", fusions(C="K == V")),
    ("fuse-test", fusions(C="K*D == V*D")),
    ("fuse-test", fusions(E="T*H == B*S*H")),
    ("fuse-test", fusions(C="K == Q + S")),
    ("fuse-test", fusions(C="P + S == Q + S")),
    ("fuse-test", fusions(C="P - Q == 0")),
    ("infer-test", facts(cache=["E - D == 0", "K - S == P", "L + 1 == P + S"])),
    ("break-test", steps("a*e == f*d", "a*b == c*d", "c*e == f*b")),
    ("break-test", steps("a == c", "a*a == b*b", "b*b*b == c*c*c")),
    ("break-test", steps("a*c == b*d", "a*a == b*b", "c*c == d*d")),
    ("break-test", steps("a*d*x == c*f*y", "a == 2*c", "2*d == f", "x == y*z", "z == 1")),
    ("break-test", zero(given=["a*x == b*x"], claim="a == b", sizes={"a": 1, "b": 2, "x": 0})),
    (
        "break-test",
        zero(given=["a*b == c", "a*d == c"], claim="b == d", sizes=dict(a=0, b=1, c=0, d=2)),
    ),
    ("guard-test", guarded("not columns & 3", f"columns > 3 and {BEGINS}")),
    (
        "guard-test",
        choose(
            "second = first + pitch if rows > 1 else first",
            "if first % 4 or second % 4 or columns < 4: return 'ones'",
            "return ['fours', 'fours and rest'][columns % 4 > 0]",
        ),
    ),
]

test_a_wrong_answer_is_told_why, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_solutions_earn_the_points(
    complain: Complain, solution: Callable[[str, str], str]
) -> None:
    for cell in ("infer", "fuse", "break", "guard"):
        assert complain(ASSIGNMENT, f"{cell}-test", solution(ASSIGNMENT, cell)) == ""


def test_no_wrong_answer_gets_a_tick_from_the_visible_part(complain: Complain) -> None:
    judged: dict[str, int] = {}
    for test, answer, _ in WRONG:
        assert complain(ASSIGNMENT, test, answer, hidden=False), (test, answer)
        judged[test] = judged.get(test, 0) + 1
    assert len(judged) == 4
    assert min(judged.values()) >= 3


def test_a_count_does_not_tell_which_are_right(complain: Complain) -> None:
    said = complain(ASSIGNMENT, "fuse-test", fusions(A="never", B="one", C="one"))
    assert "3 of 6 are right" in said
    assert not any(f"{letter}:" in said for letter in FUSIONS)


def small_sizes(module: Module) -> Iterator[dict[str, int]]:
    """Sizes above 1, which NumPy would repeat; fewer of them for many names."""
    names = [dim.name for dim in module.dims]
    for values in product((2, 3, 4) if len(names) < 8 else (2, 4), repeat=len(names)):
        yield dict(zip(names, values, strict=True))


@pytest.mark.parametrize("name", TO_INFER)
def test_the_facts_are_those_of_all_small_sizes_that_operators_take(name: str) -> None:
    """NumPy decides: a program takes sizes if each operator returns what it is said to return."""
    module = with_sizes(TO_INFER[name])
    claims = [parse_constraint(str(each)) for each in FACTS[name]]  # type: ignore[attr-defined]
    taken = 0
    for sizes in small_sizes(module):
        is_taken = takes(module, sizes)
        assert is_taken == all(holds(claim, sizes) for claim in claims), sizes
        taken += is_taken
    assert taken


def takes(module: Module, sizes: dict[str, int]) -> bool:
    """Run a program on ones; tell whether all values have the shapes that are written."""

    def shape(dims: tuple[int | str, ...]) -> tuple[int, ...]:
        return tuple(dim if isinstance(dim, int) else sizes[dim] for dim in dims)

    found = [np.ones(shape(each.type.dims)) for each in module.function.inputs]
    for each in module.function.equations:
        given = dict(each.attributes)
        try:
            value = each.op.run(
                *(found[at] for at in each.operands), shape=shape(each.type.dims), **given
            )
        except ValueError:
            return False
        if value.shape != shape(each.type.dims):
            return False
        found.append(value)
    return True


def test_the_planner_agrees_with_the_answers_about_fusion() -> None:
    for letter, function in TO_FUSE.items():
        planned = plan(with_sizes(function))
        assert (len(planned.kernels) == 1) == (FUSIONS[letter] == "one")
    (never,) = plan(with_sizes(TO_FUSE["B"])).refusals
    assert not never.missing


@pytest.mark.parametrize("name", VARIANTS)
def test_a_fault_is_seen_exactly_where_places_and_ends_do_not_fit(name: str) -> None:
    for rows, columns, pitch, first in product((1, 2, 3), range(1, 10), range(1, 14), range(5)):
        if pitch < columns:
            continue
        begins = [first + row * pitch for row in range(rows)]
        is_right = name == "ones" or not (
            (name == "fours" and columns % 4) or (columns >= 4 and any(at % 4 for at in begins))
        )
        outcome = run_variant(name, Rows(rows, columns, pitch, first))
        assert (not outcome.fault) == is_right, (rows, columns, pitch, first)


def best_variant(rows: Rows) -> str:
    found = {name: run_variant(name, rows) for name in VARIANTS}
    return min(
        (name for name in VARIANTS if not found[name].fault),
        key=lambda name: found[name].instructions,
    )


def test_the_best_variant_is_decided_by_residues() -> None:
    for rows, columns, pitch, first in product((1, 2, 3), range(1, 10), range(9, 14), range(5)):
        more = Rows(rows + 4 * (rows > 1), columns + 4 * (columns > 3), pitch + 8, first + 4)
        assert best_variant(Rows(rows, columns, pitch, first)) == best_variant(more)
